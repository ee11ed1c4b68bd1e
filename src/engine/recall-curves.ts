/**
 * How much a search has to scan for a recall, as training measured it.
 *
 * They depend on the depth of a search: how many rows of the index are as near as the farthest neighbor that is asked for. It is k without a
 * filter, and k / s with a filter that accepts a share s of the rows around the query. Per depth and share of neighbors that
 * may be lost, training measured four limits. Three suit a query among rows like itself, as held-out rows are; the fourth is the
 * distance ratio for a query outside of all rows, or of all that a filter accepts, which has about the same distance from many lists.
 */

import type { Work } from "./work.js";

/** The limits of a search. */
export interface ScanLimits {
  /** The number of lists. */
  readonly probes: number;
  /** The largest distance ratio of a list (see probe-limits.ts). */
  readonly ratio: number;
  /** The same of a query outside of the rows that it may find: it has no limit of the number of lists. */
  readonly outside: number;
  /** By how many standard deviations codes may be off (see `epsilonFor`). */
  readonly epsilon: number;
}

/** Which lists a search scans, and of their rows, which vectors it compares. */
export type Reach = Omit<ScanLimits, "outside">;

export interface RecallCurves {
  /** Ascending, in rows of the index. */
  readonly depths: Float32Array;
  /** Layout (depths, losses, 5): recall of queries, probes, ratio, outside, epsilon, by ascending recall. */
  readonly values: Float32Array;
}

/** Lists of neighbors: per neighbor of a held-out row the rank and the distance ratio of its list. */
export interface ObservedNeighbors {
  readonly ranks: readonly number[];
  readonly ratios: readonly number[];
  /** The distance ratios for a query whose surroundings a filter removes, and for one that is far from all rows. */
  readonly outside: readonly number[];
  readonly far: readonly number[];
}

/** Shares of neighbors lost for which limits are learned. */
const losses = [0.3, 0.25, 0.2, 0.15, 0.1, 0.075, 0.05, 0.03, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005];
/**
 * The loss that queries are expected to have: `perRow` times the loss of held-out rows, plus `besides`.
 * Held-out rows are a sample; centroids are means of sampled rows, so other rows are lost more often; and
 * some queries are unlike all rows.
 */
const queryLoss = { perRow: 1.2, besides: 0.003 };
/**
 * Automatic probing promises .95. It has the limits of this declared recall, for at least this many
 * neighbors: its queries may be unlike the rows, and so have their neighbors as far away as deeper
 * neighbors of held-out rows are.
 */
export const automatic = { recall: 0.965, depth: 10 };
const width = 5;
const probesAt = 1;
/** The smallest loss that can be declared. */
const lossMin = 0.001;
/** Values of a depth. */
export const stepLength = width * losses.length;
/**
 * Of the neighbors that are lost: most by the distance ratio, which suits each query; few by the number of probes, which bounds the time of
 * the worst ones.
 */
const lostByProbes = 0.1;
const lostByRatio = 0.9;
/** Of the neighbors that queries outside of their rows lose: few of those are observed, and none of them is like another data set's. */
const lostOutside = 0.25;

/**
 * Limits leap between two depths if, at a loss of `loss` or more, the deeper one needs more than `times`
 * as many lists, plus `lists`.
 */
const leap = { times: 1.5, lists: 2, loss: 0.01 };

/** `observed`: for each depth, in rows of a sample. A row of the sample stands for `weight` rows of the index. */
export function* learnRecallCurves(
  depths: readonly number[],
  observed: readonly ObservedNeighbors[],
  weight: number,
): Work<RecallCurves> {
  const steps: number[][] = [];
  for (const [i, each] of observed.entries()) {
    steps.push(limitsBy(each, depths[i]));
    yield;
  }
  const scaled = depths.map((depth) => depth * weight);
  if (weight > 1) {
    scaled.unshift(1);
    steps.unshift(steps[0]);
  }
  return { depths: Float32Array.from(scaled), values: Float32Array.from(steps.flat()) };
}

/** Whether stored curves can be those of an index of this many lists. */
export function areCurves({ depths, values }: RecallCurves, nLists: number): boolean {
  const ascend = depths.every((depth, i) => depth > 0 && depth < Infinity && !(depth < depths[i - 1]));
  return (
    ascend && values.every((_, at) => at % width !== 0 || areLimits(values.subarray(at, at + width), nLists))
  );
}

function areLimits([recall, probes, ratio, outside, epsilon]: Float32Array, nLists: number): boolean {
  const isNumberOfLists = Number.isInteger(probes) && probes >= 1 && probes <= nLists;
  return (
    Number.isFinite(recall) &&
    isNumberOfLists &&
    ratio >= 0 &&
    outside >= 0 &&
    epsilon >= 0 &&
    epsilon < Infinity
  );
}

