/** Second lists of rows, against their definition. */

import { describe, expect, test } from "vitest";
import { CoarseQuantizer } from "../../src/engine/lists/coarse-quantizer.js";
import { allocatedBytes } from "../../src/engine/kernels/memory.js";
import { toListSpace } from "../../src/engine/metric.js";
import type { Model } from "../../src/engine/model.js";
import { comparedMax, secondLists } from "../../src/engine/lists/second-lists.js";
import { noList } from "../../src/engine/rows.js";
import { trainModel } from "../../src/engine/training/train.js";
import { clustered, modelOf, sampleOf, uniform } from "./data.js";
import { finish } from "./finish.js";
import { rowsOf, squaredL2 } from "./oracle.js";

/** Opens a quantizer for `use`, which must leave no kernel memory. */
function withQuantizer<T>(model: Model, metric: "euclidean" | "cosine", use: (of: CoarseQuantizer) => T): T {
  const before = allocatedBytes();
  const quantizer = finish(CoarseQuantizer.open(model, metric));
  const result = use(quantizer);
  quantizer.free();
  expect(allocatedBytes()).toBe(before);
  return result;
}

/** |o - c|^2 + <r / |r|, o - c>^2. */
function cost(row: Float32Array, own: Float32Array, other: Float32Array): number {
  const residual = row.map((value, i) => value - own[i]);
  const square = squaredL2(row, own);
  const along = residual.reduce((sum, value, i) => sum + value * (row[i] - other[i]), 0);
  return squaredL2(row, other) + (square > 0 ? along ** 2 / square : 0);
}

describe.each(["euclidean", "cosine"] as const)("under %s", (metric) => {
  test.each([
    [2, 8],
    [12, 3],
    [60, 17],
    [256, 40],
  ])("of %i lists the second one has the least cost, in %i dimensions", (nLists, d) => {
    const centroids = toListSpace(metric, uniform(nLists, d, 3), d);
    const points = toListSpace(metric, uniform(50, d, 4), d);
    withQuantizer(modelOf(centroids, d), metric, (quantizer) => {
      const lists = rowsOf(centroids, d);
      for (const own of [0, nLists - 1]) {
        const seconds = finish(secondLists(quantizer.centroids, points, own));
        rowsOf(points, d).forEach((row, i) => {
          expect(seconds[i]).not.toBe(own);
          const costs = lists.map((list, j) => (j === own ? Infinity : cost(row, lists[own], list)));
          // Rounding may decide between lists that cost the same.
          expect(costs[seconds[i]]).toBeLessThanOrEqual(Math.min(...costs) * (1 + 1e-4));
        });
      }
    });
  });
});

test("of very many lists the nearest ones are compared", () => {
  const d = 4;
  const centroids = uniform(3 * comparedMax, d, 5);
  const points = uniform(20, d, 6);
  withQuantizer(modelOf(centroids, d), "euclidean", (quantizer) => {
    const lists = rowsOf(centroids, d);
    const distances = lists.map((list) => squaredL2(list, lists[7]));
    const near = new Set(
      [...distances.keys()].sort((a, b) => distances[a] - distances[b]).slice(1, comparedMax),
    );
    for (const second of finish(secondLists(quantizer.centroids, points, 7))) expect(near).toContain(second);
  });
});

test("a row of the only list has no second one, and one that equals its centroid goes to the nearest other", () => {
  const d = 3;
  const points = Float32Array.of(1, 1, 1, 0, 0, 0);
  withQuantizer(modelOf(points.slice(0, 3), d), "euclidean", ({ centroids }) => {
    expect([...finish(secondLists(centroids, points, 0))]).toEqual([noList, noList]);
  });
  withQuantizer(modelOf(Float32Array.of(1, 1, 1, 5, 5, 5, 2, 1, 1), d), "euclidean", ({ centroids }) => {
    expect([...finish(secondLists(centroids, points.subarray(0, 3), 0))]).toEqual([2]);
  });
});

test("training puts rows in second lists where that halves the lists of a query, and nowhere else", () => {
  const d = 13;
  const n = 6000;
  const lists = 300;
  const spread = sampleOf(uniform(n, d, 8), d);
  const tight = sampleOf(clustered(n, d, 150, 8), d);
  expect(finish(trainModel({ ...spread, spills: true }, lists, 1)).spilledCurves).toBeDefined();
  expect(finish(trainModel({ ...tight, spills: true }, lists, 1)).spilledCurves).toBeUndefined();
  expect(finish(trainModel(spread, lists, 1)).spilledCurves).toBeUndefined();
  // Nothing else depends on it.
  const { spilledCurves, ...model } = finish(trainModel({ ...spread, spills: true }, lists, 1));
  expect(model).toEqual(finish(trainModel(spread, lists, 1)));
  expect(spilledCurves?.depths).toEqual(model.curves.depths);
});
