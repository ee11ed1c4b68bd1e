// npm run bench:recall -- [--data-set NAME …] [--lists default|N] [--queries N] [--k N …] [--recall R]
//
// Recall and median time of automatic probing, or of a declared recall, per number of neighbours and filter: no filter, and filters that keep 50 to 0.1 %
// of the rows, spread evenly or bound to clusters. Encrypted, in memory, one thread, warm. Prints Markdown.

import { parseArgs } from "node:util";
import { createClient, generateKey } from "sealdex/core";
import { filtersOf, loadRecallDataset, rankedRows, recallDatasets } from "./recall-data.mjs";

const { values } = parseArgs({
  options: {
    "data-set": { type: "string", multiple: true, default: recallDatasets() },
    lists: { type: "string", default: "default" },
    queries: { type: "string", default: "100" },
    k: { type: "string", multiple: true, default: ["1", "10", "100", "1000"] },
    recall: { type: "string" },
  },
});
const neighbours = values.k.map(Number);
const rowsTogether = 5000;
const probing =
  values.recall === undefined
    ? { nProbes: 0 }
    : { recall: values.recall === "exact" ? "exact" : Number(values.recall) };

for (const name of values["data-set"]) {
  const data = loadRecallDataset(name, Number(values.queries));
  const n = data.base.length / data.dimension;
  const filters = [{ name: "none", rows: new Uint8Array(n).fill(1) }, ...filtersOf(data)];
  const { client, index } = await build(data, filters);
  const ranked = rankedRows(data);
  console.log(`\n## ${name}: n = ${n}, d = ${data.dimension}\n`);
  console.log(`| filter | matches | ${neighbours.map((k) => `recall@${k} | µs`).join(" | ")} |`);
  console.log(`|---|---:${"|---:".repeat(2 * neighbours.length)}|`);
  for (const [i, filter] of filters.entries()) {
    const nearest = ranked.map(({ rows, squares }) => ({
      rows: rows.filter((row) => filter.rows[row] === 1),
      squares,
    }));
    const cells = [];
    for (const k of neighbours) {
      const { recall, p50 } = await measure(index, data, {
        nearest: nearest.map(({ rows, squares }) => ({ rows: rows.subarray(0, k), squares })),
        request: { topK: k, ...probing, ...(i > 0 && { filters: { [`f${i}`]: 1 } }) },
      });
      cells.push(recall.toFixed(3), p50.toFixed(0));
    }
    const matches = filter.rows.reduce((sum, matched) => sum + matched, 0);
    console.log(`| ${[filter.name, matches, ...cells].join(" | ")} |`);
  }
  await client.close();
}

async function build(data, filters) {
  const client = createClient({
    indexLocation: { location: "memory" },
    automaticTraining: false,
    cacheBytesMax: 4e9,
  });
  const index = await client.createIndex({
    indexName: "recall",
    indexKey: generateKey(),
    metric: data.metric,
  });
  const { base, dimension } = data;
  const n = base.length / dimension;
  for (let start = 0; start < n; start += rowsTogether) {
    const rows = Array.from({ length: Math.min(rowsTogether, n - start) }, (_, i) => start + i);
    await index.upsert(
      rows.map((row) => ({
        id: String(row),
        vector: base.subarray(row * dimension, (row + 1) * dimension),
        metadata: Object.fromEntries(filters.map((filter, i) => [`f${i}`, filter.rows[row]])),
      })),
    );
  }
  const before = performance.now();
  await index.train(values.lists === "default" ? {} : { nLists: Number(values.lists) });
  console.error(`${n} rows trained in ${((performance.now() - before) / 1000).toFixed(1)} s`);
  return { client, index };
}

async function measure(index, { queries, dimension }, { nearest, request }) {
  const times = [];
  let found = 0;
  let wanted = 0;
  for (const timed of [false, true]) {
    for (const [query, { rows, squares }] of nearest.entries()) {
      const queryVector = queries.subarray(query * dimension, (query + 1) * dimension);
      const asked = performance.now();
      const matches = await index.query({ queryVector, ...request });
      if (!timed) continue;
      times.push(1000 * (performance.now() - asked));
      if (rows.length === 0) continue;
      // A row that is as near as the farthest neighbour counts for it; float32 sums differ a little.
      const farthest = squares[rows[rows.length - 1]] * (1 + 1e-5) + 1e-9;
      for (const { id } of matches) if (squares[Number(id)] <= farthest) found++;
      wanted += rows.length;
    }
  }
  times.sort((a, b) => a - b);
  return { recall: wanted === 0 ? 1 : found / wanted, p50: times[Math.floor(times.length / 2)] };
}
