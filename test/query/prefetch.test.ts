/** What is read ahead of queries: all of an index, or as much as the cache has room for. */

import { describe, expect, test } from "vitest";
import { systemClock } from "../../src/state/commit/clock.js";
import { createClient, generateKey } from "../../src/core.js";
import { prefetch } from "../../src/query/prefetch.js";
import { Searcher } from "../../src/query/searcher.js";
import type { Block } from "../../src/state/segment/block.js";
import { BlockCache } from "../../src/state/cache/block-cache.js";
import { IndexCache } from "../../src/state/cache/index-cache.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { isModelOpen } from "./tasks.js";
import { fixedRecord, openIndex } from "../protocol/open.js";

const options = { indexName: "read-ahead", indexKey: generateKey() };

async function newIndex(isTrained: boolean) {
  const inner = createMemoryStore();
  let reads = 0;
  const read: typeof inner.read = async (name, ...rest) => {
    if (/\/(segment|model)\//.test(name)) reads++;
    return inner.read(name, ...rest);
  };
  const store = { ...inner, read };
  const writer = createClient({ indexLocation: store, automaticTraining: false });
  const index = await writer.createIndex({ ...options, indexConfig: { type: "ivfflat" } });
  const items = (start: number, count: number) =>
    Array.from({ length: count }, (_, i) => ({
      id: `${start + i}`,
      vector: [(start + i) % 23, (start + i) % 17, (start + i) % 7, i],
      metadata: { note: `${start + i}`.repeat(20) },
    }));
  await index.upsert(items(0, 600));
  if (isTrained) await index.train({ nLists: 8 });
  await index.upsert(items(500, 300));
  const load = (cacheBytesMax: number) =>
    createClient({ indexLocation: store, automaticTraining: false, cacheBytesMax }).loadIndex(options);
  return { load, reads: () => reads };
}

const queryAll = { queryVector: [1, 2, 3, 4], topK: 800, greedy: true, include: ["metadata"] as const };

describe.each([[false], [true]])("an index (trained: %s)", (isTrained) => {
  test("is read as a whole if there is room: a query reads nothing more", async () => {
    const { load, reads } = await newIndex(isTrained);
    const index = await load(64 * 1024 * 1024);
    expect(await index.prefetch()).toBe(true);
    const before = reads();
    expect((await index.query({ ...queryAll, include: [...queryAll.include] })).length).toBe(800);
    expect(reads()).toBe(before);
    expect(await index.prefetch({ signal: new AbortController().signal })).toBe(true);
    expect(reads()).toBe(before);
  });

  test("is read as far as there is room", async () => {
    const { load, reads } = await newIndex(isTrained);
    const roomy = await load(64 * 1024 * 1024);
    await roomy.prefetch();
    const { cacheBytes } = (await roomy.describe()).memory;
    const outcomes: boolean[] = [];
    for (const share of [0.5, 0.7, 0.9, 1, 1.05, 1.1, 1.2, 1.3, 1.6]) {
      const index = await load(Math.ceil(share * cacheBytes));
      const isAll = await index.prefetch();
      outcomes.push(isAll);
      const { memory } = await index.describe();
      expect(memory.cacheBytes).toBeLessThanOrEqual(memory.cacheBytesMax);
      if (isAll) expect(memory.cacheBytes).toBeGreaterThanOrEqual(0.99 * cacheBytes);
      const before = reads();
      expect((await index.query({ ...queryAll, include: [...queryAll.include] })).length).toBe(800);
      if (isAll) expect(reads()).toBe(before);
    }
    expect(outcomes).toEqual(outcomes.toSorted());
    expect([outcomes[0], outcomes.at(-1)]).toEqual([false, true]);
  });

  test("is read no further once the call is aborted", async () => {
    const { load } = await newIndex(isTrained);
    const index = await load(64 * 1024 * 1024);
    const signal = AbortSignal.abort(new Error("enough"));
    await expect(index.prefetch({ signal })).rejects.toThrow("enough");
    expect(await index.prefetch()).toBe(true);
    await expect(index.prefetch({ signal })).rejects.toThrow("enough");
  });
});

test("an empty index is read at once", async () => {
  const client = createClient({ indexLocation: createMemoryStore(), automaticTraining: false });
  const index = await client.createIndex(options);
  expect(await index.prefetch()).toBe(true);
});

test("what would not leave a tenth of the cache free is left out", async () => {
  const open = openIndex(fixedRecord(), createMemoryStore(), systemClock);
  await open.inner.log.createFirst();
  await open.index.upsert(Array.from({ length: 600 }, (_, i) => ({ id: `${i}`, vector: [i % 23, i % 17] })));
  const snapshot = await open.inner.snapshots.newest();
  const lengthOf = (blocks: Iterable<Block>) =>
    Array.from(blocks, ({ length }) => length).reduce((sum, length) => sum + length, 0);
  const { codes, records } = snapshot.segments[0].reader.footer;
  const needed = [lengthOf(codes), lengthOf(records)];
  const tried = async (room: number, taken: number) => {
    const cache = new IndexCache(new BlockCache(room));
    const owner = {};
    cache.groupOf(owner).hold(taken);
    const searcher = new Searcher(open.inner.config, cache);
    return prefetch({ searcher, snapshots: open.inner.snapshots }, undefined);
  };
  const largest = Math.max(...needed);
  const enough = Math.ceil((1.1 * largest + 5000) / 0.9);
  expect(await tried(enough, 5000)).toBe(true);
  expect(await tried(enough - 3, 5000)).toBe(false);
  expect(await tried(Math.ceil((1.1 * Math.min(...needed) + 5000) / 0.9) - 3, 5000)).toBe(false);
  expect(await tried(5000, 5000)).toBe(false);
  await open.close();
});

test("a prefetch reads nothing more once it is aborted", async () => {
  const inner = createMemoryStore();
  let abort = new AbortController();
  let reads = 0;
  const read: typeof inner.read = async (name, ...rest) => {
    if (name.includes("/segment/")) {
      reads++;
      abort.abort(new Error("enough"));
    }
    return inner.read(name, ...rest);
  };
  const open = openIndex(fixedRecord(), { ...inner, read }, systemClock);
  await open.inner.log.createFirst();
  await open.index.upsert(Array.from({ length: 600 }, (_, i) => ({ id: `${i}`, vector: [i % 23, i % 17] })));
  await open.index.train({ nLists: 4 });
  const { segments, listBlocks } = await open.inner.snapshots.newest();
  const [{ reader }] = segments;
  for (const { evict } of reader.cache.idle()) evict();
  reads = 0;
  abort = new AbortController();
  await expect(prefetch(open.inner, AbortSignal.abort(new Error("at once")))).rejects.toThrow("at once");
  expect(reads).toBe(0);
  await expect(prefetch(open.inner, abort.signal)).rejects.toThrow("enough");
  expect(reads).toBeGreaterThan(0);
  // One piece of codes was read: records were not.
  for (const { block } of listBlocks.all) expect(reader.openedCodes(block)).toBeDefined();
  expect(reader.openedRecord(0)).toBeUndefined();
  expect(await prefetch(open.inner, undefined)).toBe(true);
  expect(reader.openedRecord(0)).toBeDefined();
  await open.close();
});

test("a prefetch loads the model that queries need", async () => {
  const open = openIndex(fixedRecord(), createMemoryStore(), systemClock);
  await open.inner.log.createFirst();
  await open.index.upsert(Array.from({ length: 600 }, (_, i) => ({ id: `${i}`, vector: [i % 23, i % 17] })));
  await open.index.train({ nLists: 4 });
  const { model } = await open.inner.snapshots.newest();
  if (model === undefined) throw new Error("no model");
  expect(await prefetch(open.inner, undefined)).toBe(true);
  expect(await isModelOpen(open.inner.searcher, model)).toBe(true);
  await open.close();
});
