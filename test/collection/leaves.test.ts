/** Leaves search shards at the states that routers name, for those that have their keys. */

import { afterEach, beforeEach, expect, test } from "vitest";
import type { VectorIndex } from "../../src/api/vector-index.js";
import { generateKey, secretKey } from "../../src/crypto/keys.js";
import { Leaf } from "../../src/index/collection/leaf.js";
import { createRouter } from "../../src/index/collection/router.js";
import { EmbeddedClient } from "../../src/index/embedded-client.js";
import type { SearchShards, ShardRow } from "../../src/query/shard-search.js";
import type { BlobStore } from "../../src/storage/blob-store.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { StandingClock } from "../protocol/standing-clock.js";
import { copyOf, pausedStore } from "./stores.js";
import { randomItems } from "./twins.js";

const indexKey = generateKey();
const named = { indexName: "notes", indexKey };
const queryVector = randomItems(1, 1)[0].vector ?? [];

let stored: BlobStore;
let read: string[];
let leafClient: EmbeddedClient;
let leaf: Leaf;
let router: EmbeddedClient;
let asked: Parameters<SearchShards>[];
let answer: (found: ShardRow[][][]) => ShardRow[][][];
let notes: VectorIndex;

/** Notes what its user reads. */
function noting(store: BlobStore, calls: string[]): BlobStore {
  return {
    ...store,
    read(key, ...others) {
      calls.push(key);
      return store.read(key, ...others);
    },
  };
}

beforeEach(async () => {
  stored = createMemoryStore();
  const options = { automaticTraining: false, retentionMs: 60_000 };
  read = [];
  asked = [];
  answer = (found) => found;
  leafClient = new EmbeddedClient({ ...options, indexLocation: noting(stored, read) });
  leaf = new Leaf(leafClient);
  router = createRouter({ ...options, indexLocation: stored }, async (...search) => {
    asked.push(search);
    return answer(await leaf.search(...search));
  });
  notes = await router.createCollection({ ...named, shards: 4 });
  await notes.upsert(randomItems(400, 1));
});

afterEach(async () => {
  await router.close();
  await leafClient.close();
});

test("a warm query reads nothing at a leaf, since the router names the state", async () => {
  const first = await notes.query({ queryVector });
  read.length = 0;
  expect(await notes.query({ queryVector })).toEqual(first);
  expect(read).toEqual([]);
  await notes.upsert([{ id: "nearest", vector: queryVector }]);
  const [{ id }] = await notes.query({ queryVector, topK: 1, filter: { year: { $exists: false } } });
  expect(id).toBe("nearest");
  expect(read).not.toEqual([]);
});

test("a leaf that has seen newer states answers at the one that is named", async () => {
  await notes.query({ queryVector });
  const old = asked[0];
  const before = await leaf.search(...old);
  await notes.delete({ deleteAll: true });
  expect(await notes.query({ queryVector })).toEqual([]);
  expect(await leaf.search(...old)).toEqual(before);
  expect(before.flat(2).length).toBeGreaterThan(0);
});

test("a leaf answers for no key but the shard's, also if it has the shard open", async () => {
  await notes.query({ queryVector });
  const [search, shards] = asked[0];
  const forged = shards.map((shard) => ({ ...shard, keys: [secretKey(Buffer.alloc(32, 1))] }));
  await expect(leaf.search(search, forged, undefined)).rejects.toMatchObject({
    code: "wrong_index_key",
    // It does not quote the internal name of the shard.
    message: "collection: this key does not open a shard, as after a rotation",
  });
  const exchanged = shards.map((shard, i) => ({ ...shard, keys: shards[(i + 1) % shards.length].keys }));
  await expect(leaf.search(search, exchanged, undefined)).rejects.toMatchObject({ code: "wrong_index_key" });
});

