// npm run bench -- leaves [--rows 100000] [--dimension 384] [--shards 8] [--leaves 4] [--routers 2] [--seconds 10] [--precision float32] [--location redis://...]
//
// Routers and leaves, each a process, beside one process that has the same rows in one index: queries per second of 8
// clients with one query at a time each, time of queries, processor time per query of all processes together, requests to
// storage per query, memory, and how long queries take when a leaf is stopped (SIGSTOP); then the same clients with 64
// vectors per call, and requests to leaves per call. Storage is a folder on local disk unless --location says otherwise.
// Prints Markdown. `npm run build` first.

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
    precision: { type: "string", default: "float32" },
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
/** Vectors per call of those that send several. */
const together = 64;
const togetherRows = [];
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

/** The sum of a metric of services, of the series whose labels match. */
async function counted(services, name, labels) {
  const counts = await Promise.all(
    services.map(async ({ baseUrl }) => {
      const response = await fetch(`${baseUrl}/metrics`, { headers: { "X-API-Key": rootKey } });
      const text = await response.text();
      const lines = text.matchAll(new RegExp(`^${name}\\{[^}]*${labels}[^}]*\\} (\\d+)$`, "gm"));
      return Array.from(lines, ([, each]) => Number(each)).reduce((sum, each) => sum + each, 0);
    }),
  );
  return counts.reduce((sum, each) => sum + each, 0);
}

const reads = (services) => counted(services, "sealdex_storage_seconds_count", 'operation="read"');
const requestsToLeaves = (services) => counted(services, "sealdex_leaf_seconds_count", "leaf");

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
  const matches = await index.query({ queryVector: vectorOf(queries, i % queryCount), topK: k, ...options });
  return matches.map(({ id }) => id);
}

const askOne = (index, i) => ask(index, i, { recall: 0.95 });

const quantile = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];

function askTogether(index, i) {
  const queryVectors = Array.from({ length: together }, (_, j) =>
    vectorOf(queries, (i * together + j) % queryCount),
  );
  return index.query({ queryVectors, topK: k, recall: 0.95 });
}

/** The times of calls by all clients, sorted, until `ms` have passed or there are `most`. */
async function load(indexes, { ms = Infinity, most = Infinity, clients = clientCount }, call = askOne) {
  const times = [];
  const end = performance.now() + ms;
  let asked = 0;
  await Promise.all(
    Array.from({ length: clients }, async (_, client) => {
      while (asked < most && performance.now() < end) {
        const started = performance.now();
        await call(indexes[client % indexes.length], asked++);
        times.push(performance.now() - started);
      }
    }),
  );
  return times.sort((a, b) => a - b);
}

async function measure(name, services, indexes) {
  const expected = [];
  let found = 0;
  for (let i = 0; i < 100; i++) {
    expected.push(new Set(await ask(indexes[0], i, { recall: "exact" })));
  }
  for (let i = 0; i < 100; i++) {
    const ids = await askOne(indexes[0], i);
    found += ids.filter((id) => expected[i].has(id)).length;
  }
  await load(indexes, { most: warmQueries });
  const before = { time: processorTime(services), reads: await reads(services) };
  const times = await load(indexes, { ms: 1000 * seconds });
  const time = processorTime(services) - before.time;
  const perQuery = ((await reads(services)) - before.reads) / times.length;
  const alone = await load(indexes.slice(0, 1), { most: 300, clients: 1 });
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
  await measureTogether(name, services, indexes);
}

async function measureTogether(name, services, indexes) {
  await load(indexes, { most: warmQueries / together }, askTogether);
  const before = { time: processorTime(services), requests: await requestsToLeaves(services) };
  const times = await load(indexes, { ms: 1000 * seconds }, askTogether);
  const time = processorTime(services) - before.time;
  const requests = (await requestsToLeaves(services)) - before.requests;
  const asked = together * times.length;
  const cells = [
    Math.round(asked / seconds),
    quantile(times, 0.5).toFixed(0),
    ((1000 * time) / asked).toFixed(2),
    (requests / times.length).toFixed(1),
  ];
  togetherRows.push(`| ${name} | ${cells.join(" | ")} |`);
}

try {
  const writer = await start();
  const client = createClient({ baseUrl: writer.baseUrl, apiKey: rootKey });
  const indexConfig = { type: "ivfflat", dimension, precision: values.precision };
  const lists = (items) => Math.max(16, Math.round(4 * Math.sqrt(items)));
  const address = { indexName: "index", indexKey: generateKey() };
  await fill(await client.createIndex({ ...address, indexConfig }), lists(rows));
  const named = { indexName: "collection", indexKey: generateKey() };
  await fill(await client.createCollection({ ...named, indexConfig, shards }), lists(rows / shards));
  await stop([writer]);

  console.log(
    `${cpus()[0].model}, ${cpus().length} cores, Node ${process.version}. ${rows} rows of ${dimension} dimensions, ${values.precision}, recall .95 declared, top ${k}, ` +
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
  console.log(
    `\n${together} vectors per call:\n\n| | queries/s | p50 of a call, ms | processor ms per query | requests to leaves per call |\n|---|---|---|---|---|`,
  );
  for (const row of togetherRows) console.log(row);
} finally {
  for (const child of children) child.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
}
