// Runs the examples and the code of the pages as a reader would: each in a project that has what its header or its
// install line says, and nothing else, twice, with a service running for those that want one. What is printed is
// compared with what must be in it. The Next app is built in the tutorial's folder, and asked.

import { execFile, spawn } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { buildNext, withNext } from "./next.mjs";
import { createProject, installPacked, namesIn, packAll } from "./packed.mjs";
import { patience, untilOk } from "./patience.mjs";
import { root } from "./stage-package.mjs";

/** A line, or part of one, that each program must print. An example without an entry here is a failure. */
const expected = {
  "README.md": ["Keys are rotated every year."],
  "docs/library.md": ["id: '1'"],
  "docs/migrating.md": ["1 items"],
  "docs/scale.md": ["note-1 note-2 3", "12 shards", "b 4", "Keys are rotated every year."],
  "docs/tutorial.md": ["2 pieces", "Every year, in March.", "office.md#0", "1 left", "rotated", "copied"],
  "docs/langchain.md": ["keys Keys are rotated every year."],
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
};

/** Packages that readers of a page have already. */
const surroundings = {
  "docs/langchain.md": ["@langchain/classic", "@langchain/textsplitters", "@langchain/langgraph-checkpoint"],
};

const runs = 2;
const work = mkdtempSync(join(tmpdir(), "sealdex-examples-"));
const tarballs = packAll(work);

/**
 * The programs of a page: a block that imports begins one, and the blocks after it continue it. A comment before the
 * imports names the file.
 */
function programsOf(text) {
  const programs = [];
  for (const [, code] of text.matchAll(/```js\n([\s\S]*?)```/g)) {
    if (/^(\/\/ [\w-]+\.mjs\n)?import /.test(code)) programs.push(code);
    else programs[programs.length - 1] += code;
  }
  return programs;
}

/** As the reader of a page that is one program, from its first block to its last. */
const wholeOf = (text) => [programsOf(text).join("\n")];

const pages = [
  "README.md",
  ...["langchain", "library", "migrating", "scale", "tutorial"].map((page) => `docs/${page}.md`),
].map((name) => ({ name, read: name === "docs/langchain.md" ? wholeOf : programsOf, path: name }));
const examples = readdirSync(join(root, "examples", "langchain"))
  .filter((name) => name.endsWith(".mjs"))
  .map((name) => ({ name, read: (text) => [text], path: join("examples", "langchain", name) }));

/** Programs by the packages that they need, since an installation takes longer than its programs. */
const projects = new Map();
for (const { name, read, path } of [...pages, ...examples]) {
  if (!expected[name]) throw new Error(`${name}: scripts/check-examples.mjs does not say what it must print`);
  const text = readFileSync(join(root, path), "utf8");
  const names = [...namesIn(text, name), ...(surroundings[name] ?? [])];
  const key = names.join(" ");
  if (!projects.has(key)) projects.set(key, { names, programs: [] });
  projects.get(key).programs.push({ name, sources: read(text) });
}

const port = "18432";
const env = {
  ...process.env,
  SEALDEX_PORT: port,
  SEALDEX_API_KEYS: "secret-secret-secret",
  SEALDEX_INDEX_LOCATION: "memory:",
  SEALDEX_URL: `http://127.0.0.1:${port}`,
  SEALDEX_API_KEY: "secret-secret-secret",
};
const tasks = [];
for (const [line, { names, programs: own }] of projects) {
  const folder = mkdtempSync(join(work, "project-"));
  createProject(folder, names, tarballs);
  console.log(`npm install ${line}: ${own.map(({ name }) => name).join(", ")}`);
  for (const { name, sources } of own) {
    const cwd = join(folder, name.replaceAll(/\W+/g, "-"));
    mkdirSync(cwd);
    const files = sources.map((source, i) => {
      const [, file = `${i}.mjs`] = /^\/\/ ([\w-]+\.mjs)\n/.exec(source) ?? [];
      writeFileSync(join(cwd, file), source);
      return file;
    });
    tasks.push({ name, cwd, files, folder, names });
  }
}

const { folder: withServer } = tasks.find(({ names }) => names.includes("sealdex-server"));
const program = join(withServer, "node_modules", "sealdex-server", "dist", "main.js");
const service = spawn(process.execPath, [program, "serve"], {
  cwd: work,
  env,
  stdio: ["ignore", "ignore", "inherit"],
});
const stopped = new Promise((resolve) => service.once("exit", resolve));
try {
  await untilOk(`http://127.0.0.1:${port}/v1/health`);
  const queue = tasks.values();
  await Promise.all(Array.from({ length: 2 }, () => runAll(queue)));
  console.log(`${tasks.length} pages and examples run from the packed packages, each ${runs} times.`);
} finally {
  service.kill();
  await stopped;
  rmSync(work, { recursive: true });
}

/** Runs one after the other what is left of the queue, which others take from as well. */
async function runAll(queue) {
  for (const { name, cwd, files, folder: installed } of queue) {
    const run = async (file) =>
      (await promisify(execFile)(process.execPath, [file], { cwd, env, timeout: patience })).stdout;
    for (let i = 0; i < runs; i++) {
      let printed = "";
      for (const file of files) printed += await run(file);
      for (const text of expected[name]) {
        if (!printed.includes(text))
          throw new Error(`${name}: expected ${JSON.stringify(text)} in:\n${printed}`);
      }
    }
    if (name === "docs/tutorial.md") await askNextApp(cwd, installed);
    console.log(`> ${name}: as expected`);
  }
}

/** The last section of the tutorial. */
async function askNextApp(tutorial, installed) {
  const app = join(tutorial, "next-app");
  cpSync(join(installed, "node_modules", "sealdex", "examples", "next-app"), app, { recursive: true });
  installPacked(app, tarballs);
  await buildNext(app);
  await withNext(app, {}, async (url) => {
    const page = await (await fetch(url)).text();
    if (!page.includes("Ask the handbook")) throw new Error(`examples/next-app: unexpected page ${page}`);
    const ask = (body) => fetch(`${url}/ask`, { method: "POST", body });
    const [best] = await (await ask("How often are encryption keys rotated?")).json();
    if (best?.metadata.source !== "keys.md")
      throw new Error(`examples/next-app: found ${JSON.stringify(best)}`);
    const { status } = await ask(" ");
    if (status !== 400) throw new Error(`examples/next-app: an empty question gave ${status}`);
  });
}
