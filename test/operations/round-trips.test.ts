/** How often each call waits for storage: round trips that follow one another, whatever runs at the same time. */

import { afterEach, describe, expect, test } from "vitest";
import { createWaveStore, type Taken } from "../../bench/cold/wave-store.mjs";
import { type Client, createClient, generateKey, type Item, type VectorIndex } from "../../src/core.js";
import type { BlobStore } from "../../src/storage/blob-store.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { clustered } from "../engine/data.js";
import { rowsOf } from "../engine/oracle.js";
import { type RunningService, startService } from "../http/service.js";
import { whole } from "../ranges.js";

const options = { indexName: "counted", indexKey: generateKey() };
const d = 32;

function items(count: number, from: number): Item[] {
  return rowsOf(clustered(count, d, 10, from + 1), d).map((vector, i) => ({
    id: `${from + i}`,
    vector,
    contents: `text ${from + i} `.repeat(10),
    metadata: { n: from + i, even: i % 2 === 0 },
  }));
}

/** `large`: segments too long to be read whole when they are opened. */
async function fill(store: BlobStore, large: boolean, trained: boolean): Promise<void> {
  const index = await createClient({ indexLocation: store }).createIndex(options);
  const count = large ? 3000 : 50;
  await index.upsert(items(count, 0));
  if (trained) await index.train({ nLists: 10 });
  for (let part = 1; part <= 2; part++) {
    await index.upsert(items(count, part * count - 10));
    await index.delete({ ids: [`${part}`] });
  }
}

async function open(store: BlobStore) {
  const waves = createWaveStore(store);
  const client: Client = createClient({ indexLocation: waves.store });
  return { ...waves, client, load: (): Promise<VectorIndex> => client.loadIndex(options) };
}

/** Fails with the operations in sight. */
async function expectWaits(
  most: number,
  measure: (work: () => Promise<unknown>) => Promise<Taken>,
  work: () => Promise<unknown>,
) {
  const { waits, operations } = await measure(work);
  expect(waits, operations.join("\n")).toBeLessThanOrEqual(most);
}

const queryVector = rowsOf(clustered(1, d, 10, 5), d)[0];
const plain = { queryVector, topK: 10, nProbes: 3 };
const everything = {
  ...plain,
  filters: { even: true },
  include: ["distance", "metadata", "contents", "vector"] as const,
};

describe.each([
  { large: false, trained: false },
  { large: false, trained: true },
  { large: true, trained: false },
  { large: true, trained: true },
])("an index with large segments: $large, trained: $trained", ({ large, trained }) => {
  test("is opened and first queried in three, and one each for the codes and rows of large segments", async () => {
    const store = createMemoryStore();
    await fill(store, large, trained);
    for (const query of [plain, everything]) {
      const { load, measure } = await open(store);
      await expectWaits(large ? 5 : 3, measure, async () => (await load()).query(query));
    }
  });

  test("answers a warm query in one, and one for rows", async () => {
    const store = createMemoryStore();
    await fill(store, large, trained);
    const { load, measure } = await open(store);
    const index = await load();
    await index.query({ ...everything, nProbes: 10, topK: 10_000 });
    await expectWaits(1, measure, () => index.query(plain));
    await expectWaits(1, measure, () => index.query(everything));
    await expectWaits(1, measure, () =>
      index.query({ queryVectors: [queryVector, queryVector], nProbes: 3 }),
    );
    const { load: again, measure: measured } = await open(store);
    const other = await again();
    await other.query({ ...plain, include: [], topK: 1 });
    await expectWaits(2, measured, () => other.query({ ...plain, topK: 100 }));
  });

  test("stores an upsert in two, where no compaction is due", async () => {
    const store = createMemoryStore();
    await fill(store, large, trained);
    const { load, measure } = await open(store);
    const index = await load();
    for (let i = 0; i < 3; i++) {
      const one = items(1, 100_000 + i);
      // The first reads the model, which is kept.
      await expectWaits(trained && i === 0 ? 3 : 2, measure, () => index.upsert(one));
    }
  });

  test("gets, counts, deletes and describes without waiting for each segment", async () => {
    const store = createMemoryStore();
    await fill(store, large, trained);
    const { load, measure } = await open(store);
    const index = await load();
    await expectWaits(2, measure, () => index.describe());
    // Ids and the newest manifest, rows.
    await expectWaits(2, measure, () => index.get(["0", "20", "40", "60", "absent"]));
    await expectWaits(3, measure, () => index.count());
    await expectWaits(1, measure, () => index.count());
    // The newest manifest, ids, the segment of tombstones, the manifest.
    await expectWaits(4, measure, () => index.delete({ ids: ["7", "21", "absent"] }));
  });
});

