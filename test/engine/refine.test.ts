import { describe, expect, test } from "vitest";
import { type Metric, metrics } from "../../src/engine/config.js";
import { allocatedBytes } from "../../src/engine/kernels/memory.js";
import { listCount, type Model } from "../../src/engine/model.js";
import { refineModel } from "../../src/engine/refine.js";
import { noList } from "../../src/engine/second-lists.js";
import { trainModel } from "../../src/engine/train.js";
import { clustered, sampleOf, uniform } from "./data.js";
import { finish } from "./finish.js";

const d = 16;

function refined(points: Float32Array, known: Model, nListsMax: number, metric?: Metric) {
  const storedIn = new Uint32Array(points.length / d).fill(noList);
  return finish(refineModel(sampleOf(points, d, metric), storedIn, known, { nListsMax, seed: 1 }));
}

function trained(points: Float32Array, nLists: number, metric?: Metric): Model {
  return finish(trainModel(sampleOf(points, d, metric), nLists, 1));
}

const joined = (...parts: readonly Float32Array[]) => Float32Array.from(parts.flatMap((part) => [...part]));

describe.each(metrics)("%s", (metric) => {
  const first = clustered(2000, d, 30, 1);
  const more = clustered(400, d, 2, 2);
  const known = trained(first, 40, metric);

  test.each([40, 44])(
    "of at most %i lists, those that change are split or dissolved, the others stay",
    (max) => {
      const { model, changed } = refined(joined(first, more), known, max, metric);
      expect(listCount(model)).toBe(max);
      expect(changed.size).toBeGreaterThan(0);
      expect(changed.size).toBeLessThan(20);
      expect(model.rotationSeed).toBe(known.rotationSeed);
      const centroid = ({ centroids }: Model, list: number) => centroids.subarray(list * d, (list + 1) * d);
      const stays = (list: number) => {
        const before = centroid(known, list);
        return centroid(model, list).every((value, i) => value === before[i]);
      };
      // One part of a list that is split may have the rows of before, and their mean.
      expect([...changed].every(stays)).toBe(false);
      for (let list = 0; list < 40; list++) if (!changed.has(list)) expect(stays(list)).toBe(true);
    },
  );

  test("the same rows give the same model, and no memory is kept", () => {
    const before = allocatedBytes();
    const rows = joined(first, more);
    expect(refined(rows, known, 44, metric)).toEqual(refined(rows, known, 44, metric));
    expect(allocatedBytes()).toBe(before);
  });
});

test("a model has no fewer lists than before, whatever is asked for", () => {
  const known = trained(clustered(1000, d, 10, 1), 20);
  expect(listCount(refined(clustered(1000, d, 10, 1), known, 5).model)).toBe(20);
});

test("rows that are equal are not split", () => {
  const known = trained(clustered(1000, d, 10, 1), 10);
  const { model, changed } = refined(new Float32Array(500 * d).fill(1), known, 100);
  expect(changed.size).toBe(0);
  expect(model.centroids).toEqual(known.centroids);
});

test.each([1, 2, 7])("of %i lists and few rows a model becomes one that is whole", (nLists) => {
  for (const metric of metrics) {
    const known = trained(uniform(nLists, d, 1), nLists, metric);
    for (const rows of [1, 3, 50]) {
      const points = joined(uniform(rows, d, 2), new Float32Array(d));
      const { model } = refined(points, known, 20, metric);
      expect(listCount(model)).toBeGreaterThanOrEqual(nLists);
      expect(listCount(model)).toBeLessThanOrEqual(20);
      expect(model.centroids.every(Number.isFinite)).toBe(true);
      expect(model.spreads.length).toBe(listCount(model));
    }
  }
});

test("rows are compared as they are stored: none that has a list moves because another is nearer", () => {
  const points = clustered(1000, d, 10, 1);
  const known = trained(points, 20);
  const storedIn = new Uint32Array(1000);
  const { changed } = finish(refineModel(sampleOf(points, d), storedIn, known, { nListsMax: 21, seed: 1 }));
  expect([...changed]).toContain(0);
});

test("a crowd of rows far from all others is split into several lists, however much of all errors it had as one", () => {
  const known = trained(clustered(4000, d, 100, 1), 100);
  const crowd = uniform(600, d, 2).map((value) => 50 + value);
  const { model } = refined(joined(clustered(4000, d, 100, 1), crowd), known, 115);
  const inCrowd = Array.from({ length: listCount(model) }, (_, list) => model.centroids[list * d] > 25);
  expect(inCrowd.filter(Boolean).length).toBeGreaterThan(5);
});
