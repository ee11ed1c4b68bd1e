/** Rotating the index key: remaining access by the old key, in this process and in others, at every point of failure. */

import { describe, expect, test } from "vitest";
import { type BlobStore, copyIndex, createClient, generateKey } from "../../src/core.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { startService } from "../http/service.js";
import { faultyStore, mishaps, switchedStore } from "../protocol/faulty-store.js";
import { whole } from "../ranges.js";
import { codeOf } from "../outcome.js";

const indexName = "rotated";
const item = { id: "a", vector: [1, 2] };

function open(store: BlobStore, maxStalenessMs = 0) {
  return createClient({ indexLocation: store, maxStalenessMs });
}

async function newIndex(store: BlobStore) {
  const indexKey = generateKey();
  const index = await open(store).createIndex({ indexName, indexKey });
  await index.upsert([item]);
  return { index, indexKey };
}

test("the new key opens the index, the old one opens nothing", async () => {
  const store = createMemoryStore();
  const { index, indexKey } = await newIndex(store);
  const newKey = generateKey();
  await index.rotateKey(newKey);
  await index.upsert([{ id: "b", vector: [2, 3] }]);
  expect(await codeOf(open(store).loadIndex({ indexName, indexKey }))).toBe("wrong_index_key");
  const loaded = await open(store).loadIndex({ indexName, indexKey: newKey });
  expect(await loaded.listIds()).toEqual(["a", "b"]);
});

test("it takes three creates and two deletions, however many rows there are", async () => {
  const counts: Record<string, number>[] = [];
  for (const rows of [1, 3000]) {
    const store = createMemoryStore();
    const { index } = await newIndex(store);
    await index.upsert(Array.from({ length: rows }, (_, i) => ({ id: `${i}`, vector: [i, 1] })));
    const calls: Record<string, number> = {};
    const { create, delete: remove } = store;
    store.create = (...args) => {
      calls.create = (calls.create ?? 0) + 1;
      expect(args[1].length).toBeLessThan(4096);
      return create(...args);
    };
    store.delete = (...args) => {
      calls.delete = (calls.delete ?? 0) + args[0].length;
      return remove(...args);
    };
    await index.rotateKey(generateKey());
    counts.push(calls);
  }
  expect(counts).toEqual([
    { create: 3, delete: 2 },
    { create: 3, delete: 2 },
  ]);
});

test("other processes that hold the old key can neither read nor write", async () => {
  const store = createMemoryStore();
  const { index, indexKey } = await newIndex(store);
  const other = await open(store).loadIndex({ indexName, indexKey });
  expect(await other.count()).toBe(1);
  await index.rotateKey(generateKey());
  const calls = [
    () => other.query({ queryVector: [1, 2] }),
    () => other.get(["a"]),
    () => other.upsert([{ id: "c", vector: [0, 0] }]),
    () => other.delete({ ids: ["a"] }),
    () => other.train(),
    () => other.rotateKey(generateKey()),
  ];
  for (const call of calls) expect(await codeOf(call())).toBe("wrong_index_key");
  expect(await index.listIds()).toEqual(["a"]);
});

test("an old record that is put back does not make the old key good again", async () => {
  const store = createMemoryStore();
  const { index, indexKey } = await newIndex(store);
  const [name] = await store.list("names/");
  const old = (await store.read(name, whole)) as Uint8Array;
  await index.rotateKey(generateKey());
  await store.delete(await store.list("names/"));
  await store.create(name, old);
  expect(await codeOf(open(store).loadIndex({ indexName, indexKey }))).toBe("corrupt");
});

test("of two rotations at once one wins, and its key opens the index", async () => {
  for (let round = 0; round < 20; round++) {
    const store = createMemoryStore();
    const { index, indexKey } = await newIndex(store);
    const other = await open(store).loadIndex({ indexName, indexKey });
    const keys = [generateKey(), generateKey()];
    const outcomes = await Promise.all([codeOf(index.rotateKey(keys[0])), codeOf(other.rotateKey(keys[1]))]);
    expect(outcomes.toSorted()).toEqual(["done", "wrong_index_key"]);
    const won = keys[outcomes.indexOf("done")];
    expect(await codeOf(open(store).loadIndex({ indexName, indexKey: won }))).toBe("done");
  }
});

test("writes that run while the key is rotated are there afterwards, or were refused", async () => {
  const store = createMemoryStore();
  const { index, indexKey } = await newIndex(store);
  const other = await open(store).loadIndex({ indexName, indexKey });
  const newKey = generateKey();
  const writes = Array.from({ length: 30 }, (_, i) => ({ id: `w${i}`, vector: [i, i] }));
  const outcomes = Promise.all(writes.map((write) => codeOf(other.upsert([write]))));
  await index.rotateKey(newKey);
  const ids = new Set(await index.listIds());
  (await outcomes).forEach((outcome, i) => {
    expect(["done", "wrong_index_key"]).toContain(outcome);
    expect(ids.has(`w${i}`)).toBe(outcome === "done");
  });
});

