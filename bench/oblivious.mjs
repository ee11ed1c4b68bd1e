// npm run bench -- oblivious [n] [--data-set NAME | --base FILE --queries FILE [--metric M]]
//
// What oblivious reads cost: n (20,000) vectors with texts on local disk, trained. A process opens the index and asks a first
// query, then 200 others with their contents; with reads as they are, and with whole segments that are kept in memory.

import { mkdtempSync, rmSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { createClient, generateKey, openLocation } from "sealdex/core";
import { chosenDatasets, datasetOptions, someOf, storedDatasets } from "./search/datasets.mjs";

const { values, positionals } = parseArgs({ options: datasetOptions, allowPositionals: true });
const others = 200;
const [dataSet] = chosenDatasets(values, [...storedDatasets(), "synthetic"]);
const { base, queries, dimension, metric } = someOf(dataSet, {
  rows: Number(positionals[0] ?? 20_000),
  dimension: 384,
  queryCount: others + 1,
});
const n = base.length / dimension;
const vectorAt = (vectors, i) => vectors.subarray(i * dimension, (i + 1) * dimension);
const folder = mkdtempSync(join(tmpdir(), "sealdex-oblivious-"));
const location = { location: "local", path: folder };
const access = { indexName: "bench", indexKey: generateKey() };
try {
  const storedBytes = await build();
  const head = [
    "reads",
    "open and first query (ms)",
    `${others} queries (ms)`,
    "reads of storage",
    "bytes read (MiB)",
    "memory (MiB)",
  ];
  console.log(
    `${dataSet}, ${n} x ${dimension}, ${mebibytes(storedBytes)} MiB stored; Node ${process.version}, ${cpus()[0].model}\n`,
  );
  console.log(`| ${head.join(" | ")} |\n|---|${"---:|".repeat(head.length - 1)}`);
  for (const oblivious of [false, true]) console.log(`| ${(await measure(oblivious)).join(" | ")} |`);
} finally {
  rmSync(folder, { recursive: true });
}

async function build() {
  const client = createClient({ indexLocation: location, automaticTraining: false, retentionMs: 0 });
  const index = await client.createIndex({ ...access, metric });
  for (let start = 0; start < n; start += 5000) {
    const items = Array.from({ length: Math.min(5000, n - start) }, (_, i) => ({
      id: String(start + i),
      vector: vectorAt(base, start + i),
      contents: `passage ${start + i} `.repeat(20),
    }));
    await index.upsert(items);
  }
  await index.train();
  const { storedBytes } = await index.describe();
  await client.close();
  return storedBytes;
}

async function measure(oblivious) {
  const store = openLocation(location);
  let [reads, bytes] = [0, 0];
  const counted = {
    ...store,
    async read(...args) {
      const blob = await store.read(...args);
      reads++;
      bytes += blob?.length ?? 0;
      return blob;
    },
  };
  const client = createClient({ indexLocation: counted, cacheBytesMax: 4e9, oblivious });
  const query = (index, i) =>
    index.query({
      queryVector: vectorAt(queries, i),
      topK: 10,
      nProbes: 0,
      include: ["distance", "contents"],
    });
  const began = performance.now();
  const index = await client.loadIndex(access);
  await query(index, 0);
  const opened = performance.now();
  for (let i = 1; i <= others; i++) await query(index, i);
  const ended = performance.now();
  const { cacheBytes } = (await index.describe()).memory;
  await client.close();
  const name = oblivious ? "oblivious" : "as needed";
  const times = [opened - began, ended - opened].map((ms) => ms.toFixed(1));
  return [name, ...times, reads, mebibytes(bytes), mebibytes(cacheBytes)];
}

function mebibytes(bytes) {
  return (bytes / 2 ** 20).toFixed(1);
}
