/** Training of the quantizer of codes without vectors, on the sample and the lists of a training. */

import { residualsOf, toDirections } from "../codes/residuals.js";
import type { IndexConfig } from "../config.js";
import { kmeansOf } from "../lists/kmeans.js";
import { NearestCentroids } from "../lists/nearest-centroids.js";
import type { Model, QuantizerModel } from "../model.js";
import { samplePositions, seededRandom } from "../random.js";
import { gather } from "../rows.js";
import { together, type Work } from "../work.js";

/** Rows per codeword that k-means needs; fewer for the first 256, of which small data would otherwise have almost none. */
const rowsPerCodewordMin = 39;
const rowsPerFirstCodewords = 8;
const firstCodewords = 256;
/** Rows per codeword beyond which a larger sample no longer moves it. */
const rowsPerCodewordSampled = 128;
/** Subspaces whose codewords are learned at the same time: one alone has too few comparisons for all threads. */
const subspacesTogether = 8;
/** Rows assigned at a time, in multiply-adds. */
const pieceCost = 2 ** 25;

/** Coarse centroids, and the seed of their codes. */
type Lists = Pick<Model, "centroids" | "dimension" | "rotationSeed">;

/** Codewords per codebook that n rows support, at most 2^bits. */
export function codewordCount(n: number, bits: number): number {
  const supported = Math.max(
    Math.floor(n / rowsPerCodewordMin),
    Math.min(firstCodewords, Math.floor(n / rowsPerFirstCodewords)),
  );
  return Math.min(2 ** bits, Math.max(1, supported));
}

/**
 * The quantizer of an index whose lists were just learned on `sample`, layout (n, dimension) in list space. Yields
 * between pieces of work of a few milliseconds. Deterministic in its arguments.
 */
export function* trainQuantizer(
  { type, pqDim = 1, pqBits = 1 }: IndexConfig,
  sample: Float32Array,
  model: Lists,
): Work<QuantizerModel> {
  const { centroids, dimension, rotationSeed } = model;
  const quantizer = { rotationSeed, origin: middle(centroids, dimension), references: centroids };
  if (type !== "ivfpq") return quantizer;

  const random = seededRandom(rotationSeed);
  const n = sample.length / dimension;
  const k = codewordCount(n, pqBits);
  const size = Math.min(n, k * rowsPerCodewordSampled);
  const learned = gather(sample, dimension, samplePositions(random, n, size));
  const residuals = yield* listResiduals(learned, model);
  toDirections(residuals, dimension);
  const order = yield* chooseOrder(residuals, dimension, pqDim, random);
  const width = dimension / pqDim;
  const codewords = new Float32Array(k * dimension);
  for (let first = 0; first < pqDim; first += subspacesTogether) {
    const works: Work<Float32Array>[] = [];
    for (let subspace = first; subspace < Math.min(pqDim, first + subspacesTogether); subspace++) {
      const points = subspaceOf(
        residuals,
        dimension,
        order.subarray(subspace * width, (subspace + 1) * width),
      );
      works.push(kmeansOf(points, width, k, random));
      yield;
    }
    const found = yield* together(works);
    for (const [i, own] of found.entries()) codewords.set(own, (first + i) * k * width);
  }
  return { ...quantizer, codebooks: { order, codewords } };
}

/** Rows minus the centroids of their lists. */
function* listResiduals(rows: Float32Array, model: Lists): Work<Float32Array> {
  const { centroids, dimension } = model;
  const quantizer = new NearestCentroids(model.centroids, dimension);
  try {
    const residuals = new Float32Array(rows.length);
    const piece = Math.max(1, Math.floor(pieceCost / centroids.length)) * dimension;
    for (let start = 0; start < rows.length; start += piece) {
      const points = rows.subarray(start, start + piece);
      residuals.set(residualsOf(points, centroids, quantizer.assign(points), dimension), start);
      yield;
    }
    return residuals;
  } finally {
    quantizer.free();
  }
}

/** The mean of points, layout (n, dimension). */
function middle(points: Float32Array, dimension: number): Float32Array {
  const sums = new Float64Array(dimension);
  for (let i = 0; i < points.length; i++) sums[i % dimension] += points[i];
  const n = points.length / dimension;
  return Float32Array.from(sums, (sum) => sum / n);
}

// The order in which the components of residuals are split into the subspaces of a product quantizer.

const trialCodewords = 16;
const trialRows = 4096;

/**
 * The order of components with which product quantization has the smaller error, measured with small codebooks: the natural one,
 * which keeps correlated neighbors together; or a balanced one, in which the variances of each subspace have about the same product,
 * as in the parametric solution of OPQ (Ge et al., 2013). Yields between pieces of work of a few milliseconds.
 */
function* chooseOrder(
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
function subspaceOf(rows: Float32Array, dimension: number, components: Uint32Array): Float32Array {
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