describe.each(mishaps)("a store that %s", (mishap) => {
  test("at any call of a rotation leaves an index that one of the two keys opens, and a repeated call finishes", async () => {
    for (let call = 0; ; call++) {
      const store = createMemoryStore();
      const { indexKey } = await newIndex(store);
      const newKey = generateKey();
      // The index is loaded first, by a store that fails later: only the calls of the rotation count.
      const switched = switchedStore(store);
      const index = await open(switched).loadIndex({ indexName, indexKey });
      const faulty = faultyStore(store, call, mishap);
      switched.target = faulty;
      const outcome = await codeOf(index.rotateKey(newKey));
      const { struck } = faulty;
      switched.target = store;
      if (struck === undefined) {
        expect(outcome).toBe("done");
        break;
      }
      const opened = await Promise.all(
        [indexKey, newKey].map((key) => codeOf(open(store).loadIndex({ indexName, indexKey: key }))),
      );
      expect(opened, struck).toContain("done");
      expect(await codeOf(index.rotateKey(newKey)), struck).toBe("done");
      const loaded = await open(store).loadIndex({ indexName, indexKey: newKey });
      expect(await loaded.count()).toBe(1);
      expect(await codeOf(open(store).loadIndex({ indexName, indexKey }))).toBe("wrong_index_key");
    }
  });
});

test.each([
  ["its first record", 1, false],
  ["its manifest", 2, true],
  ["its last record", 3, true],
])("a rotation that died after %s has changed the key or not", async (_, creates, isChanged) => {
  let store = createMemoryStore();
  const { indexKey } = await newIndex(store);
  const newKey = generateKey();
  const before = new Map<string, Uint8Array>();
  for (const key of await store.list("")) before.set(key, (await store.read(key, whole)) ?? new Uint8Array());
  let left = creates;
  for (let call = 0; ; call++) {
    const dying = faultyStore(store, call, "dies after");
    const loaded = await open(dying)
      .loadIndex({ indexName, indexKey })
      .catch(() => undefined);
    if (loaded !== undefined) await loaded.rotateKey(newKey).catch(() => undefined);
    if (dying.struck?.startsWith("create ")) left--;
    if (left === 0) break;
    // The next attempt is the first one, up to its next create.
    store = createMemoryStore();
    for (const [key, bytes] of before) await store.create(key, bytes);
  }
  const [inForce, out] = isChanged ? [newKey, indexKey] : [indexKey, newKey];
  const client = open(store);
  const index = await client.loadIndex({ indexName, indexKey: inForce });
  expect(await codeOf(open(store).loadIndex({ indexName, indexKey: out }))).toBe("wrong_index_key");
  await client.close();
  // The next owner does the remaining work after the commit; the next change deletes the remaining records.
  if (creates === 2) expect(await store.list("names/")).toHaveLength(1);
  const again = await open(store).loadIndex({ indexName, indexKey: inForce });
  await again.upsert([{ id: "b", vector: [0, 1] }]);
  await again.rotateKey(generateKey());
  expect(await store.list("names/")).toHaveLength(1);
  expect(await index.count().catch(() => "refused")).toBe("refused");
});

test("a copy has the key that the index has, and rotating one leaves the other", async () => {
  const [from, to] = [createMemoryStore(), createMemoryStore()];
  const { index } = await newIndex(from);
  const [second, third] = [generateKey(), generateKey()];
  await index.rotateKey(second);
  await copyIndex({ from: { indexLocation: from }, to: { indexLocation: to }, indexName, indexKey: second });
  const copy = await open(to).loadIndex({ indexName, indexKey: second });
  await copy.rotateKey(third);
  expect(await codeOf(open(from).loadIndex({ indexName, indexKey: second }))).toBe("done");
  expect(await codeOf(open(to).loadIndex({ indexName, indexKey: second }))).toBe("wrong_index_key");
  expect(await (await open(to).loadIndex({ indexName, indexKey: third })).count()).toBe(1);
});

test("over HTTP the old key is refused as soon as the rotation is answered", async () => {
  const service = await startService();
  const client = createClient({ baseUrl: service.baseUrl, apiKey: service.apiKey });
  try {
    const indexKey = generateKey();
    const index = await client.createIndex({ indexName, indexKey });
    await index.upsert([item]);
    const other = await client.loadIndex({ indexName, indexKey });
    const newKey = generateKey();
    await index.rotateKey(newKey);
    expect(await index.count()).toBe(1);
    expect(await codeOf(other.count())).toBe("wrong_index_key");
    const loaded = await client.loadIndex({ indexName, indexKey: newKey });
    expect(await loaded.listIds()).toEqual(["a"]);
  } finally {
    await client.close();
    await service.close();
  }
});

test("something that is no key is refused, and changes nothing", async () => {
  const store = createMemoryStore();
  const { index, indexKey } = await newIndex(store);
  for (const key of ["", "00", null, 5, new Uint8Array(31)]) {
    expect(await codeOf(index.rotateKey(key as string))).toBe("invalid_request");
  }
  expect(await codeOf(open(store).loadIndex({ indexName, indexKey }))).toBe("done");
});
