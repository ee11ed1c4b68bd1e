/** With oblivious reads, requests depend on writes alone, not on queries. */

import { afterEach, expect, test } from "vitest";
import { type Client, createClient, generateKey } from "../../src/core.js";
import type { BlobStore } from "../../src/storage/blob-store.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import type { VectorIndex } from "../../src/api/vector-index.js";
import { clustered } from "../engine/data.js";
import { rowsOf } from "../engine/oracle.js";

const d = 96;
const n = 3000;
const rows = rowsOf(clustered(n, d, 30, 5), d);
const access = { indexName: "hidden", indexKey: generateKey() };
const item = (i: number) => ({
  id: `item-${i}`,
  vector: rows[i],
  // Long enough that a segment is larger than the part read from its end.
  contents: `text ${i} of ${i % 7 === 0 ? "salmon" : "keys"} `.repeat(20),
  metadata: { n: i, team: `team ${i % 10}` },
});

const clients: Client[] = [];
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
});

function open(store: BlobStore, options: { readonly oblivious: boolean; readonly cacheBytesMax?: number }) {
  const client = createClient({ indexLocation: store, automaticTraining: false, ...options });
  clients.push(client);
  return client;
}

async function written(): Promise<BlobStore> {
  const store = createMemoryStore();
  const index = await open(store, { oblivious: false }).createIndex({ ...access, textIndex: true });
  for (let i = 0; i < 2800; i += 700) {
    await index.upsert(Array.from({ length: 700 }, (_, j) => item(i + j)));
  }
  await index.train({ nLists: 30 });
  await index.upsert(Array.from({ length: 100 }, (_, i) => item(2800 + i)));
  await index.delete({ ids: ["item-3", "item-2801"] });
  return store;
}

/** A store that writes down its reads and lists. */
function recorded(inner: BlobStore): { store: BlobStore; reads: string[] } {
  const reads: string[] = [];
  const store: BlobStore = {
    read: (key, range, options) => {
      reads.push(`${key} ${range === undefined ? "" : `${range.offset}+${range.length}`}`);
      return inner.read(key, range, options);
    },
    create: (key, bytes) => inner.create(key, bytes),
    list: (prefix, options) => {
      reads.push(`list ${prefix}`);
      return inner.list(prefix, options);
    },
    delete: (keys) => inner.delete(keys),
    close: () => inner.close(),
  };
  return { store, reads };
}

/** As many calls of the same kinds for each seed, about other items. */
async function lookFor(index: VectorIndex, seed: number): Promise<unknown[]> {
  const at = (i: number) => (seed * 977 + i * 131) % 2800;
  const include = ["distance", "contents", "metadata", "vector"] as const;
  return [
    await index.query({ queryVector: rows[at(1)], topK: 5, nProbes: 2, include }),
    await index.query({ queryVector: rows[at(2)], topK: 20, recall: 0.9 }),
    await index.query({ queryVector: rows[at(3)], topK: 5, filter: { team: `team ${seed % 10}` } }),
    await index.query({ queryVectors: [rows[at(4)], rows[at(5)]], topK: 5, greedy: true }),
    await index.query({ queryText: seed % 2 === 0 ? "salmon" : "keys", topK: 5 }),
    await index.get([`item-${at(6)}`, `item-${at(7)}`]),
    await index.count({ filter: { n: { $gt: at(8) } } }),
    await index.listItems({ filter: { n: at(9) }, limit: 10 }),
    await index.listItems({ filter: { n: { $lt: at(10) } }, orderBy: { n: "desc" }, limit: 3 }),
  ];
}

/** The reads of a process that queries before and after another one writes. */
async function traceOf(seed: number, oblivious: boolean): Promise<string[]> {
  const inner = await written();
  const { store, reads } = recorded(inner);
  const index = await open(store, { oblivious }).loadIndex(access);
  await lookFor(index, seed);
  const writer = await open(inner, { oblivious: false }).loadIndex(access);
  await writer.upsert(Array.from({ length: 50 }, (_, i) => item(2900 + i)));
  const found = await lookFor(index, seed + 1);
  const trace = numbered(reads);
  expect(found).toEqual(await lookFor(writer, seed + 1));
  return trace;
}

