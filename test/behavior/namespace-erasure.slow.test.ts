/** The remains of an erased namespace, and the cost of erasing. */

import { describe, expect, test } from "vitest";
import { type BlobStore, createClient, generateKey } from "../../src/core.js";
import { EmbeddedClient } from "../../src/index/embedded-client.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import type { Item, VectorIndex } from "../../src/api/vector-index.js";
import { openEverything } from "../format/reader.js";
import { faultyStore, mishaps } from "../protocol/faulty-store.js";
import { StandingClock } from "../protocol/standing-clock.js";
import { whole } from "../ranges.js";
import { repeats } from "../tier.js";
import { codeOf } from "../outcome.js";

const indexName = "erased";

function open(store: BlobStore) {
  return createClient({ indexLocation: store, automaticTraining: false });
}

/** A storage that never forgets: every object that was ever stored, and the present ones. */
function hoardingStore() {
  const store = createMemoryStore();
  const hoard = new Map<string, Uint8Array>();
  const hoarding: BlobStore = {
    ...store,
    async create(key, bytes, options) {
      const created = await store.create(key, bytes, options);
      if (created) hoard.set(key, bytes.slice());
      return created;
    },
  };
  return { store: hoarding, hoard };
}

function isSecret(name: string): boolean {
  return name.includes("/namespace/");
}

/** Items that a search of all bytes for their owner would find, in a corner of space of their own. */
function itemsOf(owner: string, count: number, at: number): Item[] {
  return Array.from({ length: count }, (_, i) => ({
    id: `id-of-${owner}-${i}`,
    vector: [at + Math.sin(i), at + Math.cos(i), at, 1],
    contents: `the wordof${owner} of page ${i}`,
    metadata: { owner: `metadata-of-${owner}`, i },
    ...(i % 5 === 0 && { expiresAt: 4_000_000_000_000 }),
  }));
}

describe("of an erased namespace", () => {
  test.each(["ivfflat", "ivf"] as const)(
    "nothing opens of all that an index of %s ever stored, with every key there is",
    async (type) => {
      const { store, hoard } = hoardingStore();
      const keys = [generateKey(), generateKey()];
      const index = await open(store).createIndex({
        indexName,
        indexKey: keys[0],
        indexConfig: { type, nLists: 4 },
        textIndex: true,
      });
      const ann = { namespace: "ann-the-tenant" };
      await index.upsert(itemsOf("nobody", 60, 0));
      await index.upsert(itemsOf("bob", 30, 100), { namespace: "bob-the-tenant" });
      await index.upsert(itemsOf("ann", 30, 1e6), ann);
      await index.train();
      await index.upsert(itemsOf("ann", 40, 1e6).slice(20), ann);
      await index.delete({ ids: ["id-of-ann-3"] }, ann);
      await index.update({ ids: ["id-of-ann-4"] }, { metadata: { note: "changed-by-ann" } }, ann);
      await index.compact();
      await index.upsert(itemsOf("ann", 2, 1e6), ann);
      await index.rotateKey(keys[1]);
      await index.reencrypt();
      await index.upsert(itemsOf("ann", 3, 1e6), ann);
      const before = openEverything(hoard, indexName, keys[1]);
      expect(before.segments.every(({ content }) => content !== undefined)).toBe(true);
      const own = before.segments.filter(({ content }) => content?.includes("ann"));
      expect(own.length).toBeGreaterThan(3);

      await index.erase(ann.namespace);
      const kept = new Map([...hoard].filter(([name]) => !isSecret(name)));
      for (const name of (await store.list("")).filter(isSecret)) {
        kept.set(name, (await store.read(name, whole)) ?? new Uint8Array());
      }
      for (const indexKey of keys) {
        const { manifests, segments, models } = openEverything(kept, indexName, indexKey);
        const texts = [...manifests, ...segments.map(({ content }) => content ?? "")];
        expect(texts.filter((text) => text.includes("ann"))).toEqual([]);
        const closed = segments.filter(({ content }) => content === undefined);
        expect(closed.length).toBeGreaterThan(3);
        expect(new Set(closed.map(({ ref }) => ref.namespace)).size).toBe(1);
        // Models have no mean of its vectors.
        expect(models.length).toBeGreaterThan(0);
        for (const { centroids } of models) expect(Math.max(...centroids)).toBeLessThan(1000);
      }
      expect(await index.query({ queryText: "wordofann" })).toEqual([]);
      expect(await index.query({ queryText: "wordofbob" })).toHaveLength(30);
      expect(await index.count()).toBe(90);
    },
  );

  test("retained objects and open snapshots are unreadable at once", async () => {
    const { store } = hoardingStore();
    const indexKey = generateKey();
    const index = await open(store).createIndex({ indexName, indexKey, textIndex: true });
    const other = await open(store).loadIndex({ indexName, indexKey });
    const namespace = "ann";
    await index.upsert(itemsOf("ann", 10, 0), { namespace });
    const page = await other.listItems({ limit: 3, namespace });
    const loop = other.items({ pageSize: 2, namespace });
    await loop.next();
    await index.erase(namespace);
    expect(await other.query({ queryText: "wordofann" })).toEqual([]);
    expect(await other.query({ queryVector: [0, 0, 0, 1], namespace })).toEqual([]);
    expect(await other.get(["id-of-ann-1"])).toEqual([]);
    expect(await codeOf(other.listItems({ limit: 3, cursor: page.cursor, namespace }))).toMatch(
      /not_found|missing_object/,
    );
    await loop.return();
  });
});

