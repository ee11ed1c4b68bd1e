// Uses embedding models as a reader of docs/embeddings.md would: the packed packages in an empty project, with the real
// transformers.js and @langchain/community. `createIndex({ embeddingModel })`, upsert of contents and a query by text: in the
// library, over HTTP and in LangChain; and HuggingFaceTransformersEmbeddings as `embedding` and as the embeddings of a store.
//
//   SEALDEX_MODEL_FOLDER=models SEALDEX_ITEMS=10000 node scripts/check-models.mjs
//
// The folder holds models, each in a folder of its name; without all-MiniLM-L6-v2 in it nothing can be checked. Default: 500 items.

import { execFileSync, spawn } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { packAll } from "./packed.mjs";
import { npm, root } from "./stage-package.mjs";

const model = "all-MiniLM-L6-v2";
const folder = resolve(process.env.SEALDEX_MODEL_FOLDER ?? join("..", "shared", "data", "models"));
if (!existsSync(join(folder, model, "config.json"))) {
  console.log(`Nothing checked: there is no ${model} in ${folder}.`);
  process.exit();
}
const work = mkdtempSync(join(tmpdir(), "sealdex-models-"));
const { devDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const { sealdex: library, "sealdex-model": embedder, "sealdex-server": server } = packAll(work);
const peers = ["@langchain/core", "@huggingface/transformers"].map(
  (name) => `${name}@${devDependencies[name]}`,
);
execFileSync(npm, ["init", "-y"], { cwd: work, stdio: "ignore" });
// Of the hundred peers of @langchain/community, these are the ones that its transformers.js embeddings need.
const quick = ["--silent", "--no-audit", "--no-fund", "--legacy-peer-deps"];
execFileSync(npm, ["install", ...quick, library, embedder, server, ...peers, "@langchain/community@^1.1.0"], {
  cwd: work,
  stdio: "inherit",
  env: { ...process.env, ONNXRUNTIME_NODE_INSTALL_CUDA: "skip" },
});
cpSync(join(root, "test", "runtimes", "models.mjs"), join(work, "models.mjs"));

const apiKey = "secret-secret-secret";
const program = join(work, "node_modules", "sealdex-server", "dist", "main.js");
const service = spawn(process.execPath, [program, "serve"], {
  cwd: work,
  env: {
    ...process.env,
    SEALDEX_PORT: "18433",
    SEALDEX_API_KEYS: apiKey,
    SEALDEX_INDEX_LOCATION: "memory:",
    SEALDEX_MODELS: model,
    SEALDEX_MODEL_FOLDER: folder,
    SEALDEX_MODEL_DOWNLOADS: "off",
  },
  stdio: ["ignore", "ignore", "inherit"],
});
try {
  const env = { ...process.env, SEALDEX_URL: "http://127.0.0.1:18433", SEALDEX_API_KEY: apiKey };
  const args = ["models.mjs", folder, model, process.env.SEALDEX_ITEMS ?? "500"];
  execFileSync(process.execPath, args, { cwd: work, env, stdio: "inherit" });
} finally {
  service.kill();
  rmSync(work, { recursive: true, force: true });
}
