// A process that opens damaged indexes next to one of another tenant, and makes all calls on them. Uses the build.

import { createClient, generateKey, SealdexError } from "sealdex/core";

/** In every component of the other tenant's vectors, and in what they are compared with. */
const canary = 1234.5;
const dimension = 8;

function storeOf(blobs) {
  return {
    read: async (key, range) => {
      const blob = blobs.get(key);
      if (blob === undefined) return null;
      return range === undefined ? blob.slice() : blob.slice(range.offset, range.offset + range.length);
    },
    create: async (key, bytes) => {
      if (blobs.has(key)) return false;
      blobs.set(key, Uint8Array.from(bytes));
      return true;
    },
    list: async (prefix, { limit, after = "" } = {}) =>
      [...blobs.keys()]
        .filter((key) => key.startsWith(prefix) && key > after)
        .sort()
        .slice(0, limit),
    delete: async (keys) => keys.forEach((key) => blobs.delete(key)),
    close: async () => {},
  };
}

const neighbors = createClient({ indexLocation: storeOf(new Map()), automaticTraining: false });
const neighbor = await neighbors.createIndex({ indexName: "neighbor", indexKey: generateKey() });
const ofNeighbor = new Float32Array(dimension).fill(canary);
await neighbor.upsert(
  Array.from({ length: 200 }, (_, i) => ({
    id: `canary ${i}`,
    vector: ofNeighbor,
    contents: "canary text",
    metadata: { canary: "canary value" },
  })),
);
await neighbor.query({ queryVector: ofNeighbor, topK: 3 });

const query = Array.from({ length: dimension }, (_, i) => (i % 3) / 3 - 0.4);
const all = ["vector", "contents", "metadata"];

/** By name, in the order in which they are made. */
function callsOf(index, hasWords, number) {
  return {
    query: () => index.query({ queryVector: query, topK: 20 }),
    "query all": () =>
      index.query({ queryVector: query, topK: 200, nProbes: 1000, include: ["distance", "metadata"] }),
    batch: () => index.query({ queryVectors: [query, query.map((x) => -x), query], topK: 10 }),
    filtered: () =>
      index.query({ queryVector: query, topK: 20, filters: { t: "x1", "n.a": { $in: [0, 1] } } }),
    warm: () => index.query({ queryVector: query, topK: 20 }),
    namespace: () => index.query({ queryVector: query, topK: 5, namespace: "tenant" }),
    ...(hasWords && {
      words: () => index.query({ queryText: 'alpha word1 bet* "alpha beta"', topK: 10 }),
      hybrid: () => index.query({ queryText: "alpha -word2", queryVector: query, topK: 10 }),
    }),
    "list ids": () => index.listIds(),
    get: () => index.get(["i0", "i1", "i7", "i55", "i79"], { include: all }),
    list: () => index.listItems({ include: all }),
    order: () => index.listItems({ orderBy: { i: "desc" }, limit: 10 }),
    count: () => index.count(),
    "count some": () => index.count({ filter: { t: "x2" } }),
    describe: () => index.describe(),
    namespaces: () => index.namespaces.list(),
    prefetch: () => index.prefetch(),
    ...rewritesOf(index)[number % 3],
    "query again": () => index.query({ queryVector: query, topK: 200, nProbes: 1000 }),
    "count again": () => index.count(),
  };
}

/** What takes longest: a third of it for each index. */
function rewritesOf(index) {
  return [
    {
      upsert: () => index.upsert([{ id: "i7", vector: query, contents: "alpha gamma" }]),
      delete: () => index.delete({ filter: { i: 3 } }),
      update: () => index.update({ filter: { i: 4 } }, { metadata: { t: "changed" } }),
    },
    { compact: () => index.compact(), erase: () => index.erase("tenant") },
    { train: () => index.train({ nLists: 4 }) },
  ];
}

process.on("message", (message) => void answer(message));
process.on("unhandledRejection", (error) => process.send({ unhandled: String(error?.stack) }));
process.send({ ready: true });

async function answer({ number, blobs, indexName, indexKey, hasWords }) {
  const outcomes = [];
  const client = createClient({ indexLocation: storeOf(blobs), automaticTraining: false });
  const call = async (name, run) => {
    process.send({ number, call: name });
    const before = process.cpuUsage();
    const outcome = { name, code: "none", message: "" };
    let value;
    try {
      value = await run();
      if (textOf(value).includes(String(canary)) || textOf(value).includes("canary")) outcome.code = "leak";
    } catch (error) {
      outcome.code = error instanceof SealdexError ? error.code : "no SealdexError";
      outcome.message = error instanceof SealdexError ? error.message : String(error?.stack);
    }
    const { user, system } = process.cpuUsage(before);
    outcomes.push({ ...outcome, cpuMs: (user + system) / 1000 });
    return value;
  };
  const index = await call("load", () => client.loadIndex({ indexName, indexKey }));
  if (index !== undefined)
    for (const [name, run] of Object.entries(callsOf(index, hasWords, number))) await call(name, run);
  await call("neighbor", async () => {
    const found = await neighbor.query({ queryVector: ofNeighbor, topK: 200 });
    if (found.length !== 200 || found.some(({ distance }) => distance !== 0))
      throw new Error("its answers changed");
  });
  await call("close", () => client.close());
  process.send({ number, outcomes });
}

function textOf(value) {
  return JSON.stringify(value, (_, part) => (ArrayBuffer.isView(part) ? [...part] : part)) ?? "";
}
