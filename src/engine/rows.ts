/** Rows of a matrix, picked, ordered and scaled. */

import type { KernelCall } from "./kernels/kernels.js";
import { inSlices, rowsOfPiece, type Work } from "./work.js";

/** The list of a row that is in none. */
export const noList = 0xffffffff;

/** Rows of a sample, in kernel memory: layout (n, dimension). */
export interface SampleRows {
  readonly at: number;
  readonly n: number;
  readonly dimension: number;
  /** Whether they have length 1, unless they are zero, and are compared with directions of centroids. */
  readonly areDirections: boolean;
}

/** The rows at these positions, layout (positions, dimension). */
export function gather(vectors: Float32Array, dimension: number, positions: Uint32Array): Float32Array {
  const rows = new Float32Array(positions.length * dimension);
  positions.forEach((position, row) => {
    rows.set(vectors.subarray(position * dimension, (position + 1) * dimension), row * dimension);
  });
  return rows;
}

/** How many rows each of k lists has; `lists` has the list of each row. */
export function countPerList(lists: Uint32Array, k: number): Uint32Array {
  const sizes = new Uint32Array(k);
  for (const list of lists) sizes[list]++;
  return sizes;
}

/** Positions of the rows, list by list, ascending within a list. */
export function sortByList(lists: Uint32Array, k: number): Uint32Array {
  const ends = countPerList(lists, k);
  for (let list = 1; list < k; list++) ends[list] += ends[list - 1];
  const order = new Uint32Array(lists.length);
  for (let row = lists.length - 1; row >= 0; row--) order[--ends[lists[row]]] = row;
  return order;
}

/** With which row each is exchanged, in this order, so that row i becomes the one that was at `order[i]`. */
export function exchangesFor(order: Uint32Array): Uint32Array {
  const placeOf = Uint32Array.from(order.keys());
  const rowAt = placeOf.slice();
  return order.map((row, i) => {
    const place = placeOf[row];
    rowAt[place] = rowAt[i];
    placeOf[rowAt[place]] = place;
    return place;
  });
}

/** Exchanges rows, layout (n, dimension), or exchanges them back. */
export function* exchangeRows(
  vectors: Float32Array,
  dimension: number,
  exchanges: Uint32Array,
  direction: "there" | "back",
): Work<void> {
  const n = exchanges.length;
  const rowOf = (row: number) => vectors.subarray(row * dimension, (row + 1) * dimension);
  const rowsTogether = rowsOfPiece(4 * dimension);
  const room = new Float32Array(dimension);
  for (let i = 0; i < n; i++) {
    const row = direction === "there" ? i : n - 1 - i;
    exchange(rowOf(row), rowOf(exchanges[row]), room);
    if (i % rowsTogether === rowsTogether - 1) yield;
  }
}

/** Exchanges the values of two rows, through a third one. */
export function exchange<T extends Float32Array | Uint32Array | Uint8Array>(a: T, b: T, room: T): void {
  room.set(a);
  a.set(b);
  b.set(room);
}

/** Writes the lengths of n rows at `at`, layout (n, dimension), to `out`, n float64. */
export function lengthsOf(at: number, n: number, dimension: number, out: number): KernelCall[] {
  return inSlices(n, dimension, (first, count) => ({
    kernel: "normsFloat64",
    args: [at + 4 * first * dimension, count, dimension, out + 8 * first],
  }));
}

/** Writes the directions of n rows at `at`, layout (n, dimension), to `out`, which may be `at`. */
export function directionsOf(at: number, n: number, dimension: number, out: number): KernelCall[] {
  return inSlices(n, 4 * dimension, (first, count) => ({
    kernel: "directions",
    args: [at + 4 * first * dimension, count, dimension, out + 4 * first * dimension],
  }));
}

/** Of a row of each, which begins at these positions. */
export function squaredL2(
  a: Float32Array,
  atA: number,
  b: Float32Array,
  atB: number,
  dimension: number,
): number {
  let sum = 0;
  for (let i = 0; i < dimension; i++) {
    const difference = a[atA + i] - b[atB + i];
    sum += difference * difference;
  }
  return sum;
}
