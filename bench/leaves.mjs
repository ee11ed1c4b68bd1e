// npm run bench -- leaves [--rows 100000] [--dimension 384] [--shards 8] [--leaves 4] [--routers 2] [--seconds 10] [--location redis://...]
//
// Routers and leaves, each a process, beside one process that has the same rows in one index: queries per second of 8 clients with one query at a
// time each, time of queries, processor time per query of all processes together, requests to storage per query, memory, and how long queries take when a
// leaf is stopped (SIGSTOP). Storage is a folder on local disk unless --location says otherwise. Prints Markdown. `npm run build` first.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { createClient, generateKey } from "sealdex/core";
import { syntheticVectors } from "./search/datasets.mjs";

const count = (byDefault) => ({ type: "string", default: String(byDefault) });
const { values } = parseArgs({
  options: {
    rows: count(100_000),
    dimension: count(384),
    shards: count(8),
    leaves: count(4),
    routers: count(2),
    seconds: count(10),
    location: { type: "string" },
  },
});
const numbers = ["rows", "dimension", "shards", "leaves", "routers", "seconds"].map((name) =>
  Number(values[name]),
);
const [rows, dimension, shards, leafCount, routerCount, seconds] = numbers;
const clientCount = 8;
const queryCount = 1000;
/** Until the code of all processes is compiled: before, a request to a leaf takes several times its processor time. */
const warmQueries = 10_000;
const k = 10;
/** Clock ticks of a process per second, as Linux counts them. */
const ticksPerSecond = 100;

const folder = mkdtempSync(join(tmpdir(), "sealdex-leaves-"));
const location = values.location ?? `file:${folder}`;
const rootKey = generateKey();
const program = fileURLToPath(new URL("../packages/server/bin/sealdex-server.js", import.meta.url));
const children = [];

/** A service in a process of its own. */
async function start(settings = {}) {
  const child = spawn(process.execPath, [program, "serve"], {
    env: {
      PATH: process.env.PATH,
      SEALDEX_PORT: "0",
      SEALDEX_INDEX_LOCATION: location,
      SEALDEX_ROOT_KEY: rootKey,
      SEALDEX_DASHBOARD: "off",
      SEALDEX_AUTOMATIC_TRAINING: "off",
      ...settings,
    },
    stdio: ["ignore", "pipe", "inherit"],
  });
  children.push(child);
  let output = "";
  for await (const chunk of child.stdout) {
    output += chunk;
    const [, baseUrl] = /listening at (http:\/\/[\d.:]+)/.exec(output) ?? [];
    if (baseUrl === undefined) continue;
    child.stdout.resume();
    return { baseUrl, child };
  }
  throw new Error(output);
}

async function stop(services) {
  for (const { child } of services) {
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  }
}

/** Processor time of processes, in seconds. */
function processorTime(services) {
  const ticks = services.map(({ child }) => {
    const fields = readFileSync(`/proc/${child.pid}/stat`, "utf8").split(") ")[1].split(" ");
    return Number(fields[11]) + Number(fields[12]);
  });
  return ticks.reduce((sum, each) => sum + each, 0) / ticksPerSecond;
}

