// npm run bench:declared -- [--data-set NAME …] [--queries N] [--k N …] [--recall R …]
//
// Measured recall beside the declared one, and the median time, per number of neighbours, without a filter. `automatic` declares nothing and is
// promised .95. `growing` is trained on a third of its rows. Encrypted, in memory, one thread, warm. Prints Markdown.

import { parseArgs } from "node:util";
import { loadRecallDataset, rankedRows, recallDatasets } from "./recall-data.mjs";
import { addRows, createIndex, measure } from "./recall-index.mjs";

const { values } = parseArgs({
  options: {
    "data-set": { type: "string", multiple: true, default: [...recallDatasets(), "growing"] },
    queries: { type: "string", default: "300" },
    k: { type: "string", multiple: true, default: ["1", "10", "100"] },
    recall: { type: "string", multiple: true, default: ["0.8", "0.9", "0.95", "0.98", "0.99"] },
  },
});
const neighbours = values.k.map(Number);

for (const name of values["data-set"]) {
  const data = loadRecallDataset(name, Number(values.queries));
  const n = data.base.length / data.dimension;
  const { client, index } = await createIndex(data);
  const trained = Math.floor(n / (data.growth ?? 1));
  await addRows(index, data, { to: trained });
  await index.train();
  await addRows(index, data, { from: trained });
  const ranked = rankedRows(data);
  console.log(`\n## ${name}: n = ${n}, d = ${data.dimension}\n`);
  console.log(`| declared | ${neighbours.map((k) => `recall@${k} | µs`).join(" | ")} |`);
  console.log(`|---|${"---:|---:|".repeat(neighbours.length)}`);
  for (const declared of ["automatic", ...values.recall.map(Number)]) {
    const cells = [];
    for (const k of neighbours) {
      const probing = declared === "automatic" ? { nProbes: 0 } : { recall: declared };
      const { recall, p50 } = await measure(index, data, {
        nearest: ranked.map(({ rows, squares }) => ({ rows: rows.subarray(0, k), squares })),
        request: { topK: k, ...probing },
      });
      cells.push(recall.toFixed(3), p50.toFixed(0));
    }
    console.log(`| ${[declared, ...cells].join(" | ")} |`);
  }
  await client.close();
}
