/** Indexes of type `ivfflat` that store float16 or int8. */

import { describe, expect, test } from "vitest";
import {
  copyIndex,
  createClient,
  exportItems,
  generateKey,
  importItems,
  type Metric,
  type VectorIndex,
} from "../../src/core.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { clustered } from "../engine/data.js";
import { rowsOf } from "../engine/oracle.js";
import { bruteForceDistance } from "./behavior.js";
import { loadSet, setsOnDisk } from "./recall-sets.js";

const d = 24;
const n = 600;
const vectors = rowsOf(clustered(n, d, 12, 6), d);
const queries = rowsOf(clustered(n + 12, d, 12, 6), d).slice(n);
const items = vectors.map((vector, i) => ({
  id: `${i}`,
  vector,
  metadata: { even: i % 2 === 0, tag: i % 50 },
}));
const ids = items.map(({ id }) => id);
const precisions = ["float16", "int8"] as const;

async function open(precision: "float32" | "float16" | "int8", metric: Metric = "euclidean") {
  const store = createMemoryStore();
  const client = createClient({ indexLocation: store, automaticTraining: false });
  const address = { indexName: "rounded", indexKey: generateKey() };
  const index = await client.createIndex({ ...address, metric, indexConfig: { type: "ivfflat", precision } });
  return { store, client, address, index };
}

async function vectorsOf(index: VectorIndex): Promise<Map<string, readonly number[]>> {
  const stored = await index.get(ids, { include: ["vector"] });
  return new Map(stored.map(({ id, vector }) => [id, [...(vector ?? [])]]));
}

/** Matches of each query, by brute force among the stored vectors. */
function nearest(
  stored: ReadonlyMap<string, Float32Array | readonly number[]>,
  metric: Metric,
  query: Float32Array,
) {
  return [...stored]
    .map(([id, vector]) => ({ id, distance: bruteForceDistance(metric, query, Float32Array.from(vector)) }))
    .sort((a, b) => a.distance - b.distance)
    .slice(0, 10);
}

