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
 * The quantizer of an index of `rows` rows whose lists were just learned on `sample`, layout (n, dimension) in list space. Yields
 * between pieces of work of a few milliseconds. Deterministic in its arguments.
 */
export function* trainQuantizer(
  { type, pqDim = 1, pqBits = 1 }: IndexConfig,
  sample: Float32Array,
  model: Lists,
  rows: number,
): Work<QuantizerModel> {
  const { centroids, dimension, rotationSeed } = model;
  const quantizer = { rows, rotationSeed, origin: middle(centroids, dimension), references: centroids };
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

/**
 * A quantizer for an index that has grown to `rows` rows: with the reference centroids of the new lists and more codewords, if the
 * rows now support them. Codes of the old quantizer keep their meaning. Sample and yields are as in `trainQuantizer`.
 */
export function* extendQuantizer(
  { pqDim = 1, pqBits = 1 }: IndexConfig,
  quantizer: QuantizerModel,
  sample: Float32Array,
  model: Model,
  rows: number,
): Work<QuantizerModel> {
  const { centroids, dimension } = model;
  const references = concat([quantizer.references, centroids]);
  const grown = { ...quantizer, rows, references };
  if (quantizer.codebooks === undefined) return grown;
  const { order, codewords } = quantizer.codebooks;
  const n = sample.length / dimension;
  const known = codewords.length / dimension;
  const more = codewordCount(n, pqBits) - known;
  if (more <= 0) return grown;
  const residuals = yield* listResiduals(sample, model);
  toDirections(residuals, dimension);
  const width = dimension / pqDim;
  const random = seededRandom(quantizer.rotationSeed);
  const grownCodebooks: Float32Array[] = [];
  for (let subspace = 0; subspace < pqDim; subspace++) {
    const points = subspaceOf(residuals, dimension, order.subarray(subspace * width, (subspace + 1) * width));
    const codebook = codewords.subarray(subspace * known * width, (subspace + 1) * known * width);
    grownCodebooks.push(codebook, yield* kmeansOf(points, width, more, random));
    yield;
  }
  return { ...grown, codebooks: { order, codewords: concat(grownCodebooks) } };
}

/** Whether `quantizer` can read codes of `older`: it is the same, or an extension of it. */
export function reads({ pqDim = 1 }: IndexConfig, quantizer: QuantizerModel, older: QuantizerModel): boolean {
  if (quantizer === older) return true;
  const { codebooks: p } = quantizer;
  const { codebooks: q } = older;
  if (quantizer.rotationSeed !== older.rotationSeed || !begins(quantizer.origin, older.origin)) return false;
  if (!begins(quantizer.references, older.references)) return false;
  if (p === undefined || q === undefined) return p === q;
  if (!p.order.every((component, i) => component === q.order[i])) return false;
  const [length, olderLength] = [p.codewords.length / pqDim, q.codewords.length / pqDim];
  return Array.from({ length: pqDim }, (_, subspace) => subspace).every((subspace) =>
    begins(
      p.codewords.subarray(subspace * length, (subspace + 1) * length),
      q.codewords.subarray(subspace * olderLength, (subspace + 1) * olderLength),
    ),
  );
}

function begins(values: Float32Array, start: Float32Array): boolean {
  return values.length >= start.length && start.every((value, i) => Object.is(value, values[i]));
}

function concat(parts: readonly Float32Array[]): Float32Array {
  const all = new Float32Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
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