const many = repeats("SEALDEX_NAMESPACES", { fast: 200, all: 200 });

test(`a namespace costs the same storage calls among 10 and among ${many}`, async () => {
  const traces: Record<string, string[]>[] = [];
  for (const count of [10, many]) {
    const store = createMemoryStore();
    const calls: string[] = [];
    const kindOf = (key: string) => key.split("/")[key.startsWith("index/") ? 3 : 0];
    const counted: BlobStore = {
      ...store,
      read(key, range, options) {
        calls.push(`read ${kindOf(key)}`);
        return store.read(key, range, options);
      },
      create(key, bytes, options) {
        calls.push(`create ${kindOf(key)}`);
        return store.create(key, bytes, options);
      },
      list(prefix, options) {
        calls.push(`list ${kindOf(prefix)}`);
        return store.list(prefix, options);
      },
      delete(keys, options) {
        for (const key of keys) calls.push(`delete ${kindOf(key)}`);
        return store.delete(keys, options);
      },
    };
    const indexKey = generateKey();
    const creator = await open(store).createIndex({ indexName, indexKey });
    // Together: they share commits.
    await Promise.all(
      Array.from({ length: count }, (_, i) => creator.upsert(itemsOf(`${i}`, 2, i), { namespace: `n${i}` })),
    );
    const index = await open(counted).loadIndex({ indexName, indexKey });
    const trace: Record<string, string[]> = { opened: calls.splice(0) };
    const steps: Record<string, () => Promise<unknown>> = {
      query: () => index.query({ queryVector: [3, 3, 3, 1], topK: 1, namespace: "n3" }),
      "query again": () => index.query({ queryVector: [3, 3, 3, 1], topK: 1, namespace: "n3" }),
      upsert: () => index.upsert(itemsOf("more", 1, 3), { namespace: "n3" }),
      create: () => index.upsert(itemsOf("new", 1, 3), { namespace: "new" }),
      delete: () => index.delete({ ids: ["id-of-3-0"] }, { namespace: "n3" }),
      erase: () => index.erase("n3"),
      "count again": async () => expect(await index.count({ namespace: "n3" })).toBe(0),
    };
    for (const [name, step] of Object.entries(steps)) {
      await step();
      trace[name] = calls.splice(0).sort();
    }
    expect(await index.namespaces.list()).toHaveLength(count);
    expect(await creator.count()).toBe(2 * count - 1);
    traces.push(trace);
  }
  expect(traces[1]).toEqual(traces[0]);
  expect(traces[1].query).toEqual(["read manifest", "read namespace", "read segment"]);
  expect(traces[1].erase.filter((call) => !call.startsWith("read") && !call.startsWith("list"))).toEqual([
    "create manifest",
    "delete namespace",
  ]);
});

