/** Renewal of data keys: everything is under new keys afterwards, nothing is lost, and an interruption costs nothing. */

import { describe, expect, test } from "vitest";
import { type BlobStore, createClient, generateKey, SealdexError } from "../../src/core.js";
import { generationOf } from "../../src/crypto/sealed-object.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import type { IndexConfigInput, VectorIndex } from "../../src/api/vector-index.js";
import { faultyStore, switchedStore } from "../protocol/faulty-store.js";
import { whole } from "../ranges.js";

const indexName = "renewed";
const queryVector = Array.from({ length: 16 }, (_, i) => Math.cos(i));

function open(store: BlobStore) {
  return createClient({ indexLocation: store, automaticTraining: false });
}

const items = Array.from({ length: 400 }, (_, i) => ({
  id: `item ${i}`,
  vector: Array.from({ length: 16 }, (__, j) => Math.sin(i * (j + 1))),
  contents: `text ${i}`,
  metadata: { shelf: i % 4 },
}));

async function newIndex(store: BlobStore, indexConfig: IndexConfigInput = { type: "ivfflat" }) {
  const indexKey = generateKey();
  const index = await open(store).createIndex({
    indexName,
    indexKey,
    indexConfig: { ...indexConfig, nLists: 5 },
  });
  await index.upsert(items.slice(0, 300));
  await index.train();
  await index.upsert(items.slice(300));
  await index.delete({ ids: ["item 7"] });
  return { index, indexKey };
}

/** The generations of the keys under which the objects in use are sealed, by a process that opens the index anew. */
async function generationsInUse(store: BlobStore, indexKey: string): Promise<number[]> {
  const used: string[] = [];
  const { read } = store;
  store.read = (key, ...rest) => {
    if (/\/(segment|model)\//.test(key)) used.push(key);
    return read(key, ...rest);
  };
  const index = await open(store).loadIndex({ indexName, indexKey });
  await index.query({ queryVector, nProbes: 0, include: ["contents", "metadata"] });
  store.read = read;
  const bytes = await Promise.all([...new Set(used)].map((key) => store.read(key, whole)));
  return [...new Set(bytes.map((one) => generationOf(one as Uint8Array)))];
}

async function state(index: VectorIndex) {
  const found = await index.query({
    queryVector,
    topK: 20,
    nProbes: 5,
    filter: { shelf: 1 },
    include: ["distance", "contents"],
  });
  const description = await index.describe();
  return {
    ids: await index.listIds(),
    found,
    description: { ...description, memory: undefined, segments: 0, storedBytes: 0, reclaimableBytes: 0 },
  };
}

describe.each([
  { type: "ivfflat" } as const,
  { type: "ivf" } as const,
  { type: "ivfpq", pqDim: 4, pqBits: 4 } as const,
])("an index of $type", (indexConfig) => {
  test("answers as before, from objects that new keys seal", async () => {
    const store = createMemoryStore();
    const { index, indexKey } = await newIndex(store, indexConfig);
    const other = await open(store).loadIndex({ indexName, indexKey });
    const before = await state(other);
    await index.reencrypt();
    expect(await state(index)).toEqual(before);
    expect(await state(other)).toEqual(before);
    const fresh = await open(store).loadIndex({ indexName, indexKey });
    expect(await generationsInUse(store, indexKey)).toEqual([2]);
    expect(await state(fresh)).toEqual(before);
    await fresh.upsert([items[7]]);
    await fresh.train();
    await fresh.compact();
    expect(await index.count()).toBe(400);
  });
});

test("a store that fails at any call leaves the index unchanged, and the next call continues with the rest", async () => {
  for (let call = 0; ; call += 3) {
    const store = createMemoryStore();
    const { indexKey } = await newIndex(store);
    const switched = switchedStore(store);
    const index = await open(switched).loadIndex({ indexName, indexKey });
    const before = await state(index);
    const faulty = faultyStore(store, call, "loses the acknowledgement");
    switched.target = faulty;
    const outcome = await index.reencrypt().then(
      () => "done",
      (error: unknown) => (error instanceof SealdexError ? error.code : String(error)),
    );
    switched.target = store;
    if (faulty.struck === undefined) {
      expect(outcome).toBe("done");
      break;
    }
    const next = await open(store).loadIndex({ indexName, indexKey });
    expect(await state(next), faulty.struck).toEqual(before);
    await next.reencrypt();
    expect(await state(next)).toEqual(before);
    expect(Math.min(...(await generationsInUse(store, indexKey)))).toBeGreaterThan(1);
  }
});

test("concurrent writes, merges and trainings are there afterwards, under the new keys", async () => {
  const store = createMemoryStore();
  const { index, indexKey } = await newIndex(store);
  const other = await open(store).loadIndex({ indexName, indexKey });
  await Promise.all([
    index.reencrypt(),
    (async () => {
      for (let i = 0; i < 12; i++) await other.upsert([{ ...items[0], id: `new ${i}` }]);
      await other.train();
      await other.compact();
    })(),
  ]);
  expect(await index.count()).toBe(411);
  expect(await generationsInUse(store, indexKey)).toEqual([2]);
});

test("a reader's or a writer's key renews nothing", async () => {
  const store = createMemoryStore();
  const { index } = await newIndex(store);
  for (const access of ["read-only", "read-write"] as const) {
    const key = generateKey();
    await index.wraps.add({ name: access, key, access });
    const loaded = await open(store).loadIndex({ indexName, indexKey: key });
    await expect(loaded.reencrypt()).rejects.toMatchObject({ code: "forbidden" });
  }
});

test("an aborted renewal stops between objects, and leaves nothing of one that is not finished", async () => {
  const store = createMemoryStore();
  const { index } = await newIndex(store);
  const before = await state(index);
  const abort = new AbortController();
  const { create } = store;
  store.create = (key, ...rest) => {
    if (key.includes("/segment/")) abort.abort(new Error("enough"));
    return create(key, ...rest);
  };
  await expect(index.reencrypt({ signal: abort.signal })).rejects.toThrow("enough");
  store.create = create;
  expect(await state(index)).toEqual(before);
  await index.reencrypt();
  expect(await state(index)).toEqual(before);
});
