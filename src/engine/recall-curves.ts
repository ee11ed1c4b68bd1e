/**
 * How much a search has to scan for a recall, as training measured it.
 *
 * What decides is the depth of a search: how many rows of the index are as near as the farthest neighbour that is asked for. It is k without a
 * filter, and k / s with a filter that accepts a share s of the rows around the query. Per depth and share of neighbours that
 * may be lost, training measured four limits. They suit a query among rows like itself, as held-out rows are; the cosine
 * also a query far from all rows that a filter accepts (see `cosineNeeded`).
 */

import { type ListLimits, missedShare, type ObservedNeighbours, trendOf } from "./lost-neighbours.js";
import { epsilonFor, lostByCode } from "./pruning.js";
import type { Work } from "./work.js";

/** What a search scans. */
export interface ScanLimits {
  /** The number of lists. */
  readonly probes: number;
  /** The largest distance ratio of a list (see probe-limits.ts). */
  readonly ratio: number;
  /** The largest cosine that a list's rows may need to be neighbours (see `cosineNeeded`). */
  readonly cosine: number;
  /** By how many standard deviations codes may be off (see pruning.ts). */
  readonly epsilon: number;
}

/** Which lists a search scans, and of their rows, which vectors it compares. */
export type Reach = Omit<ScanLimits, "cosine">;

export interface RecallCurves {
  /** Ascending, in rows of the index. */
  readonly depths: Float32Array;
  /** Layout (depths, limits, 5): recall of queries, probes, ratio, cosine, epsilon. First the limits of automatic probing, then others by ascending recall. */
  readonly values: Float32Array;
}

/** Shares of neighbours lost for which limits are learned. */
const losses = [0.3, 0.25, 0.2, 0.15, 0.1, 0.075, 0.05, 0.03, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005];
/** The loss of automatic probing, which promises a recall of 0.95: less, since what is measured is a sample, and queries may be unlike it. */
const automaticLoss = 0.035;
/**
 * What queries are taken to lose, per loss of held-out rows, which are a sample, and besides: some queries are unlike the rows. Rows of the index that
 * k-means did not see are lost more often than those that centroids are means of.
 */
const queryLoss = { perRow: 1.12, perRowUnseen: 0.2, besides: 0.003 };
/** The same for one neighbour, of which held-out rows show one each: so few say less, unless a trend shows what more neighbours say of it. */
const nearestLoss = 1.2;
/**
 * The fewest neighbours, in the sample, by which automatic probing is learned: it is for queries of any kind, and more neighbours are found farther
 * away, as those of queries that are not quite like the rows are.
 */
const automaticDepth = 10;
const width = 5;
const cosineAt = 3;
/** Values of a depth: the limits of automatic probing, then those for each loss. */
export const stepLength = width * (1 + losses.length);
/**
 * Of the neighbours that are lost: most by the distance ratio, which suits each query; few by the number of probes, which bounds the time of
 * the worst ones.
 */
const lostByProbes = 0.1;
const lostByRatio = 0.9;
/** Of the neighbours that queries far from all rows lose: few of those are observed, and none of them is like another data set's. */
const lostFar = 0.25;
/** Limits leap from one depth to the next if the deeper one needs so many times as many lists, and these besides. */
const leapTimes = 1.5;
const leapLists = 2;
/** Times that the interval is halved in which the loss of automatic probing lies. */
const automaticHalvings = 8;

/** The rows among which neighbours were observed, and those of the index. */
export interface Sampling {
  /** Rows of the index that each of these stands for. */
  readonly weight: number;
  /** Whether centroids are means of as large a share of these rows as of the index's. Otherwise they may be of all of these. */
  readonly isEven: boolean;
}

