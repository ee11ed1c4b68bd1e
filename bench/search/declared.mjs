// npm run bench:declared -- [--data-set NAME …] [--queries N] [--k N …] [--recall R …]
//
// Measured recall beside the declared one, and the median time, per number of neighbours, without a filter. `automatic` declares nothing and is
// promised .95. `grown` was trained on a third of its rows, `refined` also after each tenth more. Encrypted, in memory, one thread, warm. Prints Markdown.

import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { parseArgs } from "node:util";
import { loadRecallDataset, rankedRows, recallDatasets } from "./recall-data.mjs";
import { addRows, createIndex, measure } from "./recall-index.mjs";

const { values } = parseArgs({
  options: {
    "data-set": { type: "string", multiple: true, default: [...recallDatasets(), "grown", "refined"] },
    queries: { type: "string", default: "1000" },
    k: { type: "string", multiple: true, default: ["1", "10", "100"] },
    recall: { type: "string", multiple: true, default: ["0.8", "0.9", "0.95", "0.98", "0.99"] },
  },
});
const neighbours = values.k.map(Number);

for (const name of values["data-set"]) {
  const data = loadRecallDataset(name, Number(values.queries));
  const n = data.base.length / data.dimension;
  const { client, index } = await createIndex(data, { automaticTraining: data.step !== undefined });
  const trained = Math.floor(n / (data.growth ?? 1));
  await addRows(index, data, { to: trained });
  await index.train();
  for (let from = trained, to; from < n; from = to) {
    to = Math.min(n, Math.ceil(from * (data.step ?? n)));
    const refined = data.step !== undefined && to >= data.step * from && training();
    await addRows(index, data, { from, to });
    await refined;
  }
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

/** Resolves once a refinement has ended, or the training that takes its place. */
function training() {
  // The wait for a pause in writing keeps no process alive.
  const alive = setInterval(() => undefined, 1000);
  return new Promise((resolve, reject) => {
    let isRunning = false;
    const listen = ({ state }) => {
      isRunning = state === "started";
      // A refinement that gives up is followed by a training at once.
      if (!isRunning) setImmediate(() => isRunning || end(state));
    };
    const end = (state) => {
      clearInterval(alive);
      unsubscribe("sealdex:training", listen);
      if (state === "done") resolve();
      else reject(new Error(`the training ${state}`));
    };
    subscribe("sealdex:training", listen);
  });
}
