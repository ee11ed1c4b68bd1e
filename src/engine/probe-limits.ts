/**
 * Which of the lists that a query asks for are worth a look.
 *
 * The nearest neighbours of one query lie in its two nearest lists, those of another in twenty. How far they lie is told by the
 * list's stretch: its squared distance relative to that of the nearest list, times the fourth root of its rank, which holds back
 * queries that are about as far from every list. Training learns how far stretches reach, for every number of probes: lists
 * beyond are passed over, as long as there are rows enough without them.
 */

/** Neighbours that are given up with the lists passed over, relative to those that the number of probes gives up. */
const lossShare = 1 / 2;

/** How far a list is from a query: `rank` lists are nearer, and the squared distances are its own and the nearest one's. */
export function distanceRatio(rank: number, square: number, nearest: number): number {
  // Lists as near as the nearest one are 1 times as far, even if both distances are 0.
  return Math.sqrt(Math.sqrt(rank + 1)) * (square > nearest ? square / nearest : 1);
}

/** The lists of neighbours of held-out queries: their ranks and stretches, each of one neighbour. */
export interface Reach {
  readonly rank: number;
  readonly stretch: number;
}

/** The greatest stretch that is worth a look when 2^(i/2) lists are asked for, up to `nLists`. Infinity: any. */
export function learnProbeLimits(reaches: readonly Reach[], nLists: number): Float32Array {
  const stretches = Float64Array.from(reaches, (reach) => reach.stretch).sort();
  return Float32Array.from({ length: stepOf(nLists) + 1 }, (_, step) => {
    const missed = reaches.filter(({ rank }) => rank >= 2 ** (step / 2)).length;
    const given = Math.floor(missed * lossShare);
    return given === 0 ? Infinity : stretches[stretches.length - given - 1];
  });
}

/** The greatest stretch that is worth a look among `nProbes` lists. */
export function probeLimit(limits: Float32Array, nProbes: number): number {
  return limits[stepOf(nProbes)] ?? Infinity;
}

function stepOf(nProbes: number): number {
  return Math.ceil(2 * Math.log2(nProbes));
}

/** How many lists, of those at ascending `distances`, are within the limit. The nearest always is. 0 if there are none. */
export function likelyLists(distances: readonly number[], limit: number): number {
  let likely = distances.length;
  if (likely === 0) return 0;
  const nearest = distances[0] ** 2;
  while (likely > 1 && distanceRatio(likely - 1, distances[likely - 1] ** 2, nearest) > limit) likely--;
  return likely;
}
