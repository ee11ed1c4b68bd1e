/** What training learned, as plain data. */

/** Codebooks of a product quantizer. */
export interface Codebooks {
  /** The component that stands at each place once they are put in order: places p * width and on are part p. */
  readonly order: Uint32Array;
  /** Codewords of directions of residuals, layout (pqDim, k, dimension / pqDim). */
  readonly codewords: Float32Array;
}

/**
 * What codes without vectors beside them mean. It outlives the lists: a row that is grouped anew keeps its code, so that
 * training again loses nothing.
 */
export interface QuantizerModel {
  /** Rows of the index when this was learned. */
  readonly rows: number;
  /** Of the random rotation of `ivf`. */
  readonly rotationSeed: number;
  /** Taken from queries and reference centroids before they are rotated or multiplied: the middle of the data, so that less is rounded. */
  readonly origin: Float32Array;
  /** What rows are coded relative to, layout (reference centroids, dimension): the centroids of the training that learned this. */
  readonly references: Float32Array;
  /** Of `ivfpq`. */
  readonly codebooks?: Codebooks;
}

/** An index that was never trained has no model and one list. */
export interface Model {
  readonly dimension: number;
  /** Coarse centroids in list space, layout (nLists, dimension). */
  readonly centroids: Float32Array;
  /** Of the random rotation that RaBitQ codes are made under. */
  readonly rotationSeed: number;
  /** Lists to probe for recall@10 >= 0.95 where the caller leaves the choice to the index. */
  readonly autoProbes: number;
  /** See probe-limits.ts. */
  readonly probeLimits: Float32Array;
  /** Where rows are kept as codes alone. Its reference centroids are the same array as `centroids` until lists are learned anew. */
  readonly quantizer?: QuantizerModel;
}

/** The model of rows that are codes alone. */
export type CodedModel = Model & { readonly quantizer: QuantizerModel };

export function isCodedModel(model: Model): model is CodedModel {
  return model.quantizer !== undefined;
}

export function listCount(model: Model): number {
  return model.centroids.length / model.dimension;
}
