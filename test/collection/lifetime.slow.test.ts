/** Collections from their creation to their deletion: keys, anchors, erasures, training. */

import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { afterEach, expect, test } from "vitest";
import type { VectorIndex } from "../../src/api/vector-index.js";
import { generateKey } from "../../src/crypto/keys.js";
import { EmbeddedClient } from "../../src/index/embedded-client.js";
import { indexPrefix, parseOrphanName } from "../../src/state/commit/object-names.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { faultyStore } from "../protocol/faulty-store.js";
import { outcomeOf } from "./changes.js";
import { copyOf, pausedStore } from "./stores.js";
import { randomItems } from "./twins.js";

const indexKey = generateKey();
const named = { indexName: "notes", indexKey };
const clients: EmbeddedClient[] = [];

afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
});

function open(
  indexLocation = createMemoryStore(),
  anchorLocation?: ReturnType<typeof createMemoryStore>,
): EmbeddedClient {
  const client = new EmbeddedClient({
    indexLocation,
    automaticTraining: false,
    ...(anchorLocation && { anchorLocation }),
  });
  clients.push(client);
  return client;
}

const idsOf = (collection: VectorIndex) => collection.listIds();

test("trainings of its shards are reported under its name", async () => {
  const collection = await open().createCollection({ ...named, shards: 3 });
  await collection.upsert(randomItems(60, 1));
  const names: unknown[] = [];
  const listen = (message: unknown) => names.push((message as { indexName: unknown }).indexName);
  subscribe("sealdex:training", listen);
  try {
    await collection.train();
  } finally {
    unsubscribe("sealdex:training", listen);
  }
  expect(names).toEqual(Array(6).fill("notes"));
});

test.each([0, 4097, 1.5, undefined, "8"])("%s shards are refused", async (shards) => {
  await expect(open().createCollection({ ...named, shards: shards as number })).rejects.toMatchObject({
    code: "invalid_request",
  });
});

test("unsupported calls say so", async () => {
  const client = open();
  const collection = await client.createCollection({ ...named, shards: 2 });
  const refused = { code: "not_supported" };
  await expect(collection.wraps.list()).rejects.toMatchObject(refused);
  await expect(collection.wraps.revoke("reader")).rejects.toMatchObject(refused);
  await expect(
    collection.wraps.add({ name: "r", key: generateKey(), access: "read-only" }),
  ).rejects.toMatchObject(refused);
  await expect(collection.upsert([], { within: { a: 1 } })).rejects.toMatchObject(refused);
  const oblivious = new EmbeddedClient({ indexLocation: { location: "memory" }, oblivious: true });
  clients.push(oblivious);
  await expect(oblivious.createCollection({ ...named, shards: 2 })).rejects.toMatchObject(refused);
});

test("texts are embedded by the model of the collection, also in another process", async () => {
  const store = createMemoryStore();
  const collection = await open(store).createCollection({ ...named, shards: 3, embeddingModel: "default" });
  await collection.upsert([
    { id: "fish", contents: "Salmon swim upstream." },
    { id: "keys", contents: "Keys are rotated every year." },
  ]);
  const other = await open(store).loadCollection(named);
  expect(await other.query({ queryContents: "a salmon upstream", topK: 1 })).toMatchObject([{ id: "fish" }]);
});

test("a name that is taken, or a creation that fails, leaves nothing behind", async () => {
  const store = createMemoryStore();
  await open(store).createIndex(named);
  const before = await store.list("");
  await expect(open(store).createCollection({ ...named, shards: 3 })).rejects.toMatchObject({
    code: "already_exists",
  });
  const left = (await store.list("")).filter(
    (key) => !before.includes(key) && !/^orphans\/|\/manifest\//.test(key),
  );
  expect(left).toEqual([]);
});

test("a collection that is deleted is gone for every process; an interrupted deletion is continued", async () => {
  for (let number = 0; ; number++) {
    const store = createMemoryStore();
    const collection = await open(store).createCollection({ ...named, shards: 3 });
    await collection.upsert(randomItems(60, 1));
    const faulty = faultyStore(store, number, "dies after");
    const isDeleted = await open(faulty)
      .deleteCollection(named)
      .then(
        () => true,
        () => false,
      );
    if (!isDeleted) {
      await open(store)
        .deleteCollection(named)
        .catch((error: unknown) => expect(error).toMatchObject({ code: "not_found" }));
    }
    await expect(open(store).loadCollection(named)).rejects.toMatchObject({ code: "not_found" });
    await expect(collection.count()).rejects.toMatchObject({
      code: expect.stringMatching(/not_found|missing_object/),
    });
    const left = await store.list("");
    expect(left.filter((key) => key.startsWith("names/"))).toEqual([]);
    // Objects of a shard whose deletion was interrupted are collected a day after their mark.
    const marked = left
      .flatMap((key) => parseOrphanName(key) ?? [])
      .map((place) => indexPrefix(place.indexId).slice(6));
    const segments = left.filter((key) => key.includes("/segment/"));
    expect(segments.filter((key) => !marked.some((id) => key.includes(`/${id}`)))).toEqual([]);
    if (isDeleted) expect(segments).toEqual([]);
    if (isDeleted) return;
  }
});

