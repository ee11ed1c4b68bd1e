// npm run bench -- types [--data-set NAME …] [--rounds N]
//
// The types of an index, and the precisions of `ivfflat`, side by side: bytes in storage after training, recall@10 and median time of
// automatic probing, and the recall if everything is compared. Encrypted, in memory, one thread, warm; the indexes take turns. Prints
// Markdown.

import { parseArgs } from "node:util";
import { createClient, generateKey } from "sealdex/core";
import { availableDatasets, loadDataset, neighbours } from "./datasets.mjs";
import { rowsOf } from "./rows.mjs";

const { values } = parseArgs({
  options: {
    "data-set": { type: "string", multiple: true, default: availableDatasets() },
    rounds: { type: "string", default: "9" },
  },
});
const rowsTogether = 5000;
const configs = [
  { type: "ivfflat" },
  { type: "ivfflat", spilling: false },
  { type: "ivfflat", precision: "float16" },
  { type: "ivfflat", precision: "int8" },
  { type: "ivf" },
];

for (const name of values["data-set"]) {
  const data = loadDataset(name);
  const n = data.base.length / data.dimension;
  const indexes = [];
  for (const indexConfig of configs) indexes.push(await build(data, indexConfig));
  for (const { index } of indexes) await index.prefetch();
  const times = indexes.map(() => []);
  for (let round = 0; round <= Number(values.rounds); round++) {
    for (const [i, { index }] of indexes.entries()) {
      const { p50 } = await measure(index, data, { nProbes: 0 });
      if (round > 0) times[i].push(p50);
    }
  }
  console.log(`\n## ${name}: n = ${n}, d = ${data.dimension}\n`);
  console.log(
    "| type | stored MB | recall@10, automatic | p50 (µs) | recall@10, exact |\n|---|---:|---:|---:|---:|",
  );
  for (const [i, { index, client, indexConfig }] of indexes.entries()) {
    const { storedBytes } = await index.describe();
    const { recall } = await measure(index, data, { nProbes: 0 });
    const { recall: exact } = await measure(index, data, { recall: "exact" });
    const label = [
      indexConfig.type,
      indexConfig.precision,
      indexConfig.spilling === false && "spilling: false",
    ]
      .filter(Boolean)
      .join(", ");
    const p50 = median(times[i]).toFixed(0);
    console.log(
      `| ${label} | ${(storedBytes / 1e6).toFixed(1)} | ${recall.toFixed(3)} | ${p50} | ${exact.toFixed(3)} |`,
    );
    await client.close();
  }
}

async function build(data, indexConfig) {
  const client = createClient({
    indexLocation: { location: "memory" },
    automaticTraining: false,
    cacheBytesMax: 4e9,
  });
  const options = { indexName: "types", indexKey: generateKey(), metric: data.metric, indexConfig };
  const index = await client.createIndex(options);
  const n = data.base.length / data.dimension;
  for (let start = 0; start < n; start += rowsTogether) {
    const rows = rowsOf(data, start, Math.min(n, start + rowsTogether));
    await index.upsert(rows.map((vector, i) => ({ id: String(start + i), vector })));
  }
  await index.train();
  return { index, client, indexConfig };
}

async function measure(index, { queries, truth, dimension }, probing) {
  const times = [];
  let found = 0;
  for (const [i, nearest] of truth.entries()) {
    const queryVector = queries.subarray(i * dimension, (i + 1) * dimension);
    const asked = performance.now();
    const matches = await index.query({ queryVector, topK: neighbours, ...probing });
    times.push(1000 * (performance.now() - asked));
    const wanted = new Set(nearest);
    for (const { id } of matches) if (wanted.has(Number(id))) found++;
  }
  return { recall: found / (neighbours * truth.length), p50: median(times) };
}

function median(numbers) {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];
}
