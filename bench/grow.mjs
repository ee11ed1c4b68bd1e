// npm run bench -- grow [--rows 20000] [--dimension 384] [--times 10] [--batch 1000] [--spread new|same]
//
// An index that grows: trained at its first rows, then upserts of `batch` rows until there are so many times as many. `new`: half of the new rows
// lie in clusters that had none before. Compares trainings at twice, three times and four times the rows of the last one. At some sizes, and with the lists of a training of exactly these rows: recall@10 of automatic probing, with the rows
// scanned; recall at the same share of rows scanned; and in total, seconds and bytes written for lists. In memory, encrypted, without second
// lists, one client. Prints Markdown.

import { parseArgs } from "node:util";
import { createClient, generateKey, openLocation } from "sealdex/core";
import { exactNeighbours } from "./search/exact.mjs";
import { seeded } from "./search/datasets.mjs";

const { values } = parseArgs({
  options: {
    rows: { type: "string", default: "20000" },
    dimension: { type: "string", default: "384" },
    times: { type: "string", default: "10" },
    batch: { type: "string", default: "1000" },
    spread: { type: "string", default: "new" },
    policy: { type: "string", multiple: true, default: ["2", "3", "4"] },
  },
});
const [first, dimension, times, batch] = [values.rows, values.dimension, values.times, values.batch].map(
  Number,
);
const rows = first * times;
const topK = 10;
const queryCount = 500;
const scannedShares = [0.01, 0.02, 0.05];
const measuredAt = [1.9, 3.9, 6, 10]
  .filter((growth) => growth <= times)
  .map((growth) => Math.round(growth * first));
const { base, clusterOf, draw } = data();

console.log(
  `${first} to ${rows} rows x ${dimension}, new rows ${values.spread === "new" ? "half in new clusters" : "like the others"}\n`,
);
const shares = scannedShares.map((share) => `recall at ${100 * share} % scanned`);
console.log(
  `| lists | rows | in lists | automatic recall | scanned | ${shares.join(" | ")} | segments | s | MB |`,
);
console.log(`|---|---:|---:|---:|---:|${scannedShares.map(() => "---:|").join("")}---:|---:|---:|`);
for (const policy of values.policy) await grow(policy);

async function grow(policy) {
  const { index, written, close } = await open();
  let seconds = 0;
  let bytes = 0;
  let trainedAt = 0;
  const spend = async (work) => {
    const [from, began] = [written(), performance.now()];
    const result = await work();
    seconds += (performance.now() - began) / 1000;
    bytes += written() - from;
    return result;
  };
  let trainings = 0;
  for (let n = 0; n < rows; n += batch) {
    await index.upsert(items(n, Math.min(batch, rows - n)));
    const count = Math.min(rows, n + batch);
    if (count < first) continue;
    if (trainedAt === 0 || count >= Number(policy) * trainedAt) {
      await spend(() => index.train());
      trainings++;
      trainedAt = count;
    }
    if (measuredAt.includes(count))
      await report(`at ${policy} times (${trainings})`, index, count, seconds, bytes);
  }
  await close();
}

async function report(name, index, count, seconds, bytes) {
  const queries = queriesAt(count);
  const here = { base: base.subarray(0, count * dimension), queries, dimension, metric: "cosine" };
  const nearest = exactNeighbours(here, topK);
  const measure = async (nProbes) => {
    let [hits, scanned] = [0, 0];
    for (let i = 0; i < queryCount; i++) {
      const queryVector = queries.subarray(i * dimension, (i + 1) * dimension);
      const { matches, profile } = await index.query({ queryVector, topK, nProbes, include: ["profile"] });
      const wanted = new Set(Array.from(nearest.subarray(topK * i, topK * (i + 1)), String));
      hits += matches.filter(({ id }) => wanted.has(id)).length;
      scanned += profile.rowsCompared;
    }
    return { recall: hits / (topK * queryCount), scanned: scanned / queryCount };
  };
  const automatic = await measure(0);
  const curve = [];
  for (const nProbes of [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256])
    curve.push(await measure(nProbes));
  const at = scannedShares.map((share) => interpolate(curve, share * count).toFixed(3));
  const { segments, nLists } = await index.describe();
  console.log(
    `| ${name} | ${count} | ${nLists} | ${automatic.recall.toFixed(3)} | ${automatic.scanned.toFixed(0)} | ${at.join(" | ")} | ` +
      `${segments} | ${seconds.toFixed(1)} | ${(bytes / 1e6).toFixed(0)} |`,
  );
}

