/**
 * Query-aware pruning (as in SPANN): which of the lists that a query asks for are scanned.
 *
 * The nearest neighbors of one query are in its two nearest lists, those of another in twenty. Their distance ratio predicts it:
 * a list's squared distance divided by that of the nearest list, times the fourth root of its rank, which limits queries that are
 * about equally far from every list. Training learns a limit of the ratio for every number of probes. Lists beyond it are pruned,
 * as long as enough rows are found without them.
 */

import type { ObservedNeighbors } from "../recall-curves.js";

/** Neighbors lost by pruning, relative to those lost by the number of probes. */
const lossShare = 1 / 2;

/** Of a list: `rank` lists are nearer, `square` is its squared distance, `nearest` that of the nearest list. */
export function distanceRatio(rank: number, square: number, nearest: number): number {
  // Equal distances have the ratio 1, even if both are 0.
  return Math.sqrt(Math.sqrt(rank + 1)) * (square > nearest ? square / nearest : 1);
}

/** The largest distance ratio that is scanned if 2^(i/2) lists are asked for, up to `nLists`. Infinity: nothing is pruned. */
export function learnProbeLimits({ ranks, ratios }: ObservedNeighbors, nLists: number): Float32Array {
  const sorted = Float64Array.from(ratios).sort();
  return Float32Array.from({ length: stepOf(nLists) + 1 }, (_, step) => {
    const missed = ranks.filter((rank) => rank >= 2 ** (step / 2)).length;
    const lost = Math.floor(missed * lossShare);
    return lost === 0 ? Infinity : sorted[sorted.length - lost - 1];
  });
}

/** The largest distance ratio that is scanned among `nProbes` lists. */
export function probeLimit(limits: Float32Array, nProbes: number): number {
  return limits[stepOf(nProbes)] ?? Infinity;
}

function stepOf(nProbes: number): number {
  return Math.ceil(2 * Math.log2(nProbes));
}
