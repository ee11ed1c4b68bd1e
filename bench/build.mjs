// npm run bench -- build [items] [per upsert] [--arrays] [--automatic]
//
// What it takes to build an index on local disk, from the first upsert to the trained index: time, processor time, the longest hold of
// the event loop, and memory, phase by phase. Synthetic vectors of 384 numbers, 250,000 in upserts of 10,000 unless said otherwise.
// --arrays: vectors are arrays of numbers. --automatic: training is automatic, and what is waited for is its end. Prints Markdown.

import { mkdtempSync, rmSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setImmediate as turn, setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";
import { createClient, generateKey } from "sealdex/core";
import { cached } from "./search/cache.mjs";
import { syntheticVectors } from "./search/datasets.mjs";

const { values: options, positionals } = parseArgs({
  options: { arrays: { type: "boolean" }, automatic: { type: "boolean" } },
  allowPositionals: true,
});
const count = Number(positionals[0] ?? 250_000);
const together = Number(positionals[1] ?? 10_000);
const dimension = 384;
const mib = 2 ** 20;

const [base] = cached(`build-${count}x${dimension}`, () => [syntheticVectors(count, dimension, 0).base]);
const path = mkdtempSync(join(tmpdir(), "sealdex-bench-"));
const client = createClient({
  indexLocation: { location: "local", path },
  automaticTraining: options.automatic === true,
});
const index = await client.createIndex({ indexName: "bench", indexKey: generateKey(), metric: "cosine" });
globalThis.gc?.();

const delays = monitorEventLoopDelay({ resolution: 1 });
const phases = [];
const before = process.memoryUsage.rss();
const watching = setInterval(look, 20);
delays.enable();

begin("upsert");
for (let first = 0; first < count; first += together) await index.upsert(await items(first));
if (options.automatic) await trainedByItself();
else {
  begin("prepare training");
  await index.train({ onProgress: ({ phase }) => begin(phase) });
}
end();
clearInterval(watching);
delays.disable();
const { nLists } = await index.describe();
await client.close();
rmSync(path, { recursive: true });

const vectors = 4 * base.length;
console.log(`Build, ${count} x ${dimension} in upserts of ${together}, ${nLists} lists, local disk`);
console.log(`Node ${process.version}, ${cpus()[0].model}, ${cpus().length} cores\n`);
console.log(
  "| phase | time (s) | processor time (s) | cores busy | longest hold (ms) | peak memory (MiB over the data) |",
);
console.log("|---|---:|---:|---:|---:|---:|");
for (const { name, wall, cpu, hold, memory } of [...phases, total()]) {
  console.log(
    `| ${name} | ${wall.toFixed(1)} | ${cpu.toFixed(1)} | ${(cpu / wall).toFixed(2)} | ${hold.toFixed(0)} | ${(memory / mib).toFixed(0)} |`,
  );
}
const all = total();
console.log(
  `\nPeak memory, the data with it: ${((vectors + all.memory) / vectors).toFixed(2)} times the vectors.`,
);

/** Ends the phase that runs, unless it is this one, and begins this one. */
function begin(name) {
  if (phases.at(-1)?.name === name) return;
  end();
  phases.push({ name, from: now(), memory: 0 });
  delays.reset();
}

function end() {
  const phase = phases.at(-1);
  if (phase === undefined) return;
  look();
  const { wall, cpu } = now();
  Object.assign(phase, {
    wall: wall - phase.from.wall,
    cpu: cpu - phase.from.cpu,
    hold: delays.max / 1e6,
  });
}

function total() {
  const { from } = phases[0];
  const last = phases.at(-1);
  const most = (of) => Math.max(...phases.map(of));
  return {
    name: "**all**",
    wall: last.from.wall + last.wall - from.wall,
    cpu: last.from.cpu + last.cpu - from.cpu,
    hold: most(({ hold }) => hold),
    memory: most(({ memory }) => memory),
  };
}

function look() {
  const phase = phases.at(-1);
  if (phase !== undefined) phase.memory = Math.max(phase.memory, process.memoryUsage.rss() - before);
}

function now() {
  const { user, system } = process.cpuUsage();
  return { wall: performance.now() / 1000, cpu: (user + system) / 1e6 };
}

/** Resolves once the automatic training of all items is committed. */
async function trainedByItself() {
  begin("train automatically");
  for (let isTrained = false; !isTrained;) {
    await pause(50);
    const { trained } = await index.describe();
    isTrained = trained;
  }
}

/** A batch, made a few items at a time: what holds the event loop is to be the index. */
async function items(first) {
  const batch = [];
  for (let row = first; row < Math.min(first + together, count); row++) {
    const vector = base.subarray(row * dimension, (row + 1) * dimension);
    batch.push({
      id: `${row}`,
      vector: options.arrays ? Array.from(vector) : vector,
      metadata: { number: row },
    });
    if (batch.length % 500 === 0) await turn();
  }
  return batch;
}
