/**
 * Pruning by codes. The error of a code's estimate of a squared distance is about normal, with a known
 * standard deviation (RaBitQ: Gao and Long 2024, arXiv 2405.12497). A search compares the vectors of rows
 * whose estimates, less epsilon deviations, are within its reach: the distance of the farthest of the
 * nearest rows so far. So it loses a neighbor if the estimate is off by epsilon deviations, plus the
 * number of deviations by which the neighbor is nearer than the reach.
 */

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

/** How far codes may be off if a query lies outside of the rows that its filter accepts, by the cosine that a list's rows need (see `cosineNeeded`). */
export interface OutlyingPruning {
  /** Epsilon of lists whose rows need at most the cosine `usual`. */
  readonly epsilon: number;
  readonly usual: number;
  /** By how much epsilon falls per cosine beyond that. */
  readonly fall: number;
}

/**
 * The epsilon of automatic probing for such a query. It is about equally far from many rows, and far from centroids: codes say less about it, and by a
 * larger epsilon they leave far more vectors to be read.
 */
export const outlyingEpsilon = 1.7;
/** The share of the largest cosine needed up to which it holds. */
const usualShare = 0.6;
/** The deviation of a code's cosine, over that of the cosine of a row in a random direction: signs have a cosine of sqrt(2 / pi) with their vector. */
const codeDeviation = Math.sqrt(Math.PI / 2 - 1);
/** The largest cosine needed, over the deviation of the rows' cosines, if few rows are neighbors. */
const largestDeviations = 3.3;

/**
 * The epsilons of automatic probing, for lists that need a cosine of up to `cosine`, and codes of `rotated` dimensions. Where rows need a larger
 * cosine fewer are neighbors, and of those that codes leave, more are not: an error of the code is a likelier reason for an estimate than a large
 * cosine. If cosines and errors are normal, equally probable neighbors are within an epsilon that falls with the cosine needed, in proportion to the
 * variance of errors over that of cosines. The latter is that of random directions, or larger if rows lie in fewer dimensions.
 */
export function outlyingPruning(cosine: number, rotated: number): OutlyingPruning {
  const root = Math.sqrt(rotated);
  const deviation = Math.max(1, (root * cosine) / largestDeviations);
  return {
    epsilon: outlyingEpsilon,
    usual: usualShare * cosine,
    fall: (codeDeviation * root) / deviation ** 2,
  };
}

/** The same epsilon for all lists. */
export function uniformPruning(epsilon: number): OutlyingPruning {
  return { epsilon, usual: 1, fall: 0 };
}

/** The epsilon of a list whose rows need this cosine. */
export function outlyingEpsilonAt(needed: number, { epsilon, usual, fall }: OutlyingPruning): number {
  // If no cosine was observed, or rows of a list are equal, cosines may be infinite.
  return fall > 0 ? epsilon - fall * Math.max(0, needed - usual) : epsilon;
}
