// node bench/filters.mjs [--full] [--rows N]
//
// Filters that keep from 0.1 % to 50 % of the rows, spread evenly over the clusters or bound to them: time of a query
// relative to the same query without a filter, and recall@10 against brute force over the matching rows. Seeded synthetic
// vectors, encrypted, on local disk, one thread. "first" is the first query with a filter, which evaluates it; p20 is over
// the queries after it, low so that what else the machine does weighs less. Prints Markdown. `npm run build` first.

import { mkdtempSync, rmSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { createClient, generateKey } from "sealdex/core";
import { syntheticVectors } from "./search/datasets.mjs";
import { folderBytes } from "./search/rows.mjs";

const { values } = parseArgs({
  options: { full: { type: "boolean", default: false }, rows: { type: "string" } },
});
const n = Number(values.rows ?? (values.full ? 100_000 : 10_000));
const dimension = 384;
const queryCount = 100;
const rounds = 5;
const k = 10;

const { base, queries, clusterOf, clusters } = syntheticVectors(n, dimension, queryCount);
const metadata = (row) => ({
  even: { permille: scatter(row) % 1000 },
  cluster: clusterOf[row],
  source: `folder/${row % 97}/document-${row}.txt`,
  tags: [`t${row % 5}`, `u${row % 7}`],
});

/** Clusters in an order of their own until they hold the share of the rows. */
function clustersHolding(share) {
  const sizes = new Uint32Array(clusters);
  for (const cluster of clusterOf) sizes[cluster]++;
  const chosen = [];
  let rows = 0;
  for (let i = clusters - 1; i >= 0 && rows < share * n; i--) {
    chosen.push(i);
    rows += sizes[i];
  }
  return chosen;
}

const cases = [0.001, 0.01, 0.1, 0.5].flatMap((share) => {
  const chosen = clustersHolding(share);
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
});

const path = mkdtempSync(join(tmpdir(), "sealdex-bench-"));
const client = createClient({ indexLocation: { location: "local", path }, cacheBytesMax: 4e9 });
const index = await client.createIndex({ indexName: "bench", indexKey: generateKey(), metric: "cosine" });
console.log(`Node ${process.version}, ${cpus()[0].model}; ${n} x ${dimension}, top ${k}, automatic nProbes`);
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

const products = Array.from({ length: queryCount }, (_, query) =>
  productsWith(queries.subarray(query * dimension, (query + 1) * dimension)),
);
await timed(undefined);
console.log("| filter | matches | first (ms) | p20 (µs) | unfiltered p20 (µs) | ratio | recall@10 |");
console.log("|---|---:|---:|---:|---:|---:|---:|");
for (const { name, filters, matches } of [{ name: "none", matches: () => true }, ...cases]) {
  let rows = 0;
  for (let row = 0; row < n; row++) if (matches(row)) rows++;
  const asked = performance.now();
  await ask(0, filters);
  const first = performance.now() - asked;
  const answers = [];
  let p20 = [];
  let plain = [];
  // Side by side, so that a busy machine slows both.
  for (let round = 0; round < rounds; round++) {
    plain.push(...(await timed(undefined)));
    p20.push(...(await timed(filters, answers)));
  }
  [p20, plain] = [fifth(p20), fifth(plain)];
  const recall = recallOf(answers.slice(0, queryCount), matches);
  const cells = [name, rows, first.toFixed(1), p20.toFixed(0), plain.toFixed(0)];
  console.log(`| ${[...cells, (p20 / plain).toFixed(2), recall.toFixed(4)].join(" | ")} |`);
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
    const truth = new Set(nearest(products[query], matches));
    found += ids.filter((id) => truth.has(id)).length;
    wanted += truth.size;
  });
  return found / wanted;
}

/** The products of a vector with all of the base: as all have length 1, the nearest have the largest. */
function productsWith(vector) {
  const found = new Float64Array(n);
  for (let row = 0; row < n; row++) {
    let product = 0;
    for (let i = 0; i < dimension; i++) product += base[row * dimension + i] * vector[i];
    found[row] = product;
  }
  return found;
}

/** The k matching rows with the largest products. */
function nearest(found, matches) {
  const best = [];
  for (let row = 0; row < n; row++) {
    if (best.length === k && found[row] <= found[best[k - 1]]) continue;
    if (!matches(row)) continue;
    let place = best.length;
    while (place > 0 && found[best[place - 1]] < found[row]) place--;
    best.splice(place, 0, row);
    if (best.length > k) best.pop();
  }
  return best;
}

function vectorOf(row) {
  return base.subarray(row * dimension, (row + 1) * dimension);
}

/** A number that has nothing to do with where the row lies. */
function scatter(row) {
  return (Math.imul(row ^ (row >>> 15), 0x2c1b3c6d) >>> 8) ^ (row & 0xff);
}

function fifth(numbers) {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 5)];
}