test("vectors of other dimensions are refused, also by a client that writes to other shards", async () => {
  const store = createMemoryStore();
  const [a, b] = await Promise.all([
    open(store).createCollection({ ...named, shards: 8 }),
    new Promise<VectorIndex>((resolve) => setTimeout(() => resolve(open(store).loadCollection(named)), 50)),
  ]);
  const outcomes = await Promise.allSettled([
    a.upsert([{ id: "a", vector: [1, 2] }]),
    b.upsert([{ id: "b", vector: [1, 2, 3] }]),
  ]);
  expect(outcomes.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
  await expect(b.upsert([{ id: "c", vector: [1, 2, 3, 4] }])).rejects.toMatchObject({
    code: "dimension_mismatch",
  });
  expect(await b.count()).toBe(1);
  await expect(a.query({ queryVector: [1, 2, 3, 4] })).rejects.toMatchObject({ code: "dimension_mismatch" });
});

test.each(["index", "anchor"])(
  "a creation that fails at the %s location leaves a collection that works, or none",
  async (place) => {
    for (let number = 0; ; number++) {
      const [store, anchors] = [createMemoryStore(), createMemoryStore()];
      const failing = faultyStore(place === "index" ? store : anchors, number + 1, "fails");
      // First the acknowledgement of a write is lost, then the read that would confirm it.
      const faulty = faultyStore(failing, number, "loses the acknowledgement");
      const client = place === "index" ? open(faulty, anchors) : open(store, faulty);
      const outcome = await outcomeOf(client.createCollection({ ...named, shards: 2 }));
      const next = open(store, anchors);
      const isThere = (await next.listIndexes()).length > 0;
      const notes = await (isThere
        ? next.loadCollection(named)
        : next.createCollection({ ...named, shards: 2 }));
      await notes.upsert(randomItems(10, 1));
      expect(await notes.count()).toBe(10);
      if (faulty.struck === undefined) return expect(outcome).toBe("done");
    }
  },
);

test("another key opens the collection after a rotation, and the old one nothing", async () => {
  const store = createMemoryStore();
  const collection = await open(store).createCollection({ ...named, shards: 3 });
  await collection.upsert(randomItems(50, 1));
  const ids = await idsOf(collection);
  const stale = await open(store).loadCollection(named);
  expect(await idsOf(stale)).toEqual(ids);
  const newKey = generateKey();
  await collection.rotateKey(newKey);
  await collection.upsert(randomItems(50, 2, "later"));
  await expect(open(store).loadCollection(named)).rejects.toMatchObject({ code: "wrong_index_key" });
  await expect(stale.count()).rejects.toMatchObject({ code: "wrong_index_key" });
  const reopened = await open(store).loadCollection({ ...named, indexKey: newKey });
  expect(await reopened.count()).toBe(100);
  await reopened.reencrypt();
  await reopened.upsert(randomItems(50, 3, "last"));
  expect(await (await open(store).loadCollection({ ...named, indexKey: newKey })).count()).toBe(150);
});

test("a rotation that is interrupted anywhere leaves the collection usable, and is continued", async () => {
  const newKey = generateKey();
  for (let number = 0; ; number += 3) {
    const store = createMemoryStore();
    const collection = await open(store).createCollection({ ...named, shards: 2 });
    await collection.upsert(randomItems(20, 1));
    const faulty = faultyStore(store, number, "dies after");
    const rotating = await open(faulty)
      .loadCollection(named)
      .catch(() => undefined);
    const isRotated = await rotating?.rotateKey(newKey).then(
      () => true,
      () => false,
    );
    const load = (key: string) => open(store).loadCollection({ ...named, indexKey: key });
    const next = await load(indexKey).catch(() => load(newKey));
    expect(await next.count()).toBe(20);
    const beside = await load(newKey).catch(() => undefined);
    expect(await beside?.count()).toBeOneOf([20, undefined]);
    await next.upsert(randomItems(20, 2, "more"));
    await next.rotateKey(newKey);
    expect(await next.count()).toBe(40);
    // Another process that has the shards open by the key that stays.
    await beside?.upsert(randomItems(20, 3, "beside"));
    expect(await beside?.count()).toBeOneOf([60, undefined]);
    expect(await (await load(newKey)).count()).toBe(beside ? 60 : 40);
    if (isRotated) return;
  }
});

test("processes that have the key in force read and write at any moment of a rotation", async () => {
  const filled = createMemoryStore();
  const first = await open(filled).createCollection({ ...named, shards: 2 });
  await first.upsert(randomItems(20, 1));
  for (let number = 0; ; number += 13) {
    const store = await copyOf(filled);
    const others = await Promise.all([1, 2, 3].map(() => open(store).loadCollection(named)));
    const [reader, writer] = others;
    for (const each of [reader, writer]) expect(await each.count()).toBe(20);
    const rotating = pausedStore(store, number, async () => {
      await writer.upsert(randomItems(5, 2, "between"));
      expect(await reader.count()).toBe(25);
    });
    await (await open(rotating).loadCollection(named)).rotateKey(indexKey);
    for (const each of others.toReversed()) await each.upsert(randomItems(5, 2, "between"));
    for (const each of others) expect(await each.count()).toBe(25);
    if (!rotating.hasPaused) return;
  }
});

test("an anchor, kept by the caller or in a location, refuses every older state", async () => {
  const [store, anchors] = [createMemoryStore(), createMemoryStore()];
  const collection = await open(store, anchors).createCollection({ ...named, shards: 3 });
  await collection.upsert(randomItems(50, 1));
  const old = createMemoryStore();
  for (const key of await store.list("")) {
    await old.create(key, (await store.read(key, { offset: 0, length: 2 ** 30 })) ?? new Uint8Array());
  }
  const token = await collection.anchor();
  expect(await (await open(old).loadCollection({ ...named, anchor: token })).count()).toBe(50);
  await collection.upsert(randomItems(1, 2));
  const rolledBack = { code: "rollback_detected" };
  await expect(open(old, anchors).loadCollection(named)).rejects.toMatchObject(rolledBack);
  const newer = await collection.anchor();
  await expect(open(old).loadCollection({ ...named, anchor: newer })).rejects.toMatchObject(rolledBack);
  expect(await (await open(store, anchors).loadCollection({ ...named, anchor: newer })).count()).toBe(50);
});

test("a namespace is erased in every shard, with one receipt", async () => {
  const store = createMemoryStore();
  const collection = await open(store).createCollection({ ...named, shards: 4 });
  await collection.upsert(randomItems(40, 1), { namespace: "red" });
  await collection.upsert(randomItems(40, 2));
  expect(await collection.namespaces.list()).toEqual(["red"]);
  const { receipt, rows } = await collection.erase("red");
  expect(rows).toBe(40);
  expect(await collection.namespaces.list()).toEqual([]);
  expect(await collection.count()).toBe(40);
  expect(await collection.count({ namespace: "red" })).toBe(0);
  expect((await store.list("")).filter((key) => key.includes("/namespace/"))).toEqual([]);
  const other = await open(store).loadCollection(named);
  expect(await other.namespaces.readReceipt(receipt)).toMatchObject({ namespace: "red", rows: 40 });
  await collection.upsert(randomItems(3, 3), { namespace: "red" });
  expect(await other.count({ namespace: "red" })).toBe(3);
});

test("a collection is trained once all shards that have items are", async () => {
  const collection = await open().createCollection({ ...named, shards: 8 });
  const isTrained = async () => (await collection.describe()).trained;
  await collection.train();
  expect(await isTrained()).toBe(false);
  await collection.upsert(randomItems(3, 1));
  expect(await isTrained()).toBe(false);
  await collection.train();
  expect(await isTrained()).toBe(true);
  await collection.upsert(randomItems(60, 2, "more"));
  expect(await isTrained()).toBe(false);
});

test.each(["ivfflat", "ivf", "ivfpq"] as const)(
  "a trained collection of type %s finds the nearest items",
  async (type) => {
    const collection = await open().createCollection({
      ...named,
      shards: 4,
      indexConfig: { type, nLists: 8 },
    });
    const items = randomItems(2400, 1);
    await collection.upsert(items);
    await collection.train();
    expect(await collection.describe()).toMatchObject({ trained: true, nLists: 32 });
    expect(await collection.prefetch()).toBe(true);
    let found = 0;
    for (const { id, vector: queryVector = [] } of items.slice(0, 50)) {
      const matches = await collection.query({ queryVector, topK: 5, recall: 0.99 });
      if (matches.some((match) => match.id === id)) found++;
    }
    expect(found).toBeGreaterThanOrEqual(type === "ivfpq" ? 40 : 48);
    const get = collection.get(["item-1"], { include: ["vector"] });
    if (type === "ivfflat") expect(await get).toHaveLength(1);
    else await expect(get).rejects.toMatchObject({ code: "not_supported" });
    await collection.compact();
    expect(await collection.count()).toBe(2400);
  },
);
