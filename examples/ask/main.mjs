#!/usr/bin/env node
// npx sealdex ask "question" --folder docs
//
// Keeps an encrypted index of the Markdown and text files of folders, and answers questions from it.

import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import { createInterface } from "node:readline/promises";
import { parseArgs } from "node:util";
import { createClient, fileKey, generateKey, ingest } from "sealdex/core";
import { passagesOf, textFiles } from "./passages.mjs";

const help = `Usage: npx sealdex ask [question] [--folder DIR]...

Answers a question from the Markdown and text files of a folder. The texts are indexed, encrypted,
in .sealdex/ of the working directory. Later runs index only the files that changed.

  --folder DIR  a folder to read, this one by default; may be repeated. In a folder node_modules,
                the README of each package is read
  --check       also show that the stored bytes reveal nothing without the key
  --help        print this

Without a question, it asks for some. The key is in .sealdex/key: lose it, lose the index.
`;

const home = resolve(".sealdex");
const location = { location: "local", path: join(home, "data") };
const answersShown = 4;
/** More than are shown, since copies of a text are shown once. */
const candidates = 50;
const samplesMax = 100;

// The reader of the output may close it, for example `head`.
process.stdout.on("error", () => process.exit());
try {
  await main();
} catch (error) {
  process.stderr.write(`sealdex: ${error.message}\n`);
  process.exitCode = 1;
}

async function main() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      folder: { type: "string", multiple: true, default: ["."] },
      check: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  const [command, ...words] = positionals;
  if (values.help || command === undefined) return print(help.trimEnd());
  if (command !== "ask") throw new Error(`there is no command "${command}"; see npx sealdex --help`);
  const question = words.join(" ").trim();
  if (question === "" && !process.stdin.isTTY) throw new Error("expected a question");

  const folders = [...new Set(values.folder.map((folder) => resolve(folder)))].sort();
  const passages = await readPassages(folders);
  const client = createClient({ indexLocation: location });
  try {
    const indexName = `folder-${digest(folders.join("\n")).slice(0, 8)}`;
    const index = await openIndex(client, indexName);
    await follow(index, passages);
    if (question === "") await converse(index, passages.size);
    else await answer(index, question, passages.size);
    if (values.check) await check(client, indexName, [...passages.values()]);
  } finally {
    await client.close();
  }
}

async function readPassages(folders) {
  const passages = new Map();
  let files = 0;
  for (const folder of folders) {
    const found = await stat(folder).catch(() => undefined);
    if (!found?.isDirectory()) throw new Error(`there is no folder ${folder}`);
    for await (const file of textFiles(folder)) {
      files++;
      for (const passage of await passagesOf(file, process.cwd())) passages.set(passage.id, passage);
    }
  }
  const names = folders.map((folder) => relative("", folder) || folder).join(", ");
  if (passages.size === 0) throw new Error(`there is no text in ${names}: expected .md, .mdx, .rst or .txt`);
  print(`Read ${count(passages.size, "passage")} from ${count(files, "file")} in ${names}`);
  return passages;
}

async function openIndex(client, indexName) {
  await mkdir(home, { recursive: true, mode: 0o700 });
  await writeFile(join(home, ".gitignore"), "*\n", { flag: "wx", mode: 0o600 }).catch((error) => {
    if (error.code !== "EEXIST") throw error;
  });
  const options = { indexName, indexKey: fileKey(join(home, "key"), { create: true }) };
  if ((await client.listIndexes()).includes(indexName)) return client.loadIndex(options);
  return client.createIndex({ ...options, embeddingModel: "default", metric: "cosine" });
}

/** Stores new passages and deletes those that are gone. An id is a digest of the passage and its place. */
async function follow(index, passages) {
  const started = performance.now();
  const stored = new Set(await index.listIds());
  const added = [...passages.values()].filter(({ id }) => !stored.has(id));
  const gone = [...stored].filter((id) => !passages.has(id));
  const items = added.map(({ id, pageContent, metadata }) => ({ id, contents: pageContent, metadata }));
  const onProgress = ({ items: done }) => drawProgress(done, items.length);
  await ingest({ to: index, items, batchSize: 250, onProgress });
  if (gone.length > 0) await index.delete({ ids: gone });
  if (added.length + gone.length === 0) return print(`The encrypted index in ${home} is up to date`);
  const elapsed = ((performance.now() - started) / 1000).toFixed(1);
  print(
    `Stored encrypted in ${home}: ${count(added.length, "passage")} added, ${gone.length} removed, in ${elapsed} s`,
  );
}

