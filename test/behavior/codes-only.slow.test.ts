/** Indexes whose trained rows are codes alone, `ivf` and `ivfpq`. */

import { describe, expect, test } from "vitest";
import {
  createClient,
  generateKey,
  type IndexConfigInput,
  type Metric,
  type VectorIndex,
} from "../../src/core.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { clustered } from "../engine/data.js";
import { rowsOf } from "../engine/oracle.js";
import { bruteForceDistance } from "./behavior.js";
import { whole } from "../ranges.js";

const d = 32;
const n = 1600;
const vectors = rowsOf(clustered(n, d, 12, 6), d);
const queries = rowsOf(clustered(n + 25, d, 12, 6), d).slice(n);
const types: [string, IndexConfigInput, number][] = [
  ["ivf", { type: "ivf" }, 0.75],
  ["ivfpq", { type: "ivfpq", pqDim: 16, pqBits: 8 }, 0.8],
  ["ivfpq of 4 bits", { type: "ivfpq", pqDim: 32, pqBits: 4 }, 0.8],
];

async function open(indexConfig: IndexConfigInput, metric: Metric = "euclidean") {
  const store = createMemoryStore();
  const client = createClient({ indexLocation: store });
  const options = { indexName: "codes", indexKey: generateKey() };
  const index = await client.createIndex({ ...options, indexConfig, metric });
  return { store, client, options, index };
}

function items(from: number, to: number) {
  return vectors.slice(from, to).map((vector, i) => ({ id: `${from + i}`, vector }));
}

function everything(index: VectorIndex, topK = 10) {
  return index.query({ queryVectors: queries, topK, nProbes: 65_536 });
}

/** Share of the ten nearest found, with all lists probed. */
async function recall(index: VectorIndex, metric: Metric = "euclidean", among = vectors): Promise<number> {
  const found = await everything(index);
  let hits = 0;
  queries.forEach((query, q) => {
    const nearest = among
      .map((vector, i) => ({ id: `${i}`, distance: bruteForceDistance(metric, query, vector) }))
      .sort((a, b) => a.distance - b.distance)
      .slice(0, 10);
    const ids = new Set(found[q].map(({ id }) => id));
    hits += nearest.filter(({ id }) => ids.has(id)).length;
  });
  return hits / (10 * queries.length);
}

describe.each(types)("a trained index of type %s", (_, indexConfig, recallMin) => {
  test.each(["euclidean", "cosine", "squared_euclidean"] as const)(
    "finds most of the nearest under %s, with distances near the true ones",
    async (metric) => {
      const { client, index } = await open(indexConfig, metric);
      await index.upsert(items(0, n));
      expect(await recall(index, metric)).toBe(1);
      await index.train({ nLists: 20 });
      expect(await recall(index, metric)).toBeGreaterThanOrEqual(recallMin);
      const found = await everything(index);
      found.forEach((matches, q) => {
        let before = 0;
        for (const { id, distance = Number.NaN } of matches) {
          expect(distance).toBeGreaterThanOrEqual(before);
          before = distance;
          const exact = bruteForceDistance(metric, queries[q], vectors[Number(id)]);
          expect(Math.abs(distance - exact)).toBeLessThan(0.35 * exact + 0.05);
        }
      });
      expect(await index.query({ queryVectors: queries, topK: 10, greedy: true })).toEqual(found);
      expect(await index.query({ queryVector: queries[0], topK: n + 5, nProbes: 20 })).toHaveLength(n);
      await client.close();
    },
  );

  test("has no vectors to give, and says so", async () => {
    const { client, index } = await open(indexConfig);
    await index.upsert([
      { id: "a", vector: vectors[0], contents: "text", metadata: { x: 1 } },
      ...items(1, 200),
    ]);
    expect(await index.get(["a"])).toMatchObject([{ id: "a", vector: vectors[0], contents: "text" }]);
    await index.train({ nLists: 4 });
    expect(await index.get(["a"])).toEqual([{ id: "a", contents: "text", metadata: { x: 1 } }]);
    const refused = { code: "not_supported", message: expect.stringMatching(/vector/) };
    await expect(index.get(["a"], { include: ["vector"] })).rejects.toMatchObject(refused);
    const query = { queryVector: vectors[0], include: ["vector"] } as const;
    await expect(index.query(query)).rejects.toMatchObject(refused);
    await client.close();
  });

  test("still takes upserts, deletes and filters, and opens again unchanged", async () => {
    const { client, index, options } = await open(indexConfig);
    await index.upsert(items(0, 1000));
    await index.train({ nLists: 12 });
    await index.upsert(items(1000, n).map((item) => ({ ...item, metadata: { late: true } })));
    await index.delete({ ids: ["3", "1200"] });
    expect(await index.count()).toBe(n - 2);
    const late = await index.query({
      queryVectors: queries,
      topK: 5,
      nProbes: 12,
      filters: { late: true },
      include: [],
    });
    for (const { id } of late.flat()) {
      expect(Number(id)).toBeGreaterThanOrEqual(1000);
      expect(id).not.toBe("1200");
    }
    const found = await everything(index);
    const again = await client.loadIndex(options);
    expect(await everything(again)).toEqual(found);
    await client.close();
  });

  test("loses nothing by being trained again and compacted", async () => {
    const { client, index } = await open(indexConfig);
    await index.upsert(items(0, n));
    await index.train({ nLists: 20 });
    const first = await recall(index);
    for (const nLists of [7, 33, 20, 12]) {
      await index.train({ nLists });
      expect(await index.describe()).toMatchObject({ nLists });
      expect(await recall(index)).toBeGreaterThanOrEqual(first - 0.02);
    }
    // Each upsert is a segment, and every eighth merges them.
    const before = await everything(index, 50);
    for (let i = 0; i < 20; i++)
      await index.upsert([{ id: `far ${i}`, vector: new Float32Array(d).fill(1e3 + i) }]);
    await index.delete({ ids: Array.from({ length: 20 }, (__, i) => `far ${i}`) });
    expect(await everything(index, 50)).toEqual(before);
    await client.close();
  });

  test("loses nothing by being trained again as it grows", async () => {
    const { client, index } = await open(indexConfig);
    let last = 0;
    for (const end of [100, 400, n]) {
      await index.upsert(items(last, end));
      const before = end === 100 ? 0 : await recall(index, "euclidean", vectors.slice(0, end));
      await index.train({ nLists: Math.ceil(end / 50) });
      const after = await recall(index, "euclidean", vectors.slice(0, end));
      expect(after).toBeGreaterThanOrEqual(before - 0.02);
      last = end;
    }
    expect(await index.count()).toBe(n);
    await client.close();
  });

  test("rows that others store while it trains are found, before and after the next training", async () => {
    /** Trained on 300 rows, then again, when there are 1,400; another writer stores the rest before that, after it, or during it. */
    const grown = async (stored: "before" | "meanwhile" | "after") => {
      const { client, index, options } = await open(indexConfig);
      await index.upsert(items(0, 300));
      await index.train({ nLists: 4 });
      await index.upsert(items(300, 1400));
      const other = await client.loadIndex(options);
      const storeRest = async () => {
        for (let start = 1400; start < n; start += 50) await other.upsert(items(start, start + 50));
      };
      if (stored === "before") await storeRest();
      const training = index.train({ nLists: 25 });
      if (stored === "after") await training;
      if (stored !== "before") await storeRest();
      await training;
      return { client, index };
    };
    const recallIf = async (stored: "before" | "after") => {
      const { client, index } = await grown(stored);
      const found = await recall(index);
      await client.close();
      return found;
    };
    // Rows have the codes of the training before them, and when the other one ends is chance.
    const expected = Math.min(await recallIf("before"), await recallIf("after"));
    const { client, index } = await grown("meanwhile");
    expect(await index.count()).toBe(n);
    const found = await index.query({ queryVector: queries[0], topK: n, nProbes: 25 });
    expect(new Set(found.map(({ id }) => id)).size).toBe(n);
    const mixed = await recall(index);
    expect(mixed).toBeGreaterThanOrEqual(expected - 0.03);
    await index.train({ nLists: 10 });
    expect(await recall(index)).toBeGreaterThanOrEqual(mixed - 0.03);
    await client.close();
  });
});

