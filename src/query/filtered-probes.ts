/**
 * Which lists a filtered query should probe, so that its recall holds up against the rows that the filter removes.
 *
 * Lists without a matching row are skipped. A filter that keeps a share s of the rows around the query leaves the k-th match as far
 * away as the (k / s)-th row is, so automatic probing asks the curves of training for that depth. A query outside the clusters that a filter
 * accepts, or of the whole index, has its matches about equally far away in many lists: those are scanned as far as the matches found allow.
 */

import type { CoarseQuantizer, ListSet, Probes } from "../engine/lists/coarse-quantizer.js";
import type { QueryVector } from "../engine/query-vector.js";
import { likelyLists } from "../engine/lists/probe-limits.js";
import type { ScanLimits } from "../engine/recall-curves.js";

/** A query lies among matches if the rows around it match so much as rows around a match do, times this. */
export const amongShare = 0.7;

/** A query is unlike the rows if it is this many times farther from the nearest list, squared, than rows of the list are. */
export const unlikeRows = 4;

/**
 * The depth of a query outside of the rows that its filter accepts. If lists match as a whole, its matches are a share of the rows outside of its
 * surroundings, of which training measured all. The fewer of the rows around a match do, the less matches lie as those rows do, and the smaller is
 * the depth, which finds more: then that is `topK / concentration`.
 */
export function outlyingDepth(topK: number, { share, concentration }: MatchesAmongRows): number {
  return topK / (share ** concentration * concentration ** (1 - concentration));
}

/** The matches of a filter, as shares above 0. */
export interface MatchesAmongRows {
  /** Of all rows, the matches. */
  readonly share: number;
  /** Of the rows around a match, the matches. */
  readonly concentration: number;
}

/** How many rows a list has, and how many of them match. */
type CountsOf = (list: number) => { readonly rows: number; readonly matches: number };

export interface MatchingProbing extends MatchesAmongRows {
  /** The limits of an unfiltered query. */
  readonly unfiltered: Pick<ScanLimits, "probes" | "ratio">;
  readonly topK: number;
  /** Per list, the mean squared distance of its rows from the centroid. */
  readonly spreads: Float32Array;
  /** The lists that have a match. */
  readonly matching: ListSet;
  /** The limits of a search of some depth, in rows of the index. */
  limitsFor(depth: number): ScanLimits;
  readonly countsOf: CountsOf;
}

export interface MatchingProbes {
  /** Lists that have a match. */
  readonly probes: Probes;
  /** The largest distance ratio of a likely one. */
  readonly ratio: number;
  /** By how much their codes may be off (see engine/pruning.ts), unless the query is outlying. */
  readonly epsilon?: number;
  /** The largest cosine needed (see `cosineNeeded`), if the query lies outside of the rows that the filter accepts. */
  readonly outlying?: number;
}

/** The lists of automatic probing. */
export function probeMatching(
  quantizer: CoarseQuantizer,
  query: QueryVector,
  { unfiltered, topK, spreads, concentration, share, matching, limitsFor, countsOf }: MatchingProbing,
): MatchingProbes {
  const nearest = quantizer.probe(query, unfiltered.probes, { limit: unfiltered.ratio });
  const around = shareOf(nearest.lists.slice(0, likelyLists(nearest.distances, unfiltered.ratio)), countsOf);
  const [list] = nearest.lists;
  const distance = quantizer.distanceToCentroid(list, nearest.distances[0]);
  const isUnlike = distance ** 2 > unlikeRows * spreads[list];
  if (isUnlike || around < amongShare * concentration) {
    const all = quantizer.probe(query, matching.count, { among: matching });
    return {
      probes: all,
      ratio: Infinity,
      outlying: limitsFor(outlyingDepth(topK, { share, concentration })).cosine,
    };
  }
  const { probes, ratio, epsilon } = limitsFor(topK / Math.min(around, concentration));
  return { probes: quantizer.probe(query, probes, { among: matching, limit: ratio }), ratio, epsilon };
}

/** The share of the rows of these lists that match. */
function shareOf(lists: readonly number[], countsOf: CountsOf): number {
  let all = 0;
  let matching = 0;
  for (const list of lists) {
    const { rows, matches } = countsOf(list);
    all += rows;
    matching += matches;
  }
  return all === 0 ? 0 : matching / all;
}