function drawProgress(done, total) {
  if (!process.stdout.isTTY) return;
  const filled = Math.round((30 * done) / total);
  const bar = "#".repeat(filled).padEnd(30, ".");
  process.stdout.write(`\r[${bar}] ${done} of ${total}${done === total ? "\n" : ""}`);
}

async function converse(index, size) {
  const terminal = createInterface({ input: process.stdin, output: process.stdout, prompt: "\n? " });
  print("\nAsk something; an empty line ends.");
  terminal.prompt();
  for await (const line of terminal) {
    if (line.trim() === "") break;
    await answer(index, line.trim(), size);
    terminal.prompt();
  }
  terminal.close();
}

async function answer(index, question, size) {
  const [matches, first] = await timed(() => search(index, question));
  const [, next] = await timed(() => search(index, question));
  print(`\n${question}\n`);
  matches.forEach(({ distance, excerpt, metadata: { source, line, heading } }, i) => {
    const score = (1 - distance / 2).toFixed(3);
    print(`${i + 1}. score ${score}  ${source}:${line}${heading ? `  (${heading})` : ""}\n${excerpt}`);
  });
  print(`\nAnswered from ${count(size, "encrypted passage")} in ${first} ms, and asked again in ${next} ms`);
}

/** The nearest passages; those of which the same lines would be shown, once. */
async function search(index, question) {
  const include = ["distance", "contents", "metadata"];
  const found = await index.query({ queryContents: question, topK: candidates, nProbes: 0, include });
  const byExcerpt = new Map();
  for (const match of found) {
    const excerpt = excerptOf(match);
    if (!byExcerpt.has(excerpt)) byExcerpt.set(excerpt, { ...match, excerpt });
  }
  return [...byExcerpt.values()].slice(0, answersShown);
}

function excerptOf({ contents, metadata }) {
  const lines = contents.slice(metadata.heading.length).split("\n");
  const shown = lines.filter((line) => line.trim() !== "").slice(0, 5);
  return shown.map((line) => `     ${line.slice(0, 108)}`).join("\n");
}

async function check(client, indexName, passages) {
  print("\nIs it really encrypted?");
  const other = createClient({ indexLocation: location });
  const refusal = await other.loadIndex({ indexName, indexKey: generateKey() }).catch((error) => error);
  await other.close();
  if (refusal.code !== "wrong_index_key") throw new Error("a wrong key opened the index");
  print("  With a wrong key: wrong_index_key, and nothing is opened");
  const entries = await readdir(location.path, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const stored = await Promise.all(
    files.map((file) => readFile(join(file.parentPath ?? file.path, file.name))),
  );
  const step = Math.max(1, Math.floor(passages.length / samplesMax));
  const needles = passages
    .filter((_, i) => i % step === 0)
    .flatMap(({ id, pageContent, metadata }) => [
      id,
      pageContent.slice(-40),
      metadata.source,
      metadata.heading,
    ])
    .filter((text) => text.length >= 8)
    .flatMap((text) => [text, Buffer.from(text).toString("hex"), Buffer.from(text).toString("base64")]);
  const found = needles.filter((needle) => stored.some((bytes) => bytes.includes(needle)));
  if (found.length > 0) throw new Error(`${found.length} plaintexts were found in the stored bytes`);
  const megabytes = stored.reduce((sum, { length }) => sum + length, 0) / 1e6;
  print(
    `  Without a key: ${count(needles.length / 3, "text")}, ids and names of files were searched for in ` +
      `${count(stored.length, "stored object")} (${megabytes.toFixed(1)} MB); none was found`,
  );
}

async function timed(work) {
  const started = performance.now();
  return [await work(), (performance.now() - started).toFixed(1)];
}

function digest(text) {
  return createHash("sha256").update(text).digest("hex");
}

function count(n, noun) {
  return `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;
}

function print(text) {
  process.stdout.write(`${text}\n`);
}
