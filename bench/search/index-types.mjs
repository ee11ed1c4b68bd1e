// npm run bench -- types [--data-set NAME … | --base FILE --queries FILE [--metric M]] [--rounds N]
//
// The types of an index, and the precisions of `ivfflat`, side by side: bytes in storage after training, recall@10 and median time of
// automatic probing, and the recall if everything is compared. Encrypted, in memory, one thread, warm; the indexes take turns. Prints
// Markdown.

import { parseArgs } from "node:util";
import { chosenDatasets, datasetOptions, loadDataset, storedDatasets } from "./datasets.mjs";
import { hitsAmong, neighbours } from "./exact.mjs";
import { addRows, createIndex } from "./recall-index.mjs";

const { values } = parseArgs({ options: { ...datasetOptions, rounds: { type: "string", default: "9" } } });
const configs = [
  { type: "ivfflat" },
  { type: "ivfflat", spilling: false },
  { type: "ivfflat", precision: "float16" },
  { type: "ivfflat", precision: "int8" },
  { type: "ivf" },
];

for (const name of chosenDatasets(values, [...storedDatasets(), "synthetic-10000", "synthetic-100000"])) {
  const data = loadDataset(name);
  const n = data.base.length / data.dimension;
  const hits = hitsAmong(data, neighbours);
  const indexes = [];
  for (const indexConfig of configs) indexes.push(await build(data, indexConfig));
  for (const { index } of indexes) await index.prefetch();
  const times = indexes.map(() => []);
  for (let round = 0; round <= Number(values.rounds); round++) {
    for (const [i, { index }] of indexes.entries()) {
      const { p50 } = await measure(index, data, hits, { nProbes: 0 });
      if (round > 0) times[i].push(p50);
    }
  }
  console.log(`\n## ${name}: n = ${n}, d = ${data.dimension}\n`);
  console.log(
    "| type | stored MB | recall@10, automatic | p50 (µs) | recall@10, exact |\n|---|---:|---:|---:|---:|",
  );
  for (const [i, { index, client, indexConfig }] of indexes.entries()) {
    const { storedBytes } = await index.describe();
    const { recall } = await measure(index, data, hits, { nProbes: 0 });
    const { recall: exact } = await measure(index, data, hits, { recall: "exact" });
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
  const { client, index } = await createIndex(data, { indexConfig });
  await addRows(index, data, {});
  await index.train();
  return { index, client, indexConfig };
}

async function measure(index, { queries, truth, dimension }, hits, probing) {
  const times = [];
  let found = 0;
  for (const i of truth.keys()) {
    const queryVector = queries.subarray(i * dimension, (i + 1) * dimension);
    const asked = performance.now();
    const matches = await index.query({ queryVector, topK: neighbours, ...probing });
    times.push(1000 * (performance.now() - asked));
    found += hits(
      i,
      matches.map(({ id }) => Number(id)),
    );
  }
  return { recall: found / (neighbours * truth.length), p50: median(times) };
}

function median(numbers) {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];
}
