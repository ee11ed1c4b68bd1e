/**
 * Rows of a sample that k-means does not see, so that training can use them as queries. A centroid is nearer to the rows that it is the mean of
 * than to queries: limits learned from such rows scan too much.
 */

/** Rows of a sample that are used as queries. */
export const heldOut = 300;
/** The largest share of a sample that k-means does without: a small one has few to spare, so most of its queries are rows that it saw. */
const unseenShareMax = 0.05;

/** How many rows of a sample of n are held out of k-means. */
export function unseenRows(n: number, nLists: number): number {
  return Math.max(0, Math.min(heldOut, Math.floor(unseenShareMax * n), n - nLists));
}

/** Exchanges rows of `dimension` values so that those at these positions, ascending, are the last ones. */
export function moveToEnd<T extends Float32Array | Uint32Array>(
  vectors: T,
  dimension: number,
  positions: Uint32Array,
): void {
  const first = vectors.length / dimension - positions.length;
  for (let i = positions.length - 1; i >= 0; i--) {
    const chosen = vectors.subarray(positions[i] * dimension, (positions[i] + 1) * dimension);
    const last = vectors.subarray((first + i) * dimension, (first + i + 1) * dimension);
    const moved = chosen.slice();
    chosen.set(last);
    last.set(moved);
  }
}
