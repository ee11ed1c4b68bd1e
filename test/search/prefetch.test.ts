/** What is read ahead of queries: all of an index, or as much as the cache has room for. */

import { describe, expect, test } from "vitest";
import { createClient, generateKey } from "../../src/core.js";
import { createMemoryStore } from "../../src/storage/memory.js";

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
