/** What calls take of storage for what is not in memory yet: waits, requests, bytes; and that reading ahead changes no result. */

import { beforeAll, describe, expect, test } from "vitest";
import { createWaveStore } from "../../bench/cold/wave-store.mjs";
import { createClient, type EmbeddedClientOptions, generateKey, type VectorIndex } from "../../src/core.js";
import type { BlobStore } from "../../src/storage/blob-store.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { clustered } from "../engine/data.js";
import { rowsOf } from "../engine/oracle.js";
import { served } from "../../src/api/served-index.js";

const options = { indexName: "cold", indexKey: generateKey() };
const d = 32;
const count = 24_000;
const vectors = rowsOf(clustered(count, d, 60, 1), d);
const items = vectors.map((vector, i) => ({
  id: `item ${i}`,
  vector,
  metadata: { n: i, percent: (i * 7919) % 100, quarter: i % 4 },
}));
const kibibyte = 1024;

async function stored(change: (index: VectorIndex) => Promise<void> = async () => {}): Promise<BlobStore> {
  const store = createMemoryStore();
  const client = createClient({ indexLocation: store, automaticTraining: false });
  const index = await client.createIndex(options);
  await index.upsert(items);
  await change(index);
  await client.close();
  return store;
}

let store: BlobStore;
beforeAll(async () => {
  store = await stored((index) => index.train({ nLists: 240 }));
});

async function open(from: BlobStore, more: Partial<EmbeddedClientOptions> = {}) {
  const { store: indexLocation, measure } = createWaveStore(from);
  const client = createClient({ indexLocation, automaticTraining: false, ...more });
  return { client, measure, load: () => client.loadIndex(options) };
}

const plain = (i: number) => ({ queryVector: vectors[i], topK: 10, nProbes: 8 });

describe("a trained index of long segments", () => {
  test("is opened with little more than its footers and its model", async () => {
    const { load, measure } = await open(store);
    const index = await load();
    const { waits, bytes, operations } = await measure(() => index.describe());
    expect(waits, operations.join("\n")).toBe(1);
    expect(bytes, operations.join("\n")).toBeLessThan(18 * kibibyte);
  });

  test("answers the first query in three waits after opening, and each new one in two", async () => {
    const { load, measure } = await open(store);
    const index = await load();
    const first = await measure(() => index.query(plain(0)));
    expect(first.waits, first.operations.join("\n")).toBe(3);
    for (const i of [1, 2, 3, 4, 5]) {
      const { waits, requests, bytes, operations } = await measure(() => index.query(plain(i)));
      expect(waits, operations.join("\n")).toBeLessThanOrEqual(2);
      expect(requests, operations.join("\n")).toBeLessThanOrEqual(25);
      expect(bytes, operations.join("\n")).toBeLessThan(512 * kibibyte);
    }
  });

  test("answers a first filtered query in three waits after the first, and another filter in two", async () => {
    const { load, measure } = await open(store);
    const index = await load();
    await index.query(plain(0));
    const filtered = (percent: number) => ({ ...plain(7), filters: { percent } });
    const first = await measure(() => index.query(filtered(3)));
    expect(first.waits, first.operations.join("\n")).toBeLessThanOrEqual(3);
    // 240 matches lie in nearly as many blocks, and these near one another.
    expect(first.requests, first.operations.join("\n")).toBeLessThanOrEqual(24);
    const other = await measure(() => index.query(filtered(4)));
    expect(other.waits, other.operations.join("\n")).toBeLessThanOrEqual(2);
  });

  test("reads of long lists what a filter accepts, and answers as if all of it was open", async () => {
    const long = await stored((index) => index.train({ nLists: 8 }));
    const warm = await (await open(long)).load();
    await warm.prefetch();
    // The first rows of each list; and two rows, which are compared with the query one by one. A block of codes, and a page of records.
    const readBytes = 144 * kibibyte;
    for (const [filters, blocks] of [
      [{ n: { $lt: 2100 } }, 7],
      [{ n: { $in: [5, 9000] } }, 2],
    ] as const) {
      const { load, measure } = await open(long);
      const index = await load();
      await index.query({ queryVector: vectors[0], topK: 1, filters: { n: -1 } });
      const asked = { ...plain(7), filters };
      const query = async () => index.query(asked);
      const first = await measure(query);
      expect(first.bytes, first.operations.join("\n")).toBeLessThan(blocks * readBytes);
      expect(await query()).toEqual(await warm.query(asked));
      expect((await measure(query)).bytes).toBe(0);
      const unfiltered = { queryVector: vectors[7], topK: 1000, greedy: true };
      expect(await index.query(unfiltered)).toEqual(await warm.query(unfiltered));
      expect(await query()).toEqual(await warm.query(asked));
    }
  });

  test("gets items in two waits", async () => {
    const { load, measure } = await open(store);
    const index = await load();
    await index.describe();
    const { waits, operations } = await measure(() => index.get(["item 1", "item 20000", "absent"]));
    expect(waits, operations.join("\n")).toBe(2);
  });
});

