// npm run bench -- cold [--data-set NAME | --base FILE --queries FILE [--metric M]]
//
// What calls take of storage when nothing, or not everything, is in memory: waits that follow one another, requests, bytes; the time that
// this is at the latencies of locations.mjs; and what it costs at the prices there. New queries differ in what they read: means and 95th
// percentiles of 100 are printed, with one list each, which is the default, and with automatic probing. At most COUNT=20000
// vectors of a data set, or `synthetic` ones of D=384 numbers; TYPE=ivfflat; COMPACT=1 compacts the index after training. Prints Markdown.

import { parseArgs } from "node:util";
import { createClient, generateKey, openLocation } from "sealdex/core";
import { chosenDatasets, datasetOptions, someOf, storedDatasets } from "../search/datasets.mjs";
import { delayed, locations } from "./locations.mjs";
import { createWaveStore } from "./wave-store.mjs";

const type = process.env.TYPE ?? "ivfflat";
const newQueries = 100;
const timedNewQueries = 20;
const timedRuns = 3;
const batch = 10_000;
const mebibyte = 2 ** 20;
const indexKey = generateKey();

const [dataSet] = chosenDatasets(parseArgs({ options: datasetOptions }).values, [
  ...storedDatasets(),
  "synthetic",
]);
const { base, queries, dimension, metric } = someOf(dataSet, {
  rows: Number(process.env.COUNT ?? 20_000),
  dimension: Number(process.env.D ?? 384),
  queryCount: newQueries + 4,
});
const count = base.length / dimension;
const queryOf = (i) => ({ queryVector: queries.subarray(i * dimension, (i + 1) * dimension), topK: 10 });
const percentOf = (i) => (i * 7919) % 100;
const store = openLocation({ location: "memory" });
const bytesStored = await fill("large", count);
await fill("small", 10);

/** Each step continues where the one before left off; `again` steps are repeated with other queries, and their medians shown. */
const steps = [
  ["open", async (state) => void (state.index = await state.load("large"))],
  ["first query", ({ index }) => index.query(queryOf(0))],
  ["new query", ({ index }, i) => index.query(queryOf(1 + i)), timedNewQueries],
  ["warm query", ({ index }) => index.query(queryOf(1))],
  ["first 1 % filter", ({ index }) => index.query({ ...queryOf(newQueries + 1), filters: { percent: 3 } })],
  ["another 1 % filter", ({ index }) => index.query({ ...queryOf(newQueries + 2), filters: { percent: 4 } })],
  ["get 2 items", ({ index }) => index.get(["item 7", `item ${count - 1}`])],
  ["small index: open, first query", async ({ load }) => (await load("small")).query(queryOf(0))],
];

const taken = await run(async (measure, work) => measure(work), createWaveStore(store));
const newOnes = [
  ["one list", await takenByNewQueries({})],
  ["automatic probing", await takenByNewQueries({ nProbes: 0 })],
];
const names = Object.keys(locations);
const times = {};
for (const name of names) {
  const runs = [];
  for (let i = 0; i < timedRuns; i++) runs.push(await run(timed, { store: delayed(store, locations[name]) }));
  times[name] = Object.fromEntries(
    steps.map(([step]) => [step, medianOf(runs.map((results) => results[step].ms))]),
  );
}

async function timed(_, work) {
  const startedAt = performance.now();
  await work();
  return { ms: performance.now() - startedAt };
}

console.log(
  `${dataSet}, ${count} x ${dimension}, ${type}, ${(bytesStored / mebibyte).toFixed(0)} MiB stored.\n`,
);
console.log(`| | waits | requests | MiB read | ${names.map((name) => `${name}, ms`).join(" | ")} |`);
console.log(`|---|---:|---:|---:|${names.map(() => "---:").join("|")}|`);
for (const [name] of steps) {
  const { waits, requests, bytes } = taken[name];
  const ms = names.map((location) => times[location][name].toFixed(1));
  console.log(`| ${name} | ${waits} | ${requests} | ${(bytes / mebibyte).toFixed(2)} | ${ms.join(" | ")} |`);
}

