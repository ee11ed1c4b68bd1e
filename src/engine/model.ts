/** What training learned, as plain data. An index that was never trained has no model and one list. */
export interface Model {
  readonly dimension: number;
  /** Coarse centroids in list space, layout (nLists, dimension). */
  readonly centroids: Float32Array;
  /** Of the random rotation that RaBitQ codes are made under. */
  readonly rotationSeed: number;
  /** Lists to probe for recall@10 >= 0.95 where the caller leaves the choice to the index. */
  readonly autoProbes: number;
}

export function listCount(model: Model): number {
  return model.centroids.length / model.dimension;
}
