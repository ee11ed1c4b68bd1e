import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { type Client, createClient, generateKey, type VectorIndex } from "../../src/core.js";
import { repeats } from "../tier.js";
import { filtersOf, loadSet, setsOnDisk, smallest, squaresTo } from "./recall-sets.js";

const synthetic = ["skewed", "clustered", "uniform"];
const names = [
  ...synthetic.slice(0, repeats("SEALDEX_RECALL_SETS", { fast: 1, all: synthetic.length })),
  ...(inject("tier") === "all" ? setsOnDisk() : []),
];
const n = repeats("SEALDEX_RECALL_ROWS", { fast: 8_000, all: 16_000 });
/** Queries for one and ten neighbors: a recall at k = 1 over fewer than some hundred is mostly chance. */
const queryCount = repeats("SEALDEX_RECALL_QUERIES", { fast: 150, all: 600 });
/** Those of them that ask for more neighbors, too. */
const deepQueryCount = Math.ceil(queryCount / 6);

describe.each(names)("automatic probing of an index of %s vectors", (name) => {
  const set = loadSet(name, n, queryCount);
  const filters = filtersOf(set);
  let client: Client;
  let index: VectorIndex;

  beforeAll(async () => {
    client = createClient({ indexLocation: { location: "memory" }, automaticTraining: false });
    const { metric } = set;
    index = await client.createIndex({ indexName: "recall", indexKey: generateKey(), metric });
    const items = set.rows.map((vector, row) => ({
      id: `${row}`,
      vector,
      metadata: Object.fromEntries(filters.map(({ accepts }, i) => [`f${i}`, accepts[row]])),
    }));
    for (let start = 0; start < items.length; start += 5000)
      await index.upsert(items.slice(start, start + 5000));
    await index.train();
  });

  afterAll(() => client.close());

  test("finds 95 % of 1, 10, 100 and 1,000 neighbors, whatever share of the rows a filter accepts", async () => {
    const counts = [1, 10, 100, 1000];
    const cells = filters.flatMap(({ name: filter }) =>
      counts.map((k) => ({ filter, k, found: 0, wanted: 0 })),
    );
    for (const [number, query] of set.queries.entries()) {
      const squares = squaresTo(set, query);
      const asked = number < deepQueryCount ? counts : [1, 10];
      for (const [i, { accepts }] of filters.entries()) {
        const nearest = smallest(squares, (row) => accepts[row], Math.max(...asked));
        for (const [j, k] of asked.entries()) {
          const cell = cells[i * counts.length + j];
          const wanted = nearest.subarray(0, k);
          if (wanted.length === 0) continue;
          const matches = await index.query({
            queryVector: query,
            topK: k,
            nProbes: 0,
            ...(i > 0 && { filters: { [`f${i}`]: true } }),
          });
          expect(matches.length).toBe(wanted.length);
          // Rows as near as the farthest neighbor are as good as that.
          const farthest = wanted[wanted.length - 1] * (1 + 1e-6) + 1e-9;
          cell.found += matches.filter(({ id }) => squares[Number(id)] <= farthest).length;
          cell.wanted += wanted.length;
        }
      }
    }
    const poor = cells.filter(({ found, wanted }) => found < 0.95 * wanted);
    expect(poor.map(({ filter, k, found, wanted }) => `${filter}, k = ${k}: ${found / wanted}`)).toEqual([]);
  });
});
