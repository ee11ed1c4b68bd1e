// npm run bench -- event-loop [items] [dimension]
//
// How long the event loop is held while Sealdex works: an upsert of 5,000 vectors, a compaction, a training, a batch of
// queries, lists of ids, on local disk. Vectors are synthetic, 60,000 x 784 unless said otherwise. Prints Markdown.

import { mkdtempSync, rmSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as pause } from "node:timers/promises";
import { createClient, generateKey } from "sealdex/core";

const count = Number(process.argv[2] ?? 60_000);
const dimension = Number(process.argv[3] ?? 784);
const together = 5_000;
const holdMsMax = 50;

const vectors = clustered();
const path = mkdtempSync(join(tmpdir(), "sealdex-bench-"));
const client = createClient({ indexLocation: { location: "local", path }, automaticTraining: false });
const index = await client.createIndex({ indexName: "bench", indexKey: generateKey() });

console.log(`Event loop, ${count} x ${dimension}, local disk`);
console.log(`Node ${process.version}, ${cpus()[0].model}, ${cpus().length} cores\n`);
console.log("| activity | time (s) | longest hold (ms) | p99 (ms) |");
console.log("|---|---:|---:|---:|");
let longest = 0;
await measure("nothing", () => pause(2000));
await measure(`upserts of ${together}`, async () => {
  for (let first = 0; first < count; first += together) await index.upsert(items(first, together));
});
// Of 500 each, so that segments become due to be merged.
const merged = Math.min(count, 20_000);
await measure("small upserts with compaction", async () => {
  for (let first = 0; first < merged; first += 500) await index.upsert(items(first, 500));
});
await measure("training", () => index.train());
await measure("upsert to a trained index", () => index.upsert(items(0, together)));
await measure("a batch of 1,000 queries", async () => {
  const queryVectors = Array.from({ length: 1000 }, (_, i) => vectorOf((i * 7919) % count));
  await index.query({ queryVectors, topK: 10, nProbes: 0 });
});
await measure("100 pages of 1,000 ids", async () => {
  let after;
  for (let page = 0; page < 100; page++) {
    const ids = await index.listIds({ limit: 1000, ...(after !== undefined && { after }) });
    after = ids.at(-1) ?? after;
  }
});
await measure("all ids", () => index.listIds());
await measure("deletion of 10,000", () =>
  index.delete({ ids: Array.from({ length: 10_000 }, (_, i) => `${i}`) }),
);
await client.close();
rmSync(path, { recursive: true });
console.log(`\nLongest: ${longest.toFixed(0)} ms; the bound is ${holdMsMax} ms.`);

async function measure(activity, work) {
  globalThis.gc?.();
  await pause(50);
  const delays = monitorEventLoopDelay({ resolution: 1 });
  delays.enable();
  const started = performance.now();
  await work();
  const seconds = (performance.now() - started) / 1000;
  await pause(5);
  delays.disable();
  const max = delays.max / 1e6;
  longest = Math.max(longest, max);
  console.log(
    `| ${activity} | ${seconds.toFixed(1)} | ${max.toFixed(0)} | ${(delays.percentile(99) / 1e6).toFixed(1)} |`,
  );
}

function items(first, length) {
  return Array.from({ length: Math.min(length, count - first) }, (_, i) => ({
    id: `${first + i}`,
    vector: vectorOf(first + i),
    metadata: { number: first + i },
  }));
}

function vectorOf(i) {
  return vectors.subarray(i * dimension, (i + 1) * dimension);
}

/** Seeded vectors around 500 centres. */
function clustered() {
  let state = 1;
  const random = () => (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0) / 2 ** 32;
  const spread = () => random() + random() + random() - 1.5;
  const centres = Float32Array.from({ length: 500 * dimension }, spread);
  const all = new Float32Array(count * dimension);
  for (let row = 0; row < count; row++) {
    const centre = Math.floor(500 * random() ** 2) * dimension;
    for (let i = 0; i < dimension; i++) all[row * dimension + i] = centres[centre + i] + 0.3 * spread();
  }
  return all;
}