/** The limits for each loss. */
function limitsBy({ ranks, ratios, outside, far }: ObservedNeighbors, depth: number): number[] {
  const [sortedRanks, sortedRatios, sortedOutside, sortedFar] = [ranks, ratios, outside, far].map((values) =>
    Float64Array.from(values).sort(),
  );
  return losses.flatMap((loss) => {
    const epsilon = epsilonFor(loss, depth);
    // A single row has no neighbors.
    if (ranks.length === 0) return [1, 1, Infinity, Infinity, epsilon];
    const probes = keeping(sortedRanks, 1 - lostByProbes * loss) + 1;
    const ratio = keeping(sortedRatios, 1 - lostByRatio * loss);
    let missed = 0;
    for (let i = 0; i < ranks.length; i++) if (ranks[i] >= probes || ratios[i] > ratio) missed++;
    const lost = (queryLoss.perRow * missed) / ranks.length + queryLoss.besides;
    // Nothing lies outside of a single list.
    const widest =
      outside.length === 0
        ? Infinity
        : Math.max(...[sortedOutside, sortedFar].map((sorted) => keeping(sorted, 1 - lostOutside * loss)));
    return [1 - lost, probes, ratio, widest, epsilon];
  });
}

/** The smallest of ascending values that keeps this share of them; -1 if there are none. */
function keeping(sorted: Float64Array, share: number): number {
  return sorted[Math.ceil(share * sorted.length) - 1] ?? -1;
}

/**
 * The limits for a depth. `recall`: 0.8 to 1, or undefined for automatic probing. Between measured depths and recalls limits are
 * interpolated; beyond them, the nearest apply. A smaller loss than can be declared is that of a search which is as many times as deep.
 */
export function limitsFor(curves: RecallCurves, depth: number, recall: number | undefined): ScanLimits {
  if (recall === undefined) return limitsFor(curves, Math.max(automatic.depth, depth), automatic.recall);
  if (1 - recall < lossMin) return limitsFor(curves, (depth * lossMin) / (1 - recall), 1 - lossMin);
  const { depths } = curves;
  const last = depths.length - 1;
  let above = 0;
  while (above < last && depths[above] < depth) above++;
  const upper = limitsAt(curves, above, recall);
  if (above === 0 || depth >= depths[above]) return upper;
  const lower = limitsAt(curves, above - 1, recall);
  // Neighbors that are near one another end between the two, and whether they are enough for this depth was not measured.
  if (leaps(curves, above)) return upper;
  return between(
    lower,
    upper,
    Math.log(depth / depths[above - 1]) / Math.log(depths[above] / depths[above - 1]),
  );
}

/** Whether limits leap at a depth from those of the depth before, for any loss but the smallest, which few neighbors decide. */
function leaps({ values }: RecallCurves, step: number): boolean {
  return losses.some((loss, i) => {
    const at = stepLength * step + width * i + probesAt;
    return loss >= leap.loss && values[at] > leap.times * values[at - stepLength] + leap.lists;
  });
}

/** The limits for a measured depth. */
function limitsAt({ values }: RecallCurves, step: number, recall: number): ScanLimits {
  const first = stepLength * step;
  const measured = (row: number) => values[first + width * row];
  const at = (row: number): ScanLimits => {
    const from = first + width * row;
    const [probes, ratio, outside, epsilon] = values.subarray(from + 1, from + width);
    return { probes, ratio, outside, epsilon };
  };
  let above = 0;
  while (above < losses.length - 1 && measured(above) < recall) above++;
  if (above === 0 || measured(above) <= recall) return at(above);
  const part = (recall - measured(above - 1)) / (measured(above) - measured(above - 1));
  return between(at(above - 1), at(above), part);
}

function between(a: ScanLimits, b: ScanLimits, part: number): ScanLimits {
  const geometric = (x: number, y: number) => (x === y ? x : x ** (1 - part) * y ** part);
  return {
    probes: Math.round(geometric(a.probes, b.probes)),
    ratio: geometric(a.ratio, b.ratio),
    outside: geometric(a.outside, b.outside),
    epsilon: (1 - part) * a.epsilon + part * b.epsilon,
  };
}

// Pruning by codes. The error of a code's estimate of a squared distance is about normal, with a known standard deviation (RaBitQ: Gao and Long 2024,
// arXiv 2405.12497). A search compares the vectors of rows whose estimates, less epsilon deviations, are within its reach: the distance of the farthest of
// the nearest rows so far. So it loses a neighbor if the estimate is off by epsilon deviations, plus the number of deviations by which the neighbor is
// nearer than the reach.

/**
 * A neighbor as far away as the reach of its search is lost one time in 28 by the smallest epsilon, and
 * three times in a thousand by the largest. The smallest bounds the loss of queries unlike the rows.
 */
const epsilonMin = 1.8;
const epsilonMax = 2.75;

/**
 * The epsilon of a search whose lists lose this share of the neighbors at a depth. The quantile of a
 * normal distribution at half the loss is about 0.55 - 0.49 ln(loss): by it, codes rule out half as many
 * neighbors as lists lose, if each is as far away as the reach of the search. That holds for the nearest
 * neighbor. Most deeper ones are nearer than the reach, and an epsilon that is smaller by 1.2 suffices.
 */
export function epsilonFor(loss: number, depth: number): number {
  const least = depth === 1 ? 0.55 : -0.65;
  return Math.min(epsilonMax, Math.max(epsilonMin, least - 0.49 * Math.log(loss)));
}
