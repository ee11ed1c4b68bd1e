/** Vectors in parts are those of the parts in their order, whatever rows are taken and wherever parts end. */

import { expect, test } from "vitest";
import { VectorParts } from "../../src/state/segment/row-source.js";

const dimension = 3;
const sizes = [4, 1, 7, 2];
const rows = sizes.reduce((sum, size) => sum + size, 0);
const whole = Float32Array.from({ length: rows * dimension }, (_, i) => i);
let at = 0;
const parts = sizes.map((size) => whole.subarray(at, (at += size * dimension)));
const vectors = new VectorParts(parts, dimension);
const rowsFrom = (first: number, end: number) => whole.slice(first * dimension, end * dimension);

test("count the rows and bytes of all parts", () => {
  expect(vectors.rows).toBe(rows);
  expect(vectors.bytes).toBe(4 * whole.length);
  const none = new VectorParts([], dimension);
  expect([none.rows, none.bytes, none.gather(new Uint32Array(0)).length]).toEqual([0, 0, 0]);
});

test("gathers rows in the order asked for", () => {
  const positions = Uint32Array.from([13, 0, 4, 5, 3, 11, 12, 4]);
  const expected = Array.from(positions).flatMap((row) => Array.from(rowsFrom(row, row + 1)));
  expect(Array.from(vectors.gather(positions))).toEqual(expected);
});

test("every range has the values of the parts, cut at the end", () => {
  for (let first = 0; first < rows; first++) {
    for (let count = 1; count <= rows - first + 2; count++) {
      expect(vectors.range(first, count)).toEqual(rowsFrom(first, Math.min(rows, first + count)));
    }
  }
});

test("a range within a part is no copy", () => {
  expect(vectors.range(5, 7).buffer).toBe(whole.buffer);
  expect(vectors.range(3, 2).buffer).not.toBe(whole.buffer);
});