test("each list of an index of 72,000 rows is read in one request once it is trained", async () => {
  const many = rowsOf(clustered(72_000, 4, 20, 2), 4);
  const memory = createMemoryStore();
  const client = createClient({ indexLocation: memory, automaticTraining: false });
  const index = await client.createIndex(options);
  await index.upsert(many.map((vector, i) => ({ id: `item ${i}`, vector })));
  await index.train({ nLists: 20 });
  await client.close();
  const { load, measure } = await open(memory);
  const reading = await load();
  const asked = (i: number) => ({ queryVector: many[i], topK: 1, nProbes: 1 });
  await reading.query(asked(0));
  let listsRead = 0;
  for (let i = 1; i < 40; i++) {
    const { bytes, requests, operations } = await measure(() => reading.query(asked(i)));
    if (bytes > 16 * kibibyte) listsRead++;
    // The look for a newer commit, the list, and the record of the match.
    expect(requests, operations.join("\n")).toBeLessThanOrEqual(3);
  }
  expect(listsRead).toBeGreaterThan(5);
});

describe("reading ahead of the look for a newer commit", () => {
  test("answers a query that began after a write was acknowledged with that write", async () => {
    const memory = await stored((index) => index.train({ nLists: 60 }));
    const [reader, writer] = await Promise.all([open(memory), open(memory)]);
    const [reading, writing] = await Promise.all([reader.load(), writer.load()]);
    await reading.query(plain(0));
    for (let round = 0; round < 6; round++) {
      const vector = vectors[1000 + round];
      await writing.upsert([{ id: `new ${round}`, vector, metadata: { round } }]);
      const matches = await reading.query({
        queryVector: vector,
        topK: 2,
        include: ["distance", "metadata"],
      });
      expect(matches.map(({ id }) => id)).toContain(`new ${round}`);
      expect(await reading.get([`new ${round}`])).toHaveLength(1);
      await writing.delete({ ids: [`new ${round}`] });
      expect(await reading.get([`new ${round}`])).toEqual([]);
      const after = await reading.query({ queryVector: vector, topK: 2 });
      expect(after.map(({ id }) => id)).not.toContain(`new ${round}`);
    }
  });

  test("reserves room for the results of one attempt only", async () => {
    const memory = await stored();
    const [reader, writer] = await Promise.all([open(memory), open(memory)]);
    const [reading, writing] = await Promise.all([reader.load(), writer.load()]);
    await reading.query(plain(0));
    await writing.upsert([{ id: "new", vector: vectors[5] }]);
    const reserved: number[] = [];
    const results = { reserveBytes: (bytes: number) => void reserved.push(bytes), rawMetadata: false };
    await served(reading).query(plain(5), results);
    expect(reserved).toHaveLength(1);
    await served(reading).query(plain(6), results);
    expect(reserved).toHaveLength(2);
  });

  test("starts again when the objects that it began with were deleted", async () => {
    const memory = await stored((index) => index.train({ nLists: 60 }));
    const reader = await open(memory);
    const writer = await open(memory, { retentionMs: 0 });
    const [reading, writing] = await Promise.all([reader.load(), writer.load()]);
    for (let round = 0; round < 3; round++) {
      const before = await reading.query(plain(round));
      await writing.train({ nLists: 50 + round });
      await writing.compact();
      const after = await reading.query({ ...plain(100 + round), nProbes: 50 + round });
      expect(after[0]).toMatchObject({ id: `item ${100 + round}`, distance: 0 });
      expect(before[0]).toMatchObject({ id: `item ${round}`, distance: 0 });
    }
  });

  test("is left out by the call after one that it did not help", async () => {
    const memory = await stored((index) => index.train({ nLists: 60 }));
    const [reader, writer] = await Promise.all([open(memory), open(memory)]);
    const [reading, writing] = await Promise.all([reader.load(), writer.load()]);
    await reading.query(plain(0));
    const isAhead: boolean[] = [];
    for (const i of [3000, 9000, 15_000, 21_000]) {
      await writing.upsert([{ id: `new ${i}`, vector: vectors[i] }]);
      const { operations } = await reader.measure(() => reading.query(plain(i)));
      isAhead.push(operations.some((operation) => /^1: .*segment/.test(operation)));
    }
    expect(isAhead).toEqual([true, false, true, false]);
  });
});

describe("prefetch", () => {
  test("leaves nothing to be read by queries", async () => {
    const { load, measure } = await open(store);
    const index = await load();
    expect(await index.prefetch()).toBe(true);
    for (const i of [0, 1, 2]) {
      const { requests, bytes, operations } = await measure(() =>
        index.query({ ...plain(i), include: ["distance", "metadata"] }),
      );
      expect(requests, operations.join("\n")).toBe(1);
      expect(bytes).toBe(0);
    }
    expect((await measure(() => index.prefetch())).requests).toBe(1);
  });

  test("reads no more than the cache has room for, and evicts nothing", async () => {
    const cacheBytesMax = 2 * 1024 * kibibyte;
    const { client, load } = await open(store, { cacheBytesMax });
    const index = await load();
    await index.query(plain(0));
    const { cacheBytes } = client.memory();
    expect(await index.prefetch()).toBe(false);
    expect(client.memory().cacheBytes).toBeGreaterThanOrEqual(cacheBytes);
    expect(client.memory().cacheBytes).toBeLessThanOrEqual(cacheBytesMax);
    expect((await index.query(plain(1)))[0].id).toBe("item 1");
  });

  test("of an empty index reads nothing, and an aborted one ends", async () => {
    const { client } = await open(createMemoryStore());
    const index = await client.createIndex(options);
    expect(await index.prefetch()).toBe(true);
    await expect(index.prefetch({ signal: AbortSignal.abort() })).rejects.toMatchObject({
      name: "AbortError",
    });
  });
});
