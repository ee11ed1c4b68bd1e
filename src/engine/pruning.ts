/**
 * Pruning by codes. The error of a code's estimate of a squared distance is about normal, with a known
 * standard deviation (RaBitQ: Gao and Long 2024, arXiv 2405.12497). A search compares the vectors of rows
 * whose estimates, less epsilon deviations, are within its reach: the distance of the farthest of the
 * nearest rows so far. So it loses a neighbour if the estimate is off by epsilon deviations, plus the
 * number of deviations by which the neighbour is nearer than the reach.
 */

/**
 * A neighbour as far away as the reach of its search is lost one time in 28 by the smallest epsilon, and
 * three times in a thousand by the largest. The smallest bounds the loss of queries unlike the rows.
 */
const epsilonMin = 1.8;
const epsilonMax = 2.75;

/**
 * The epsilon of a search whose lists lose this share of the neighbours at a depth. The quantile of a
 * normal distribution at half the loss is about 0.55 - 0.49 ln(loss): by it, codes rule out half as many
 * neighbours as lists lose, if each is as far away as the reach of the search. That holds for the nearest
 * neighbour. Most deeper ones are nearer than the reach, and an epsilon that is smaller by 1.2 suffices.
 */
export function epsilonFor(loss: number, depth: number): number {
  const least = depth === 1 ? 0.55 : -0.65;
  return Math.min(epsilonMax, Math.max(epsilonMin, least - 0.49 * Math.log(loss)));
}