test("a leaf takes no other state for the one that is named", async () => {
  await notes.query({ queryVector });
  const [search, shards] = asked[0];
  const another = shards.map((shard) => ({ ...shard, digest: "00".repeat(32) }));
  await expect(leaf.search(search, another, undefined)).rejects.toMatchObject({ code: "rollback_detected" });
  const replaced = shards.map((shard, i) => ({ ...shard, indexId: shards[(i + 1) % shards.length].indexId }));
  await expect(new Leaf(leafClient).search(search, replaced, undefined)).rejects.toMatchObject({
    code: "rollback_detected",
  });
});

test("a key is forgotten once no router has used it for a while", async () => {
  await notes.query({ queryVector });
  await leaf.dropUnused(0);
  read.length = 0;
  await notes.query({ queryVector });
  expect(read).toEqual([]);
  await leaf.dropUnused(Infinity);
  await notes.query({ queryVector });
  expect(read).not.toEqual([]);
});

test("shards that cannot be opened while others are dropped do not make that fail", async () => {
  await notes.query({ queryVector });
  const [search, shards] = asked[0];
  const forged = shards.map((shard) => ({ ...shard, keys: [secretKey(Buffer.alloc(32, 1))] }));
  const another = new Leaf(leafClient);
  const failing = another.search(search, forged, undefined);
  const dropping = another.dropUnused(Infinity);
  await expect(failing).rejects.toMatchObject({ code: "wrong_index_key" });
  await expect(dropping).resolves.toBeUndefined();
});

test("queries go on after the key of the collection was rotated", async () => {
  const before = await notes.query({ queryVector });
  await notes.rotateKey(generateKey());
  expect(await notes.query({ queryVector })).toEqual(before);
});

test("other routers find the same at any moment of a rotation to the key that they have", async () => {
  const before = await notes.query({ queryVector });
  const filled = await copyOf(stored);
  for (let number = 0; ; number += 13) {
    const store = await copyOf(filled);
    const clientOfLeaf = new EmbeddedClient({ indexLocation: store });
    const own = new Leaf(clientOfLeaf);
    const other = createRouter({ indexLocation: store }, (...search) => own.search(...search));
    const routed = await other.loadCollection(named);
    const expectSame = async () => expect(await routed.query({ queryVector })).toEqual(before);
    await expectSame();
    const paused = pausedStore(store, number, expectSame);
    const rotating = new EmbeddedClient({ indexLocation: paused });
    await (await rotating.loadCollection(named)).rotateKey(indexKey);
    await expectSame();
    await Promise.all([other, rotating, clientOfLeaf].map((client) => client.close()));
    if (!paused.hasPaused) return;
  }
});

test("shards that were split are searched in their place", async () => {
  const before = await notes.query({ queryVector, topK: 50, recall: "exact", include: ["metadata"] });
  await router.splitShards({ ...named, shards: 7 });
  expect(await notes.query({ queryVector, topK: 50, recall: "exact", include: ["metadata"] })).toEqual(
    before,
  );
  expect(asked.at(-1)?.[1]).toHaveLength(7);
});

test("vectors of one call are sent to leaves together, 64 at a time, and exact queries 16", async () => {
  const queryVectors = randomItems(150, 5).map(({ vector = [] }) => vector);
  for (const [recall, sizes] of [
    [0.95, [64, 64, 22]],
    ["exact", [...Array.from({ length: 9 }, () => 16), 6]],
  ] as const) {
    const options = { topK: 10, recall, include: ["distance", "metadata"] } as const;
    const expected = await Promise.all(
      queryVectors.map((vector) => notes.query({ ...options, queryVector: vector })),
    );
    asked.length = 0;
    expect(await notes.query({ ...options, queryVectors })).toEqual(expected);
    expect(asked.map(([{ vectors }]) => vectors.length)).toEqual(sizes);
  }
});