describe.each(precisions)("an index of %s", (precision) => {
  describe.each(["euclidean", "cosine", "squared_euclidean"] as const)("under %s", (metric) => {
    test("answers from the rounded vectors, trained or not, with filters and in batches", async () => {
      const { client, index } = await open(precision, metric);
      await index.upsert(items);
      const stored = await vectorsOf(index);
      for (const trained of [false, true]) {
        if (trained) await index.train({ nLists: 20 });
        const exact = { topK: 10, recall: "exact" } as const;
        const batch = await index.query({ queryVectors: queries, ...exact });
        for (const [i, queryVector] of queries.entries()) {
          const expected = nearest(stored, metric, queryVector);
          const found = await index.query({ queryVector, ...exact });
          expect(found.map(({ id }) => id)).toEqual(expected.map(({ id }) => id));
          found.forEach(({ distance }, j) => expect(distance).toBeCloseTo(expected[j].distance, 9));
          expect(batch[i]).toEqual(found);
          // Few rows match the second filter: they are compared one by one, and the distances are the same.
          for (const filter of [{ even: true }, { tag: 7 }]) {
            const matching = new Map(
              [...stored].filter(([id]) => ("even" in filter ? +id % 2 === 0 : +id % 50 === 7)),
            );
            const filtered = await index.query({ queryVector, ...exact, filter });
            expect(filtered.map(({ id }) => id)).toEqual(
              nearest(matching, metric, queryVector).map(({ id }) => id),
            );
            for (const { id, distance } of filtered) {
              const same = found.find((each) => each.id === id);
              if (same !== undefined) expect(distance).toBe(same.distance);
            }
          }
        }
      }
      await client.close();
    });

    test("finds nearly the same as float32 with the probes that training chose", async () => {
      const [rounded, full] = [await open(precision, metric), await open("float32", metric)];
      let hits = 0;
      for (const { index } of [rounded, full]) {
        await index.upsert(items);
        await index.train({ nLists: 20 });
      }
      for (const queryVector of queries) {
        const wanted = await full.index.query({ queryVector, topK: 10, recall: "exact" });
        const found = await rounded.index.query({ queryVector, topK: 10, nProbes: 0 });
        const known = new Set(wanted.map(({ id }) => id));
        hits += found.filter(({ id }) => known.has(id)).length;
      }
      expect(hits / (10 * queries.length)).toBeGreaterThan(0.9);
      await Promise.all([rounded.client.close(), full.client.close()]);
    });
  });

  test("keeps its vectors bit for bit however often they move", async () => {
    const { store, client, address, index } = await open(precision);
    await index.upsert(items);
    const stored = await vectorsOf(index);
    const expectSame = async (among: VectorIndex) => expect(await vectorsOf(among)).toEqual(stored);
    for (const nLists of [7, 20, 3]) {
      await index.train({ nLists });
      await expectSame(index);
      await index.update({ filter: { tag: 7 } }, { metadata: { seen: nLists } });
      await index.compact();
      await expectSame(index);
    }
    await index.reencrypt();
    await expectSame(index);

    const other = createMemoryStore();
    await copyIndex({ ...address, from: { indexLocation: store }, to: { indexLocation: other } });
    const copies = createClient({ indexLocation: other, automaticTraining: false });
    await expectSame(await copies.loadIndex(address));

    const { client: importing, index: imported } = await open(precision);
    await importItems({ to: imported, lines: exportItems({ from: index }) });
    await expectSame(imported);
    await Promise.all([client.close(), copies.close(), importing.close()]);
  });

  test("leaves unchanged items out, whether they are received as they were or as they are stored", async () => {
    const { client, index } = await open(precision);
    await index.upsert(items);
    expect(await index.upsert(items, { skipUnchanged: true })).toMatchObject({ stored: 0, unchanged: n });
    const stored = await index.get(ids, { include: ["vector", "metadata"] });
    const again = stored.map(({ id, vector = [], metadata = {} }) => ({ id, vector, metadata }));
    expect(await index.upsert(again, { skipUnchanged: true })).toMatchObject({ stored: 0, unchanged: n });
    await client.close();
  });

  test("is described, and takes less space than float32", async () => {
    const [rounded, full] = [await open(precision), await open("float32")];
    for (const { index } of [rounded, full]) {
      await index.upsert(items);
      await index.train({ nLists: 20 });
    }
    const [described, fullDescribed] = [await rounded.index.describe(), await full.index.describe()];
    expect(described).toMatchObject({ type: "ivfflat", precision, trained: true });
    expect(fullDescribed).toMatchObject({ precision: "float32" });
    const saved = (precision === "int8" ? 3 : 2) * n * d - 4 * n;
    expect(fullDescribed.storedBytes - described.storedBytes).toBeGreaterThan(0.8 * saved);
    await Promise.all([rounded.client.close(), full.client.close()]);
  });
});

/** Of the ten nearest in float32, found among the rounded rows of data sets on disk. */
describe.each(setsOnDisk())("of %s", (name) => {
  test.each([
    ["float16", 0.99],
    ["int8", 0.95],
  ] as const)("%s has most of the nearest", async (precision, recallMin) => {
    const { metric, rows, queries: asked } = loadSet(name, 0, 40);
    // Brute force has no distance for vectors without a direction.
    const some = rows.filter((row) => row.some((value) => value !== 0)).slice(0, 6000);
    const { client, index } = await open(precision, metric);
    for (let start = 0; start < some.length; start += 1000) {
      const part = some.slice(start, start + 1000);
      await index.upsert(part.map((vector, i) => ({ id: `${start + i}`, vector })));
    }
    await index.train();
    const all = new Map(some.map((vector, i) => [`${i}`, vector]));
    let hits = 0;
    for (const queryVector of asked) {
      const wanted = new Set(nearest(all, metric, queryVector).map(({ id }) => id));
      const found = await index.query({ queryVector, topK: 10, recall: "exact" });
      hits += found.filter(({ id }) => wanted.has(id)).length;
    }
    expect(hits / (10 * asked.length)).toBeGreaterThanOrEqual(recallMin);
    await client.close();
  });
});
