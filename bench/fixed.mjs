// npm run bench -- fixed
//
// The fixed cost of a query: warm, one probe, ten neighbours, 25,000 x 256. Median time, the shares of it by what ran
// (sampled by V8's profiler), promises made (counted by async_hooks) and bytes of heap allocated (with the collector held
// back). For a client in memory that may read stale state, on local disk with strong reads, through LangChain, with filters,
// and of the other types.

import { createHook } from "node:async_hooks";
import { mkdtempSync, rmSync } from "node:fs";
import { Session } from "node:inspector/promises";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { EncryptedVectorStore, createClient, generateKey } from "sealdex";
import { syntheticVectors } from "./search/datasets.mjs";

const [n, dimension, neighbours] = [25_000, 256, 10];
const timed = 20_000;
const counted = 1000;
const sampledMs = 4000;
const { base, queries } = syntheticVectors(n, dimension, 500);
const vectorAt = (vectors, i) => vectors.subarray(i * dimension, (i + 1) * dimension);
const folder = mkdtempSync(join(tmpdir(), "sealdex-fixed-"));
const columns = [
  "WebAssembly",
  "engine, search",
  "other code of Sealdex",
  "Node and promises",
  "garbage collection",
];

console.log(`Node ${process.version}, ${cpus()[0].model}, ${n} x ${dimension}, one probe\n`);
const heads = ["query", "p50 (µs)", ...columns.map((name) => `${name} (µs)`), "promises", "heap (bytes)"];
console.log(`| ${heads.join(" | ")} |\n|---|${"---:|".repeat(heads.length - 1)}`);
const memory = { indexLocation: { location: "memory" }, maxStalenessMs: 86_400_000 };
const local = (name) => ({ indexLocation: { location: "local", path: join(folder, name) } });
const options = { topK: neighbours, nProbes: 1 };
const queried =
  (more) =>
  ({ index }) =>
  (queryVector) =>
    index.query({ ...options, ...more, queryVector });
try {
  await profile("memory, stale reads", { client: memory }, queried());
  await profile("local disk, strong reads", { client: local("plain") }, queried());
  await profile("memory, stale reads, LangChain", { client: memory }, ({ client, key }) => {
    const embeddings = { embedQuery: async () => [], embedDocuments: async () => [] };
    const store = new EncryptedVectorStore(embeddings, {
      client,
      indexName: "fixed",
      indexKey: key,
      nProbes: 1,
    });
    const arrays = new Map();
    return (vector) => {
      if (!arrays.has(vector.byteOffset)) arrays.set(vector.byteOffset, Array.from(vector));
      return store.similaritySearchVectorWithScore(arrays.get(vector.byteOffset), neighbours);
    };
  });
  for (const [name, filter] of [
    ["that 1 % match", { percent: 7 }],
    ["that 20 % match", { percent: { $lt: 20 } }],
  ]) {
    await profile(`memory, stale reads, filter ${name}`, { client: memory }, queried({ filter }));
    await profile(`local disk, strong reads, filter ${name}`, { client: local(name) }, queried({ filter }));
  }
  for (const indexConfig of [{ type: "ivf" }, { type: "ivfpq", pqDim: 64 }]) {
    await profile(`memory, stale reads, ${indexConfig.type}`, { client: memory, indexConfig }, queried());
  }
} finally {
  rmSync(folder, { recursive: true });
}

async function profile(name, { client: clientOptions, indexConfig = { type: "ivfflat" } }, open) {
  const client = createClient({ ...clientOptions, automaticTraining: false });
  const key = generateKey();
  const index = await client.createIndex({
    indexName: "fixed",
    indexKey: key,
    metric: "cosine",
    indexConfig: { ...indexConfig, dimension },
  });
  for (let start = 0; start < n; start += 5000) {
    await index.upsert(
      Array.from({ length: 5000 }, (_, i) => ({
        id: String(start + i),
        vector: vectorAt(base, start + i),
        metadata: { percent: (start + i) % 100 },
      })),
    );
  }
  await index.train();
  const query = open({ client, index, key });
  const ask = async (count) => {
    for (let i = 0; i < count; i++) await query(vectorAt(queries, i % 500));
  };
  await ask(timed);
  const p50 = await median(query);
  const shares = await sampled(() => ask(counted));
  const cells = columns.map((column) => (p50 * shares[column]).toFixed(1));
  const promises = (await promisesOf(() => ask(counted))) / counted;
  const heap = (await heapOf(() => ask(counted))) / counted;
  console.log(`| ${[name, p50.toFixed(1), ...cells, promises.toFixed(0), heap.toFixed(0)].join(" | ")} |`);
  await client.close();
}

async function median(query) {
  const times = [];
  for (let i = 0; i < timed; i++) {
    const asked = performance.now();
    await query(vectorAt(queries, i % 500));
    times.push((performance.now() - asked) * 1000);
  }
  return times.sort((a, b) => a - b)[timed >> 1];
}

/** The share of each column in the samples of a profile, idle time left out. */
async function sampled(run) {
  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.setSamplingInterval", { interval: 100 });
  await session.post("Profiler.start");
  const started = performance.now();
  while (performance.now() - started < sampledMs) await run();
  const { profile: result } = await session.post("Profiler.stop");
  session.disconnect();
  const columnOf = new Map(result.nodes.map(({ id, callFrame }) => [id, columnOfFrame(callFrame)]));
  const counts = Object.fromEntries(columns.map((column) => [column, 0]));
  let all = 0;
  for (const id of result.samples) {
    const column = columnOf.get(id);
    if (column === undefined) continue;
    counts[column]++;
    all++;
  }
  return Object.fromEntries(columns.map((column) => [column, counts[column] / all]));
}

function columnOfFrame({ url, functionName }) {
  if (functionName === "(idle)") return undefined;
  if (functionName === "(garbage collector)") return "garbage collection";
  if (url.startsWith("wasm:")) return "WebAssembly";
  if (/\/dist\/esm\/(engine|search)\//.test(url)) return "engine, search";
  return url.includes("/dist/esm/") ? "other code of Sealdex" : "Node and promises";
}

async function promisesOf(run) {
  let made = 0;
  const hook = createHook({
    init(_id, type) {
      if (type === "PROMISE") made++;
    },
  });
  hook.enable();
  await run();
  hook.disable();
  return made;
}

async function heapOf(run) {
  globalThis.gc();
  const before = process.memoryUsage().heapUsed;
  await run();
  return process.memoryUsage().heapUsed - before;
}
