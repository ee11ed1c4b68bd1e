/** The order in which the components of residuals are split into the subspaces of a product quantizer. */

import { kmeansOf } from "./kmeans.js";
import { NearestCentroids } from "./nearest-centroids.js";
import { samplePositions } from "./random.js";
import { gather } from "./rows.js";
import type { Work } from "./work.js";
import { residualsOf } from "./residuals.js";

const trialCodewords = 16;
const trialRows = 4096;

/**
 * The order of components with which product quantization has the smaller error, measured with small codebooks: the natural one,
 * which keeps correlated neighbours together; or a balanced one, in which the variances of each subspace have about the same product,
 * as in the parametric solution of OPQ (Ge et al., 2013). Yields between pieces of work of a few milliseconds.
 */
export function* chooseOrder(
  residuals: Float32Array,
  dimension: number,
  subspaces: number,
  random: () => number,
): Work<Uint32Array> {
  const natural = Uint32Array.from({ length: dimension }, (_, i) => i);
  if (subspaces === dimension || subspaces === 1) return natural;
  const n = residuals.length / dimension;
  const trial = gather(residuals, dimension, samplePositions(random, n, Math.min(n, trialRows)));
  let chosen: Uint32Array = natural;
  let least = Infinity;
  for (const order of [natural, balancedOrder(trial, dimension, subspaces)]) {
    const width = dimension / subspaces;
    let loss = 0;
    for (let subspace = 0; subspace < subspaces; subspace++) {
      const points = subspaceOf(trial, dimension, order.subarray(subspace * width, (subspace + 1) * width));
      loss += distortion(points, width, yield* kmeansOf(points, width, Math.min(trialCodewords, n), random));
      yield;
    }
    if (loss < least) [chosen, least] = [order, loss];
  }
  return chosen;
}

/** These components of all rows, layout (n, components). */
export function subspaceOf(rows: Float32Array, dimension: number, components: Uint32Array): Float32Array {
  const width = components.length;
  const points = new Float32Array((rows.length / dimension) * width);
  for (let row = 0, at = 0; at < points.length; row += dimension) {
    for (let i = 0; i < width; i++) points[at++] = rows[row + components[i]];
  }
  return points;
}

/** Components in order of descending variance, each assigned to the subspace with the smallest product of variances that has room. */
function balancedOrder(residuals: Float32Array, dimension: number, subspaces: number): Uint32Array {
  const variances = new Float64Array(dimension);
  for (let i = 0; i < residuals.length; i++) variances[i % dimension] += residuals[i] * residuals[i];
  const width = dimension / subspaces;
  const descending = Array.from(variances.keys()).sort((a, b) => variances[b] - variances[a]);
  // Logarithms relative to the smallest variance that counts, so that none is negative.
  const least = Math.max(variances[descending[0]] * 2 ** -40, Number.MIN_VALUE);
  const order = new Uint32Array(dimension);
  const filled = new Uint32Array(subspaces);
  const sums = new Float64Array(subspaces);
  for (const component of descending) {
    let emptiest = -1;
    for (let subspace = 0; subspace < subspaces; subspace++) {
      if (filled[subspace] < width && (emptiest < 0 || sums[subspace] < sums[emptiest])) emptiest = subspace;
    }
    order[emptiest * width + filled[emptiest]++] = component;
    sums[emptiest] += Math.log(Math.max(variances[component], least) / least);
  }
  return order;
}

/** Sum of the squared distances of points from their nearest codewords. */
function distortion(points: Float32Array, width: number, codewords: Float32Array): number {
  const centroids = new NearestCentroids(codewords, width);
  const nearest = centroids.assign(points);
  centroids.free();
  let sum = 0;
  for (const value of residualsOf(points, codewords, nearest, width)) sum += value * value;
  return sum;
}
