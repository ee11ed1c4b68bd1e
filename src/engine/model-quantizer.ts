/** A model's coder in kernel memory, with the search for anchors where those are not the model's own lists. */

import { BitCoder, bitLayout } from "./rabitq-quantizer.js";
import { type CodeLayout, nowhere } from "./code-layout.js";
import type { IndexConfig } from "./config.js";
import type { CodedModel } from "./model.js";
import { NearestCentroids } from "./nearest-centroids.js";
import { ProductCoder, productLayout } from "./product-quantizer.js";
import type { CodedQuery, VectorCoder } from "./quantizer.js";

export function layoutOf(config: IndexConfig, dimension: number): CodeLayout {
  return config.type === "ivfpq" ? productLayout(config) : bitLayout(dimension);
}

/** Call `free` when done. */
export class ModelCoder {
  readonly model: CodedModel;
  /** Kernel memory held, in bytes. */
  readonly bytes: number;
  /** Whether the anchors are the model's lists. */
  readonly ownLists: boolean;
  readonly #dimension: number;
  readonly #vectors: VectorCoder;
  readonly #anchors: NearestCentroids | undefined;

  constructor(config: IndexConfig, model: CodedModel) {
    const { dimension, coder } = model;
    this.model = model;
    this.#dimension = dimension;
    this.ownLists = coder.anchors === model.centroids;
    this.#vectors =
      coder.products === undefined
        ? new BitCoder(dimension, coder)
        : new ProductCoder(config, dimension, coder, coder.products);
    this.#anchors = this.ownLists ? undefined : new NearestCentroids(coder.anchors, dimension);
    this.bytes = this.#vectors.bytes + (this.#anchors?.bytes ?? 0);
  }

  /**
   * Row codes of points of some lists, layout (n, dimension) in list space. A zero vector under `cosine`, as `directions`
   * says, is nowhere.
   */
  encode(points: Float32Array, lists: Uint32Array, directions: boolean): Uint8Array {
    const anchors = this.#anchors?.assign(points) ?? lists.slice();
    if (directions) {
      for (let row = 0; row < anchors.length; row++) {
        const point = points.subarray(row * this.#dimension, (row + 1) * this.#dimension);
        if (point.every((value) => value === 0)) anchors[row] = nowhere;
      }
    }
    return this.#vectors.encode(points, anchors);
  }

  /** See VectorCoder. */
  decode(rows: Uint8Array): Float32Array {
    return this.#vectors.decode(rows);
  }

  /** See VectorCoder. */
  ask(point: Float32Array): CodedQuery {
    return this.#vectors.ask(point);
  }

  /** Squared distances of all anchors from a point; undefined where they are the lists, of which probing tells. */
  anchorSquares(point: Float32Array): Float32Array | undefined {
    return this.#anchors?.squares(point);
  }

  free(): void {
    this.#vectors.free();
    this.#anchors?.free();
  }
}

/** As `anchorSquares`, of any coder. */
export function squaresOfAnchors(model: CodedModel, point: Float32Array): Float32Array {
  const anchors = new NearestCentroids(model.coder.anchors, model.dimension);
  const squares = anchors.squares(point);
  anchors.free();
  return squares;
}