test("vectors of one call get the results of single ones in a trained collection", async () => {
  await notes.upsert(randomItems(3000, 6, "more"));
  await notes.upsert(randomItems(500, 7, "own"), { namespace: "red" });
  await notes.train({ nLists: 12 });
  await notes.upsert(randomItems(300, 8, "later"));
  // Its time stands still, so that it learns nothing meanwhile.
  const client = new EmbeddedClient({ indexLocation: stored, automaticTraining: false }, new StandingClock());
  const here = await client.loadCollection(named);
  const queryVectors = randomItems(70, 5).map(({ vector = [] }) => vector);
  for (const options of [
    { recall: 0.9 },
    { nProbes: 2 },
    { recall: 0.95, filter: { year: { $gte: 2010 } } },
    { recall: 0.95, namespace: "red" },
  ]) {
    const shown = { ...options, topK: 20, include: ["distance", "metadata"] } as const;
    const expected = [];
    for (const vector of queryVectors) expected.push(await notes.query({ ...shown, queryVector: vector }));
    expect(expected.flat().length).toBeGreaterThan(1000);
    expect(await notes.query({ ...shown, queryVectors })).toEqual(expected);
    expect(await here.query({ ...shown, queryVectors })).toEqual(expected);
  }
  await client.close();
});

test("fewer vectors are sent together if they ask for many rows", async () => {
  const queryVectors = randomItems(12, 5).map(({ vector = [] }) => vector);
  const expected = await Promise.all(
    queryVectors.map((vector) => notes.query({ queryVector: vector, topK: 2500 })),
  );
  asked.length = 0;
  expect(await notes.query({ queryVectors, topK: 2500 })).toEqual(expected);
  expect(asked.map(([{ vectors }]) => vectors.length)).toEqual([5, 5, 2]);
});

test("all searches of a call end before one fails", async () => {
  const queryVectors = randomItems(130, 5).map(({ vector = [] }) => vector);
  let running = 0;
  let ended = 0;
  const { search } = leaf;
  leaf.search = async (...asking) => {
    running++;
    await new Promise((resolve) => setImmediate(resolve));
    return search.apply(leaf, asking).finally(() => (running--, ended++));
  };
  answer = () => {
    answer = (found) => found;
    throw new Error("lost");
  };
  await expect(notes.query({ queryVectors, topK: 10 })).rejects.toThrow("lost");
  expect([running, ended]).toEqual([0, 3]);
});

test("a leaf refuses vectors of another dimension than its shards have", async () => {
  await notes.query({ queryVector });
  const [search, ...others] = asked[0];
  const wrong = { ...search, vectors: [new Float32Array(15)] };
  await expect(leaf.search(wrong, ...others)).rejects.toMatchObject({
    code: "dimension_mismatch",
    message: "batch.vectors_b64: expected 16 numbers, got 15",
  });
});

test("more rows than the shards have may be asked for", async () => {
  const found = await notes.query({ queryVector, topK: 1_000_000, recall: "exact" });
  expect(found).toHaveLength(400);
});

test("any number of rows may be equally near", async () => {
  answer = ([[[first]], ...shards]) => [
    [Array.from({ length: 200_000 }, () => ({ ...first, score: 0 }))],
    ...shards,
  ];
  const found = await notes.query({ queryVector, topK: 3 });
  expect(found.map(({ distance }) => distance)).toEqual([0, 0, 0]);
});

test("an empty collection, and a query for nothing, ask no leaf", async () => {
  asked.length = 0;
  expect(await notes.query({ queryVector, topK: 0 })).toEqual([]);
  await notes.delete({ deleteAll: true });
  await notes.compact();
  asked.length = 0;
  expect(await notes.query({ queryVector })).toEqual([]);
  expect(asked).toEqual([]);
});

test.each([
  ["a segment", (row: ShardRow) => ({ ...row, segment: "segments/other" })],
  ["a row", (row: ShardRow) => ({ ...row, row: 10_000 })],
])("%s that the named state does not have is refused", async (_, change) => {
  answer = ([[[first, ...others]], ...shards]) => [[[change(first), ...others]], ...shards];
  await expect(notes.query({ queryVector })).rejects.toMatchObject({ code: "internal" });
});