/** Random names, numbered in the order of their appearance. */
function numbered(reads: readonly string[]): string[] {
  const known = new Map<string, number>();
  return reads.map((read) =>
    read.replace(/[0-9a-f]{32,}/g, (random) => {
      if (!known.has(random)) known.set(random, known.size);
      return `#${known.get(random)}`;
    }),
  );
}

test("requests are the same for all queries with oblivious reads, and differ without", async () => {
  expect(await traceOf(1, true)).toEqual(await traceOf(2, true));
  expect(await traceOf(1, false)).not.toEqual(await traceOf(2, false));
});

test("requests show neither the namespace of a query nor whether it exists", async () => {
  const inner = await written();
  const writer = await open(inner, { oblivious: false }).loadIndex(access);
  const namespaces = ["ada", "bob", "nobody"];
  for (const namespace of namespaces.slice(0, 2)) {
    await writer.upsert(
      Array.from({ length: 60 }, (_, i) => item(i)),
      { namespace },
    );
  }
  const traceOfCalls = async (wanted: readonly string[], oblivious: boolean) => {
    const { store, reads } = recorded(inner);
    const index = await open(store, { oblivious }).loadIndex(access);
    const plain = await open(inner, { oblivious: false }).loadIndex(access);
    for (const namespace of wanted) {
      const query = { queryVector: rows[5], topK: 3, namespace, include: ["contents"] } as const;
      expect(await index.query(query)).toEqual(await plain.query(query));
      await index.get(["item-7"], { namespace });
      await index.listItems({ namespace, limit: 10 });
      expect(await index.count({ namespace })).toBe(namespace === "nobody" ? 0 : 60);
    }
    return reads;
  };
  // Nor whether a call is about a namespace that an earlier one was about.
  for (const sequences of [
    [["ada"], ["bob"], ["nobody"]],
    namespaces.flatMap((one) => namespaces.map((two) => [one, two])),
  ]) {
    const traces: string[][] = [];
    for (const sequence of sequences) traces.push(await traceOfCalls(sequence, true));
    for (const trace of traces) expect(trace).toEqual(traces[0]);
  }
  expect(await traceOfCalls(["ada"], false)).not.toEqual(await traceOfCalls(["bob"], false));
});

test("after the index was read, looking for items asks storage for the newest manifest alone", async () => {
  const { store, reads } = recorded(await written());
  const index = await open(store, { oblivious: true }).loadIndex(access);
  await index.count();
  reads.length = 0;
  await lookFor(index, 4);
  expect(reads.filter((read) => !read.includes("/manifest/"))).toEqual([]);
  expect(reads.length).toBeGreaterThan(0);
});

test("ciphertext that is held counts as part of the cache, and is given back", async () => {
  const store = await written();
  const client = open(store, { oblivious: true });
  const index = await client.loadIndex(access);
  await index.count();
  const { storedBytes, memory } = await index.describe();
  expect(memory.cacheBytes).toBeGreaterThan(storedBytes);
  const before = memory.cacheBytes;
  await index.upsert([item(2950)]);
  await index.delete({ deleteAll: true });
  await index.compact();
  await index.query({ queryVector: rows[0] });
  expect((await index.describe()).memory.cacheBytes).toBeLessThan(before / 4);
});

test("an index with more stored bytes than the cache may have is refused", async () => {
  const store = await written();
  const index = await open(store, { oblivious: true, cacheBytesMax: 100_000 }).loadIndex(access);
  await expect(index.query({ queryVector: rows[0] })).rejects.toMatchObject({ code: "too_large" });
  expect(() => open(store, { oblivious: 1 as never })).toThrow(/^oblivious: expected a boolean/);
});

test("an object that was damaged is refused as without", async () => {
  const inner = await written();
  const damaged: BlobStore = {
    ...inner,
    async read(key, range, options) {
      const bytes = await inner.read(key, range, options);
      if (bytes !== null && key.includes("/segment/")) bytes[bytes.length >> 1] ^= 1;
      return bytes;
    },
  };
  const index = await open(damaged, { oblivious: true }).loadIndex(access);
  await expect(
    index.query({ queryVector: rows[0], greedy: true, topK: n, include: ["contents"] }),
  ).rejects.toMatchObject({ code: "corrupt" });
});
