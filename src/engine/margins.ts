/** The margins of neighbours: by how much codes may be off before a search loses these rows (see pruning.ts). */

import { squareToCentroid } from "./metric.js";
import { rotatedDimension } from "./rotation.js";

/** The lists of a sample. Codes are relative to their centroids. */
export interface CodedLists {
  readonly dimension: number;
  /** Lengths of the centroids if directions are compared. */
  readonly lengths: Float64Array | undefined;
  /** Per list, the mean squared distance of its rows from the centroid. */
  readonly spreads: Float32Array;
}

/** The rows nearest to a query, nearest first. */
export interface NearestRows {
  readonly rows: Uint32Array;
  /** Of each, its list, and how many lists are nearer to the query. */
  readonly lists: readonly number[];
  readonly ranks: readonly number[];
}

/** More of the nearest rows than count as neighbours, times: a search that compares some of them first has its reach among these. */
export const aroundTimes = 4;

/**
 * The variance of an estimate, in many dimensions, over the squared distances of row and query from the centroid, times the dimension:
 * signs have a cosine of sqrt(2 / pi) with what they are of.
 */
const varianceOfSigns = 4 * (Math.PI / 2 - 1);

/**
 * The margins of the first `count` of these rows, in standard deviations of their estimates. Infinity: fewer than `count` of the rows are compared before
 * it, so it is not ruled out. `toRows` and `toLists` are squared distances from the query.
 */
export function marginsOf(
  { rows, lists, ranks }: NearestRows,
  count: number,
  toRows: Float32Array,
  toLists: Float32Array,
  coded: CodedLists,
): number[] {
  const margins: number[] = [];
  for (let i = 0; i < count; i++) {
    const deviation = deviationIn(lists[i]);
    // Where there is none, codes are exact.
    margins.push(deviation > 0 ? (reachBefore(i) - toRows[rows[i]]) / deviation : Infinity);
  }
  return margins;

  /** The distance of the `count`-th of the rows in nearer lists, or before row i in its own list. */
  function reachBefore(i: number): number {
    let before = 0;
    for (let other = 0; other < rows.length; other++) {
      const isBefore = ranks[other] < ranks[i] || (ranks[other] === ranks[i] && rows[other] < rows[i]);
      if (isBefore && ++before === count) return toRows[rows[other]];
    }
    return Infinity;
  }

  function deviationIn(list: number): number {
    const square =
      coded.lengths === undefined ? toLists[list] : squareToCentroid(coded.lengths[list], toLists[list]);
    return Math.sqrt((varianceOfSigns * square * coded.spreads[list]) / rotatedDimension(coded.dimension));
  }
}
