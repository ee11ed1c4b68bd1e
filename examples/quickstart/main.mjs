// npm run quickstart -- [--folder DIR] ["question"]
//
// Indexes a folder of real text in an encrypted store on disk, answers a question from it, and then proves that the
// store says nothing without the key.

import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { createInterface } from "node:readline/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { createClient, EncryptedVectorStore, generateKey } from "sealdex";
import { passagesOf, textFiles } from "./passages.mjs";
import { askInNewProcess, searchStoredBytes, tryWrongKey } from "./proof.mjs";

const project = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const path = join(project, ".sealdex");
const keyFile = join(project, ".sealdex.key");
const defaultQuestion = "How do I keep vectors encrypted in a storage that I do not trust?";
const answers = 4;
const model = "default";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { folder: { type: "string", default: project } },
});
const folder = resolve(values.folder);
const indexName = `quickstart-${createHash("sha256").update(`${model} ${folder}`).digest("hex").slice(0, 8)}`;
const indexKey = await readOrMakeKey();

const client = createClient({ indexLocation: { location: "local", path } });
const store = new EncryptedVectorStore(model, { indexName, indexKey, client });
const passages = await readPassages();
await synchronise();

const question = positionals.join(" ");
if (question === "" && process.stdin.isTTY) await converse();
else await answer(question || defaultQuestion);
await prove(question || defaultQuestion);
await client.close();

/** The key lies beside the store, not in it; in production it would come from a secret manager. */
async function readOrMakeKey() {
  try {
    return (await readFile(keyFile, "utf8")).trim();
  } catch (error) {
    if (error.code !== "ENOENT") throw error;
    const key = generateKey();
    await writeFile(keyFile, `${key}\n`, { mode: 0o600 });
    return key;
  }
}

async function readPassages() {
  const byId = new Map();
  let files = 0;
  for await (const file of textFiles(folder)) {
    files++;
    for (const passage of await passagesOf(file, folder)) byId.set(passage.id, passage);
  }
  console.log(`Read ${count(byId.size, "passage")} from ${count(files, "file")} in ${folder}`);
  if (byId.size === 0)
    throw new Error(`There is no text in ${folder}: expected .md, .mdx, .rst or .txt files.`);
  return [...byId.values()];
}

/** Adds what is new and deletes what is gone, so that a second run reuses the index. */
async function synchronise() {
  const started = performance.now();
  const stored = new Set(await storedIds());
  const wanted = new Set(passages.map(({ id }) => id));
  const added = passages.filter(({ id }) => !stored.has(id));
  const gone = [...stored].filter((id) => !wanted.has(id));
  for (let start = 0; start < added.length; start += 500) {
    await store.addDocuments(added.slice(start, start + 500));
    progress(Math.min(added.length, start + 500), added.length);
  }
  if (gone.length > 0) await store.delete({ ids: gone });
  if (added.length === 0 && gone.length === 0) console.log(`The encrypted index in ${path} is up to date`);
  else {
    const change = `${count(added.length, "passage")} added, ${gone.length} removed`;
    console.log(`Stored encrypted in ${path}: ${change}, in ${seconds(started)}`);
  }
  console.log(`The key is in ${keyFile}: without it, nobody reads the index`);
}

async function storedIds() {
  try {
    return await (await client.loadIndex({ indexName, indexKey })).listIds();
  } catch (error) {
    if (error.code === "not_found") return [];
    throw error;
  }
}

function progress(done, total) {
  const line = `  embedded, encrypted and stored ${done} of ${total}`;
  if (process.stdout.isTTY) process.stdout.write(`\r${line}${done === total ? "\n" : ""}`);
  else console.log(line);
}

async function converse() {
  const terminal = createInterface({ input: process.stdin, output: process.stdout, prompt: "\n? " });
  console.log("\nAsk something; an empty line ends.");
  terminal.prompt();
  for await (const line of terminal) {
    const asked = line.trim();
    if (asked === "") break;
    await answer(asked);
    terminal.prompt();
  }
  terminal.close();
}

async function answer(asked) {
  const started = performance.now();
  const found = await store.similaritySearchWithScore(asked, answers);
  const elapsed = (performance.now() - started).toFixed(1);
  console.log(`\n${asked}\n`);
  found.forEach(([{ pageContent, metadata }, score], i) => {
    const at = `${metadata.source}:${metadata.line}`;
    console.log(
      `${i + 1}. score ${score.toFixed(3)}  ${at}${metadata.heading ? `  (${metadata.heading})` : ""}`,
    );
    console.log(excerpt(pageContent, metadata.heading));
  });
  console.log(`\nAnswered from ${count(passages.length, "encrypted passage")} in ${elapsed} ms`);
}

function excerpt(text, heading) {
  const body = heading ? text.slice(heading.length).trim() : text;
  const lines = body.split("\n").filter((line) => line.trim() !== "");
  return lines
    .slice(0, 5)
    .map((line) => `     ${line.slice(0, 108)}`)
    .join("\n");
}

async function prove(asked) {
  console.log("\nIs it really encrypted?");
  const here = (await store.similaritySearch(asked, answers)).map(({ id }) => id);
  const started = performance.now();
  const there = await askInNewProcess({ path, indexName, indexKey, question: asked, k: answers });
  if (JSON.stringify(here) !== JSON.stringify(there)) throw new Error("a new process answered differently");
  console.log(`  With the key, a new process gives the same answers (${seconds(started)})`);
  const refusal = await tryWrongKey({ path, indexName });
  console.log(`  With a wrong key: ${refusal.code}, ${refusal.message}`);
  const { samples, found, objects, bytes } = await searchStoredBytes(path, passages);
  if (found > 0) throw new Error(`${found} of ${samples} plaintexts were found in the stored bytes`);
  console.log(
    `  Without a key: ${samples} texts, ids, sources and vectors were searched for in ${count(objects, "stored object")} ` +
      `(${(bytes / 1e6).toFixed(1)} MB); none was found`,
  );
}

function count(n, noun) {
  return `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;
}

function seconds(started) {
  return `${((performance.now() - started) / 1000).toFixed(1)} s`;
}
