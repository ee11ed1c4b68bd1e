// npm run bench -- recall [--data-set NAME … | --base FILE --queries FILE [--metric M]] [--lists default|N] [--query-count N] [--k N …] [--recall R]
//
// Recall and median time of automatic probing, or of a declared recall, per number of neighbours and filter: no filter, and filters that keep 50 to 0.1 %
// of the rows, spread evenly or bound to clusters. Encrypted, in memory, one thread, warm. Prints Markdown.

import { parseArgs } from "node:util";
import { chosenDatasets, datasetOptions } from "./datasets.mjs";
import { filtersOf, loadRecallDataset, rankedRows, recallDatasets } from "./recall-data.mjs";
import { addRows, createIndex, measure } from "./recall-index.mjs";

const { values } = parseArgs({
  options: {
    ...datasetOptions,
    lists: { type: "string", default: "default" },
    "query-count": { type: "string", default: "100" },
    k: { type: "string", multiple: true, default: ["1", "10", "100", "1000"] },
    recall: { type: "string" },
  },
});
const neighbours = values.k.map(Number);
const probing =
  values.recall === undefined
    ? { nProbes: 0 }
    : { recall: values.recall === "exact" ? "exact" : Number(values.recall) };

for (const name of chosenDatasets(values, recallDatasets())) {
  const data = loadRecallDataset(name, Number(values["query-count"]));
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
  const { client, index } = await createIndex(data);
  const metadata = (row) => Object.fromEntries(filters.map((filter, i) => [`f${i}`, filter.rows[row]]));
  await addRows(index, data, { metadata });
  const before = performance.now();
  await index.train(values.lists === "default" ? {} : { nLists: Number(values.lists) });
  console.error(`trained in ${((performance.now() - before) / 1000).toFixed(1)} s`);
  return { client, index };
}
