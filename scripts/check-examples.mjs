// Runs the examples as a reader would: each from a folder that holds nothing but the packed packages and what the
// examples name, with a service running for those that want one. What is printed is compared with what must be in it.

import { execFile, execFileSync, spawn } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

/** A line, or part of one, that each example must print. An example without an entry here is a failure. */
const expected = {
  "filters.mjs": ["a dotted path                        cities, mountains, rivers", "unknown operator"],
  "http.mjs": ["Keys are rotated every year.", "Salmon swim upstream."],
  "hybrid.mjs": [
    "vectors: E1049\n  words:   backup\n  both:    backup\n",
    "vectors: parking\n  words:   nothing\n  both:    parking\n",
  ],
  "indexing.mjs": ["numAdded: 2", "numDeleted: 1", "[ 'Salmon swim upstream.' ]"],
  "memory-and-cache.mjs": ["Paris.\nParis.\n", "Ann likes pizza."],
  "mmr.mjs": ["The same as a retriever:", "Back up the encryption keys in two places."],
  "multi-tenant.mjs": ['bob [ "Bob\'s plan for March" ]', "wrong_index_key", "Left: [ 'tenant-ann' ]"],
  "quickstart.mjs": ["Opened again: [ 'salmon', 'keys' ]", "With another key: wrong_index_key"],
  "rag.mjs": ["Every year.", "In the kitchen.", "[ 'Upstream.' ]"],
  "self-query.mjs": ["films since 2000: The sea\n", "all films: Rivers, The sea\n"],
  "walkthrough.mjs": ["4 of 4 stored", "[ 'about-2' ]"],
};

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const work = mkdtempSync(join(tmpdir(), "sealdex-examples-"));
const npm = process.platform === "win32" ? "npm.cmd" : "npm";
const { devDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

function pack(folder) {
  const args = ["pack", "--json", "--pack-destination", work];
  const [{ filename }] = JSON.parse(execFileSync(npm, args, { cwd: folder, encoding: "utf8" }));
  return join(work, filename);
}

writeFileSync(join(work, "package.json"), '{ "private": true }\n');
const peers = ["core", "classic", "textsplitters", "langgraph-checkpoint"].map(
  (name) => `@langchain/${name}`,
);
const packages = peers.map((name) => `${name}@${devDependencies[name]}`);
const packed = [pack(root), pack(join(root, "packages", "model")), pack(join(root, "packages", "server"))];
const quick = ["--silent", "--no-audit", "--no-fund"];
execFileSync(npm, ["install", ...quick, ...packed, ...packages], { cwd: work, stdio: "inherit" });
cpSync(join(root, "examples", "langchain"), work, { recursive: true });

const port = "18432";
const env = {
  ...process.env,
  SEALDEX_PORT: port,
  SEALDEX_API_KEYS: "secret-secret-secret",
  SEALDEX_INDEX_LOCATION: "memory:",
  SEALDEX_URL: `http://127.0.0.1:${port}`,
  SEALDEX_API_KEY: "secret-secret-secret",
};
const program = join(work, "node_modules", "sealdex-server", "dist", "main.js");
const service = spawn(process.execPath, [program, "serve"], {
  cwd: work,
  env,
  stdio: ["ignore", "ignore", "inherit"],
});
const stopped = new Promise((resolve) => service.once("exit", resolve));
try {
  await untilHealthy();
  const names = readdirSync(join(root, "examples", "langchain")).filter((name) => name.endsWith(".mjs"));
  const queue = names.values();
  await Promise.all(Array.from({ length: 2 }, () => runAll(queue)));
  console.log(`${names.length} examples run from the packed packages.`);
} finally {
  service.kill();
  await stopped;
  rmSync(work, { recursive: true });
}

/** Runs one after the other what is left of the queue, which others take from as well. */
async function runAll(queue) {
  for (const name of queue) {
    if (!expected[name])
      throw new Error(`${name}: scripts/check-examples.mjs does not say what it must print`);
    const options = { cwd: work, env, timeout: 120_000 };
    const { stdout } = await promisify(execFile)(process.execPath, [name], options);
    for (const text of expected[name]) {
      if (!stdout.includes(text)) throw new Error(`${name}: expected ${JSON.stringify(text)} in:\n${stdout}`);
    }
    console.log(`> node ${name}: as expected`);
  }
}

async function untilHealthy() {
  for (let attempt = 0; attempt < 150; attempt++) {
    const response = await fetch(`http://127.0.0.1:${port}/v1/health`).catch(() => null);
    if (response?.ok) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error("sealdex-server did not start");
}
