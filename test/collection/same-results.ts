/** That a collection and an index with the same items give the same, in every way of reading. */

import { expect } from "vitest";
import type { Filter } from "../../src/api/filter/compile.js";
import type { ItemPage, ListItemsOptions, VectorIndex } from "../../src/api/vector-index.js";
import { seededRandom } from "../../src/engine/random.js";
import { onBoth, randomItems, randomVector, type Twins } from "./twins.js";

const filters: (Filter | undefined)[] = [
  undefined,
  { year: { $gte: 2012 } },
  { even: true, year: { $lt: 2003 } },
];
const texts = ["river", "stone harbor", '"river stone"', "+river -stone lantern", "ri* winter"];

export async function fill({ index, collection }: Twins): Promise<void> {
  for (const each of [index, collection]) {
    await each.upsert(randomItems(500, 1));
    await each.upsert(randomItems(120, 2));
    await each.upsert(randomItems(60, 3, "own"), { namespace: "red" });
    await each.upsert(randomItems(60, 4, "own"), { namespace: "blue" });
    await each.delete({ ids: ["item-7", "item-8", "item-400", "absent"] });
  }
}

export async function expectSame(twins: Twins, queries: number): Promise<void> {
  const random = seededRandom(9);
  for (let i = 0; i < queries; i++) {
    const filter = filters[i % filters.length];
    const namespace = [undefined, "red", "blue", undefined][i % 4];
    const topK = [1, 10, 100, 1000][i % 4];
    const options = { filter, namespace, topK, recall: "exact", include: ["distance", "metadata"] } as const;
    const vectors = [randomVector(random), randomVector(random)];
    const found = await onBoth(twins, (index) => index.query({ ...options, queryVectors: vectors }));
    expect(found.actual).toEqual(found.expected);
    const queryText = texts[i % texts.length];
    const byWords = await onBoth(twins, (index) =>
      index.query({ filter, namespace, topK, queryText, include: ["scores"] }),
    );
    expect(byWords.actual).toEqual(byWords.expected);
    for (const fusion of [
      { method: "automatic" },
      { method: "rank" },
      { method: "scores", alpha: 0.3 },
    ] as const) {
      const query = {
        filter,
        namespace,
        topK: 100,
        queryText,
        queryVector: vectors[0],
        recall: "exact",
        fusion,
      } as const;
      const hybrid = await onBoth(twins, (index) => index.query(query));
      expect(hybrid.actual).toEqual(hybrid.expected);
    }
    const counts = await onBoth(twins, (index) => index.count({ filter, namespace }));
    expect(counts.actual).toBe(counts.expected);
  }
  for (const options of listings) {
    const pages = await onBoth(twins, (index) => allPages(index, options));
    expect(pages.actual).toEqual(pages.expected);
    const ids = await onBoth(twins, (index) =>
      index.listIds({ filter: options.filter, limit: 40, after: "item-2" }),
    );
    expect(ids.actual).toEqual(ids.expected);
  }
  const items = await onBoth(twins, async (index) => {
    const all: string[] = [];
    for await (const { id } of index.items({ pageSize: 90 })) all.push(id);
    return all;
  });
  expect(items.actual).toEqual(items.expected);
  const got = await onBoth(twins, (index) => index.get(["own-3", "item-9", "absent", "item-3", "item-9"]));
  expect(got.actual.map(({ id, metadata }) => [id, metadata])).toHaveLength(got.expected.length);
  expect(got.actual.filter(({ namespace }) => namespace === undefined)).toEqual(
    got.expected.filter(({ namespace }) => namespace === undefined),
  );
  const names = await onBoth(twins, (index) => index.namespaces.list());
  expect(names.actual).toEqual(names.expected);
}

const listings: ListItemsOptions[] = [
  { limit: 97 },
  { limit: 50, filter: { even: true } },
  { limit: 33, orderBy: { year: "desc", order: "asc" } },
  { limit: 20, namespace: "red", orderBy: { order: "desc" } },
];

async function allPages(index: VectorIndex, options: ListItemsOptions): Promise<string[]> {
  const ids: string[] = [];
  for (let cursor: string | undefined; ;) {
    const page: ItemPage = await index.listItems({ ...options, cursor });
    ids.push(...page.items.map(({ id }) => id));
    cursor = page.cursor;
    if (cursor === undefined) return ids.sort();
  }
}

/** Every kind of change, of which the results are the same. */
export async function changeAll(twins: Twins): Promise<void> {
  const results = await onBoth(twins, async (index) => [
    await index.update({ filter: { year: 2004 } }, { metadata: { year: 2013 } }),
    await index.update({ ids: ["item-1", "item-2", "item-3", "absent"] }, { unset: ["year"] }),
    await index.update({ updateAll: true }, { metadata: { seen: true } }, { namespace: "red" }),
    await index.upsert(randomItems(40, 2), { skipUnchanged: true }),
    await index.upsert(randomItems(90, 5, "fresh"), { deleteFilter: { year: { $lte: 2005 } } }),
    await index.delete({ filter: { year: 2019 } }),
    await index.delete({ ids: ["item-20", "item-21", "item-22"], filter: { even: true } }),
    await index.delete({ filter: { even: true } }, { namespace: "blue" }),
    await index.count(),
  ]);
  expect(results.actual).toEqual(results.expected);
}
