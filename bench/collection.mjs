// npm run bench -- collection [--rows 50000] [--queries 300] [--seconds 5]
//
// A collection beside indexes, in one process, encrypted. Writing: 32 writers, each to a shard of its own, beside 32 writers to 32 indexes, upserts
// of one row and of 100 rows, on a storage in memory whose requests take 10 milliseconds, and on local disk. Reading: warm queries of one index and
// of collections of 8 and 32 shards with the same rows, trained, one at a time and 64 together, time and recall@10. Prints Markdown.
// `npm run build` first.

import { mkdtempSync, rmSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { generateKey, openLocation } from "sealdex/core";
import { fingerprint } from "../dist/esm/crypto/keys.js";
import { shardOf } from "../dist/esm/index/collection/shards.js";
import { EmbeddedClient } from "../dist/esm/index/embedded-client.js";
import { openRequest } from "../dist/esm/index/open/find-index.js";
import { createMemoryStore } from "../dist/esm/storage/memory.js";
import { syntheticVectors } from "./search/datasets.mjs";

const { values } = parseArgs({
  options: {
    rows: { type: "string", default: "50000" },
    queries: { type: "string", default: "300" },
    seconds: { type: "string", default: "5" },
  },
});
const [rows, queryCount, seconds] = [values.rows, values.queries, values.seconds].map(Number);
const writers = 32;
const dimension = 128;
const k = 10;
const together = 64;
/** Batches of different ids per writer. */
const kept = 20;
const { base, queries } = syntheticVectors(rows, dimension, queryCount);
const vectorOf = (row) => base.subarray((row % rows) * dimension, ((row % rows) + 1) * dimension);
const queryOf = (i) => queries.subarray(i * dimension, (i + 1) * dimension);

function slowStore(ms) {
  const store = createMemoryStore();
  const slow =
    (method) =>
    async (...args) => {
      await new Promise((resolve) => setTimeout(resolve, ms));
      return store[method](...args);
    };
  return {
    ...Object.fromEntries(["read", "create", "list", "delete"].map((name) => [name, slow(name)])),
    close: async () => {},
  };
}

/** Rows per second of writers, each of which has its turns in a loop. */
async function rate(write) {
  const start = performance.now();
  const end = start + 1000 * seconds;
  let stored = 0;
  await Promise.all(
    Array.from({ length: writers }, async (_, writer) => {
      for (let round = 0; performance.now() < end; round++) {
        const count = await write(writer, round);
        stored += count;
      }
    }),
  );
  return stored / ((performance.now() - start) / 1000);
}

function itemsOf(ids) {
  return ids.map((id, i) => ({ id, vector: vectorOf(i) }));
}

async function writing(name, openStore, batch) {
  const options = { indexKey: generateKey(), indexConfig: { type: "ivfflat", dimension } };
  const run = async (prepare) => {
    const client = new EmbeddedClient({ indexLocation: openStore(), automaticTraining: false });
    const write = await prepare(client);
    // Opens what the first write of each opens.
    for (let writer = 0; writer < writers; writer++) await write(writer, -1);
    const measured = await rate(write);
    await client.close();
    return measured;
  };
  const alone = await run(async (client) => {
    const indexes = [];
    for (let i = 0; i < writers; i++)
      indexes.push(await client.createIndex({ ...options, indexName: `index ${i}` }));
    return async (writer, round) => {
      const ids = Array.from({ length: batch }, (_, i) => `${(round + 1) % kept} ${i}`);
      await indexes[writer].upsert(itemsOf(ids));
      return batch;
    };
  });
  const own = await run(async (client) => {
    const named = { ...options, indexName: "collection" };
    const collection = await client.createCollection({ ...named, shards: writers });
    const { keys } = await client.open(openRequest(named));
    const refs = Array.from({ length: writers }, (_, i) => ({ from: Math.floor((2 ** 32 * i) / writers) }));
    // Found before, and used again and again: each upsert replaces the rows of an earlier one.
    const idsOf = Array.from({ length: writers }, () => []);
    for (let i = 0; idsOf.some((ids) => ids.length < kept * batch); i++) {
      idsOf[shardOf(refs, fingerprint(keys.id, String(i)))].push(String(i));
    }
    return async (writer, round) => {
      const start = ((round + 1) % kept) * batch;
      const ids = idsOf[writer].slice(start, start + batch);
      await collection.upsert(itemsOf(ids));
      return batch;
    };
  });
  console.log(
    `| ${name}, ${batch} rows per upsert | ${Math.round(alone)} | ${Math.round(own)} | ${Math.round((100 * own) / alone)} % |`,
  );
}

console.log(
  `${cpus()[0].model}, ${cpus().length} cores, Node ${process.version}. ${writers} writers, ${dimension} dimensions.\n`,
);
console.log("| storage | 32 indexes, rows/s | collection of 32 shards, rows/s | share |\n|---|---|---|---|");
for (const batch of [1, 100]) await writing("10 ms per request", () => slowStore(10), batch);
const folder = mkdtempSync(join(tmpdir(), "sealdex-collection-"));
let folders = 0;
const disk = () => openLocation({ location: "local", path: join(folder, String(folders++)) });
for (const batch of [1, 100]) await writing("local disk", disk, batch);

console.log(`\n${rows} rows, warm, recall .95 declared, top ${k}.\n`);
console.log(
  `| | p50, ms | p99, ms | recall@10 | of ${together} together, ms per query |\n|---|---|---|---|---|`,
);
const client = new EmbeddedClient({ indexLocation: createMemoryStore(), automaticTraining: false });
for (const shards of [0, 8, 32]) {
  const options = {
    indexName: `of ${shards}`,
    indexKey: generateKey(),
    indexConfig: {
      type: "ivfflat",
      dimension,
      nLists: Math.max(16, Math.round(Math.sqrt(rows / Math.max(1, shards)))),
    },
  };
  const index =
    shards === 0 ? await client.createIndex(options) : await client.createCollection({ ...options, shards });
  for (let start = 0; start < rows; start += 5000) {
    const ids = Array.from({ length: Math.min(5000, rows - start) }, (_, i) => start + i);
    await index.upsert(ids.map((row) => ({ id: String(row), vector: vectorOf(row) })));
  }
  await index.train();
  await index.prefetch();
  const times = [];
  let found = 0;
  for (let pass = 0; pass < 2; pass++) {
    times.length = found = 0;
    for (let i = 0; i < queryCount; i++) {
      const queryVector = queryOf(i);
      const start = performance.now();
      const matches = await index.query({ queryVector, topK: k, recall: 0.95 });
      times.push(performance.now() - start);
      const exact = new Set(
        (await index.query({ queryVector, topK: k, recall: "exact" })).map(({ id }) => id),
      );
      found += matches.filter(({ id }) => exact.has(id)).length;
    }
  }
  const batches = [];
  for (let first = 0; first < 20 * together; first += together) {
    const queryVectors = Array.from({ length: together }, (_, i) => queryOf((first + i) % queryCount));
    const start = performance.now();
    await index.query({ queryVectors, topK: k, recall: 0.95 });
    batches.push((performance.now() - start) / together);
  }
  const at = (share, measured) =>
    measured.toSorted((a, b) => a - b)[Math.floor(share * measured.length)].toFixed(2);
  const name = shards === 0 ? "one index" : `${shards} shards`;
  console.log(
    `| ${name} | ${at(0.5, times)} | ${at(0.99, times)} | ${(found / (k * queryCount)).toFixed(3)} | ${at(0.5, batches)} |`,
  );
}
await client.close();
rmSync(folder, { recursive: true });
