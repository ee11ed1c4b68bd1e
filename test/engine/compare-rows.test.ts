/** Distances of rows that are rounded to 16 bits, against plain arithmetic. */

import { describe, expect, test } from "vitest";
import { compareRows } from "../../src/engine/compare-rows.js";
import { allocate, allocatedBytes, floatsAt, free } from "../../src/engine/kernels/memory.js";
import { clustered } from "./data.js";
import { finish } from "./finish.js";
import { rowsOf, squaredL2 } from "./oracle.js";

/** The distances of queries from rows, layout (queries, rows). */
function compare(queries: Float32Array, rows: Float32Array, center: Float32Array): Float32Array[] {
  const d = center.length;
  const n = rows.length / d;
  const q = queries.length / d;
  const before = allocatedBytes();
  const at = allocate(4 * (queries.length + rows.length + d + q * n));
  const rowsAt = at + 4 * queries.length;
  const centerAt = rowsAt + 4 * rows.length;
  const out = centerAt + 4 * d;
  floatsAt(at, queries.length).set(queries);
  floatsAt(rowsAt, rows.length).set(rows);
  floatsAt(centerAt, d).set(center);
  finish(compareRows({ at, n: q }, { at: rowsAt, n }, d, centerAt, out));
  const found = rowsOf(floatsAt(out, q * n).slice(), n);
  free(at);
  expect(allocatedBytes()).toBe(before);
  return found;
}

const lengthOf = (row: Float32Array) => Math.sqrt(squaredL2(row, new Float32Array(row.length)));

describe.each([1, 3, 8, 67, 384])("in %i dimensions", (d) => {
  test.each([1, 1e-12, 1e15])(
    "every pair of rows of scale %d is compared, whatever their numbers",
    (scale) => {
      for (const [q, n] of [
        [1, 1],
        [2, 3],
        [3, 4],
        [7, 53],
      ]) {
        const queries = clustered(q, d, 2, 1).map((value) => value * scale);
        const rows = clustered(n, d, 4, 2).map((value) => value * scale);
        const center = clustered(1, d, 1, 3).map((value) => value * scale);
        const found = compare(queries, rows, center);
        const fromCenter = (row: Float32Array) => lengthOf(row.map((value, i) => value - center[i]));
        rowsOf(queries, d).forEach((query, i) => {
          rowsOf(rows, d).forEach((row, j) => {
            // Each of both rows is off by half a step in each component, at most.
            const off = ((fromCenter(query) + fromCenter(row)) * Math.sqrt(d)) / 2 ** 15;
            expect(Math.abs(Math.sqrt(found[i][j]) - Math.sqrt(squaredL2(query, row)))).toBeLessThanOrEqual(
              off,
            );
          });
        });
      }
    },
  );

  test("equal rows have the distance 0", () => {
    const rows = clustered(30, d, 4, 5);
    const found = compare(rows, rows, clustered(1, d, 1, 6));
    for (let i = 0; i < 30; i++) expect(found[i][i]).toBe(0);
  });

  test("rows far from the origin and near one another keep their distances, relative to a center among them", () => {
    const center = new Float32Array(d).fill(4096);
    const [query, ...rows] = rowsOf(clustered(20, d, 4, 7), d).map((row) => row.map((value) => value + 4096));
    const [found] = compare(query, Float32Array.of(...rows.flatMap((row) => [...row])), center);
    rows.forEach((row, i) => {
      const expected = Math.sqrt(squaredL2(query, row));
      expect(Math.abs(Math.sqrt(found[i]) - expected)).toBeLessThanOrEqual(
        0.001 * Math.sqrt(d) + 0.01 * expected,
      );
    });
  });
});

test("a row at the center is as far from others as these are from the center", () => {
  const center = Float32Array.of(1, 2, 3);
  const [[found]] = compare(center, Float32Array.of(1, 2, 7), center);
  expect(found).toBeCloseTo(16, 2);
});
