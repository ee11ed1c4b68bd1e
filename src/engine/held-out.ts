/**
 * Rows of a sample that k-means does not see, so that training can use them as queries. A centroid is nearer to the rows that it is the mean of
 * than to queries: limits learned from such rows scan too much.
 */

import { countRows, exchange } from "./rows.js";

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
  const sizes = countRows(lists.subarray(0, seen), centroids.length / dimension);
  for (let row = seen; row < lists.length; row++) {
    const size = ++sizes[lists[row]];
    const [from, to] = [row * dimension, lists[row] * dimension];
    for (let i = 0; i < dimension; i++) centroids[to + i] += (vectors[from + i] - centroids[to + i]) / size;
  }
}
