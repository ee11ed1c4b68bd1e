/**
 * Rows of a sample that k-means does not see, so that training can use them as queries. A centroid is nearer to the rows that it is the mean of
 * than to queries: limits learned from such rows scan too much.
 */

import { countPerList, exchange } from "../rows.js";
import { nearestPositions } from "../select-smallest.js";

/** Rows that are held out of a sample, at most. Of half as many, a measured recall of .9 is off by .01 too often. */
const unseenMax = 1000;
/** Rows of a sample that are used as queries, at least: if fewer are held out, some that k-means saw. */
const queriesMin = 300;
/** The largest share of a sample that k-means does without: a small one has few to spare. */
const unseenShareMax = 0.05;

/** How many rows of a sample of n are held out of k-means. */
export function unseenRows(n: number, nLists: number): number {
  return Math.max(0, Math.min(unseenMax, Math.floor(unseenShareMax * n), n - nLists));
}

/** How many rows of a sample of n are used as queries. */
export function queryRows(n: number, unseen: number): number {
  return Math.max(unseen, Math.min(queriesMin, n));
}

/** Exchanges rows of `dimension` values so that those at these positions, ascending, are the last ones. */
export function moveToEnd<T extends Float32Array | Uint32Array | Uint8Array>(
  vectors: T,
  dimension: number,
  positions: Uint32Array,
): void {
  const first = vectors.length / dimension - positions.length;
  const rowOf = (row: number) => vectors.subarray(row * dimension, (row + 1) * dimension);
  const room = vectors.slice(0, dimension);
  for (let i = positions.length - 1; i >= 0; i--) {
    exchange(rowOf(positions[i]), rowOf(first + i), room);
  }
}

/** Moves centroids to the means of all rows of their lists: k-means saw only the first `seen` of them. `vectors` has layout (n, dimension). */
export function includeUnseen(
  centroids: Float32Array,
  vectors: Float32Array,
  lists: Uint32Array,
  seen: number,
): void {
  const dimension = vectors.length / lists.length;
  const sizes = countPerList(lists.subarray(0, seen), centroids.length / dimension);
  for (let row = seen; row < lists.length; row++) {
    const size = ++sizes[lists[row]];
    const [from, to] = [row * dimension, lists[row] * dimension];
    for (let i = 0; i < dimension; i++) centroids[to + i] += (vectors[from + i] - centroids[to + i]) / size;
  }
}

// Down to which of a query's neighbors training observes in which lists they lie.

/** Neighbors that are observed per held-out row and depth: if there are more, every so-many-th row of the sample counts. */
const observedMax = 32;
/**
 * From a depth to the next one, about. The rows to scan grow at once where neighbors end that are near one another, as those of one document
 * are: limits between two depths would be wrong by as much as these differ.
 */
const step = 10 ** (1 / 4);

/** Numbers of neighbors that are observed in a sample of n rows, ascending from 1. */
export function observedDepths(n: number): number[] {
  const depths = [1];
  for (let power = 1; Math.round(step ** power) < n; power++) depths.push(Math.round(step ** power));
  return depths;
}

/** Calls `visit` for each depth that has a neighbor, with the positions of neighbors down to there, nearest first. */
export function forEachDepth(
  toRows: Float32Array,
  depths: readonly number[],
  visit: (i: number, rows: Uint32Array) => void,
): void {
  const few = nearestPositions(toRows, 1, observedMax);
  depths.forEach((depth, i) => {
    const stride = Math.ceil(depth / observedMax);
    const count = Math.round(depth / stride);
    const rows = stride === 1 ? few.subarray(0, count) : nearestPositions(toRows, stride, count);
    if (rows.length > 0) visit(i, rows);
  });
}
