/** Which of transformers.js's packages is used, and what is said if there is none: the built library in a folder of its own. */

import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { buildModels } from "./small-models.js";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
let localFolder: string;
let project: string;

beforeAll(async () => {
  localFolder = await buildModels();
  project = await mkdtemp(join(tmpdir(), "sealdex-project-"));
  const installed = join(project, "node_modules", "sealdex");
  await mkdir(installed, { recursive: true });
  await cp(join(root, "dist"), join(installed, "dist"), { recursive: true });
  await cp(join(root, "package.json"), join(installed, "package.json"));
});

afterAll(async () => {
  await Promise.all([localFolder, project].map((folder) => rm(folder, { recursive: true })));
});

/** What a program prints that embeds a text and an image: whether each finds itself, or the error. */
async function embed(module: "mjs" | "cjs"): Promise<string> {
  const names = "{ createClient, generateKey }";
  const source =
    module === "mjs" ? `import ${names} from "sealdex/core";` : `const ${names} = require("sealdex/core");`;
  const program = `${source}
    const run = async () => {
      const models = { localFolder: process.argv[2], offline: true };
      const client = createClient({ indexLocation: { location: "memory" }, models });
      const dot = "R0lGODlhAQABAIAAAP8AAAAAACwAAAAAAQABAAACAkQBADs=";
      const found = [];
      for (const [embeddingModel, contents] of [["small-embedder", "salmon swim"], ["small-clip", { base64: dot }]]) {
        const options = { indexName: embeddingModel, indexKey: generateKey(), embeddingModel, metric: "cosine" };
        const index = await client.createIndex(options);
        await index.upsert([{ id: "a", contents }]);
        const [{ distance }] = await index.query({ queryContents: contents });
        found.push(Math.abs(distance) < 1e-3);
      }
      await client.close();
      return found.join(" ");
    };
    run().catch(({ code, message }) => code + " " + message).then((text) => console.log(text));`;
  const file = join(project, `program.${module}`);
  await writeFile(file, program);
  const { stdout } = await promisify(execFile)(process.execPath, [file, localFolder], { cwd: tmpdir() });
  return stdout.trim();
}

test("without a package the error says what to install", async () => {
  expect(await embed("mjs")).toMatch(
    /^not_supported embedding model small-embedder: .*npm install @huggingface\/transformers/,
  );
});

test("each package is enough, from ES modules and from CommonJS", async () => {
  for (const [scope, name] of [
    ["@xenova", "transformers"],
    ["@huggingface", "transformers"],
  ]) {
    await mkdir(join(project, "node_modules", scope), { recursive: true });
    const link = join(project, "node_modules", scope, name);
    await symlink(join(root, "node_modules", scope, name), link, "junction");
    expect(await embed("mjs"), scope).toBe("true true");
    expect(await embed("cjs"), scope).toBe("true true");
    await rm(link);
  }
}, 300_000);
