/** Random histories of one index agree with a Map and brute force, for every metric. */

import fc from "fast-check";
import { expect, test } from "vitest";
import { createClient, generateKey, type Match, type Metric, type VectorIndex } from "../../src/core.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { repeats } from "../tier.js";
import { bruteForceDistance } from "./behavior.js";

const ids = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
const dimension = 3;
// A small grid, so that equal distances, duplicates and zero vectors happen.
const vector = fc.array(fc.integer({ min: -3, max: 3 }), { minLength: dimension, maxLength: dimension });
const item = fc.record({
  id: fc.constantFrom(...ids),
  vector,
  metadata: fc.record({ n: fc.integer({ min: 0, max: 3 }) }),
  contents: fc.option(fc.string({ unit: "grapheme" }), { nil: undefined }),
});
type ModelItem = typeof item extends fc.Arbitrary<infer T> ? T : never;

const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant("upsert"), items: fc.array(item, { maxLength: 6 }) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("delete"), ids: fc.subarray(ids, { maxLength: 3 }) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("deleteWhere"), n: fc.integer({ min: 0, max: 3 }) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("train"), nLists: fc.integer({ min: 1, max: 4 }) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("reopen") }) },
);

/** Random histories are often too short for one of the two. */
const trainedAndCompacted = [
  ...Array.from({ length: 20 }, (_, i) => ({
    do: "upsert" as const,
    items: [{ id: ids[i % ids.length], vector: [i % 4, 1, -1], metadata: { n: i % 4 }, contents: undefined }],
  })),
  { do: "train" as const, nLists: 2 },
];

function distance(metric: Metric, a: readonly number[], b: readonly number[]): number {
  const value = bruteForceDistance(metric, a, b);
  return Number.isNaN(value) ? 1 : value;
}

/** The distances of the k nearest items: which items tie for the last place is not fixed by the model. */
function nearest(metric: Metric, query: readonly number[], items: readonly ModelItem[], k: number): number[] {
  return items
    .map((one) => distance(metric, query, one.vector))
    .sort((a, b) => a - b)
    .slice(0, k);
}

function expectDistances(matches: readonly Match[], expected: readonly number[]): void {
  expect(matches.map((match) => match.distance)).toEqual(expected.map((value) => expect.closeTo(value, 10)));
}

async function expectAgreement(
  index: VectorIndex,
  model: Map<string, ModelItem>,
  metric: Metric,
  query: number[],
) {
  const items = [...model.values()];
  const include = ["distance", "metadata", "contents", "vector"] as const;
  const all = await index.query({ queryVector: query, topK: 4, nProbes: 9, include });
  expectDistances(all, nearest(metric, query, items, 4));
  for (const { id, distance: given, ...fields } of all) {
    const { id: _, contents, ...expected } = model.get(id) as ModelItem;
    expect(given).toBeCloseTo(distance(metric, query, expected.vector), 10);
    const stored = { ...expected, vector: Float32Array.from(expected.vector) };
    expect(fields).toEqual(contents === undefined ? stored : { ...stored, contents });
  }
  const greedy = await index.query({ queryVector: query, topK: 4, greedy: true });
  expect(greedy).toEqual(all.map(({ id, distance: given }) => ({ id, distance: given })));
  const filtered = await index.query({
    queryVector: query,
    topK: 4,
    nProbes: 9,
    filters: { n: { $gte: 2 } },
  });
  const matching = items.filter(({ metadata }) => metadata.n >= 2);
  expectDistances(filtered, nearest(metric, query, matching, 4));
  for (const { id } of filtered) expect(model.get(id)?.metadata.n).toBeGreaterThanOrEqual(2);

  expect(await index.count()).toBe(model.size);
  expect(await index.listIds()).toEqual([...model.keys()].sort());
  const got = await index.get(ids, { include: ["contents"] });
  expect(got.map(({ id, contents }) => [id, contents])).toEqual(
    ids.filter((id) => model.has(id)).map((id) => [id, model.get(id)?.contents]),
  );
}

test.each(["euclidean", "cosine", "squared_euclidean"] as const)(
  "random histories agree with brute force under %s",
  async (metric) => {
    let trained = 0;
    let compacted = 0;
    const property = fc.asyncProperty(
      fc.array(step, { minLength: 1, maxLength: 40, size: "max" }),
      vector,
      async (steps, query) => {
        const store = createMemoryStore();
        const options = { indexName: "model", indexKey: generateKey() };
        let client = createClient({ indexLocation: store });
        let index = await client.createIndex({ ...options, metric });
        const model = new Map<string, ModelItem>();
        let segments = 0;
        for (const taken of steps) {
          if ("items" in taken) {
            await index.upsert(taken.items);
            for (const one of taken.items) model.set(one.id, one);
          } else if ("ids" in taken) {
            await index.delete({ ids: taken.ids });
            for (const id of taken.ids) model.delete(id);
          } else if ("n" in taken) {
            await index.delete({ filter: { n: taken.n } });
            for (const [id, { metadata }] of model) if (metadata.n === taken.n) model.delete(id);
          } else if ("nLists" in taken) {
            if (model.size < taken.nLists) continue;
            await index.train({ nLists: taken.nLists });
            trained++;
          } else {
            await client.close();
            client = createClient({ indexLocation: store });
            index = await client.loadIndex(options);
          }
          const stored = (await store.list("index/")).filter((name) => name.includes("/segment/")).length;
          // Each upsert stores one segment; where one more appeared, compaction ran before it.
          if ("items" in taken && stored > segments + 1) compacted++;
          segments = stored;
          await expectAgreement(index, model, metric, query);
        }
        await client.close();
      },
    );
    const numRuns = repeats("SEALDEX_HISTORIES", { fast: 5, all: 15 });
    await fc.assert(property, { numRuns, examples: [[trainedAndCompacted, [1, 0, 0]]] });
    expect(trained).toBeGreaterThan(0);
    expect(compacted).toBeGreaterThan(0);
  },
);