test("items of a namespace expire in it, and are hidden in it alone", async () => {
  const store = createMemoryStore();
  const clock = new StandingClock();
  await using client = new EmbeddedClient({ indexLocation: store, automaticTraining: false }, clock);
  const index = await client.createIndex({ indexName, indexKey: generateKey(), textIndex: true });
  const later = 1_800_000_001_000;
  const item = (namespace: string, expiresAt?: number): Item => ({
    id: "same",
    vector: [1, 0],
    contents: `heron ${namespace}`,
    expiresAt,
  });
  await index.upsert([item("ann", later)], { namespace: "ann" });
  await index.upsert([item("bob")], { namespace: "bob" });
  await index.upsert([item("carl", later), { id: "other", vector: [2, 0] }], { namespace: "carl" });
  await index.upsert([item("nobody", later)]);
  const seen = async (namespace?: string) => [
    await index.count({ namespace }),
    (await index.query({ queryVector: [1, 0], namespace, topK: 9 })).length,
    (await index.query({ queryText: "heron", namespace })).length,
    (await index.get(["same"], { namespace })).length,
  ];
  expect(await seen()).toEqual([5, 5, 4, 4]);
  expect(await seen("ann")).toEqual([1, 1, 1, 1]);
  clock.advance(1000);
  expect(await seen()).toEqual([2, 2, 1, 1]);
  expect(await seen("ann")).toEqual([0, 0, 0, 0]);
  expect(await seen("bob")).toEqual([1, 1, 1, 1]);
  expect(await seen("carl")).toEqual([1, 1, 0, 0]);
  await index.compact();
  expect(await seen()).toEqual([2, 2, 1, 1]);
  await index.erase("carl");
  expect(await seen()).toEqual([1, 1, 1, 1]);
});

describe("an erasure that is interrupted", () => {
  const namespace = "ann";

  test.each(mishaps)(
    "at any call, by a store that %s, erases all or nothing, and is finished by anybody",
    async (mishap) => {
      for (let call = 0; ; call++) {
        const store = createMemoryStore();
        const indexKey = generateKey();
        const index = await open(store).createIndex({ indexName, indexKey });
        await index.upsert(itemsOf("ann", 3, 0), { namespace });
        await index.upsert(itemsOf("bob", 3, 0), { namespace: "bob" });
        const faulty = faultyStore(store, call, mishap);
        const outcome = await codeOf(
          open(faulty)
            .loadIndex({ indexName, indexKey })
            .then((one) => one.erase(namespace)),
        );
        const secrets = async () => (await store.list("")).filter(isSecret).length;
        const left = await index.count({ namespace });
        expect([0, 3]).toContain(left);
        if (outcome === "done") expect([left, await secrets()]).toEqual([0, 1]);
        // Repeated by the same call, or by garbage collection if it was committed, also after another client has written.
        const fresh = await open(store).loadIndex({ indexName, indexKey });
        const written = call % 3 === 2 && left === 0 ? 1 : 0;
        if (written === 1) await fresh.upsert(itemsOf("new", 1, 0), { namespace });
        if (call % 3 === 0 || left === 3) await fresh.erase(namespace);
        else await fresh.compact();
        expect(await secrets()).toBe(1 + written);
        expect(await fresh.count({ namespace })).toBe(written);
        expect(await fresh.count({ namespace: "bob" })).toBe(3);
        if (faulty.struck === undefined) break;
      }
    },
  );
});

