/** The margins of neighbours: by how much codes may be off before a search loses these rows (see pruning.ts). */

import type { Query } from "./far-queries.js";
import { smallEntryMax } from "./kernels/kernels.wasm.js";
import { squareToCentroid } from "./metric.js";
import { rotatedDimension } from "./rotation.js";

/** The rows of a sample. Codes are relative to the centroids of their lists. */
export interface CodedRows {
  readonly dimension: number;
  /** Lengths of the centroids if directions are compared. */
  readonly lengths: Float64Array | undefined;
  /** Per row, its squared distance from its centroid. */
  readonly residuals: Float32Array;
}

/** Squared distances from a query, and its squared length. */
export interface MeasuredQuery extends Query {
  readonly square: number;
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
 * The same, over the squared distance of the row and the squared length of the query, of what rounding a query's table adds: the widest of its groups, of
 * four components, spans about 13 standard deviations of a component in `smallEntryMax` steps. It counts where lists are ten times nearer
 * to a query than the origin is.
 */
const varianceOfTable = ((Math.PI / 2) * 13 ** 2) / 12 / smallEntryMax ** 2;

/**
 * The margins of the first `count` of these rows, in standard deviations of their estimates. Infinity: fewer than `count` of the rows are compared before
 * it, so it is not ruled out.
 */
export function marginsOf(
  { rows, lists, ranks }: NearestRows,
  count: number,
  { toRows, toLists, square }: MeasuredQuery,
  { dimension, lengths, residuals }: CodedRows,
): number[] {
  const margins: number[] = [];
  for (let i = 0; i < count; i++) {
    const deviation = deviationOf(rows[i], lists[i]);
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

  function deviationOf(row: number, list: number): number {
    const toList = squareToCentroid(lengths?.[list], toLists[list]);
    const variance = residuals[row] * (varianceOfSigns * toList + varianceOfTable * square);
    return Math.sqrt(variance / rotatedDimension(dimension));
  }
}
