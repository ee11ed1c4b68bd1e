// npm run bench -- batches [--data-set NAME …] [--recall R]
//
// Queries in batches beside queries one at a time, of a trained index in memory: microseconds per query, medians of several rounds in which both are
// asked in turn, and how many times as many queries a batch answers per second. Threads take a part of a batch, one per core.

import { availableParallelism, cpus } from "node:os";
import { parseArgs } from "node:util";
import { chosenDatasets, datasetOptions, loadDataset, storedDatasets } from "./datasets.mjs";
import { addRows, createIndex } from "./recall-index.mjs";

const { values } = parseArgs({
  options: { ...datasetOptions, recall: { type: "string", default: "0.95" } },
});
const datasets = chosenDatasets(values, [...storedDatasets(), "synthetic-100000"].slice(0, 1));
const sizes = [4, 16, 64, 256];
const [asked, rounds] = [512, 9];

console.log(`Node ${process.version}, ${cpus()[0].model}, ${availableParallelism()} cores\n`);
console.log(
  `| data set | k | one at a time (µs) | ${sizes.map((size) => `${size} together (µs)`).join(" | ")} |`,
);
console.log(`|---|---:|---:|${sizes.map(() => "---:").join("|")}|`);
for (const name of datasets) {
  const data = loadDataset(name);
  const { client, index } = await createIndex(data);
  await addRows(index, data, {});
  await index.train();
  for (const topK of [10, 100]) await report(name, index, vectorsOf(data), topK);
  await client.close();
}

function vectorsOf({ queries, dimension }) {
  const count = queries.length / dimension;
  return Array.from({ length: asked }, (_, i) => {
    const at = (i % count) * dimension;
    return queries.subarray(at, at + dimension);
  });
}

async function report(name, index, vectors, topK) {
  const options = { topK, recall: Number(values.recall) };
  const times = new Map([1, ...sizes].map((size) => [size, []]));
  for (let round = 0; round <= rounds; round++) {
    for (const [size, own] of times) {
      const began = performance.now();
      for (let at = 0; at < asked; at += size) {
        if (size === 1) await index.query({ ...options, queryVector: vectors[at] });
        else await index.query({ ...options, queryVectors: vectors.slice(at, at + size) });
      }
      // The first round warms up.
      if (round > 0) own.push((1000 * (performance.now() - began)) / asked);
    }
  }
  const [alone, ...together] = Array.from(times.values(), (own) => own.sort((a, b) => a - b)[rounds >> 1]);
  const cells = together.map((each) => `${each.toFixed(0)} (${(alone / each).toFixed(2)} times)`);
  console.log(`| ${[name, topK, alone.toFixed(0), ...cells].join(" | ")} |`);
}
