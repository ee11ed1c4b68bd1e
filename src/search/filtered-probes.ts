/**
 * Which lists a filtered query should probe, so that its recall holds up against what the filter removes.
 *
 * Lists without a matching row are skipped. A filter that keeps a share s of the rows around the query leaves the k-th match as far
 * away as the (k / s)-th row is, so automatic probing asks the curves of training for that depth. A query outside the clusters that a filter
 * accepts, or of the whole index, has its matches about equally far away in many lists: those are scanned as far as the matches found allow.
 */

import type { CoarseQuantizer, ListSet, Probes } from "../engine/coarse-quantizer.js";
import type { QueryVector } from "../engine/query-vector.js";
import { likelyLists, probeLimit } from "../engine/probe-limits.js";
import type { ScanLimits } from "../engine/recall-curves.js";

/** A little more than the expected number of lists is looked up at once, so that a second look-up is rarely needed. */
const spareShare = 1.25;
/** How many times as many lists are looked up next. */
const moreTimes = 4;
/** A query lies among matches if the rows around it match so much as rows around a match do, times this. */
export const amongShare = 0.7;

/** A query is unlike the rows if it is so many times farther from the nearest list, squared, than rows of the list are. */
export const unlikeRows = 4;

/**
 * The depth of a query outside of what its filter accepts. If lists match as a whole, its matches are a share of the rows outside of its
 * surroundings, of which training measured all. The fewer of the rows around a match do, the less matches lie as those rows do, and the smaller is
 * the depth, which finds more: then that is `topK / concentration`.
 */
export function outlyingDepth(topK: number, { share, concentration }: MatchesAmongRows): number {
  return topK / (share ** concentration * concentration ** (1 - concentration));
}

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
  /** Per list, the mean squared distance of its rows from the centroid. */
  readonly spreads: Float32Array;
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
  /** By how much their codes may be off (see engine/pruning.ts), unless the query is outlying. */
  readonly epsilon?: number;
  /** The largest cosine needed (see `cosineNeeded`), if the query lies outside of what the filter accepts. */
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

/** The lists of an explicit number of probes, of which those beyond the ratio are needed only if the others have too few matches. */
export function probeExplicitly(
  quantizer: CoarseQuantizer,
  query: QueryVector,
  probing: FilteredProbing,
  probeLimits: Float32Array,
): MatchingProbes {
  const probes = probeFiltered(quantizer, query, probing);
  const probed = probes.lists.length;
  // If it needs more lists than it would with evenly spread matches, the distance ratios of those say little.
  const isEven = probed <= probing.lists / Math.sqrt(probing.share) + 1;
  return { probes, ratio: isEven ? probeLimit(probeLimits, probed) : Infinity };
}

export interface FilteredProbing {
  /** What an unfiltered query probes. */
  readonly lists: number;
  /** Matches that are wanted. */
  readonly topK: number;
  /** Share of all rows that match, above 0. */
  readonly share: number;
  readonly countsOf: CountsOf;
}

/**
 * The lists of an explicit number of probes: measured, 1 / sqrt(s) times as many make up for an evenly spread filter. If matches are not,
 * two more conditions keep a query from stopping early: it has seen as many matches as an evenly spread filter would have given it, and
 * the lists probed reach as far beyond the nearest one with a match as those of an unfiltered query reach beyond the nearest of all. For a
 * query whose own cluster the filter removes that can be most lists.
 */
export function probeFiltered(
  quantizer: CoarseQuantizer,
  query: QueryVector,
  { lists, topK, share, countsOf }: FilteredProbing,
): Probes {
  const evenly = lists / Math.sqrt(share);
  let asked = Math.min(quantizer.nLists, Math.ceil(spareShare * evenly) + 1);
  for (;;) {
    const { lists: nearest, distances } = quantizer.probe(query, asked);
    const rows = nearest.slice(0, lists).reduce((sum, list) => sum + countsOf(list).rows, 0);
    const wanted = Math.max(topK, Math.sqrt(share) * rows);
    const margin = distances[lists - 1] - distances[0];
    const chosen: number[] = [];
    const chosenDistances: number[] = [];
    let seen = 0;
    let reach = Infinity;
    let done = false;
    for (let rank = 0; rank < nearest.length; rank++) {
      done = seen >= wanted && chosen.length >= lists && distances[rank] >= reach;
      if (done) break;
      const { matches } = countsOf(nearest[rank]);
      if (matches === 0) continue;
      if (chosen.length === 0) reach = distances[rank] + margin;
      chosen.push(nearest[rank]);
      chosenDistances.push(distances[rank]);
      seen += matches;
    }
    if (done || asked === quantizer.nLists) return { lists: chosen, distances: chosenDistances };
    asked = moreLists(quantizer, asked);
  }
}

/** How many lists to look up next, before all: so many that codes do not decide on their order, as they do not on that of all. */
function moreLists(quantizer: CoarseQuantizer, asked: number): number {
  const coded = quantizer.codedMax();
  if (asked > coded) return quantizer.nLists;
  return Math.min(quantizer.nLists, Math.max(coded + 1, moreTimes * asked));
}