/** Per depth, in rows among which neighbours were observed, what was: one observation for each depth, the first of which is 1. */
export function* learnRecallCurves(
  depths: readonly number[],
  observed: readonly ObservedNeighbours[],
  { weight, isEven }: Sampling,
): Work<RecallCurves> {
  const lossPerRow = queryLoss.perRow + (isEven ? 0 : queryLoss.perRowUnseen * (1 - 1 / weight));
  // The i-th nearest of these rows is about as deep as the middle one of so many rows of the index.
  const scaled = depths.map((depth) => depth * weight + (isEven ? (weight - 1) / 2 : 0));
  const trend = isEven && weight > 1 && depths.length > 1 ? trendOf(observed, scaled) : undefined;
  const byDepth: LimitsOf[] = [];
  for (const [i, each] of observed.entries()) {
    if (i === 0 && trend) byDepth.push(limitsBy(each, lossPerRow, (limits) => trend(limits, scaled[0])));
    else byDepth.push(limitsBy(each, depths[i] === 1 ? nearestLoss * lossPerRow : lossPerRow));
    yield;
  }
  const automaticFrom = Math.max(
    0,
    depths.findLastIndex((depth) => depth <= automaticDepth),
  );
  const steps: number[][] = [];
  for (const [i, limitsOf] of byDepth.entries()) {
    const automatic = automaticLimits(byDepth[Math.max(i, automaticFrom)]);
    automatic[cosineAt] = limitsOf(automaticLoss, Infinity)[cosineAt];
    steps.push([...automatic, ...losses.flatMap((loss) => limitsOf(loss))]);
    yield;
  }
  if (weight > 1) {
    const [first, second] = steps;
    const nearest = trend && limitsBy(observed[0], lossPerRow, (limits) => trend(limits, 1));
    const limits = nearest ? [...first.slice(0, width), ...losses.flatMap((loss) => nearest(loss))] : first;
    steps.unshift(nearerThanSampled(limits, second, scaled));
    scaled.unshift(1);
  }
  return { depths: Float32Array.from(scaled), values: Float32Array.from(steps.flat()) };
}

/** The recall and the limits of a loss by lists. */
type LimitsOf = (
  loss: number,
  epsilon?: number,
) => [recall: number, probes: number, ratio: number, cosine: number, epsilon: number];

/** Finds limits that lose shares of some neighbours. `missedBy`: the share that limits lose by lists. Default: of these neighbours. */
function limitsBy(
  observed: ObservedNeighbours,
  lossPerRow: number,
  missedBy: (limits: ListLimits) => number = (limits) => missedShare(observed, limits),
): LimitsOf {
  const { ranks, ratios, cosines, farCosines, margins } = observed;
  const [sortedRanks, sortedRatios, sortedCosines, sortedFar] = [ranks, ratios, cosines, farCosines].map(
    (values) => Float64Array.from(values).sort(),
  );
  return (loss, epsilon = epsilonFor(loss)) => {
    // A single row has no neighbours; a single list cannot be outlying.
    if (ranks.length === 0 || cosines.length === 0) return [1, 1, Infinity, Infinity, epsilon];
    const probes = keeping(sortedRanks, 1 - lostByProbes * loss) + 1;
    const ratio = keeping(sortedRatios, 1 - lostByRatio * loss);
    let ruledOut = 0;
    for (let i = 0; i < margins.length; i++) {
      if (ranks[i] < probes && ratios[i] <= ratio) ruledOut += lostByCode(margins[i], epsilon);
    }
    ruledOut /= ranks.length;
    const lost = lossPerRow * missedBy({ probes, ratio }) + ruledOut + queryLoss.besides;
    // An outlying query has an epsilon of its own, so its lists may lose what codes do here.
    const lostOutlying = loss + ruledOut / lossPerRow;
    const cosine = Math.max(
      keeping(sortedCosines, 1 - lostOutlying),
      keeping(sortedFar, 1 - lostFar * lostOutlying),
    );
    return [1 - lost, probes, ratio, cosine, epsilon];
  };
}

