/** Namespaces: items of their own, which can be erased for good. */

import { describe, expect, test } from "vitest";
import {
  type BlobStore,
  copyIndex,
  createClient,
  exportItems,
  generateKey,
  importItems,
} from "../../src/core.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import type { IndexConfigInput, Item, VectorIndex } from "../../src/api/vector-index.js";
import { startService } from "../http/service.js";
import { readIndex, type Stored } from "../format/reader.js";
import { whole } from "../ranges.js";
import { codeOf } from "../outcome.js";

const indexName = "tenants";

function open(store: BlobStore, maxStalenessMs = 0) {
  return createClient({ indexLocation: store, maxStalenessMs, automaticTraining: false });
}

async function newIndex(indexConfig: IndexConfigInput = { type: "ivfflat", nLists: 4 }) {
  const store = createMemoryStore();
  const indexKey = generateKey();
  const index = await open(store).createIndex({ indexName, indexKey, indexConfig });
  return { store, indexKey, index };
}

function itemsOf(name: string, count: number, dimension = 8): Item[] {
  return Array.from({ length: count }, (_, i) => ({
    id: `item ${i}`,
    vector: Array.from({ length: dimension }, (__, j) => Math.sin((i + 1) * (j + name.length))),
    contents: `${name} ${i}`,
    metadata: { owner: name, i },
  }));
}

async function storedIn(store: BlobStore): Promise<Stored> {
  const names = await store.list("");
  const blobs = await Promise.all(names.map((name) => store.read(name, whole)));
  return new Map(names.map((name, i) => [name, blobs[i] ?? new Uint8Array()]));
}

async function contentsOf(index: VectorIndex, namespace?: string): Promise<string[]> {
  const { items } = await index.listItems({ namespace, include: ["contents"], limit: 10_000 });
  return items.map((item) => `${item.namespace ?? ""}:${item.contents}`).sort();
}

/** Texts of a namespace with three items. */
function three(name: string): string[] {
  return [0, 1, 2].map((i) => `${name}:${name} ${i}`);
}

