/** The kernels between two assignments of k-means, and works side by side, against plain arithmetic. */

import { expect, test } from "vitest";
import { kernels } from "../../src/engine/kernels/kernels.js";
import { allocate, doublesAt, floatsAt, free, wordsAt } from "../../src/engine/kernels/memory.js";
import { splitLargest } from "../../src/engine/lists/lloyd-rounds.js";
import { noList } from "../../src/engine/rows.js";
import { together, type Work } from "../../src/engine/work.js";
import { clustered } from "./data.js";
import { rowsOf, squaredL2 } from "./oracle.js";

test.each([1, 2, 5, 64, 67])("sums, means, half squares and gathered rows in %i dimensions", (d) => {
  const n = 53;
  const k = 5;
  const vectors = clustered(n, d, 4, d);
  const rows = rowsOf(vectors, d);
  const lists = rows.map((_, i) => (i * 7) % (k - 1));
  const at = allocate(4 * n * d + 8 * k * d + 4 * (n + n + k + k * d + n * d + n) + 64);
  const sums = at + 8 * Math.ceil((4 * n * d) / 8);
  const listsAt = sums + 8 * k * d;
  const before = listsAt + 4 * n;
  const sizes = before + 4 * n;
  const centroids = sizes + 4 * k;
  const gathered = centroids + 4 * k * d;
  const out = gathered + 4 * n * d;
  floatsAt(at, n * d).set(vectors);
  wordsAt(listsAt, n).set(lists);
  doublesAt(sums, k * d).fill(0);
  floatsAt(centroids, k * d).fill(9);
  wordsAt(sizes, k).set(
    Array.from({ length: k }, (_, list) => lists.filter((other) => other === list).length),
  );
  const middle = d >> 1;
  const { gatherRows, halfSquares, meanRows, moveRows } = kernels();

  // At first in other lists, some of them.
  const earlier = lists.map((list, i) => (i % 3 === 0 ? (list + 1) % k : list));
  wordsAt(listsAt, n).set(earlier);
  wordsAt(before, n).fill(noList);
  moveRows(at, n, d, before, listsAt, 0, d, sums);
  wordsAt(listsAt, n).set(lists);
  wordsAt(before, n).set(earlier);
  moveRows(at, n, d, before, listsAt, 0, middle, sums);
  moveRows(at, n, d, before, listsAt, middle, d, sums);
  meanRows(sums, sizes, k, d, centroids);
  for (let list = 0; list < k; list++) {
    const members = rows.filter((_, i) => lists[i] === list);
    for (let i = 0; i < d; i++) {
      const mean = members.reduce((sum, row) => sum + row[i], 0) / members.length;
      expect(floatsAt(centroids, k * d)[list * d + i]).toBe(members.length === 0 ? 9 : Math.fround(mean));
    }
  }

  halfSquares(at, n, d, out);
  rows.forEach((row, i) => {
    expect(floatsAt(out, n)[i]).toBeCloseTo(squaredL2(row, new Float32Array(d)) / 2, 3);
  });

  const positions = [4, 4, 52, 0];
  wordsAt(listsAt, 4).set(positions);
  gatherRows(at, listsAt, 4, d, gathered);
  rowsOf(floatsAt(gathered, 4 * d).slice(), d).forEach((row, i) => expect(row).toEqual(rows[positions[i]]));
  free(at);
});

test("directions have length 1, zeros stay zeros, and rows are scaled by factors of their own", () => {
  for (const d of [1, 3, 64]) {
    const vectors = Float32Array.of(...clustered(3, d, 2, d), ...new Float32Array(d));
    const factors = 8 * Math.ceil((8 * vectors.length) / 8);
    const at = allocate(factors + 8 * 4);
    floatsAt(at, vectors.length).set(vectors);
    const out = at + 4 * vectors.length;
    const { directions, scaleRows } = kernels();
    directions(at, 4, d, out);
    const found = rowsOf(floatsAt(out, vectors.length).slice(), d);
    rowsOf(vectors, d).forEach((row, i) => {
      const length = Math.sqrt(squaredL2(row, new Float32Array(d)));
      expect(found[i]).toEqual(row.map((value) => (length > 0 ? value * (1 / length) : 0)));
    });
    doublesAt(at + factors, 4).set([2, 0, -1, 5]);
    scaleRows(at, 4, d, at + factors);
    rowsOf(floatsAt(at, vectors.length).slice(), d).forEach((row, i) =>
      expect(Array.from(row, (value) => value + 0)).toEqual(
        Array.from(vectors.subarray(i * d, (i + 1) * d), (value) => value * [2, 0, -1, 5][i] + 0),
      ),
    );
    free(at);
  }
});

test("empty clusters halve the largest ones in turn, and no centroid wanders off", () => {
  const sizes = Uint32Array.of(0, 100, 0, 30, 0, 0);
  const centroids = Float32Array.of(0, 0, 8, 8, 0, 0, 2, 2, 0, 0, 0, 0);
  splitLargest(centroids, 2, sizes);
  const near = (list: number) => Math.round(centroids[2 * list]);
  // 100 becomes 50 and 50, those 25 each; 30 is then the largest.
  expect([0, 1, 2, 3, 4, 5].map(near)).toEqual([8, 8, 8, 2, 8, 2]);
  expect(new Set(Array.from({ length: 6 }, (_, list) => centroids[2 * list])).size).toBe(6);
  const one = new Float32Array(4096).fill(1);
  splitLargest(one, 1, new Uint32Array(4096).fill(0).with(17, 1_000_000));
  for (const value of one) expect(Math.abs(value - 1)).toBeLessThan(0.03);
});

test("works side by side ask for their calls together, and give their results in order", () => {
  const asked: number[] = [];
  const freed: number[] = [];
  function* count(steps: number): Work<number> {
    try {
      for (let i = 0; i < steps; i++) yield [{ kernel: "halfSquares", args: [steps, i, 1, 1] }];
      return steps;
    } finally {
      freed.push(steps);
    }
  }
  const work = together([count(2), count(0), count(3)]);
  let step = work.next();
  for (; !step.done; step = work.next()) asked.push((step.value ?? []).length);
  expect(step.value).toEqual([2, 0, 3]);
  expect(asked).toEqual([2, 2, 1]);
  const abandoned = together([count(7), count(8)]);
  abandoned.next();
  abandoned.return([]);
  expect(freed.toSorted()).toEqual([0, 2, 3, 7, 8]);
});
