// npm run bench -- filters [--full] [--rows N] [--data-set NAME | --base FILE --queries FILE [--metric M]] [--k N]
//
// Filters that keep from 0.1 % to 50 % of the rows, spread evenly over the clusters or bound to them: time of a query
// relative to the same query without a filter, and recall against brute force over the matching rows, which is printed for queries without a filter
// as well. Of `synthetic`, which are seeded vectors, or of a data set of `npm run bench -- recall`; encrypted, on local disk, one thread. "first" is the first query with a
// filter, which evaluates it; p20 and p50 are over the queries after it, p20 so that what else the machine does weighs less. Prints Markdown.
// `npm run build` first.

import { mkdtempSync, rmSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { createClient, generateKey } from "sealdex/core";
import { chosenDatasets, datasetOptions, storedDatasets, syntheticVectors } from "./search/datasets.mjs";
import { filtersOf, loadRecallDataset, rankedRows } from "./search/recall-data.mjs";
import { folderBytes } from "./search/rows.mjs";

const { values } = parseArgs({
  options: {
    full: { type: "boolean", default: false },
    rows: { type: "string" },
    ...datasetOptions,
    k: { type: "string", default: "10" },
  },
});
const queryCountMax = 100;
const rounds = 5;
const k = Number(values.k);

const [dataSet] = chosenDatasets(values, [...storedDatasets(), "synthetic"]);
const { data, metadata, cases } =
  dataSet === "synthetic" ? syntheticCases() : casesOf(loadRecallDataset(dataSet, queryCountMax));
const { base, queries, dimension, metric } = data;
const n = base.length / dimension;
const queryCount = queries.length / dimension;

function syntheticCases() {
  const rows = Number(values.rows ?? (values.full ? 100_000 : 10_000));
  const { clusterOf, clusters, ...vectors } = syntheticVectors(rows, 384, queryCountMax);
  return {
    data: { ...vectors, dimension: 384, metric: "cosine" },
    metadata: (row) => ({
      even: { permille: scatter(row) % 1000 },
      cluster: clusterOf[row],
      source: `folder/${row % 97}/document-${row}.txt`,
      tags: [`t${row % 5}`, `u${row % 7}`],
    }),
    cases: [0.001, 0.01, 0.1, 0.5].flatMap((share) => {
      const chosen = clustersHolding(share, clusterOf, clusters);
      const within = new Set(chosen);
      return [
        {
          name: `${share * 100} % evenly`,
          filters: { "even.permille": { $lt: Math.round(share * 1000) } },
          matches: (row) => scatter(row) % 1000 < Math.round(share * 1000),
        },
        {
          name: `${share * 100} % by cluster`,
          filters: { cluster: { $in: chosen } },
          matches: (row) => within.has(clusterOf[row]),
        },
      ];
    }),
  };
}

/** The filters of `npm run bench -- recall`. */
function casesOf(vectors) {
  const filters = filtersOf(vectors);
  return {
    data: vectors,
    metadata: (row) => Object.fromEntries(filters.map(({ rows }, i) => [`f${i}`, rows[row]])),
    cases: filters.map(({ name, rows }, i) => ({
      name,
      filters: { [`f${i}`]: 1 },
      matches: (row) => rows[row] === 1,
    })),
  };
}

/** Clusters in an order of their own until they hold the share of the rows. */
function clustersHolding(share, clusterOf, clusters) {
  const sizes = new Uint32Array(clusters);
  for (const cluster of clusterOf) sizes[cluster]++;
  const chosen = [];
  let rows = 0;
  for (let i = clusters - 1; i >= 0 && rows < share * clusterOf.length; i--) {
    chosen.push(i);
    rows += sizes[i];
  }
  return chosen;
}

const path = mkdtempSync(join(tmpdir(), "sealdex-bench-"));
const client = createClient({ indexLocation: { location: "local", path }, cacheBytesMax: 4e9 });
const index = await client.createIndex({ indexName: "bench", indexKey: generateKey(), metric });
console.log(
  `Node ${process.version}, ${cpus()[0].model}; ${dataSet}, ${n} x ${dimension}, top ${k}, automatic nProbes`,
);
const started = performance.now();
for (let start = 0; start < n; start += 5000) {
  const rows = Array.from({ length: Math.min(5000, n - start) }, (_, i) => start + i);
  await index.upsert(
    rows.map((row) => ({ id: String(row), vector: vectorOf(row), metadata: metadata(row) })),
  );
}
const upserted = performance.now();
await index.train({ nLists: Math.round(Math.sqrt(n)) });
const seconds = (from, to) => ((to - from) / 1000).toFixed(1);
console.log(`upsert ${seconds(started, upserted)} s, training ${seconds(upserted, performance.now())} s\n`);

const ranked = rankedRows(data);
const plainAnswers = [];
await timed(undefined, plainAnswers);
const plainRecall = recallOf(plainAnswers, () => true);
console.log(`Without a filter, recall is ${plainRecall.toFixed(4)}.\n`);
console.log(
  `| filter | matches | first (ms) | p20 (µs) | p50 (µs) | unfiltered p20 (µs) | p50 (µs) | ratio of p20 | of p50 | recall@${k} |`,
);
console.log(`|---${"|---:".repeat(9)}|`);
for (const { name, filters, matches } of cases) {
  let rows = 0;
  for (let row = 0; row < n; row++) if (matches(row)) rows++;
  const asked = performance.now();
  await ask(0, filters);
  const first = performance.now() - asked;
  const answers = [];
  const filtered = [];
  const plain = [];
  // Side by side, so that a busy machine slows both.
  for (let round = 0; round < rounds; round++) {
    plain.push(...(await timed(undefined)));
    filtered.push(...(await timed(filters, answers)));
  }
  const [p20, p50] = [percentile(filtered, 0.2), percentile(filtered, 0.5)];
  const [plainP20, plainP50] = [percentile(plain, 0.2), percentile(plain, 0.5)];
  const recall = recallOf(answers.slice(-queryCount), matches);
  const times = [p20, p50, plainP20, plainP50].map((time) => time.toFixed(0));
  const ratios = [p20 / plainP20, p50 / plainP50].map((ratio) => ratio.toFixed(2));
  console.log(`| ${[name, rows, first.toFixed(1), ...times, ...ratios, recall.toFixed(4)].join(" | ")} |`);
}
await client.close();
console.log(`\non disk: ${(folderBytes(path) / n).toFixed(0)} bytes a row`);
rmSync(path, { recursive: true });

async function ask(query, filters) {
  const queryVector = queries.subarray(query * dimension, (query + 1) * dimension);
  return index.query({ queryVector, topK: k, nProbes: 0, filters });
}

/** Microseconds of each query; adds the answers, in their order. */
async function timed(filters, answers = []) {
  const times = [];
  for (let query = 0; query < queryCount; query++) {
    const asked = performance.now();
    const found = await ask(query, filters);
    times.push(1000 * (performance.now() - asked));
    answers.push(found.map(({ id }) => Number(id)));
  }
  return times;
}

function recallOf(answers, matches) {
  let found = 0;
  let wanted = 0;
  answers.forEach((ids, query) => {
    const { rows, squares } = ranked[query];
    const nearest = nearestOf(rows, matches);
    if (nearest.length === 0) return;
    // A row that is as near as the farthest neighbour counts for it; float32 sums differ a little.
    const farthest = squares[nearest[nearest.length - 1]] * (1 + 1e-5) + 1e-9;
    found += ids.filter((id) => squares[id] <= farthest).length;
    wanted += nearest.length;
  });
  return found / wanted;
}

/** The first k rows that match. */
function nearestOf(rows, matches) {
  const nearest = [];
  for (let i = 0; i < rows.length && nearest.length < k; i++) if (matches(rows[i])) nearest.push(rows[i]);
  return nearest;
}

function vectorOf(row) {
  return base.subarray(row * dimension, (row + 1) * dimension);
}

/** A number that has nothing to do with where the row lies. */
function scatter(row) {
  return (Math.imul(row ^ (row >>> 15), 0x2c1b3c6d) >>> 8) ^ (row & 0xff);
}

function percentile(numbers, share) {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length * share)];
}
