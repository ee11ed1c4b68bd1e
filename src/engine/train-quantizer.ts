/** Training of the quantizer of codes without vectors, on the sample and the lists of a training. */

import type { IndexConfig } from "./config.js";
import { kmeansOf } from "./kmeans.js";
import type { QuantizerModel, Model } from "./model.js";
import { NearestCentroids } from "./nearest-centroids.js";
import { samplePositions, seededRandom } from "./random.js";
import { gather } from "./rows.js";
import { chooseOrder, subspaceOf } from "./component-order.js";
import { residualsOf, toDirections } from "./residuals.js";
import type { Work } from "./work.js";

/** Rows per codeword that k-means needs; fewer for the first 256, of which small data would otherwise have almost none. */
const rowsPerCodewordMin = 39;
const rowsPerFirstCodewords = 8;
const firstCodewords = 256;
/** Rows per codeword beyond which a larger sample no longer moves it. */
const rowsPerCodewordSampled = 128;
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
  for (let subspace = 0; subspace < pqDim; subspace++) {
    const points = subspaceOf(residuals, dimension, order.subarray(subspace * width, (subspace + 1) * width));
    codewords.set(yield* kmeansOf(points, width, k, random), subspace * k * width);
    yield;
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