/** The limits with which lists and codes lose, together, what lists alone lose at `automaticLoss`. */
function automaticLimits(limitsOf: LimitsOf): ReturnType<LimitsOf> {
  const [wanted] = limitsOf(automaticLoss, Infinity);
  let [least, most] = [losses[losses.length - 1], automaticLoss];
  if (limitsOf(most)[0] >= wanted) return limitsOf(most);
  for (let halving = 0; halving < automaticHalvings; halving++) {
    const middle = Math.sqrt(least * most);
    if (limitsOf(middle)[0] >= wanted) least = middle;
    else most = middle;
  }
  return limitsOf(least);
}

/**
 * Limits for the nearest neighbour in an index, if the nearest row that was observed is deeper, with the cosine it needs. That falls with the logarithm of
 * the depth, so it goes on as it does between the first two depths that were observed.
 */
function nearerThanSampled(
  limits: readonly number[],
  second: readonly number[] | undefined,
  depths: readonly number[],
): number[] {
  return limits.map((value, i) => {
    if (i % width !== cosineAt || second === undefined) return value;
    const fall = (value - second[i]) / Math.log(depths[1] / depths[0]);
    return fall > 0 && Number.isFinite(fall) ? value + fall * Math.log(depths[0]) : value;
  });
}

/** The smallest of ascending values that keeps this share of them; -1 if there are none. */
function keeping(sorted: Float64Array, share: number): number {
  return sorted[Math.ceil(share * sorted.length) - 1] ?? -1;
}

/**
 * The limits for a depth. `recall` 0.8 to 0.9999, or undefined for automatic probing, which is promised 0.95. Between measured depths and
 * recalls limits are interpolated; beyond them, the nearest apply.
 */
export function limitsFor(curves: RecallCurves, depth: number, recall: number | undefined): ScanLimits {
  const { depths } = curves;
  const last = depths.length - 1;
  let above = 0;
  while (above < last && depths[above] < depth) above++;
  const upper = limitsAt(curves, above, recall);
  if (above === 0 || depth >= depths[above]) return upper;
  const lower = limitsAt(curves, above - 1, recall);
  // Neighbours that are near one another end between the two, and whether they are enough for this depth was not measured.
  if (upper.probes > leapTimes * lower.probes + leapLists) return upper;
  return between(
    lower,
    upper,
    Math.log(depth / depths[above - 1]) / Math.log(depths[above] / depths[above - 1]),
  );
}

/** The limits for a measured depth. */
function limitsAt({ values }: RecallCurves, step: number, recall: number | undefined): ScanLimits {
  const first = stepLength * step;
  const measured = (row: number) => values[first + width * row];
  const at = (row: number): ScanLimits => {
    const from = first + width * row;
    const [probes, ratio, cosine, epsilon] = values.subarray(from + 1, from + width);
    return { probes, ratio, cosine, epsilon };
  };
  if (recall === undefined) return at(0);
  let above = 1;
  while (above < losses.length && measured(above) < recall) above++;
  if (above === 1 || measured(above) <= recall) return at(above);
  const part = (recall - measured(above - 1)) / (measured(above) - measured(above - 1));
  return between(at(above - 1), at(above), part);
}

function between(a: ScanLimits, b: ScanLimits, part: number): ScanLimits {
  const geometric = (x: number, y: number) => (x === y ? x : x ** (1 - part) * y ** part);
  return {
    probes: Math.round(geometric(a.probes, b.probes)),
    ratio: geometric(a.ratio, b.ratio),
    cosine: a.cosine === b.cosine ? a.cosine : (1 - part) * a.cosine + part * b.cosine,
    epsilon: (1 - part) * a.epsilon + part * b.epsilon,
  };
}

/**
 * The cosine between the direction from a list's centroid to a row and that to the query, from which on the row is within `reach`
 * of the query, if its distance from the centroid is usual for the list (law of cosines). In many dimensions few rows have a large cosine. All
 * three are squared distances in list space: `square` of the centroid from the query, `spread` the mean of the list's rows from the centroid.
 */
export function cosineNeeded(square: number, spread: number, reach: number): number {
  const excess = square + spread - reach;
  // Not a number beyond float32: nothing is known then.
  return excess > 0 ? excess / (2 * Math.sqrt(square * spread)) || -1 : -1;
}