describe("a storage that brings the destroyed secret back", () => {
  async function world() {
    const { store, hoard } = hoardingStore();
    const indexKey = generateKey();
    const index = await open(store).createIndex({ indexName, indexKey });
    await index.upsert(itemsOf("ann", 3, 0), { namespace: "ann" });
    const old = new Map(hoard);
    await index.erase("ann");
    const [secret] = [...hoard.keys()].filter(isSecret);
    await store.create(secret, hoard.get(secret) ?? new Uint8Array());
    return { store, indexKey, index, old, secret };
  }

  test("gains nothing in the present state: no reader finds it, no writer uses it, and it is destroyed again", async () => {
    const { store, indexKey, index, secret } = await world();
    for (const one of [index, await open(store).loadIndex({ indexName, indexKey })]) {
      expect(await one.count()).toBe(0);
      expect(await one.count({ namespace: "ann" })).toBe(0);
      expect(await one.namespaces.list()).toEqual([]);
    }
    await index.upsert(itemsOf("new", 1, 0), { namespace: "ann" });
    await index.compact();
    const secrets = (await store.list("")).filter(isSecret);
    expect(secrets).toHaveLength(1);
    expect(secrets).not.toContain(secret);
    expect(await index.listIds({ namespace: "ann" })).toEqual(["id-of-new-0"]);
  });

  test("has to show an old state, too, and that is refused by whoever has an anchor", async () => {
    const { index, old, indexKey } = await world();
    const anchor = await index.anchor();
    const rolledBack = createMemoryStore();
    for (const [name, bytes] of old) await rolledBack.create(name, bytes);
    const client = open(rolledBack);
    expect(await codeOf(client.loadIndex({ indexName, indexKey, anchor }))).toBe("rollback_detected");
  });
});

describe("names of namespaces", () => {
  const hostile = [
    "../../names/x",
    "__proto__",
    "constructor",
    "a/b/c",
    "\u0000",
    "%2e%2e%2f",
    "ｎｏｒｍａｌ",
    "é",
    "e\u0301",
    " ",
    "x".repeat(512),
    "😀".repeat(128),
    "'; DROP TABLE items; --",
  ];

  test("may be any text of 1 to 512 bytes, and stay apart", async () => {
    const store = createMemoryStore();
    const indexKey = generateKey();
    const index = await open(store).createIndex({ indexName, indexKey });
    for (const [i, namespace] of hostile.entries()) {
      await index.upsert([{ id: "same", vector: [i, 1], contents: `${i}` }], { namespace });
    }
    const other = await open(store).loadIndex({ indexName, indexKey });
    for (const [i, namespace] of hostile.entries()) {
      expect(await other.get(["same"], { namespace, include: ["contents"] })).toEqual([
        { id: "same", namespace, contents: `${i}` },
      ]);
    }
    expect(await other.namespaces.list()).toEqual(hostile.toSorted());
    expect((await store.list("")).every((name) => /^[\w/]+$/.test(name))).toBe(true);
    for (const namespace of hostile) {
      const { receipt, ...erasure } = await other.erase(namespace);
      expect(erasure).toMatchObject({ namespace, rows: 1 });
      expect(await index.namespaces.readReceipt(receipt)).toEqual(erasure);
    }
    expect(await index.count()).toBe(0);
  });

  test("are refused if they are empty, too long, or no text", async () => {
    const index: VectorIndex = await open(createMemoryStore()).createIndex({
      indexName,
      indexKey: generateKey(),
    });
    for (const wrong of ["", "x".repeat(513), "é".repeat(257), "\ud800", null, 1, {}, ["a"]] as string[]) {
      const option = { namespace: wrong };
      const calls = [
        () => index.upsert([{ id: "a", vector: [1] }], option),
        () => index.query({ queryVector: [1], ...option }),
        () => index.get(["a"], option),
        () => index.delete({ ids: ["a"] }, option),
        () => index.update({ ids: ["a"] }, { metadata: {} }, option),
        () => index.listIds(option),
        () => index.listItems(option),
        () => index.items(option).next(),
        () => index.count(option),
        () => index.erase(wrong),
      ];
      for (const call of calls) {
        expect(await codeOf((async () => call())())).toBe("invalid_request");
      }
    }
    expect(await index.count()).toBe(0);
  });
});
