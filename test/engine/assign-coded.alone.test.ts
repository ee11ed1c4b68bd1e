/** Vectors that find the nearest centroid by codes find the one that comparing all of them finds. */

import { afterEach, expect, test } from "vitest";
import { assignOnce } from "../../src/engine/lists/centroid-codes.js";
import { kernels } from "../../src/engine/kernels/kernels.js";
import { allocate, allocatedBytes, floatsAt, free, wordsAt } from "../../src/engine/kernels/memory.js";
import { clustered, uniform } from "./data.js";
import { finish } from "./finish.js";
import { rowsOf, squaredL2 } from "./oracle.js";

const before = allocatedBytes();

afterEach(() => {
  expect(allocatedBytes()).toBe(before);
});

/** The list of each vector by codes, undefined if the centroids do not fit, and by comparing all. */
function assign(vectors: Float32Array, centroids: Float32Array, d: number) {
  const n = vectors.length / d;
  const k = centroids.length / d;
  const at = allocate(4 * (vectors.length + centroids.length + k + 3 * n));
  const centroidsAt = at + 4 * vectors.length;
  const halfNorms = centroidsAt + 4 * centroids.length;
  const lists = halfNorms + 4 * k;
  floatsAt(at, vectors.length).set(vectors);
  floatsAt(centroidsAt, centroids.length).set(centroids);
  kernels().halfSquares(centroidsAt, k, d, halfNorms);
  const isAssigned = finish(assignOnce({ at: centroidsAt, n: k, dimension: d }, halfNorms, at, n, lists));
  const byCodes = isAssigned ? wordsAt(lists, n).slice() : undefined;
  kernels().assignNearest(at, n, d, centroidsAt, k, halfNorms, lists + 4 * n, lists + 8 * n);
  const exact = wordsAt(lists + 4 * n, n).slice();
  free(at);
  return { byCodes, exact };
}

const scaled = (vectors: Float32Array, factor: number) => vectors.map((value) => value * factor);

test.each([
  [1, 5000, 40],
  [3, 2000, 257],
  [67, 3000, 300],
  [256, 3000, 1000],
  [784, 500, 256],
])("of %i dimensions, %i vectors and %i centroids", (d, n, k) => {
  for (const isClustered of [false, true]) {
    const vectors = isClustered ? clustered(n, d, 50, 1) : uniform(n, d, 1);
    const centroids = isClustered ? vectors.slice(0, k * d) : uniform(k, d, 2);
    // Two that are the same: the lower number is found. And one that is zero.
    centroids.copyWithin(7 * d, 3 * d, 4 * d);
    centroids.fill(0, 9 * d, 10 * d);
    vectors.fill(0, 0, d);
    const { byCodes = new Uint32Array(n), exact } = assign(vectors, centroids, d);
    const [rows, ends] = [rowsOf(vectors, d), rowsOf(centroids, d)];
    const others = Array.from(byCodes.keys()).filter((i) => byCodes[i] !== exact[i]);
    expect(others.length).toBeLessThanOrEqual(n / 1000);
    for (const i of others) {
      expect(squaredL2(rows[i], ends[byCodes[i]])).toBeLessThan(1.1 * squaredL2(rows[i], ends[exact[i]]));
    }
    expect(byCodes).not.toContain(7);
  }
});

test("vectors that float32 cannot square are compared with all, and such centroids are left to others", () => {
  const d = 20;
  const k = 300;
  const centroids = clustered(k, d, 30, 2);
  const vectors = clustered(100, d, 30, 3);
  for (const factor of [1e-30, 1e-12, 1e16, 1e25]) {
    const { byCodes, exact } = assign(scaled(vectors, factor), centroids, d);
    expect(byCodes).toEqual(exact);
    expect(assign(vectors, scaled(centroids, factor), d).byCodes).toBeUndefined();
  }
});

test("vectors that are far from the origin and near one another are told apart as well as float32 can", () => {
  const d = 32;
  const away = (vectors: Float32Array) => vectors.map((value) => 1000 + value);
  const { byCodes, exact } = assign(away(clustered(500, d, 30, 4)), away(clustered(300, d, 30, 4)), d);
  expect(byCodes).toEqual(exact);
});

test("a vector gets the same list wherever it lies among others", () => {
  const d = 64;
  const centroids = clustered(400, d, 30, 5);
  const vectors = clustered(3000, d, 30, 6);
  const { byCodes } = assign(vectors, centroids, d);
  expect(assign(vectors.slice(777 * d), centroids, d).byCodes).toEqual(byCodes?.slice(777));
});