test("segments of one large upsert are stored at the same time", async () => {
  const store = createMemoryStore();
  let segments = 0;
  let second = () => {};
  const secondBegan = new Promise<void>((resolve) => (second = resolve));
  const create: BlobStore["create"] = async (key, bytes) => {
    if (key.includes("/segment/") && ++segments === 2) second();
    // The first is done when the second has begun: one after the other, they would never end.
    if (key.includes("/segment/")) await secondBegan;
    return store.create(key, bytes);
  };
  const index = await createClient({ indexLocation: { ...store, create } }).createIndex(options);
  const contents = "x".repeat(1024 * 1024);
  await index.upsert(Array.from({ length: 70 }, (_, i) => ({ id: `${i}`, vector: [i, 1], contents })));
  expect(segments).toBe(3);
  expect(await index.count()).toBe(70);
});

test("an index is created in three: the name is free, the first manifest, the record", async () => {
  const { client, measure } = await open(createMemoryStore());
  await expectWaits(3, measure, () => client.createIndex(options));
  await expectWaits(2, measure, () => client.loadIndex(options));
  await expectWaits(1, measure, () => client.listIndexes());
});

test("a small index takes few requests and bytes: there may be one for each of many customers", async () => {
  const memory = createMemoryStore();
  const { client, load, measure } = await open(memory);
  expect((await measure(() => client.createIndex(options))).operations).toHaveLength(3);
  const index = await load();
  const small = Array.from({ length: 10 }, (_, i) => ({
    id: `${i}`,
    vector: rowsOf(clustered(1, 384, 1, i + 1), 384)[0],
  }));
  await index.upsert(small);
  const stored = await Promise.all((await memory.list("")).map((key) => memory.read(key, whole)));
  expect(stored.reduce((sum, blob) => sum + (blob?.length ?? 0), 0)).toBeLessThan(20_000);
  const query = { queryVector: small[0].vector, topK: 3 };
  const other = await open(memory);
  const { waits, operations } = await other.measure(async () => (await other.load()).query(query));
  expect(operations.length, operations.join("\n")).toBeLessThanOrEqual(6);
  expect(waits, operations.join("\n")).toBeLessThanOrEqual(3);
  await expectWaits(1, measure, () => index.query(query));
});

describe("over HTTP, a request that opens the index", () => {
  const address = { index_name: options.indexName, index_key: options.indexKey };
  const ids = ["0", "absent"];
  const vector = [...queryVector];
  let service: RunningService | undefined;
  afterEach(() => service?.close());

  async function small(): Promise<BlobStore> {
    const store = createMemoryStore();
    const index = await createClient({ indexLocation: store }).createIndex(options);
    await index.upsert(items(50, 0));
    await index.train({ nLists: 10 });
    return store;
  }

  async function serve(store: BlobStore) {
    const { store: indexLocation, measure } = createWaveStore(store);
    const { post } = (service = await startService({ indexLocation }));
    const send = async (path: string, body: object) => {
      const answer = await post(`/v1/${path}`, { ...address, ...body });
      expect(answer).toMatchObject({ status: 200 });
    };
    return { measure, send };
  }

  test.each([
    ["vectors/query", { query_vectors: vector, top_k: 10 }, 3],
    ["vectors/query", { query_vectors: [vector, vector], filters: { even: true }, include: ["metadata"] }, 3],
    ["vectors/get", { ids }, 3],
    ["vectors/list", { limit: 10 }, 3],
    ["vectors/list_ids", {}, 3],
    ["indexes/describe", {}, 3],
    // Id tables.
    ["vectors/num_vectors", {}, 3],
    // The segment of tombstones, the manifest.
    ["vectors/delete", { ids }, 5],
    ["vectors/upsert", { items: [{ id: "new", vector }] }, 5],
  ])("%s, %#", async (path, body, most) => {
    const { measure, send } = await serve(await small());
    await expectWaits(most, measure, () => send(path, body));
  });

  test("and the next one looks for a newer state", async () => {
    const { measure, send } = await serve(await small());
    const query = () => send("vectors/query", { query_vectors: vector, top_k: 1 });
    await query();
    const { operations } = await measure(query);
    expect(operations).toEqual([expect.stringMatching(/^1: read .*manifest/)]);
  });
});