describe("items in namespaces", () => {
  test("of equal ids are different items when read, searched, counted and listed", async () => {
    const { index } = await newIndex();
    for (const name of ["ann", "bob"]) await index.upsert(itemsOf(name, 3), { namespace: name });
    await index.upsert(itemsOf("", 3));
    expect(await index.count()).toBe(9);
    expect(await index.count({ namespace: "ann" })).toBe(3);
    expect(await index.count({ namespace: "carl" })).toBe(0);
    expect(await contentsOf(index, "bob")).toEqual(three("bob"));
    expect(await contentsOf(index)).toHaveLength(9);
    expect(await index.listIds()).toEqual(["item 0", "item 1", "item 2"]);
    expect(await index.namespaces.list()).toEqual(["ann", "bob"]);

    const queryVector = itemsOf("bob", 3)[1].vector ?? [];
    const own = await index.query({ queryVector, namespace: "bob", include: ["contents"] });
    expect(own.map(({ contents }) => contents)[0]).toBe("bob 1");
    expect(own.map(({ namespace }) => namespace)).toEqual(["bob", "bob", "bob"]);
    expect(await index.query({ queryVector, topK: 100 })).toHaveLength(9);
    const filtered = await index.query({ queryVector, namespace: "bob", filter: { owner: "ann" } });
    expect(filtered).toEqual([]);

    const got = await index.get(["item 2", "item 1"], { include: ["contents"], namespace: "ann" });
    expect(got).toEqual([
      { id: "item 2", contents: "ann 2", namespace: "ann" },
      { id: "item 1", contents: "ann 1", namespace: "ann" },
    ]);
    expect(await index.get(["item 1"])).toHaveLength(3);
  });

  test("are changed and deleted without others", async () => {
    const { index } = await newIndex();
    for (const name of ["ann", "bob"]) await index.upsert(itemsOf(name, 3), { namespace: name });
    await index.upsert(itemsOf("", 3));
    await index.delete({ ids: ["item 0"] }, { namespace: "ann" });
    await index.update({ updateAll: true }, { metadata: { seen: true } }, { namespace: "ann" });
    expect(await index.count({ filter: { seen: true } })).toBe(2);
    await index.delete({ filter: { i: 1 } }, { namespace: "bob" });
    expect(await contentsOf(index)).toEqual([
      ...[":  0", ":  1", ":  2"].map((text) => text.replace("  ", " ")),
      "ann:ann 1",
      "ann:ann 2",
      "bob:bob 0",
      "bob:bob 2",
    ]);
    const replaced = { namespace: "bob", deleteFilter: { i: { $gte: 0 } } };
    expect(await index.upsert(itemsOf("bob", 1), replaced)).toMatchObject({ deleted: 1 });
    expect(await index.count()).toBe(6);
    await index.delete({ ids: ["item 2"] });
    expect(await contentsOf(index)).toEqual([": 0", ": 1", "ann:ann 1", "bob:bob 0"]);
    await index.delete({ deleteAll: true }, { namespace: "ann" });
    expect(await contentsOf(index)).toEqual([": 0", ": 1", "bob:bob 0"]);
    await index.delete({ deleteAll: true });
    expect(await index.count()).toBe(0);
  });

  test.each([
    { type: "ivfflat", nLists: 4 } as const,
    { type: "ivf", nLists: 4 } as const,
    { type: "ivfpq", nLists: 4, pqDim: 4, pqBits: 4 } as const,
  ])("stay apart when an index of $type is trained, compacted and sealed again", async (indexConfig) => {
    const { store, index, indexKey } = await newIndex(indexConfig);
    await index.upsert(itemsOf("", 200));
    const texts: string[] = [];
    for (const name of ["ann", "bob"]) {
      for (let i = 0; i < 12; i++) {
        await index.upsert(itemsOf(name, 12).slice(i), { namespace: name });
      }
      texts.push(...itemsOf(name, 12).map(({ contents }) => `${name}:${contents as string}`));
    }
    const check = async () => {
      expect(await contentsOf(index, "ann")).toEqual(texts.filter((text) => text.startsWith("ann")).sort());
      expect(await index.count()).toBe(224);
      const queryVector = itemsOf("ann", 12)[5].vector ?? [];
      const [nearest] = await index.query({ queryVector, nProbes: 4, namespace: "ann", include: [] });
      expect(nearest).toEqual({ id: "item 5", namespace: "ann" });
      const { items } = readIndex(await storedIn(store), await storedIn(store), indexName, indexKey);
      expect(items.size).toBe(224);
    };
    await check();
    await index.train();
    await check();
    await index.upsert(itemsOf("ann", 3), { namespace: "ann" });
    await index.compact();
    await check();
    expect((await index.describe()).segments).toBe(3);
    await index.rotateKey(indexKey.toUpperCase());
    await index.reencrypt();
    await check();
  });
});

