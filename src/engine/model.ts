/** The result of training, as plain data. */

import type { RecallCurves } from "./recall-curves.js";

/** Codebooks of a product quantizer. */
export interface Codebooks {
  /** The component at each position after ordering; positions from p * width on are part p. */
  readonly order: Uint32Array;
  /** Codewords of directions of residuals, layout (pqDim, k, dimension / pqDim). */
  readonly codewords: Float32Array;
}

/**
 * Defines codes without vectors. The first training of an index learns it, and later ones keep it: a row that moves to another list keeps
 * its code.
 */
export interface QuantizerModel {
  /** Seed of the random rotation of `ivf`. */
  readonly rotationSeed: number;
  /** The mean of the data, subtracted from queries and reference centroids before they are rotated or multiplied, to reduce rounding. */
  readonly origin: Float32Array;
  /** The points that rows are coded relative to, layout (reference centroids, dimension): the centroids of the first training. */
  readonly references: Float32Array;
  /** `ivfpq` only. */
  readonly codebooks?: Codebooks;
}

/** An index that was never trained has no model and one list. */
export interface Model {
  readonly dimension: number;
  /** Coarse centroids in list space, layout (nLists, dimension). */
  readonly centroids: Float32Array;
  /** Seed of the random rotation of RaBitQ codes. */
  readonly rotationSeed: number;
  /** Per list, the mean squared distance of its rows from the centroid. */
  readonly spreads: Float32Array;
  /** Limits of automatic probing. */
  readonly curves: RecallCurves;
  /** The same for rows that are found in second lists, too (see second-lists.ts). Undefined: no row is, since it does not pay. */
  readonly spilledCurves?: RecallCurves;
  /** Limits under an explicit number of probes: see probe-limits.ts. */
  readonly probeLimits: Float32Array;
  /** If rows are codes without vectors. Its reference centroids are the same array as `centroids` until lists are trained again. */
  readonly quantizer?: QuantizerModel;
}

/** The model of rows that are codes without vectors. */
export type CodedModel = Model & { readonly quantizer: QuantizerModel };

export function isCodedModel(model: Model): model is CodedModel {
  return model.quantizer !== undefined;
}

/** Whether the reference centroids are the model's lists. */
export function hasOwnLists({ quantizer, centroids }: CodedModel): boolean {
  return quantizer.references === centroids;
}

export function listCount(model: Model): number {
  return model.centroids.length / model.dimension;
}