test("rows that a reader has open when another training takes their lists are found", async () => {
  const { store, client, index, options } = await open({ type: "ivf" });
  await index.upsert(items(0, 300));
  await index.train({ nLists: 4 });
  await index.upsert(items(300, 1400));
  const reader = await client.loadIndex(options);
  const found: unknown[] = [];
  const findAll = async () => {
    const reading = reader.query({ queryVector: queries[0], topK: n, recall: "exact" });
    // A commit would take its error for that of a create without an answer.
    found.push(await reading.then(({ length }) => length, String));
  };
  let isStored = false;
  /** Stores rows of the first training, and opens them, before the second model is stored; and reads after each commit. */
  const create: typeof store.create = async (key, bytes, given) => {
    if (key.includes("/model/") && !isStored) {
      isStored = true;
      await index.upsert(items(1400, n));
      await findAll();
    }
    const result = await store.create(key, bytes, given);
    if (key.includes("/manifest/")) await findAll();
    return result;
  };
  const trainer = createClient({ indexLocation: { ...store, create } });
  await (await trainer.loadIndex(options)).train({ nLists: 25 });
  expect(isStored).toBe(true);
  expect(found.length).toBeGreaterThan(1);
  expect(new Set(found)).toEqual(new Set([n]));
  await trainer.close();
  await client.close();
});

test("ivf stores at most d / 8 + 40 bytes a vector beside ids and metadata", async () => {
  const { store, client, index } = await open({ type: "ivf" });
  await index.upsert(items(0, n));
  const sizes = async () => {
    let bytes = 0;
    for (const key of await store.list("index/")) {
      if (key.includes("/segment/")) bytes += (await store.read(key, whole))?.length ?? 0;
    }
    return bytes;
  };
  const untrained = await sizes();
  await index.train({ nLists: 20 });
  // Replaced objects stay for a while.
  const trained = (await sizes()) - untrained;
  // A fingerprint, an entry of the id table, a record, no contents, and the id with its fingerprint in the order of ids.
  const identityOf = (id: string) => 16 + 20 + (4 + 2 + id.length + 2) + 4 + (4 + 16 + id.length);
  const identity = items(0, n).reduce((sum, { id }) => sum + identityOf(id), 0);
  expect((trained - identity) / n).toBeLessThanOrEqual(d / 8 + 40);
  await client.close();
});
