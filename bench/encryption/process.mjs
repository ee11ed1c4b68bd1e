// One measurement in a process of its own: node process.mjs <folder of modules> <build | cold | warm> <location> <data set>

import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { someOf } from "../search/datasets.mjs";

const [modules, what, path, dataSet] = process.argv.slice(2);
const { createClient } = await import(pathToFileURL(join(modules, "core.js")).href);

const rowsTogether = 5_000;
const options = { indexName: "bench", indexKey: "11".repeat(32) };
const { base, queries, dimension, metric } = someOf(dataSet, {
  rows: 20_000,
  dimension: 384,
  queryCount: 100,
});
const count = base.length / dimension;
const queryVector = (i) => queries.subarray((i % 100) * dimension, ((i % 100) + 1) * dimension);
const open = () =>
  createClient({ indexLocation: { location: "local", path }, cacheBytesMax: 2e9, automaticTraining: false });

const tasks = {
  /** From the first upsert to the trained index, in seconds. */
  async build() {
    const client = open();
    const index = await client.createIndex({
      ...options,
      indexConfig: { type: "ivfflat", dimension },
      metric,
    });
    const started = performance.now();
    for (let start = 0; start < count; start += rowsTogether) {
      await index.upsert(
        Array.from({ length: Math.min(rowsTogether, count - start) }, (_, i) => ({
          id: `${start + i}`,
          vector: base.subarray((start + i) * dimension, (start + i + 1) * dimension),
          contents: `Text number ${start + i}: ${"some words of it, ".repeat(20)}`,
        })),
      );
    }
    await index.train({ nLists: 128 });
    const seconds = (performance.now() - started) / 1000;
    await client.close();
    return seconds;
  },
  /** Opening and the first query with nothing in memory, in milliseconds: the median of 30 clients. */
  async cold() {
    return median(30, async (i) => {
      const client = open();
      const started = performance.now();
      const index = await client.loadIndex(options);
      await index.query({ queryVector: queryVector(i), topK: 10 });
      const elapsed = performance.now() - started;
      await client.close();
      return elapsed;
    });
  },
  /** A query of an index that is in memory, in milliseconds: the median of 3,000. */
  async warm() {
    const client = open();
    const index = await client.loadIndex(options);
    const ask = (i) => index.query({ queryVector: queryVector(i), topK: 10 });
    for (let i = 0; i < 1_000; i++) await ask(i);
    const result = await median(3_000, async (i) => {
      const started = performance.now();
      await ask(i);
      return performance.now() - started;
    });
    await client.close();
    return result;
  },
};

async function median(times, measure) {
  const values = [];
  for (let i = 0; i < times; i++) values.push(await measure(i));
  return values.sort((a, b) => a - b)[times >> 1];
}

console.log(await tasks[what]());
