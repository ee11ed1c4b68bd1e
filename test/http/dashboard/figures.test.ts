/** Computations of the pages of the dashboard. */

import { expect, test } from "vitest";
import { percentileMs } from "../../../packages/server/admin/percentile.js";
import { projectTo2d } from "../../../packages/server/admin/data/principal-components.js";

const seconds = [0.001, 0.01, 0.1];
const histogram = (...counts: number[]) => ({ count: counts.at(-1) ?? 0, sumSeconds: 0, seconds, counts });

test("a percentile is interpolated within its bucket, from the requests in between", () => {
  const before = histogram(10, 10, 10);
  expect(percentileMs(before, before, 0.5)).toBeNull();
  expect(percentileMs(before, histogram(20, 20, 20), 0.5)).toBeCloseTo(0.5);
  expect(percentileMs(before, histogram(10, 20, 20), 0.5)).toBeCloseTo(5.5);
  expect(percentileMs(before, histogram(15, 20, 20), 0.5)).toBeCloseTo(1);
  expect(percentileMs(before, { ...histogram(10, 10, 10), count: 14 }, 0.99)).toBe(100);
});

test("vectors are drawn along the two directions in which they differ most", () => {
  const vectors = Array.from({ length: 200 }, (_, i) =>
    Float32Array.from([3 + 0.01 * Math.sin(7 * i), 10 * Math.cos(i), 1, 3 * Math.sin(i)]),
  );
  const points = projectTo2d(vectors);
  const spread = (values: number[]) => Math.max(...values) - Math.min(...values);
  expect(spread(points.map(([x]) => x))).toBeCloseTo(20, 0);
  expect(spread(points.map(([, y]) => y))).toBeCloseTo(6, 0);
  // Distances in the plane are those of the vectors, except for parts that two dimensions cannot show.
  const [[x0, y0], [x1, y1]] = [points[0], points[50]];
  const distance = Math.hypot(vectors[0][1] - vectors[50][1], vectors[0][3] - vectors[50][3]);
  expect(Math.hypot(x0 - x1, y0 - y1)).toBeCloseTo(distance, 1);
});

test("no items, one, and equal ones have places too", () => {
  expect(projectTo2d([])).toEqual([]);
  expect(projectTo2d([Float32Array.of(1, 2, 3)])).toEqual([[0, 0]]);
  const equal = Array.from({ length: 3 }, () => Float32Array.of(1, 2));
  for (const point of projectTo2d(equal)) expect(point.every((value) => Math.abs(value) < 1e-9)).toBe(true);
});
