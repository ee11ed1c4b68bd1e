import { isDeepStrictEqual } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Client, createClient, generateKey, type VectorIndex } from "sealdex/core";
import { allocatedBytes } from "../../src/engine/kernels/memory.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { clustered } from "../engine/data.js";
import { rowsOf } from "../engine/oracle.js";

const n = 3000;
const d = 24;
const all = clustered(n + 150, d, 30, 12);
const rows = rowsOf(all.subarray(0, n * d), d);
const queries = rowsOf(all.subarray(n * d), d);

describe.each(["ivfflat", "ivf"] as const)("a batch of queries to a trained %s index", (type) => {
  let client: Client;
  let index: VectorIndex;

  beforeAll(async () => {
    client = createClient({ indexLocation: createMemoryStore(), automaticTraining: false });
    index = await client.createIndex({ indexName: "batch", indexKey: generateKey(), indexConfig: { type } });
    const items = rows.map((vector, i) => ({
      id: `${i}`,
      vector,
      metadata: { third: i % 3, tenth: i % 10 },
    }));
    await index.upsert(items);
    await index.train({ nLists: 40 });
    // Some rows are replaced and some deleted by segments newer than the trained one.
    await index.upsert(items.slice(0, 200).map(({ id, metadata }) => ({ id, metadata, vector: rows[2000] })));
    await index.delete({ ids: items.slice(200, 400).map(({ id }) => id) });
  });

  afterAll(() => client.close());

  test.each([
    [{ nProbes: 1 }],
    [{ nProbes: 7, topK: 25 }],
    [{ nProbes: 0 }],
    [{ nProbes: 40, topK: 3 }],
    [{ greedy: true, topK: 5 }],
    [{ nProbes: 5, filters: { third: 1 } }],
    [{ nProbes: 5, filters: { tenth: { $gte: 5 } }, topK: 40 }],
    [{ nProbes: 2, filters: { third: 7 } }],
    [{ topK: 0 }],
  ])("%o gives each query the results of a single query", async (options) => {
    const include = ["distance", "metadata"] as const;
    const together = await index.query({ queryVectors: queries, ...options, include });
    expect(together.length).toBe(queries.length);
    for (const [i, queryVector] of queries.entries()) {
      expect(together[i]).toEqual(await index.query({ queryVector, ...options, include }));
    }
  });
});

test("batches find the same while others evict and replace what they read", async () => {
  const location = createMemoryStore();
  const indexKey = generateKey();
  const items = rows.map((vector, i) => ({ id: `${i}`, vector, metadata: { third: i % 3 } }));
  await using writer = createClient({ indexLocation: location, automaticTraining: false });
  const filled = await writer.createIndex({ indexName: "batch", indexKey });
  await filled.upsert(items);
  await filled.train({ nLists: 40 });
  // Room for a part of the blocks.
  await using client = createClient({ indexLocation: location, cacheBytesMax: 300_000 });
  const index = await client.loadIndex({ indexName: "batch", indexKey });
  const asked = { nProbes: 8, topK: 20, include: ["distance"] as const };
  const expected = await Promise.all(queries.map((queryVector) => filled.query({ queryVector, ...asked })));
  const before = allocatedBytes();
  const batches = Array.from({ length: 12 }, async (_, round) => {
    if (round % 4 === 3) await index.upsert([items[round]]);
    if (round % 4 === 2) await index.query({ queryVector: queries[round], topK: 5, recall: "exact" });
    return index.query({ queryVectors: queries, ...asked });
  });
  for (const found of await Promise.all(batches)) {
    const same = found.filter((matches, i) => isDeepStrictEqual(matches, expected[i]));
    expect(same.length).toBeGreaterThanOrEqual(0.95 * queries.length);
  }
  expect(allocatedBytes()).toBeLessThan(before + 2 ** 22);
});

test("an untrained index answers a batch exactly, and gives back the kernel memory that it took", async () => {
  await using client = createClient({ indexLocation: createMemoryStore(), automaticTraining: false });
  const index = await client.createIndex({ indexName: "batch", indexKey: generateKey() });
  for (let start = 0; start < n; start += 500) {
    await index.upsert(rows.slice(start, start + 500).map((vector, i) => ({ id: `${start + i}`, vector })));
  }
  const together = await index.query({ queryVectors: queries, topK: 10 });
  const before = allocatedBytes();
  expect(await index.query({ queryVectors: queries, topK: 10 })).toEqual(together);
  expect(allocatedBytes()).toBe(before);
  for (const [i, queryVector] of queries.entries()) {
    expect(await index.query({ queryVector, topK: 10 })).toEqual(together[i]);
  }
});

test("a greedy query with automatic probes finds the same as a scan of everything", async () => {
  await using client = createClient({ indexLocation: createMemoryStore(), automaticTraining: false });
  const index = await client.createIndex({ indexName: "greedy", indexKey: generateKey() });
  await index.upsert(rows.map((vector, i) => ({ id: `${i}`, vector })));
  const exact = await index.query({ queryVectors: queries, topK: 60 });
  await index.train({ nLists: 60 });
  for (const [i, queryVector] of queries.entries()) {
    expect(await index.query({ queryVector, topK: 60, nProbes: 0, greedy: true })).toEqual(exact[i]);
  }
});

test("an aborted batch rejects with the signal's reason and leaves the index usable", async () => {
  await using client = createClient({ indexLocation: createMemoryStore(), automaticTraining: false });
  const index = await client.createIndex({ indexName: "batch", indexKey: generateKey() });
  await index.upsert(rows.map((vector, i) => ({ id: `${i}`, vector })));
  const controller = new AbortController();
  const asking = index.query({ queryVectors: queries, topK: 10, signal: controller.signal });
  controller.abort(new Error("enough"));
  await expect(asking).rejects.toThrow("enough");
  expect((await index.query({ queryVectors: queries.slice(0, 2), topK: 1 })).length).toBe(2);
});
