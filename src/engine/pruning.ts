/**
 * What is lost because codes rule rows out. A code's estimate of a squared distance is off by an error that is about normal, of a known standard deviation
 * (RaBitQ: Gao and Long 2024, arXiv 2405.12497). A search compares the vectors of rows whose estimates, less epsilon deviations, are within its
 * reach, the distance of the farthest of the nearest rows so far. So it loses a neighbour if the estimate is off by epsilon
 * deviations and, besides, by the neighbour's margin: by how many deviations that is within reach.
 */

/**
 * By the smallest epsilon a neighbour without margin is lost one time in eighteen, which bounds what queries lose that are unlike the rows; by the
 * largest, three times in a thousand.
 */
const epsilonMin = 1.6;
const epsilonMax = 2.75;

/**
 * The epsilon of a search whose lists lose this share of the neighbours. Where few are lost, neighbours without margins are lost about
 * five times as often by their codes, but most have margins. Measured: codes then lose about as much as lists where that saves many vectors, and little
 * elsewhere.
 */
export function epsilonFor(loss: number): number {
  return Math.min(epsilonMax, Math.max(epsilonMin, -0.65 - 0.49 * Math.log(loss)));
}

/** How probable it is that a code loses a neighbour of this margin. */
export function lostByCode(margin: number, epsilon: number): number {
  return normalTail(margin + epsilon);
}

/** How probable it is that a normal error is more than x >= 0 standard deviations (Abramowitz and Stegun 1964, 26.2.17). */
function normalTail(x: number): number {
  if (x === Infinity) return 0;
  const t = 1 / (1 + 0.2316419 * x);
  const series = 0.31938153 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429)));
  return (Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI)) * t * series;
}
