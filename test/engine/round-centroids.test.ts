/** Centroids are rounded as far as the rows of their lists allow, and no farther. */

import { expect, test } from "vitest";
import { allocatedBytes } from "../../src/engine/kernels/memory.js";
import { roundCentroids, trainModel } from "../../src/engine/training/train.js";
import { roundVectors } from "../../src/engine/codes/scalar.js";
import { encodeStoredCentroids } from "../../src/state/segment/stored-model.js";
import { clustered, sampleOf, uniform } from "./data.js";
import { finish } from "./finish.js";
import { rowsOf, squaredL2 } from "./oracle.js";

const d = 24;

function rounded(centroids: Float32Array, spread: number): Float32Array {
  const copy = centroids.slice();
  const spreads = new Float32Array(copy.length / d).fill(spread);
  finish(roundCentroids({ centroids: copy, spreads, dimension: d }));
  return copy;
}

function inPrecision(centroids: Float32Array, precision: "int8" | "float16"): Float32Array {
  const copy = centroids.slice();
  roundVectors(copy, precision, d);
  return copy;
}

/** How many centroids are stored in float32, in float16 and in int8. */
function storedIn(centroids: Float32Array): number[] {
  const numbers = [...finish(encodeStoredCentroids(centroids, d))[0]];
  return [0, 1, 2].map((number) => numbers.filter((each) => each === number).length);
}

test("a centroid has the fewest bits that move it by little of its list's spread", () => {
  const centroids = uniform(1, d, 1);
  const [int8, float16] = [inPrecision(centroids, "int8"), inPrecision(centroids, "float16")];
  const needed = [int8, float16].map((copy) => 1024 * squaredL2(copy, centroids));
  expect(rounded(centroids, 1.01 * needed[0])).toEqual(int8);
  expect(rounded(centroids, 0.99 * needed[0])).toEqual(float16);
  expect(rounded(centroids, 1.01 * needed[1])).toEqual(float16);
  expect(rounded(centroids, 0.99 * needed[1])).toEqual(centroids);
  expect(rounded(centroids, 0)).toEqual(centroids);
  expect(rounded(centroids, Infinity)).toEqual(centroids);
});

test("of lists that are rounded already, or are not asked for, none changes", () => {
  const centroids = uniform(3000, d, 2);
  const once = rounded(centroids, 1);
  expect(once).not.toEqual(centroids);
  expect(rounded(once, 1)).toEqual(once);
  const spreads = new Float32Array(3000).fill(1);
  const some = centroids.slice();
  finish(roundCentroids({ centroids: some, spreads, dimension: d }, (list) => list === 2999));
  expect(some.subarray(0, 2999 * d)).toEqual(centroids.subarray(0, 2999 * d));
  expect(some.subarray(2999 * d)).toEqual(once.subarray(2999 * d));
});

test("what is no number stays", () => {
  const centroids = new Float32Array(2 * d);
  centroids[1] = Infinity;
  centroids[d + 1] = NaN;
  expect(rounded(centroids, 1)).toEqual(centroids);
});

test("training rounds to 8 bits, of rows that are far from the origin to more, and of rows that are much farther not at all", () => {
  const points = clustered(4000, d, 12, 3);
  const farBy = (distance: number) => points.map((value) => Math.fround(value + distance));
  const before = allocatedBytes();
  const lists = [0, 30, 1000].map((distance) =>
    storedIn(finish(trainModel(sampleOf(farBy(distance), d), 40, 1)).centroids),
  );
  expect(allocatedBytes()).toBe(before);
  expect(lists).toEqual([
    [0, 0, 40],
    [0, 40, 0],
    [40, 0, 0],
  ]);
});

test("a rounded centroid is hardly farther from its rows than their mean", () => {
  const points = clustered(4000, d, 12, 3);
  const [centroid] = rowsOf(finish(trainModel(sampleOf(points, d), 1, 1)).centroids, d);
  const rows = rowsOf(points, d);
  const mean = Float32Array.from({ length: d }, (_, i) => rows.reduce((sum, row) => sum + row[i], 0) / 4000);
  const distances = (from: Float32Array) => rows.reduce((sum, row) => sum + squaredL2(row, from), 0);
  expect(distances(centroid)).toBeGreaterThan(distances(mean));
  expect(distances(centroid)).toBeLessThan(1.001 * distances(mean));
});
