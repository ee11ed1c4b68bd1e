/** Compaction on demand: fewer segments, whole lists, the same answers. */

import { expect, test } from "vitest";
import { createClient as createHttpClient } from "../../src/client/client.js";
import { createClient, generateKey, type VectorIndex } from "../../src/core.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { clustered } from "../engine/data.js";
import { rowsOf } from "../engine/oracle.js";
import { startService } from "../http/service.js";

const options = { indexName: "compacted", indexKey: generateKey() };
const rows = rowsOf(clustered(900, 16, 12, 3), 16);
const items = (from: number, count: number) =>
  Array.from({ length: count }, (_, i) => ({
    id: `${from + i}`,
    vector: rows[(from + i) % rows.length],
    contents: `text ${from + i}`,
    metadata: { n: from + i },
  }));

async function answers(index: VectorIndex) {
  const include = ["distance", "metadata", "contents", "vector"] as const;
  return {
    ids: await index.listIds(),
    count: await index.count(),
    near: await Promise.all(
      [0, 100, 500].map((at) => index.query({ queryVector: rows[at], topK: 30, nProbes: 12, include })),
    ),
  };
}

test.each([false, true])(
  "keeps every answer, and leaves one segment of live rows (trained: %s)",
  async (trained) => {
    const store = createMemoryStore();
    const index = await createClient({ indexLocation: store }).createIndex(options);
    await index.upsert(items(0, 600));
    if (trained) await index.train({ nLists: 12 });
    for (let part = 0; part < 5; part++) await index.upsert(items(550 + 50 * part, 60));
    await index.delete({ ids: ["0", "1", "620"] });
    await index.delete({ filter: { n: { $gte: 100, $lt: 200 } } });
    const before = await answers(index);
    await index.compact();
    expect(await answers(index)).toEqual(before);
    // A reader that never saw another state opens one segment.
    const opened = new Set<string>();
    const watched = {
      ...store,
      read: async (key: string, range: { offset: number; length: number }) => {
        if (key.includes("/segment/")) opened.add(key);
        return store.read(key, range);
      },
    };
    const fresh = await createClient({ indexLocation: watched }).loadIndex(options);
    expect(await answers(fresh)).toEqual(before);
    expect(opened.size).toBe(1);
    // There is nothing left to do: nothing is written.
    const stored = await store.list("");
    await index.compact();
    expect(await store.list("")).toEqual(stored);
  },
);

test("of everything deleted leaves an empty index", async () => {
  const store = createMemoryStore();
  const index = await createClient({ indexLocation: store }).createIndex(options);
  await index.compact();
  await index.upsert(items(0, 20));
  await index.delete({ deleteAll: true });
  await index.compact();
  expect(await index.count()).toBe(0);
  await index.upsert(items(0, 5));
  expect(await index.count()).toBe(5);
});

test("runs while others write, train and compact, and loses nothing", async () => {
  const store = createMemoryStore();
  const first = await createClient({ indexLocation: store }).createIndex(options);
  const second = await createClient({ indexLocation: store }).loadIndex(options);
  await first.upsert(items(0, 100));
  const write = async (index: VectorIndex, from: number) => {
    for (let i = 0; i < 30; i++) await index.upsert(items(from + 10 * i, 10));
  };
  const compact = async (index: VectorIndex) => {
    for (let i = 0; i < 5; i++) {
      await index.compact().catch((error: unknown) => {
        expect(error).toMatchObject({ code: "storage_unavailable" });
      });
    }
  };
  await Promise.all([write(first, 100), write(second, 400), compact(first), compact(second)]);
  await first.train({ nLists: 8 });
  await first.compact();
  expect(await second.count()).toBe(700);
  expect(new Set(await second.listIds()).size).toBe(700);
});

test("is there over HTTP", async () => {
  const service = await startService();
  const client = createHttpClient(service.address);
  const index = await client.createIndex(options);
  for (let part = 0; part < 4; part++) await index.upsert(items(10 * part, 10));
  await index.compact();
  expect(await index.count()).toBe(40);
  const address = { index_name: options.indexName, index_key: options.indexKey };
  expect(await service.post("/v1/indexes/compact", address)).toEqual({
    status: 200,
    body: { status: "success", message: "Index 'compacted' compacted successfully" },
  });
  expect(await service.post("/v1/indexes/compact", { ...address, index_name: "none" })).toMatchObject({
    status: 404,
  });
  await service.close();
});

test("rows without lists are cut into segments, so few of them are in memory", async () => {
  const store = createMemoryStore();
  const created: string[] = [];
  const create: typeof store.create = (key, bytes) => {
    if (key.includes("/segment/")) created.push(key);
    return store.create(key, bytes);
  };
  await using client = createClient({ indexLocation: { ...store, create }, automaticTraining: false });
  const index = await client.createIndex(options);
  // More than twice as many as are collected for one segment.
  for (let part = 0; part < 17; part++) {
    await index.upsert(Array.from({ length: 10_000 }, (_, i) => ({ id: `${part}-${i}`, vector: [i] })));
  }
  created.length = 0;
  await index.compact();
  expect(created).toHaveLength(2);
  expect(await index.count()).toBe(170_000);
  await index.compact();
  expect(created).toHaveLength(2);
});
