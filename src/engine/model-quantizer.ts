/** A model's quantizer in kernel memory, and the search for reference centroids if those are not the model's lists. */

import { RabitqQuantizer, rabitqLayout, signCount } from "./rabitq-quantizer.js";
import { type CodeLayout, noCentroid } from "./code-layout.js";
import type { IndexConfig } from "./config.js";
import type { CodedModel, QuantizerModel } from "./model.js";
import { NearestCentroids } from "./nearest-centroids.js";
import { productLayout } from "./codeword-layout.js";
import { ProductQuantizer } from "./product-quantizer.js";
import type { QuantizedQuery, Quantizer } from "./quantizer.js";

export function layoutOf(config: IndexConfig, dimension: number): CodeLayout {
  return config.type === "ivfpq" ? productLayout(config) : rabitqLayout(dimension);
}

/** Multiply-adds per component that a row takes besides comparisons: rotation and sums. */
const componentCost = 64;

/** Call `free` of the result when done. */
export function openQuantizer(config: IndexConfig, dimension: number, model: QuantizerModel): Quantizer {
  return model.codebooks === undefined
    ? new RabitqQuantizer(dimension, model)
    : new ProductQuantizer(config, dimension, model, model.codebooks);
}

/** Multiply-adds of encoding a row whose reference centroid is known. */
export function codingCost(dimension: number, { codebooks }: QuantizerModel): number {
  return codebooks === undefined
    ? componentCost * signCount(dimension)
    : componentCost * dimension + codebooks.codewords.length;
}

/** Call `free` when done. */
export class ModelQuantizer {
  readonly model: CodedModel;
  /** Kernel memory held, in bytes. */
  readonly bytes: number;
  /** Multiply-adds that encoding one row takes. */
  readonly rowCost: number;
  /** Whether the reference centroids are the model's lists. */
  readonly ownLists: boolean;
  readonly #dimension: number;
  readonly #vectors: Quantizer;
  readonly #references: NearestCentroids | undefined;

  constructor(config: IndexConfig, model: CodedModel) {
    const { dimension, quantizer } = model;
    this.model = model;
    this.#dimension = dimension;
    this.ownLists = quantizer.references === model.centroids;
    this.#vectors = openQuantizer(config, dimension, quantizer);
    this.#references = this.ownLists ? undefined : new NearestCentroids(quantizer.references, dimension);
    this.bytes = this.#vectors.bytes + (this.#references?.bytes ?? 0);
    const references = this.ownLists ? 0 : quantizer.references.length;
    this.rowCost = references + codingCost(dimension, quantizer);
  }

  /**
   * Row codes of points of some lists, layout (n, dimension) in list space. With `directions` (`cosine`), a zero vector has no
   * reference centroid.
   */
  encode(points: Float32Array, lists: Uint32Array, directions: boolean): Uint8Array {
    const references = this.#references?.assign(points) ?? lists.slice();
    if (directions) {
      for (let row = 0; row < references.length; row++) {
        const point = points.subarray(row * this.#dimension, (row + 1) * this.#dimension);
        if (point.every((value) => value === 0)) references[row] = noCentroid;
      }
    }
    return this.#vectors.encode(points, references);
  }

  /** See Quantizer. */
  decode(rows: Uint8Array, random?: () => number): Float32Array {
    return this.#vectors.decode(rows, random);
  }

  /** See Quantizer. */
  ask(point: Float32Array): QuantizedQuery {
    return this.#vectors.prepareQuery(point);
  }

  /** Squared distances of all reference centroids from a point; undefined if they are the lists, whose distances probing finds. */
  referenceSquares(point: Float32Array): Float32Array | undefined {
    return this.#references?.squares(point);
  }

  free(): void {
    this.#vectors.free();
    this.#references?.free();
  }
}

/** As `referenceSquares`, for any model. */
export function squaresOfReferences(model: CodedModel, point: Float32Array): Float32Array {
  const references = new NearestCentroids(model.quantizer.references, model.dimension);
  const squares = references.squares(point);
  references.free();
  return squares;
}
