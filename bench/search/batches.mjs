// npm run bench -- batches [--data-set NAME …] [--rounds N]
//
// Time per query of batches of several sizes with automatic probing, beside the same queries one by one. Encrypted, on local disk, all in
// memory before; the sizes take turns. Medians of the batches. Prints Markdown.

import { parseArgs } from "node:util";
import { availableDatasets, loadDataset } from "./datasets.mjs";
import { openSealdex } from "./sealdex.mjs";

const { values } = parseArgs({
  options: {
    "data-set": { type: "string", multiple: true, default: availableDatasets() },
    rounds: { type: "string", default: "9" },
  },
});
const sizes = [1, 4, 16, 64, 256];
const queriesMax = 256;

console.log(`| data set, µs per query | ${sizes.join(" | ")} |\n|---|${sizes.map(() => "---:|").join("")}`);
for (const name of values["data-set"]) {
  const data = loadDataset(name);
  const engine = await openSealdex(data, () => ({ type: "ivfflat" }));
  await engine.build();
  await engine.warm();
  const count = Math.min(queriesMax, data.truth.length);
  const vectors = Array.from({ length: count }, (_, i) =>
    data.queries.subarray(i * data.dimension, (i + 1) * data.dimension),
  );
  const times = sizes.map(() => []);
  for (let round = 0; round <= Number(values.rounds); round++) {
    for (const [i, size] of sizes.entries()) {
      for (let start = 0; start + size <= count; start += size) {
        const asked = performance.now();
        await engine.queryAll(vectors.slice(start, start + size));
        if (round > 0) times[i].push((1000 * (performance.now() - asked)) / size);
      }
    }
  }
  console.log(`| ${name} | ${times.map((each) => median(each)?.toFixed(0) ?? "").join(" | ")} |`);
  await engine.close();
}

function median(numbers) {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];
}
