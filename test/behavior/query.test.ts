/** Queries by vectors in small indexes: all types, metrics, shares of matches and numbers of probes, compared with brute force. */

import { describe, expect, test } from "vitest";
import { createClient, generateKey, type IndexConfigInput, type Item, type Metric } from "../../src/core.js";
import { seededRandom } from "../../src/engine/random.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { clustered, uniform } from "../engine/data.js";
import { rowsOf } from "../engine/oracle.js";
import { bruteForceDistance } from "../behavior/behavior.js";

const dimension = 8;
const metrics: readonly Metric[] = ["euclidean", "cosine", "squared_euclidean"];
const cases: readonly { readonly indexConfig: IndexConfigInput; readonly metric: Metric }[] = [
  ...metrics.map((metric) => ({ indexConfig: { type: "ivfflat" } as const, metric })),
  { indexConfig: { type: "ivf" }, metric: "euclidean" },
];

function nearest(items: readonly Item[], query: readonly number[], metric: Metric) {
  return items
    .map(({ id, vector }) => ({ id, distance: bruteForceDistance(metric, vector as number[], query) }))
    .sort((a, b) => a.distance - b.distance);
}

describe.each(cases)("an index of type $indexConfig.type and metric $metric", ({ indexConfig, metric }) => {
  /** Rows of the others are codes, which give distances nearly. */
  const isExact = indexConfig.type === "ivfflat";

  /** Trained, then changed: rows of the lists are replaced and deleted, and some are in no list. */
  async function changedIndex(cacheBytesMax?: number) {
    const client = createClient({
      indexLocation: createMemoryStore(),
      automaticTraining: false,
      ...(cacheBytesMax !== undefined && { cacheBytesMax }),
    });
    const index = await client.createIndex({
      indexName: "searched",
      indexKey: generateKey(),
      indexConfig,
      metric,
    });
    const vectors = rowsOf(clustered(500, dimension, 12, 3), dimension).map((row) => [...row]);
    const random = seededRandom(4);
    const item = (id: number, i: number): [string, Item] => [
      `${id}`,
      {
        id: `${id}`,
        vector: vectors[i],
        metadata: { half: i % 2, rare: i % 100, cluster: Math.sign(vectors[i][0]) },
      },
    ];
    const live = new Map(Array.from({ length: 400 }, (_, i) => item(i, i)));
    await index.upsert([...live.values()]);
    await index.train({ nLists: 12 });
    const changed = Array.from({ length: 60 }, (_, i) => item(Math.floor(430 * random()), 400 + i));
    for (const [id, each] of changed) live.set(id, each);
    await index.upsert([...new Map(changed).values()]);
    const gone = Array.from({ length: 20 }, () => `${Math.floor(430 * random())}`);
    for (const id of gone) live.delete(id);
    await index.delete({ ids: gone });
    return { client, index, items: [...live.values()], queries: vectors.slice(460) };
  }

  test("gives the rows that brute force gives among all lists, and enough among few", async () => {
    const { index, items, queries } = await changedIndex();
    const filters = [
      undefined,
      { half: 1 },
      { rare: 7 },
      { cluster: 1, half: 0 },
      { rare: { $lt: 60 } },
      { rare: 1000 },
    ];
    for (const [n, filter] of filters.entries()) {
      const matching = items.filter(({ metadata }) => {
        const { half, rare, cluster } = metadata as Record<string, number>;
        return [true, half === 1, rare === 7, cluster === 1 && half === 0, rare < 60, false][n];
      });
      for (const queryVector of queries.slice(0, 3)) {
        const ordered = nearest(matching, queryVector, metric);
        for (const topK of [1, 10, 1000]) {
          const wanted = ordered.slice(0, topK);
          const options = { queryVector, topK, ...(filter && { filter }) };
          for (const more of [{ nProbes: 12 }, { nProbes: 100 }, { greedy: true }]) {
            const found = await index.query({ ...options, ...more });
            expect(found.length).toBe(wanted.length);
            if (!isExact) continue;
            expect(found.map(({ id }) => id)).toEqual(wanted.map(({ id }) => id));
            found.forEach(({ distance }, i) => expect(distance).toBeCloseTo(wanted[i].distance as number, 3));
          }
          const distanceOf = new Map(ordered.map(({ id, distance }) => [id, distance]));
          for (const nProbes of [0, 1, 3]) {
            const found = await index.query({ ...options, nProbes });
            if (nProbes === 0) expect(found.length).toBe(wanted.length);
            expect(new Set(found.map(({ id }) => id)).size).toBe(found.length);
            let before = -Infinity;
            for (const { id, distance } of found) {
              expect(distanceOf.has(id)).toBe(true);
              if (isExact) expect(distance).toBeCloseTo(distanceOf.get(id) as number, 3);
              expect(distance as number).toBeGreaterThanOrEqual(before);
              before = distance as number;
            }
          }
        }
      }
    }
  });

  test("answers several queries at once as one by one, with room for few blocks as with room for all", async () => {
    const { index, queries } = await changedIndex();
    const { index: crowded } = await changedIndex(64 * 1024);
    for (const filter of [undefined, { half: 1 }, { rare: 7 }]) {
      for (const [nProbes, topK] of [
        [0, 5],
        [0, 300],
        [2, 5],
        [12, 5],
      ]) {
        const options = { topK, nProbes, ...(filter && { filter }) };
        const together = await index.query({ ...options, queryVectors: queries.slice(0, 6) });
        const again = await crowded.query({ ...options, queryVectors: queries.slice(0, 6) });
        for (const [i, queryVector] of queries.slice(0, 6).entries()) {
          const alone = await index.query({ ...options, queryVector });
          if (nProbes === 12) {
            expect(together[i].map(({ id }) => id)).toEqual(alone.map(({ id }) => id));
            expect(again[i].map(({ id }) => id)).toEqual(alone.map(({ id }) => id));
          }
          expect([together[i].length, again[i].length]).toEqual([alone.length, alone.length]);
        }
      }
    }
  });

  test("an aborted query is refused, warm or cold, filtered or not", async () => {
    const { index, queries } = await changedIndex();
    const signal = AbortSignal.abort(new Error("enough"));
    for (const filter of [undefined, { half: 1 }, { rare: 7 }]) {
      const options = { queryVector: queries[0], ...(filter && { filter }) };
      await expect(index.query({ ...options, signal })).rejects.toThrow();
      expect((await index.query(options)).length).toBeGreaterThan(0);
      await expect(index.query({ ...options, signal })).rejects.toThrow();
    }
  });
});

test("an exact query finds the nearest rows of all lists, wherever they are, warm and cold", async () => {
  const all = rowsOf(uniform(3060, dimension, 5), dimension);
  const items = all.slice(0, 3000).map((vector, i): Item => ({ id: `${i}`, vector: [...vector] }));
  const store = createMemoryStore();
  const access = { indexName: "exact", indexKey: generateKey() };
  await using writer = createClient({ indexLocation: store, automaticTraining: false });
  await using other = createClient({ indexLocation: store, cacheBytesMax: 1 });
  const index = await writer.createIndex(access);
  await index.upsert(items);
  await index.train({ nLists: 150 });
  for (const each of [index, await other.loadIndex(access)]) {
    // Near the rows, and so far from them that neighbors are in any list.
    for (const query of all.slice(3000).flatMap((row) => [row, row.map((x) => 5 * x)])) {
      const wanted = nearest(items, [...query], "euclidean").slice(0, 20);
      const found = await each.query({ queryVector: query, topK: 20, recall: "exact" });
      expect(found.map(({ id }) => id)).toEqual(wanted.map(({ id }) => id));
    }
  }
});
