// npm run bench -- grow [--rows 20000] [--dimension 384] [--times 10] [--batch 1000] [--spread new|same]
//
// An index that grows: trained at its first rows, then upserts of `batch` rows until there are so many times as many. `new`: half of the new rows
// lie in clusters that had none before. Compares trainings at twice, three times and four times the rows of the last one. At some sizes, and with the lists of a training of exactly these rows: recall@10 of automatic probing, with the rows
// scanned; recall at the same share of rows scanned; and in total, seconds and bytes written for lists. In memory, encrypted, without second
// lists, one client. Prints Markdown.

import { parseArgs } from "node:util";
import { Calls } from "../dist/esm/async/calls.js";
import { signingKey, verifyKeyOf } from "../dist/esm/crypto/signing.js";
import { deriveWrapKeys, parseIndexKey } from "../dist/esm/crypto/keys.js";
import { JobRunner } from "../dist/esm/index/open/job-runner.js";
import { maintenanceJobs } from "../dist/esm/index/maintenance-jobs.js";
import { EncryptedIndex } from "../dist/esm/index/encrypted-index.js";
import { Listings } from "../dist/esm/index/open/listings.js";
import { openIndex } from "../dist/esm/index/open/open-index.js";
import { train } from "../dist/esm/index/training/train.js";
import { QueryVector } from "../dist/esm/engine/query-vector.js";
import { KeyRing } from "../dist/esm/keys/key-ring.js";
import { plan } from "../dist/esm/query/plan.js";
import { BlockCache } from "../dist/esm/state/cache/block-cache.js";
import { createMemoryStore } from "../dist/esm/storage/memory.js";
import { systemClock } from "../dist/esm/state/commit/clock.js";
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
  const { inner, index, written, close } = open();
  await inner.log.begin();
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
      await spend(() => train(inner, {}));
      trainings++;
      trainedAt = count;
    }
    if (measuredAt.includes(count))
      await report(`at ${policy} times (${trainings})`, inner, index, count, seconds, bytes);
  }
  await close();
}

async function report(name, inner, index, count, seconds, bytes) {
  const queries = queriesAt(count);
  const here = { base: base.subarray(0, count * dimension), queries, dimension, metric: "cosine" };
  const nearest = exactNeighbours(here, topK);
  const queryVectors = Array.from({ length: queryCount }, (_, i) =>
    queries.subarray(i * dimension, (i + 1) * dimension),
  );
  const measure = async (nProbes) => {
    const found = await index.query({ queryVectors, topK, nProbes });
    let hits = 0;
    found.forEach((matches, i) => {
      const wanted = new Set(Array.from(nearest.subarray(topK * i, topK * (i + 1)), String));
      hits += matches.filter(({ id }) => wanted.has(id)).length;
    });
    return {
      recall: hits / (topK * queryCount),
      scanned: (await scanned(inner, queryVectors, nProbes)) / queryCount,
    };
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

/** Rows of the blocks that the queries look at, shadowed ones included. */
async function scanned(inner, queryVectors, nProbes) {
  return inner.snapshots.readNewest((snapshot) =>
    inner.searcher.withTrained(snapshot.model, (trained) => {
      let sum = 0;
      for (const vector of queryVectors) {
        const query = new QueryVector(inner.config.metric, vector, trained.quantizer.rotation);
        const scope = { searcher: inner.searcher, snapshot, matches: undefined, trained };
        const { likely } = plan(scope, query, { topK, nProbes, greedy: false });
        for (const { block } of [...snapshot.ungroupedListBlocks, ...likely.blocks]) sum += block.rows;
        query.free();
      }
      return sum;
    }),
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

function open() {
  const indexId = new Uint8Array(16).fill(7);
  const salt = new Uint8Array(32).fill(8);
  const definition = { config: { type: "ivfflat", metric: "cosine", nLists: 1024, spilling: false } };
  const signingSeed = new Uint8Array(32).fill(43);
  const verifyKey = verifyKeyOf(signingKey(signingSeed));
  const keys = new KeyRing(indexId, {
    name: "owner",
    access: "owner",
    indexSecret: new Uint8Array(32).fill(42),
    generations: [{ number: 1, secret: new Uint8Array(32).fill(41), verifyKey }],
    signingSeed,
    definition,
  });
  const wrapKeys = deriveWrapKeys(parseIndexKey(new Uint8Array(32).fill(1)), salt, indexId);
  let bytes = 0;
  const memory = createMemoryStore();
  const store = {
    ...memory,
    create(key, content, options) {
      bytes += content.length;
      return memory.create(key, content, options);
    },
  };
  const cache = new BlockCache(2e9);
  const runner = new JobRunner(systemClock);
  const resources = {
    cache,
    clock: systemClock,
    listings: new Listings(systemClock),
    maxStalenessMs: 0,
    retentionMs: 0,
    oblivious: false,
    runner,
    jobsOf: (index) => maintenanceJobs(index, false),
  };
  const inner = openIndex(
    "grows",
    { indexId, salt, wrapKeys, keys, definition },
    { indexStore: store, configStore: store },
    resources,
  );
  return {
    inner,
    index: new EncryptedIndex(inner, new Calls()),
    written: () => bytes,
    async close() {
      await runner.close();
      await cache.close();
    },
  };
}
