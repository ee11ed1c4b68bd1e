/**
 * Which lists a filtered query should probe, so that its recall holds up against what the filter removes.
 *
 * Lists without a matching row are skipped. A filter that keeps a share s of the rows around the query leaves the k-th match as far
 * away as the (k / s)-th row is, so automatic probing asks the curves of training for that depth. A query outside the clusters that a filter
 * accepts, or far from all rows, may have its matches in any list: all lists that have one are scanned.
 */

import type { CoarseQuantizer, ListSet, Probes } from "../engine/lists/coarse-quantizer.js";
import type { QueryVector } from "../engine/query-vector.js";
import { likelyLists } from "../engine/lists/probe-limits.js";
import type { ScanLimits } from "../engine/recall-curves.js";

/** A query lies among matches if the rows around it match so much as rows around a match do, times this. */
export const amongShare = 0.7;

/** What a filter accepts, as shares above 0. */
export interface MatchesAmongRows {
  /** Of all rows, the matches. */
  readonly share: number;
  /** Of the rows around a match, the matches. */
  readonly concentration: number;
}

/** How many rows a list has, and how many of them match. */
type CountsOf = (list: number) => { readonly rows: number; readonly matches: number };

export interface MatchingProbing extends MatchesAmongRows {
  /** What an unfiltered query scans. */
  readonly unfiltered: Pick<ScanLimits, "probes" | "ratio">;
  readonly topK: number;
  /** The lists that have a match. */
  readonly matching: ListSet;
  /** What a search of some depth scans, in rows of the index. */
  limitsFor(depth: number): ScanLimits;
  readonly countsOf: CountsOf;
}

export interface MatchingProbes {
  /** Lists that have a match. */
  readonly probes: Probes;
  /** The largest distance ratio of a likely one. */
  readonly ratio: number;
  /** By how much their codes may be off (see engine/pruning.ts). */
  readonly epsilon: number;
  /** Whether the query lies outside of the rows that the filter accepts: then these are all lists. */
  readonly isOutside: boolean;
}

/** The lists of automatic probing. */
export function probeMatching(
  quantizer: CoarseQuantizer,
  query: QueryVector,
  { unfiltered, topK, concentration, matching, limitsFor, countsOf }: MatchingProbing,
): MatchingProbes {
  const nearest = quantizer.probe(query, unfiltered.probes, { limit: unfiltered.ratio });
  const around = shareOf(nearest.lists.slice(0, likelyLists(nearest.distances, unfiltered.ratio)), countsOf);
  if (quantizer.isFar(nearest.lists[0], nearest.distances[0]) || around < amongShare * concentration) {
    const { epsilon } = limitsFor(topK / concentration);
    const probes = quantizer.probe(query, matching.count, { among: matching });
    return { probes, ratio: Infinity, epsilon, isOutside: true };
  }
  const { probes, ratio, epsilon } = limitsFor(topK / Math.min(around, concentration));
  return {
    probes: quantizer.probe(query, probes, { among: matching, limit: ratio }),
    ratio,
    epsilon,
    isOutside: false,
  };
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