describe("an erased namespace", () => {
  test("is in nothing that the storage retains, whoever has the index key; everything else stays", async () => {
    const { store, index, indexKey } = await newIndex();
    const retained = new Map<string, Uint8Array>();
    const retain = async () => {
      for (const [name, bytes] of await storedIn(store)) {
        if (!name.includes("/namespace/")) retained.set(name, bytes);
      }
    };
    await index.upsert(itemsOf("", 100));
    for (const name of ["ann", "bob"]) await index.upsert(itemsOf(name, 40), { namespace: name });
    await retain();
    await index.train();
    await index.delete({ ids: ["item 3"] }, { namespace: "ann" });
    await index.upsert([{ id: "only ann", vector: itemsOf("x", 1)[0].vector ?? [] }], { namespace: "ann" });
    await index.compact();
    await retain();
    const before = (await store.list("")).length;
    const { receipt, ...erasure } = await index.erase("ann");
    expect(erasure).toMatchObject({ namespace: "ann", rows: 40 });
    expect(await index.namespaces.readReceipt(receipt)).toEqual(erasure);
    // One manifest more, one secret less.
    expect((await store.list("")).length).toBe(before);
    await retain();
    expect(await index.count({ namespace: "ann" })).toBe(0);
    expect(await index.count()).toBe(140);
    expect(await contentsOf(index, "bob")).toHaveLength(40);
    expect(await index.namespaces.list()).toEqual(["bob"]);

    const secrets = (await store.list("")).filter((name) => name.includes("/namespace/"));
    for (const name of secrets) retained.set(name, (await store.read(name, whole)) ?? new Uint8Array());
    const found = readIndex(retained, retained, indexName, indexKey);
    expect([...found.items.keys()].filter((key) => key.startsWith("ann/"))).toEqual([]);
    expect(found.items.size).toBe(140);
    // Each older version, as a store may show it: of the namespace it names segments that no client can read.
    const manifests = [...retained.keys()].filter((name) => name.includes("/manifest/")).sort();
    const refused = manifests.map((_, i) => {
      const older = new Map(retained);
      for (const name of manifests.slice(0, i)) older.delete(name);
      try {
        return [...readIndex(older, older, indexName, indexKey).items.keys()];
      } catch (error) {
        return String(error);
      }
    });
    expect(refused.flat().filter((text) => text.startsWith("ann/"))).toEqual([]);
    expect(
      refused.filter((text) => String(text).includes("secret of its namespace is gone")).length,
    ).toBeGreaterThan(2);
  });

  test("takes a commit and the deletion of one object, whatever the size of the index", async () => {
    for (const count of [10, 3000]) {
      const { store, indexKey, index } = await newIndex();
      await index.upsert(itemsOf("", count));
      await index.upsert(itemsOf("ann", count), { namespace: "ann" });
      const writes: string[] = [];
      const counted: BlobStore = {
        ...store,
        create: (key, bytes, options) => {
          writes.push(`create ${bytes.length < 2048 ? "small" : "large"}`);
          return store.create(key, bytes, options);
        },
        delete: (keys, options) => {
          writes.push(`delete ${keys.length}`);
          return store.delete(keys, options);
        },
      };
      await (await open(counted).loadIndex({ indexName, indexKey })).erase("ann");
      expect(writes).toEqual(["create small", "delete 1"]);
    }
  });

  test("is new when it is written again, and unknown to other processes after their next look", async () => {
    const { store, indexKey, index } = await newIndex();
    const other = await open(store).loadIndex({ indexName, indexKey });
    await index.upsert(itemsOf("ann", 3), { namespace: "ann" });
    expect(await contentsOf(other, "ann")).toEqual(three("ann"));
    expect(await contentsOf(other)).toEqual(three("ann"));
    await index.erase("ann");
    expect(await contentsOf(other, "ann")).toEqual([]);
    expect(await contentsOf(other)).toEqual([]);
    await other.upsert(itemsOf("ann", 1), { namespace: "ann" });
    expect(await contentsOf(index, "ann")).toEqual(["ann:ann 0"]);
    expect(await index.erase("ann")).toMatchObject({ rows: 1 });
    expect(await index.erase("ann")).toMatchObject({ rows: 0 });
    expect(await other.count()).toBe(0);
  });

  test("cannot be written under its old secret by a process that does not know yet", async () => {
    const { store, indexKey, index } = await newIndex();
    const other = await open(store).loadIndex({ indexName, indexKey });
    await other.upsert(itemsOf("ann", 2), { namespace: "ann" });
    await index.erase("ann");
    // It commits on the state it knows, loses the race, and draws a new secret.
    await other.upsert(itemsOf("ann", 3).slice(2), { namespace: "ann" });
    expect(await contentsOf(index, "ann")).toEqual(["ann:ann 2"]);
    expect((await store.list("")).filter((name) => name.includes("/namespace/"))).toHaveLength(1);
  });

  test("a receipt under keys that another process has renewed meanwhile is read", async () => {
    const { store, indexKey, index } = await newIndex();
    const other = await open(store).loadIndex({ indexName, indexKey });
    await index.reencrypt();
    const { receipt, ...erasure } = await index.erase("ann");
    expect(await other.namespaces.readReceipt(receipt)).toEqual(erasure);
  });

  test("a receipt of another index, or one that was changed, is refused", async () => {
    const { index } = await newIndex();
    const { receipt } = await index.erase("nobody");
    const { index: another } = await newIndex();
    expect(await codeOf(another.namespaces.readReceipt(receipt))).toBe("invalid_request");
    const changed = `${receipt.slice(0, 30)}${receipt[30] === "A" ? "B" : "A"}${receipt.slice(31)}`;
    expect(await codeOf(index.namespaces.readReceipt(changed))).toBe("invalid_request");
    expect(await codeOf(index.namespaces.readReceipt("sealdex-erasure-1-"))).toBe("invalid_request");
  });
});

