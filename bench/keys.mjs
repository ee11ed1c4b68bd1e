// npm run bench -- keys [rows] [rows]
//
// Changing the key of an index and erasing a namespace, by the number of rows (1,000 and 1,000,000 x 16, ten namespaces of equal
// size, local disk): medians of ten, the sizes in turn, and what is written. Fails if one of them takes more than three small writes.

import { mkdtempSync, rmSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { createClient, generateKey, openLocation } from "sealdex/core";
import { syntheticVectors } from "./search/datasets.mjs";

const [small = 1000, large = 1_000_000] = process.argv.slice(2).map(Number);
const dimension = 16;
const rounds = 10;
const batch = 20_000;
const indexName = "bench";
const writesMax = 3;
const bytesMax = 64 * 1024;

console.log(`${dimension} numbers per row; Node ${process.version}, ${cpus()[0].model}\n`);
const indexes = [];
try {
  for (const rows of [small, large]) indexes.push(await build(rows));
  const operations = {
    "rotate the key": ({ index }) => index.rotateKey(generateKey()),
    "erase a namespace": ({ index }, round) => index.erase(namespaceOf(round)),
  };
  const head = [
    "",
    "rows",
    "rows erased",
    "median (ms)",
    "quartiles (ms)",
    "writes",
    "bytes written",
    "deletions",
  ];
  console.log(`| ${head.join(" | ")} |\n|---|${"---:|".repeat(head.length - 1)}`);
  for (const [name, operation] of Object.entries(operations)) {
    const measured = indexes.map(() => []);
    for (let round = 0; round < rounds; round++) {
      for (const [i, opened] of indexes.entries()) measured[i].push(await measure(opened, round, operation));
    }
    for (const [i, { rows }] of indexes.entries()) {
      const erased = name.startsWith("erase") ? (rows / rounds).toLocaleString("en") : "";
      console.log(`| ${[name, rows.toLocaleString("en"), erased, ...cellsOf(measured[i])].join(" | ")} |`);
    }
  }
} finally {
  for (const { client, path } of indexes) {
    await client.close();
    rmSync(path, { recursive: true });
  }
}

/** An index of so many rows, as a process has it open that did not write it. */
async function build(rows) {
  const path = mkdtempSync(join(tmpdir(), "sealdex-keys-"));
  const location = { location: "local", path };
  const indexKey = generateKey();
  const writer = createClient({ indexLocation: location, automaticTraining: false });
  const written = await writer.createIndex({ indexName, indexKey });
  const { base } = syntheticVectors(rows / rounds, dimension, 1);
  for (let round = 0; round < rounds; round++) {
    for (let start = 0; start < rows / rounds; start += batch) {
      const items = Array.from({ length: Math.min(batch, rows / rounds - start) }, (_, i) => ({
        id: String(start + i),
        vector: base.subarray((start + i) * dimension, (start + i + 1) * dimension),
      }));
      await written.upsert(items, { namespace: namespaceOf(round) });
    }
  }
  // So that nothing is merged while it is measured.
  await written.compact();
  await writer.close();
  const counted = countWrites(openLocation(location));
  const client = createClient({ indexLocation: counted.store, automaticTraining: false });
  const index = await client.loadIndex({ indexName, indexKey });
  if ((await index.count()) !== rows) throw new Error(`expected ${rows} rows`);
  return { rows, path, client, index, counts: counted.counts };
}

function namespaceOf(round) {
  return `namespace ${round}`;
}

/** A store that counts what is written to another. */
function countWrites(store) {
  const counts = { writes: 0, bytes: 0, deletions: 0 };
  const counted = {
    ...store,
    create(key, bytes, ...rest) {
      counts.writes++;
      counts.bytes += bytes.length;
      return store.create(key, bytes, ...rest);
    },
    delete(keys, ...rest) {
      counts.deletions += keys.length;
      return store.delete(keys, ...rest);
    },
  };
  return { store: counted, counts };
}

async function measure(opened, round, operation) {
  const before = { ...opened.counts };
  const began = performance.now();
  await operation(opened, round);
  const ms = performance.now() - began;
  const writes = opened.counts.writes - before.writes;
  const bytes = opened.counts.bytes - before.bytes;
  if (writes > writesMax || bytes > bytesMax) {
    throw new Error(
      `${opened.rows} rows: ${writes} writes of ${bytes} bytes, not at most ${writesMax} of ${bytesMax}`,
    );
  }
  return { ms, writes, bytes, deletions: opened.counts.deletions - before.deletions };
}

function cellsOf(results) {
  const sorted = results.map(({ ms }) => ms).sort((a, b) => a - b);
  const median = (sorted[rounds / 2 - 1] + sorted[rounds / 2]) / 2;
  const most = (name) => Math.max(...results.map((result) => result[name])).toLocaleString("en");
  const range = `${sorted[2].toFixed(1)} to ${sorted[rounds - 3].toFixed(1)}`;
  return [median.toFixed(1), range, most("writes"), most("bytes"), most("deletions")];
}
