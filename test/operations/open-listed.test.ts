/** What is listed when an index is opened, before its id is known, helps, and decides nothing. */

import { describe, expect, test } from "vitest";
import { createClient, generateKey, type VectorIndex } from "../../src/core.js";
import type { BlobStore } from "../../src/storage/blob-store.js";
import { createMemoryStore } from "../../src/storage/memory.js";

const options = { indexName: "listed", indexKey: generateKey() };
const query = { queryVector: [3, 1], topK: 100 };

async function newIndex(store: BlobStore, count = 3): Promise<VectorIndex> {
  const index = await createClient({ indexLocation: store }).createIndex(options);
  for (let i = 0; i < count; i++) await index.upsert([{ id: `${i}`, vector: [i, 1] }]);
  return index;
}

const idsOf = async (index: VectorIndex) => (await index.query(query)).map(({ id }) => id).sort();
const load = (store: BlobStore) => createClient({ indexLocation: store }).loadIndex(options);
const keysOf = async (store: BlobStore, part: string) =>
  (await store.list("index/")).filter((key) => key.includes(part));

/** Calls `then` once, after the first list below `index/`. */
function afterListing(store: BlobStore, then: () => Promise<unknown>): BlobStore {
  let listed = false;
  return {
    ...store,
    async list(prefix, rest) {
      const keys = await store.list(prefix, rest);
      if (!prefix.startsWith("index/") || listed) return keys;
      listed = true;
      await then();
      return keys;
    },
  };
}

describe("an index is opened as of now", () => {
  test("if the index location, which needs no list, refuses one", async () => {
    const [objects, configLocation] = [createMemoryStore(), createMemoryStore()];
    const index = await createClient({ indexLocation: objects, configLocation }).createIndex(options);
    await index.upsert([{ id: "a", vector: [1, 1] }]);
    const list = () => Promise.reject(new Error("forbidden"));
    const client = createClient({ indexLocation: { ...objects, list }, configLocation });
    expect(await idsOf(await client.loadIndex(options))).toEqual(["a"]);
  });

  test("if a manifest was committed since the list, or everything in it was deleted", async () => {
    const store = createMemoryStore();
    const index = await newIndex(store);
    const written = afterListing(store, () => index.upsert([{ id: "new", vector: [5, 1] }]));
    expect(await idsOf(await load(written))).toEqual(["0", "1", "2", "new"]);
    const compacted = afterListing(store, async () => {
      const older = await store.list("index/");
      await index.compact();
      const newest = await keysOf(store, "/manifest/");
      await store.delete(older.filter((key) => key !== newest[0]).toReversed());
    });
    expect(await idsOf(await load(compacted))).toEqual(["0", "1", "2", "new"]);
  });

  test("if more objects of older indexes of the name come first than are listed", async () => {
    const store = createMemoryStore();
    const index = await newIndex(store);
    const [newest] = await keysOf(store, "/manifest/");
    const folder = newest.split("/").slice(0, 2).join("/");
    for (let n = 0; n < 300; n++) {
      await store.create(`${folder}/${"0".repeat(32)}/manifest/${String(n).padStart(16, "0")}`, Buffer.of(1));
    }
    await index.upsert([{ id: "last", vector: [9, 1] }]);
    expect(await idsOf(await load(store))).toEqual(["0", "1", "2", "last"]);
  });

  test("among foreign objects", async () => {
    const store = createMemoryStore();
    await newIndex(store);
    const [newest] = await keysOf(store, "/manifest/");
    const parts = newest.split("/");
    for (const key of [
      `${parts.slice(0, 2).join("/")}/0`,
      `${parts.slice(0, 2).join("/")}/zz/manifest/${parts[4]}`,
      `${parts.slice(0, 3).join("/")}/0`,
      `${parts.slice(0, 4).join("/")}/0`,
      `${parts.slice(0, 3).join("/")}/segment/zz`,
    ])
      await store.create(key, Buffer.from("not ours"));
    expect(await idsOf(await load(store))).toEqual(["0", "1", "2"]);
  });

  test("if it was created again under its name, before or after the list, next to what the older one left", async () => {
    const store = createMemoryStore();
    await using client = createClient({ indexLocation: store });
    for (let round = 0; round < 4; round++) {
      const index = await client.createIndex(options);
      await index.upsert([{ id: `round ${round}`, vector: [round, 1] }]);
      expect(await idsOf(await load(store))).toEqual([`round ${round}`]);
      await client.deleteIndex(options);
      await expect(load(store)).rejects.toMatchObject({ code: "not_found" });
    }
    await newIndex(store);
    expect((await store.list("orphans/")).length).toBe(4);
    const again = afterListing(store, async () => {
      await client.deleteIndex(options);
      const index = await client.createIndex(options);
      await index.upsert([{ id: "again", vector: [1, 1] }]);
    });
    // The record may be the older index's, which was deleted, or the newer one's.
    const outcome = await load(again)
      .then(idsOf)
      .catch((error: { code: string }) => error.code);
    expect(["not_found", ["again"]]).toContainEqual(outcome);
    expect(await idsOf(await load(store))).toEqual(["again"]);
  });

  test("with rotated keys, by a read-only holder, with an anchor location, and in two locations", async () => {
    const [indexStore, configStore, anchorStore] = [0, 1, 2].map(() => createMemoryStore());
    const locations = { indexLocation: indexStore, configLocation: configStore, anchorLocation: anchorStore };
    const open = () => createClient(locations);
    const index = await open().createIndex(options);
    await index.upsert([{ id: "a", vector: [1, 1] }]);
    const [reader, newKey] = [generateKey(), generateKey()];
    await index.wraps.add({ name: "reader", key: reader, access: "read-only" });
    await index.rotateKey(newKey);
    await index.upsert([{ id: "b", vector: [2, 1] }]);
    for (const indexKey of [reader, newKey]) {
      const loaded = await open().loadIndex({ ...options, indexKey });
      expect(await idsOf(loaded)).toEqual(["a", "b"]);
    }
    await expect(open().loadIndex(options)).rejects.toMatchObject({ code: "wrong_index_key" });
    await configStore.delete([(await keysOf(configStore, "/manifest/"))[0]]);
    const rolledBack = open().loadIndex({ ...options, indexKey: newKey });
    await expect(rolledBack).rejects.toMatchObject({ code: "rollback_detected" });
  });

  test("with the longest names", async () => {
    const store = createMemoryStore();
    await using client = createClient({ indexLocation: store });
    const long = { ...options, indexName: "\u{1f426}".repeat(32) };
    const index = await client.createIndex(long);
    await index.upsert([{ id: "a", vector: [1, 1] }], { namespace: "ann" });
    expect(await idsOf(await client.loadIndex(long))).toEqual(["a"]);
    expect(Math.max(...(await store.list("")).map((key) => key.length))).toBeLessThan(320);
  });
});