function interpolate(curve, rowsScanned) {
  const above = curve.findIndex(({ scanned: each }) => each >= rowsScanned);
  if (above <= 0) return above === 0 ? curve[0].recall : curve.at(-1).recall;
  const [a, b] = [curve[above - 1], curve[above]];
  const part = Math.log(rowsScanned / a.scanned) / Math.log(b.scanned / a.scanned);
  return a.recall + part * (b.recall - a.recall);
}

function items(from, count) {
  return Array.from({ length: count }, (_, i) => ({
    id: `${from + i}`,
    vector: base.subarray((from + i) * dimension, (from + i + 1) * dimension),
  }));
}

/** Unit vectors in clusters of uneven size, in the order of time. */
function data() {
  const random = seeded(11);
  const gauss = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  const clusters = Math.round(rows / 100);
  const centres = Float32Array.from({ length: clusters * dimension }, gauss);
  const drawn = (known, from, out) => {
    // Squared: some clusters are large, most are small.
    const cluster = Math.floor(from + random() ** 2 * (known - from));
    let norm = 0;
    const components = Array.from({ length: dimension }, (_, i) => {
      const value = centres[cluster * dimension + i] + 0.9 * gauss();
      norm += value * value;
      return value;
    });
    components.forEach((value, i) => (out[i] = value / Math.sqrt(norm)));
    return cluster;
  };
  const all = new Float32Array(rows * dimension);
  const of = new Uint32Array(rows);
  for (let row = 0; row < rows; row++) {
    const known =
      values.spread === "new" ? Math.max(1, Math.round((clusters * Math.max(first, row)) / rows)) : clusters;
    const from = values.spread === "new" && row >= first && random() < 0.5 ? Math.floor(0.9 * known) : 0;
    of[row] = drawn(known, from, all.subarray(row * dimension, (row + 1) * dimension));
  }
  return {
    base: all,
    clusterOf: of,
    draw: (cluster, out, seed) => near(centres, cluster, out, seeded(seed)),
  };
}

function near(centres, cluster, out, random) {
  const gauss = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  let norm = 0;
  for (let i = 0; i < dimension; i++) {
    out[i] = centres[cluster * dimension + i] + 0.9 * gauss();
    norm += out[i] ** 2;
  }
  for (let i = 0; i < dimension; i++) out[i] /= Math.sqrt(norm);
}

/** Vectors as likely in each cluster as the rows that there are. */
function queriesAt(count) {
  const random = seeded(count);
  const queries = new Float32Array(queryCount * dimension);
  for (let i = 0; i < queryCount; i++) {
    draw(clusterOf[Math.floor(random() * count)], queries.subarray(i * dimension, (i + 1) * dimension), i);
  }
  return queries;
}

async function open() {
  let bytes = 0;
  const memory = openLocation({ location: "memory" });
  const indexLocation = {
    ...memory,
    create(key, content, options) {
      bytes += content.length;
      return memory.create(key, content, options);
    },
  };
  const client = createClient({
    indexLocation,
    automaticTraining: false,
    retentionMs: 0,
    cacheBytesMax: 2e9,
  });
  const indexConfig = { type: "ivfflat", dimension, spilling: false };
  const index = await client.createIndex({
    indexName: "grows",
    indexKey: generateKey(),
    metric: "cosine",
    indexConfig,
  });
  return { index, written: () => bytes, close: () => client.close() };
}