console.log("\n| new query | waits | requests | 95 % | MiB read | 95 % |\n|---|---:|---:|---:|---:|---:|");
for (const [name, all] of newOnes) {
  const [waits, requests, mib] = [
    all.map((one) => one.waits),
    all.map((one) => one.requests),
    all.map((one) => one.bytes / mebibyte),
  ];
  const cells = [
    Math.max(...waits),
    meanOf(requests).toFixed(1),
    percentile95Of(requests),
    meanOf(mib).toFixed(2),
    percentile95Of(mib).toFixed(2),
  ];
  console.log(`| ${name} | ${cells.join(" | ")} |`);
}

console.log(`\n| US dollars | ${names.join(" | ")} |\n|---|${names.map(() => "---:").join("|")}|`);
const perMillion = (step) =>
  names.map((name) => {
    const { perMillionReads, perMillionLists } = locations[name];
    const lists = taken[step].operations.filter((operation) => / list /.test(operation)).length;
    return perMillionReads * (taken[step].requests - lists) + perMillionLists * lists;
  });
price("a million warm queries", perMillion("warm query"));
price("a million new queries", perMillion("new query"));
price("a million openings of a small index", perMillion("small index: open, first query"));
price(
  "a million vectors, a month",
  names.map((name) => ((bytesStored / count) * 1e6 * locations[name].perGbMonth) / 1e9),
);

/** Returns the bytes that the index takes. */
async function fill(indexName, rows) {
  const client = createClient({ indexLocation: store, automaticTraining: false, retentionMs: 0 });
  const index = await client.createIndex({ indexName, indexKey, indexConfig: { type }, metric });
  for (let start = 0; start < rows; start += batch) {
    const items = Array.from({ length: Math.min(batch, rows - start) }, (_, i) => ({
      id: `item ${start + i}`,
      vector: base.subarray((start + i) * dimension, (start + i + 1) * dimension),
      metadata: { percent: percentOf(start + i), n: start + i },
    }));
    await index.upsert(items);
  }
  if (rows > batch) await index.train();
  if (rows > batch && process.env.COMPACT === "1") await index.compact();
  const { storedBytes } = await index.describe();
  await client.close();
  return storedBytes;
}

/** What `measure` says of each step, by its name: of repeated ones the medians. */
async function run(measured, { store: indexLocation, measure }) {
  const client = createClient({ indexLocation, automaticTraining: false });
  const state = { load: (indexName) => client.loadIndex({ indexName, indexKey }) };
  const results = {};
  for (const [name, work, repeats = 1] of steps) {
    const all = [];
    for (let i = 0; i < repeats; i++) all.push(await measured(measure, () => work(state, i)));
    results[name] = Object.fromEntries(
      Object.keys(all[0]).map((field) => [field, medianOf(all.map((one) => one[field]))]),
    );
  }
  await client.close();
  return results;
}

/** What each of different queries takes in a process that has answered one other. */
async function takenByNewQueries(probing) {
  const all = [];
  for (let i = 0; i < newQueries; i++) {
    const { store: indexLocation, measure } = createWaveStore(store);
    const client = createClient({ indexLocation, automaticTraining: false });
    const index = await client.loadIndex({ indexName: "large", indexKey });
    await index.query(queryOf(0));
    all.push(await measure(() => index.query({ ...queryOf(1 + i), ...probing })));
    await client.close();
  }
  return all;
}

function meanOf(values) {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** The least that 95 of 100 values do not exceed. */
function percentile95Of(values) {
  return values.toSorted((a, b) => a - b)[Math.ceil(0.95 * values.length) - 1];
}

function medianOf(values) {
  return typeof values[0] === "number" ? values.sort((a, b) => a - b)[values.length >> 1] : values[0];
}

function price(name, dollars) {
  console.log(`| ${name} | ${dollars.map((each) => each.toFixed(2)).join(" | ")} |`);
}
