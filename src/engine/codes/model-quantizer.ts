/** A model's quantizer in kernel memory, and the search for reference centroids if those are not the model's lists. */

import type { IndexConfig } from "../config.js";
import { codedQueryLayout } from "../kernels/kernels.wasm.js";
import { writeWords } from "../kernels/memory.js";
import { NearestCentroids } from "../lists/nearest-centroids.js";
import { type CodedModel, hasOwnLists, type QuantizerModel } from "../model.js";
import type { QueryVector } from "../query-vector.js";
import type { Work } from "../work.js";
import { type CodeLayout, noCentroid, productLayout } from "./code-layout.js";
import { decodeCodewords, ProductQuantizer } from "./product-quantizer.js";
import type { Quantizer } from "./quantizer.js";
import { rabitqLayout, RabitqQuantizer, signCount } from "./rabitq-quantizer.js";

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

/** Decodes without a quantizer that is open: see `Quantizer.decode`. */
export function decodeRows(
  config: IndexConfig,
  dimension: number,
  model: QuantizerModel,
  rows: Uint8Array,
  random: (() => number) | undefined,
): Float32Array {
  // Opening this one takes longer than decoding twenty rows, and decoding needs nothing that it holds.
  if (model.codebooks !== undefined) {
    return decodeCodewords(productLayout(config), model, model.codebooks, rows, random);
  }
  const quantizer = new RabitqQuantizer(dimension, model);
  try {
    return quantizer.decode(rows, random);
  } finally {
    quantizer.free();
  }
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
    this.ownLists = hasOwnLists(model);
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
  encode(points: Float32Array, lists: Uint32Array, directions: boolean): Work<Uint8Array> {
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

  /** Kernel memory that a query takes, in bytes, a multiple of 16. */
  get queryBytes(): number {
    return this.#vectors.tables.queryBytes + squaresBytes(this.#references?.count ?? 0);
  }

  /** Lets kernels compare a query, which has a rotation, with codes of this model; its tables, at `at`, outlive this. */
  prepare(query: QueryVector, at: number): void {
    const { tables } = this.#vectors;
    tables.prepare(query.listAddress, at);
    query.coded = at;
    if (this.#references === undefined) return;
    writeSquares(this.#references, query, at, at + tables.queryBytes);
    writeWords(at, codedQueryLayout, { ownLists: 0 });
  }

  free(): void {
    this.#vectors.free();
    this.#references?.free();
  }
}

/**
 * Lets a query, prepared at `at`, be compared with codes that are not relative to the centroid of the list they are in, of a model whose
 * reference centroids are its lists. `room` allocates the memory of the query, until it is done.
 */
export function needSquares(
  { quantizer, dimension }: CodedModel,
  query: QueryVector,
  at: number,
  room: (bytes: number) => number,
): void {
  const references = new NearestCentroids(quantizer.references, dimension);
  writeSquares(references, query, at, room(squaresBytes(references.count)));
  references.free();
}

/** Writes the squared distances of the reference centroids from a query, prepared at `at`, to `squares`. */
function writeSquares(references: NearestCentroids, query: QueryVector, at: number, squares: number): void {
  references.squares(query.pointAddress, squares);
  writeWords(at, codedQueryLayout, { squares, nSquares: references.count });
}

function squaresBytes(count: number): number {
  return Math.ceil(count / 4) * 16;
}
