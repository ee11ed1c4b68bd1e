/** The indexes that the service keeps open, by its loads from a real client. */

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type Client, createClient, generateKey } from "../../src/core.js";
import type { BlobStore } from "../../src/storage/blob-store.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { defaultLimits } from "../../packages/server/src/http/limits.js";
import { OpenIndexes } from "../../packages/server/src/indexes/open-indexes.js";

const limits = { ...defaultLimits, openIndexesMax: 100 };

let client: Client;
let loaded: string[];
let indexes: OpenIndexes;
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "Date"] });
  client = createClient({ indexLocation: { location: "memory" } });
  loaded = [];
  const watched: Client = {
    kind: client.kind,
    [Symbol.asyncDispose]: () => client.close(),
    createIndex: (options) => client.createIndex(options),
    loadIndex: (options) => {
      loaded.push(options.indexName);
      return client.loadIndex(options);
    },
    listIndexes: () => client.listIndexes(),
    deleteIndex: (options) => client.deleteIndex(options),
    createCollection: (options) => client.createCollection(options),
    loadCollection: (options) => client.loadCollection(options),
    deleteCollection: (options) => client.deleteCollection(options),
    splitShards: (options) => client.splitShards(options),
    close: () => client.close(),
  };
  indexes = new OpenIndexes(watched, limits);
});
afterEach(async () => {
  indexes.close();
  vi.useRealTimers();
  await client.close();
});

async function newIndex(indexName: string) {
  const address = { indexName, indexKey: generateKey() };
  await client.createIndex(address);
  return address;
}
const use = (address: { indexName: string; indexKey: string }) =>
  indexes.use(address, (index) => index.count());

test("an index is loaded once, also by uses at the same time", async () => {
  const address = await newIndex("a");
  await Promise.all([use(address), use(address)]);
  await use(address);
  expect(loaded).toEqual(["a"]);
});

test("of more than may be open, the least recently used is given up", async () => {
  const addresses = await Promise.all(Array.from({ length: 101 }, (_, i) => newIndex(`${i}`)));
  for (const address of addresses.slice(0, 100)) await use(address);
  await use(addresses[0]);
  await use(addresses[100]);
  loaded = [];
  await use(addresses[0]);
  await use(addresses[100]);
  expect(loaded).toEqual([]);
  await use(addresses[1]);
  expect(loaded).toEqual(["1"]);
});

test("an index without a use for ten minutes is closed, one in use is not", async () => {
  const [idle, busy] = [await newIndex("idle"), await newIndex("busy")];
  await use(idle);
  await use(busy);
  for (let minute = 0; minute < 12; minute++) {
    vi.advanceTimersByTime(60_000);
    await use(busy);
  }
  expect(loaded).toEqual(["idle", "busy"]);
  await use(idle);
  expect(loaded).toEqual(["idle", "busy", "idle"]);
});

test("a failed load is not remembered", async () => {
  const address = await newIndex("a");
  const rekeyed = { ...address, indexKey: generateKey() };
  await expect(use(rekeyed)).rejects.toMatchObject({ code: "wrong_index_key" });
  await client.deleteIndex(address);
  await expect(use(rekeyed)).rejects.toMatchObject({ code: "not_found" });
  await client.createIndex(rekeyed);
  expect(await use(rekeyed)).toBe(0);
  await expect(use(address)).rejects.toMatchObject({ code: "wrong_index_key" });
});

test("an index deleted by others is requested once more, and then not found", async () => {
  const address = await newIndex("a");
  await use(address);
  await client.deleteIndex(address);
  await expect(use(address)).rejects.toMatchObject({ code: "not_found" });
  expect(loaded).toEqual(["a", "a"]);
  await client.createIndex(address);
  expect(await use(address)).toBe(0);
});

/** Holds the first list below `index/` that has an answer, until `release` is called. */
function heldListing(store: BlobStore) {
  let release = () => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  let heard = () => {};
  const listed = new Promise<void>((resolve) => (heard = resolve));
  const list: BlobStore["list"] = async (prefix, rest) => {
    const keys = await store.list(prefix, rest);
    if (!prefix.startsWith("index/")) return keys;
    heard();
    await released;
    return keys;
  };
  return { store: { ...store, list }, listed, release };
}

describe.each(["without anchors", "with anchors"])("%s", (anchoring) => {
  test("a use sees writes acknowledged before it began, also if the index was being opened for another one", async () => {
    const store = createMemoryStore();
    const anchors = anchoring === "with anchors" ? { anchorLocation: createMemoryStore() } : {};
    const address = { indexName: "a", indexKey: generateKey() };
    const writer = await createClient({ indexLocation: store, ...anchors }).createIndex(address);
    await writer.upsert([{ id: "before", vector: [1, 1] }]);

    const held = heldListing(store);
    await using reading = createClient({ indexLocation: held.store, ...anchors });
    const others = new OpenIndexes(reading, limits);
    const idsSeen = () =>
      others.use(address, async (index) => {
        const matches = await index.query({ queryVector: [1, 1], topK: 10 });
        return [matches.map(({ id }) => id).sort(), (await index.listIds()).sort(), await index.count()];
      });
    const first = idsSeen();
    await held.listed;
    await writer.upsert([{ id: "meanwhile", vector: [1, 2] }]);
    const second = idsSeen();
    held.release();
    const both = ["before", "meanwhile"];
    expect(await second).toEqual([both, both, 2]);
    // Either is right for a use that began before the write.
    expect([["before"], both]).toContainEqual((await first)[0]);
    await writer.upsert([{ id: "after", vector: [1, 3] }]);
    expect(await idsSeen()).toEqual([["after", ...both], ["after", ...both], 3]);
    others.close();
  });
});

test("a use that opens an index sees its own writes", async () => {
  const address = await newIndex("a");
  const { upserted, left } = await indexes.use(address, async (index) => {
    await index.upsert([
      { id: "a", vector: [1, 1] },
      { id: "b", vector: [1, 2] },
    ]);
    const both = await index.listIds();
    await index.delete({ ids: ["a"] });
    return { upserted: both.sort(), left: await index.listIds() };
  });
  expect([upserted, left]).toEqual([["a", "b"], ["b"]]);
});

test("errors of a use reach its caller, and keep the index open", async () => {
  const address = await newIndex("a");
  await use(address);
  const failing = indexes.use(address, (index) => index.query({ queryVector: [1], topK: -1 }));
  await expect(failing).rejects.toMatchObject({ code: "invalid_request" });
  await use(address);
  expect(loaded).toEqual(["a"]);
});
