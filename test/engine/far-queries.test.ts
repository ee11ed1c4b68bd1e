import { expect, test } from "vitest";
import { FarQueries } from "../../src/engine/training/far-queries.js";
import { includeUnseen, moveToEnd, queryRows, unseenRows } from "../../src/engine/training/held-out.js";
import { toListSpace } from "../../src/engine/metric.js";
import { clustered } from "./data.js";
import { rowsOf, squaredL2 } from "./oracle.js";

const d = 12;
const n = 60;

function meanOf(rows: readonly Float32Array[]): Float32Array {
  return Float32Array.from({ length: d }, (_, i) => rows.reduce((sum, row) => sum + row[i], 0) / rows.length);
}

test.each(["euclidean", "cosine"] as const)(
  "distances of a query far from all rows follow from those of a row and the mean, under %s",
  (metric) => {
    const rows = rowsOf(toListSpace(metric, clustered(n, d, 5, 3), d), d);
    const mean = meanOf(rows);
    const from = (query: Float32Array) => Float32Array.from(rows, (row) => squaredL2(query, row));
    const far = new FarQueries({
      rows: from(mean),
      lists: from(mean).subarray(0, 7),
      meanSquare: metric === "cosine" ? squaredL2(mean, new Float32Array(d)) : undefined,
    });
    for (const number of [0, 31, 59]) {
      const row = rows[number];
      const query = toListSpace(
        metric,
        row.map((x, i) => mean[i] - 10 * (x - mean[i])),
        d,
      );
      const expected = from(query);
      const { toRows, toLists } = far.opposite(number, {
        toRows: from(row),
        toLists: from(row).subarray(0, 7),
      });
      expect(toRows[number]).toBe(Infinity);
      for (let i = 0; i < n; i++) if (i !== number) expect(toRows[i] / expected[i]).toBeCloseTo(1, 4);
      for (let i = 0; i < 7; i++) expect(toLists[i] / expected[i]).toBeCloseTo(1, 4);
    }
  },
);

test("rows at some positions become the last ones, and none is lost", () => {
  for (const positions of [[], [0], [9], [0, 1, 2], [7, 8, 9], [2, 5, 8], [...Array(10).keys()]]) {
    const vectors = Float32Array.from({ length: 20 }, (_, i) => i);
    moveToEnd(vectors, 2, Uint32Array.from(positions));
    const rows = rowsOf(vectors, 2).map(([first, second]) => {
      expect(second).toBe(first + 1);
      return first / 2;
    });
    expect(rows.slice(10 - positions.length)).toEqual(positions);
    expect(rows.toSorted((a, b) => a - b)).toEqual([...Array(10).keys()]);
  }
});

test("centroids are the means of all rows once those that k-means did not see are included", () => {
  const vectors = clustered(n, d, 5, 4);
  const rows = rowsOf(vectors, d);
  const lists = Uint32Array.from(rows, (_, row) => row % 3);
  const membersOf = (list: number, count: number) =>
    rows.slice(0, count).filter((_, row) => row % 3 === list);
  const centroids = Float32Array.from([0, 1, 2].flatMap((list) => [...meanOf(membersOf(list, 40))]));
  includeUnseen(centroids, vectors, lists, 40);
  [0, 1, 2].forEach((list) => {
    const mean = meanOf(membersOf(list, n));
    for (let i = 0; i < d; i++) expect(centroids[list * d + i]).toBeCloseTo(mean[i], 5);
  });
});

test("k-means keeps as many rows as there are lists, and most rows of a small sample", () => {
  expect(unseenRows(40_000, 1000)).toBe(1000);
  expect(unseenRows(1000, 25)).toBe(50);
  expect(unseenRows(1000, 990)).toBe(10);
  expect(unseenRows(10, 10)).toBe(0);
});

test("queries are rows that k-means did not see, and if those are few, others", () => {
  expect(queryRows(40_000, 1000)).toBe(1000);
  expect(queryRows(1000, 50)).toBe(300);
  expect(queryRows(10, 0)).toBe(10);
});
