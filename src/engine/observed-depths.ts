/** Down to which of a query's neighbours training observes in which lists they lie. */

import { nearestPositions } from "./smallest.js";

/** Neighbours that are observed per held-out row and depth: if there are more, every so-many-th row of the sample counts. */
const observedMax = 32;
/**
 * From a depth to the next one, about. What a search has to scan grows at once where neighbours end that are near one another, as those of one document
 * are: limits between two depths would be wrong by as much as these differ.
 */
const step = 10 ** (1 / 4);

/** Numbers of neighbours that are observed in a sample of n rows, ascending from 1. */
export function observedDepths(n: number): number[] {
  const depths = [1];
  for (let power = 1; Math.round(step ** power) < n; power++) depths.push(Math.round(step ** power));
  return depths;
}

/** Calls `visit` for each depth that has a neighbour, with the positions of neighbours down to there, nearest first. */
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