describe("in concurrence", () => {
  test("writers in many namespaces, and one that is erased again and again, lose nothing and bring nothing back", async () => {
    const store = createMemoryStore();
    const indexKey = generateKey();
    await open(store).createIndex({ indexName, indexKey });
    const writers = await Promise.all(
      Array.from({ length: 4 }, () => open(store).loadIndex({ indexName, indexKey })),
    );
    const eraser = await open(store).loadIndex({ indexName, indexKey });
    let done = 0;
    const stamps = new Set<string>();
    const write = async (index: VectorIndex, own: string) => {
      for (let i = 0; i < 15; i++) {
        const stamp = `${own} ${i}`;
        await index.upsert([{ id: stamp, vector: [i, 1], contents: stamp }], { namespace: own });
        await index.upsert([{ id: stamp, vector: [i, 1], contents: stamp }], { namespace: "shared" });
        stamps.add(stamp);
      }
      done++;
    };
    const erase = async () => {
      while (done < writers.length) {
        // Items that were acknowledged before the erasure began are gone for every client after it.
        const before = [...stamps];
        await eraser.erase("shared");
        const left = new Set(await writers[0].listIds({ namespace: "shared" }));
        expect(before.filter((stamp) => left.has(stamp))).toEqual([]);
        // The store in memory answers at once, so that the others would never have their turn.
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    await Promise.all([...writers.map((index, i) => write(index, `own ${i}`)), erase()]);
    await eraser.erase("shared");
    for (const index of [eraser, ...writers]) {
      expect(await index.count()).toBe(60);
      expect(await index.count({ namespace: "shared" })).toBe(0);
    }
    await eraser.compact();
    await eraser.train();
    expect(await eraser.namespaces.list()).toEqual(["own 0", "own 1", "own 2", "own 3"]);
    expect(await eraser.count()).toBe(60);
  });

  test("trainings and compactions of other processes bring nothing back that is erased while they run", async () => {
    const store = createMemoryStore();
    const indexKey = generateKey();
    const index = await open(store).createIndex({ indexName, indexKey });
    await index.upsert(itemsOf("", 50));
    for (const rewrite of ["train", "compact", "reencrypt"] as const) {
      for (let i = 0; i < 3; i++) await index.upsert(itemsOf("ann", 20 + i), { namespace: "ann" });
      await index.upsert(itemsOf("bob", 20), { namespace: "bob" });
      // The erasure comes when the first rewritten segment was stored.
      let erasing: Promise<unknown> | undefined;
      const intercepted: BlobStore = {
        ...store,
        async create(key, bytes, options) {
          const created = await store.create(key, bytes, options);
          if (key.includes("/segment/")) await (erasing ??= index.erase("ann"));
          return created;
        },
      };
      const other = await open(intercepted).loadIndex({ indexName, indexKey });
      await other[rewrite]();
      expect(erasing).toBeDefined();
      for (const one of [index, other]) {
        expect(await one.count({ namespace: "ann" })).toBe(0);
        expect(await contentsOf(one, "bob")).toHaveLength(20);
        expect(await one.count()).toBe(70);
      }
      const stored = await storedIn(store);
      expect(readIndex(stored, stored, indexName, indexKey).items.size).toBe(70);
    }
  });
});

describe("elsewhere", () => {
  test("a copy has the namespaces, and keeps its own when the other's are erased", async () => {
    const { store, index, indexKey } = await newIndex();
    for (const name of ["ann", "bob"]) await index.upsert(itemsOf(name, 3), { namespace: name });
    await index.erase("bob");
    const to = createMemoryStore();
    await copyIndex({ from: { indexLocation: store }, to: { indexLocation: to }, indexName, indexKey });
    const copy = await open(to).loadIndex({ indexName, indexKey });
    await index.erase("ann");
    expect(await contentsOf(copy)).toEqual(three("ann"));
    await copy.erase("ann");
    expect(await copy.count()).toBe(0);
    expect((await to.list("")).filter((name) => name.includes("/namespace/"))).toEqual([]);
  });

  test("an export has the namespaces of items, and an import puts them there again", async () => {
    const { index } = await newIndex();
    for (const name of ["ann", "bob"]) await index.upsert(itemsOf(name, 3), { namespace: name });
    await index.upsert(itemsOf("", 2));
    const lines: string[] = [];
    for await (const line of exportItems({ from: index })) lines.push(line);
    const { index: to } = await newIndex();
    expect(await importItems({ to, lines })).toMatchObject({ items: 8, stored: 8, lines: 8 });
    expect(await contentsOf(to)).toEqual(await contentsOf(index));
    expect(await contentsOf(to, "bob")).toEqual(three("bob"));
  });

  test("pages of listings never part the items of one id", async () => {
    const { index } = await newIndex();
    for (const name of ["ann", "bob", "carl"]) await index.upsert(itemsOf(name, 4), { namespace: name });
    const seen: string[] = [];
    for (let cursor: string | undefined, page = 0; page === 0 || cursor !== undefined; page++) {
      const { items, cursor: next } = await index.listItems({ limit: 2, cursor });
      seen.push(...items.map(({ namespace, id }) => `${namespace} ${id}`));
      cursor = next;
    }
    expect(new Set(seen).size).toBe(12);
    expect(seen).toHaveLength(12);
    expect(await index.listIds({ limit: 2 })).toEqual(["item 0", "item 1"]);
    expect(await index.listIds({ after: "item 1" })).toEqual(["item 2", "item 3"]);
  });

  test("a deleted index leaves no secret", async () => {
    const { store, index, indexKey } = await newIndex();
    await index.upsert(itemsOf("ann", 3), { namespace: "ann" });
    await open(store).deleteIndex({ indexName, indexKey });
    expect((await store.list("")).filter((name) => name.includes("/namespace/"))).toEqual([]);
  });

  test("over HTTP namespaces are the same", async () => {
    const service = await startService();
    try {
      const client = createClient({ baseUrl: service.baseUrl, apiKey: service.apiKey });
      const index = await client.createIndex({ indexName, indexKey: generateKey() });
      for (const name of ["ann", "bob"]) await index.upsert(itemsOf(name, 3), { namespace: name });
      expect(await contentsOf(index, "ann")).toEqual(three("ann"));
      expect(await index.count({ namespace: "bob" })).toBe(3);
      expect(await index.count()).toBe(6);
      const queryVector = itemsOf("bob", 3)[1].vector ?? [];
      const found = await index.query({ queryVector, topK: 2, include: ["contents"], namespace: "bob" });
      expect(found[0]).toEqual({ id: "item 1", namespace: "bob", contents: "bob 1" });
      const all = await index.query({ queryVector, topK: 6, include: ["contents"] });
      expect(all).toHaveLength(6);
      for (const name of ["ann", "bob"]) {
        expect(all.slice(0, 2)).toContainEqual({ id: "item 1", namespace: name, contents: `${name} 1` });
      }
      await index.delete({ ids: ["item 0"] }, { namespace: "bob" });
      await index.update({ ids: ["item 1"] }, { metadata: { seen: 1 } }, { namespace: "bob" });
      expect(await index.listIds({ namespace: "bob" })).toEqual(["item 1", "item 2"]);
      expect(await index.get(["item 0", "item 1"], { include: [], namespace: "ann" })).toHaveLength(2);
      expect(await index.namespaces.list()).toEqual(["ann", "bob"]);
      const { receipt, ...erasure } = await index.erase("ann");
      expect(erasure).toMatchObject({ namespace: "ann", rows: 3 });
      expect(await index.namespaces.readReceipt(receipt)).toEqual(erasure);
      expect(await codeOf(index.namespaces.readReceipt(`${receipt}A`))).toBe("invalid_request");
      expect(await index.count()).toBe(2);
      expect(await codeOf(index.erase(""))).toBe("invalid_request");
      await client.close();
    } finally {
      await service.close();
    }
  });
});