/** Resident memory of processes, in MiB. */
function memoryOf(services) {
  const kilobytes = services.map(({ child }) =>
    Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${child.pid}/status`, "utf8"))[1]),
  );
  return kilobytes.map((each) => Math.round(each / 1024));
}

/** Reads of storage by services, as their metrics count them. */
async function reads(services) {
  const counts = await Promise.all(
    services.map(async ({ baseUrl }) => {
      const response = await fetch(`${baseUrl}/metrics`, { headers: { "X-API-Key": rootKey } });
      const text = await response.text();
      const lines = text.matchAll(/^sealdex_storage_seconds_count\{[^}]*operation="read"[^}]*\} (\d+)$/gm);
      return Array.from(lines, ([, read]) => Number(read)).reduce((sum, read) => sum + read, 0);
    }),
  );
  return counts.reduce((sum, read) => sum + read, 0);
}

const { base, queries } = syntheticVectors(rows, dimension, queryCount);
const vectorOf = (vectors, row) => vectors.subarray(row * dimension, (row + 1) * dimension);

async function fill(index, nLists) {
  for (let from = 0; from < rows; from += 10_000) {
    const ids = Array.from({ length: Math.min(10_000, rows - from) }, (_, i) => from + i);
    await index.upsert(ids.map((row) => ({ id: String(row), vector: vectorOf(base, row) })));
  }
  await index.train({ nLists });
}

/** Opens the index at each URL. */
async function open(services, address) {
  const clients = services.map(({ baseUrl }) => createClient({ baseUrl, apiKey: rootKey, maxRetries: 0 }));
  return Promise.all(clients.map((client) => client.loadIndex(address)));
}

async function ask(index, i, options) {
  const started = performance.now();
  const matches = await index.query({ queryVector: vectorOf(queries, i % queryCount), topK: k, ...options });
  return { ms: performance.now() - started, ids: matches.map(({ id }) => id) };
}

const quantile = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];

/** The times of queries by all clients, sorted, until `ms` have passed or there are `most`. */
async function load(indexes, { ms = Infinity, most = Infinity }) {
  const times = [];
  const end = performance.now() + ms;
  let asked = 0;
  await Promise.all(
    Array.from({ length: clientCount }, async (_, client) => {
      while (asked < most && performance.now() < end) {
        const answer = await ask(indexes[client % indexes.length], asked++, { recall: 0.95 });
        times.push(answer.ms);
      }
    }),
  );
  return times.sort((a, b) => a - b);
}

async function measure(name, services, indexes) {
  const expected = [];
  let found = 0;
  for (let i = 0; i < 100; i++) {
    const exact = await ask(indexes[0], i, { recall: "exact" });
    expected.push(new Set(exact.ids));
  }
  for (let i = 0; i < 100; i++) {
    const { ids } = await ask(indexes[0], i, { recall: 0.95 });
    found += ids.filter((id) => expected[i].has(id)).length;
  }
  await load(indexes, { most: warmQueries });
  const before = { time: processorTime(services), reads: await reads(services) };
  const times = await load(indexes, { ms: 1000 * seconds });
  const time = processorTime(services) - before.time;
  const perQuery = ((await reads(services)) - before.reads) / times.length;
  const alone = [];
  for (let i = 0; i < 300; i++) alone.push((await ask(indexes[0], i, { recall: 0.95 })).ms);
  alone.sort((a, b) => a - b);
  const cells = [
    Math.round(times.length / seconds),
    quantile(times, 0.5).toFixed(1),
    quantile(times, 0.99).toFixed(1),
    quantile(alone, 0.5).toFixed(1),
    ((1000 * time) / times.length).toFixed(2),
    perQuery.toFixed(2),
    (found / (100 * k)).toFixed(3),
    memoryOf(services).join(" + "),
  ];
  console.log(`| ${name} | ${cells.join(" | ")} |`);
}

try {
  const writer = await start();
  const client = createClient({ baseUrl: writer.baseUrl, apiKey: rootKey });
  const indexConfig = { type: "ivfflat", dimension };
  const lists = (items) => Math.max(16, Math.round(4 * Math.sqrt(items)));
  const address = { indexName: "index", indexKey: generateKey() };
  await fill(await client.createIndex({ ...address, indexConfig }), lists(rows));
  const named = { indexName: "collection", indexKey: generateKey() };
  await fill(await client.createCollection({ ...named, indexConfig, shards }), lists(rows / shards));
  await stop([writer]);

  console.log(
    `${cpus()[0].model}, ${cpus().length} cores, Node ${process.version}. ${rows} rows of ${dimension} dimensions, recall .95 declared, top ${k}, ` +
      `${clientCount} clients. ${shards} shards, ${leafCount} leaves, ${routerCount} routers.\n`,
  );
  console.log(
    "| | queries/s | p50, ms | p99, ms | p50 of one client, ms | processor ms per query | reads per query | recall@10 | memory of each process, MiB |\n|---|---|---|---|---|---|---|---|---|",
  );
  const single = await start();
  await measure("one process, one index", [single], await open([single], address));
  await measure("one process, the collection", [single], await open([single], named));
  await stop([single]);

  const leaves = await Promise.all(Array.from({ length: leafCount }, () => start()));
  const settings = {
    SEALDEX_LEAVES: leaves.map(({ baseUrl }) => baseUrl).join(),
    SEALDEX_LEAF_API_KEY: rootKey,
  };
  const routers = await Promise.all(Array.from({ length: routerCount }, () => start(settings)));
  const indexes = await open(routers, named);
  await measure("routers and leaves", [...routers, ...leaves], indexes);

  leaves[0].child.kill("SIGSTOP");
  const stopped = await load(indexes, { ms: 1000 * seconds });
  leaves[0].child.kill("SIGCONT");
  console.log(
    `\nWith one leaf stopped: ${Math.round(stopped.length / seconds)} queries/s, p50 ${quantile(stopped, 0.5).toFixed(1)} ms, ` +
      `p99 ${quantile(stopped, 0.99).toFixed(1)} ms, no error.`,
  );
} finally {
  for (const child of children) child.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
}
