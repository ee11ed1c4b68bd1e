// npm run bench -- declared [--data-set NAME … | --base FILE --queries FILE [--metric M]] [--rows N] [--query-count N] [--k N …] [--recall R …] [--type TYPE] [--trainings N] [--learned N] [--oracle]
//
// Measured recall beside the declared one, and the median time, per number of neighbours, without a filter. `automatic` declares nothing and is
// promised .95. `grown` was trained on a third of its rows. Encrypted, in memory, one thread, warm. Prints Markdown.
//
// With `--trainings 2`, and more, an index is trained at a quarter of its rows, and again, and again, when it has them all. Of `ivf` and `ivfpq`, which here
// has a bit per component, recall is the share of what a scan of all codes finds.
//
// With `--oracle`, the lists that queries take are set beside the fewest, the same number for all queries, that find the declared recall.
//
// With `--learned 300`, 300 of the queries are examples from which the index learns: the others are measured before and after that.

import { parseArgs } from "node:util";
import { chosenDatasets, datasetOptions } from "./datasets.mjs";
import { loadRecallDataset, rankedRows, recallDatasets } from "./recall-data.mjs";
import { addRows, createIndex, measure, scanned } from "./recall-index.mjs";

const { values } = parseArgs({
  options: {
    ...datasetOptions,
    "query-count": { type: "string", default: "1000" },
    k: { type: "string", multiple: true, default: ["1", "10", "100"] },
    rows: { type: "string", default: "Infinity" },
    type: { type: "string", default: "ivfflat" },
    trainings: { type: "string", default: "1" },
    learned: { type: "string", default: "0" },
    oracle: { type: "boolean", default: false },
    recall: { type: "string", multiple: true, default: ["0.8", "0.9", "0.95", "0.98", "0.99"] },
  },
});
const neighbours = values.k.map(Number);
const trainings = Number(values.trainings);
const examples = Number(values.learned);
const keepsCodes = values.type !== "ivfflat";

const dataSets = [...recallDatasets(), ...(keepsCodes ? [] : ["grown"])];

for (const name of chosenDatasets(values, dataSets)) {
  const loaded = loadRecallDataset(name, Number(values["query-count"]));
  const { dimension } = loaded;
  // Evenly spread: queries of a kind may follow one another.
  const every = loaded.queries.length / dimension / examples;
  const isExample = (i) => Math.floor((i + 1) / every) > Math.floor(i / every);
  const data = {
    ...loaded,
    base: loaded.base.subarray(0, Number(values.rows) * dimension),
    queries: vectorsOf(loaded, (i) => !isExample(i)),
  };
  const n = data.base.length / data.dimension;
  const pq = values.type === "ivfpq" && { pqDim: data.dimension / 8, pqBits: 8 };
  const indexConfig = { type: values.type, ...pq };
  const { client, index } = await createIndex(data, {
    indexConfig,
  });
  const trained = Math.floor(n / (data.growth ?? (trainings > 1 ? 4 : 1)));
  await addRows(index, data, { to: trained });
  await index.train();
  await addRows(index, data, { from: trained, to: n });
  for (let again = 1; again < trainings; again++) await index.train();
  const ranked = keepsCodes ? [] : rankedRows(data);
  const nearest = new Map();
  for (const k of neighbours) {
    const ofK = ({ rows, squares }) => ({ rows: rows.subarray(0, k), squares });
    nearest.set(k, keepsCodes ? await scanned(index, data, k) : ranked.map(ofK));
  }
  const kind = keepsCodes || trainings > 1 ? `, ${values.type}, trainings: ${trainings}` : "";
  const title = `${name}${kind}: n = ${n}, d = ${dimension}`;
  await printRecall(title, index, data, nearest);
  if (values.oracle) await printOracle(index, data, nearest);
  if (examples > 0) {
    const learned = vectorsOf(loaded, isExample);
    const rows = Array.from({ length: learned.length / dimension }, (_, i) =>
      learned.subarray(i * dimension, (i + 1) * dimension),
    );
    await index.train({ queries: rows });
    await printRecall(`${title}, after ${examples} queries`, index, data, nearest);
    if (values.oracle) await printOracle(index, data, nearest);
  }
  await client.close();
}

/** The queries of a data set that are wanted. */
function vectorsOf({ queries, dimension }, isWanted) {
  const components = queries.filter((_, at) => isWanted(Math.floor(at / dimension)));
  return Float32Array.from(components);
}

/** Prints a table of the recall and time of each declared recall. */
async function printRecall(title, index, data, nearest) {
  console.log(`\n## ${title}\n`);
  console.log(`| declared | ${neighbours.map((k) => `recall@${k} | µs`).join(" | ")} |`);
  console.log(`|---|${"---:|---:|".repeat(neighbours.length)}`);
  for (const declared of ["automatic", ...values.recall.map(Number)]) {
    const cells = [];
    for (const k of neighbours) {
      const probing = declared === "automatic" ? { nProbes: 0 } : { recall: declared };
      const { recall, p50 } = await measure(index, data, {
        nearest: nearest.get(k),
        request: { topK: k, ...probing },
      });
      cells.push(recall.toFixed(3), p50.toFixed(0));
    }
    console.log(`| ${[declared, ...cells].join(" | ")} |`);
  }
}

/** Prints the lists and the time that declared recalls take, beside those of an oracle. */
async function printOracle(index, data, nearest) {
  console.log("\n| declared | k | found | lists | µs | oracle: found | lists | µs | ratio of times |");
  console.log(`|---|${"---:|".repeat(8)}`);
  const { nLists } = await index.describe();
  for (const k of neighbours) {
    const ask = (probing) =>
      measure(index, data, { nearest: nearest.get(k), request: { topK: k, ...probing } });
    for (const recall of values.recall.map(Number)) {
      const fewest = await fewestLists(nLists, async (nProbes) => (await ask({ nProbes })).recall >= recall);
      const [ours, oracle] = [await ask({ recall }), await ask({ nProbes: fewest })];
      const cells = [
        ours.recall.toFixed(3),
        (await meanLists(index, data, { topK: k, recall })).toFixed(1),
        ours.p50.toFixed(0),
        oracle.recall.toFixed(3),
        fewest,
        oracle.p50.toFixed(0),
        (ours.p50 / oracle.p50).toFixed(2),
      ];
      console.log(`| ${[recall, k, ...cells].join(" | ")} |`);
    }
  }
}

/** The least number up to `most` that is enough: whatever is more than enough is enough. */
async function fewestLists(most, isEnough) {
  let [least, enough] = [1, most];
  while (least < enough) {
    const middle = Math.floor((least + enough) / 2);
    if (await isEnough(middle)) enough = middle;
    else least = middle + 1;
  }
  return enough;
}

async function meanLists(index, { queries, dimension }, request) {
  let sum = 0;
  for (let at = 0; at < queries.length; at += dimension) {
    const queryVector = queries.subarray(at, at + dimension);
    const { profile } = await index.query({ queryVector, include: ["distance", "profile"], ...request });
    sum += profile.lists;
  }
  return (sum * dimension) / queries.length;
}
