/**
 * The coarse quantizer: which inverted list a vector belongs to, and in which order lists are worth probing.
 * Works in list space (see metric.ts), where nearness is L2.
 */

import { assignNearest, squaredL2Block } from "./kernels/kernels.js";
import { allocate, doublesAt, floatsAt, free, wordsAt } from "./kernels/memory.js";
import { listCount, type Model } from "./model.js";
import { Rotation } from "./rotation.js";
import { TopK } from "./top-k.js";
import { inParts, type Work } from "./work.js";

/** Vectors that are assigned at a time; copying them takes a few milliseconds. */
const heldBytes = 16 * 1024 * 1024;

/** The lists that a query should probe. */
export interface Probes {
  /** List numbers, nearest first. */
  readonly nearest: readonly number[];
  /** Distance of each list's centroid from the query, by list number. */
  readonly distances: Float64Array;
}

/** A model's centroids in kernel memory. Call `free` when done. */
export class CoarseQuantizer {
  readonly nLists: number;
  /** Kernel memory held, in bytes. */
  readonly bytes: number;
  readonly rotation: Rotation;
  readonly #dimension: number;
  readonly #centroids: number;
  readonly #halfNorms: number;
  #rotated = 0;

  constructor(model: Model) {
    const { centroids, dimension } = model;
    this.nLists = listCount(model);
    this.#dimension = dimension;
    this.rotation = new Rotation(dimension, model.rotationSeed);
    const bytes = 4 * centroids.length + 4 * this.nLists;
    // Counted as if the rotated centroids were there already: whoever encodes will ask for them.
    this.bytes = bytes + this.rotation.bytes + 4 * this.nLists * this.rotation.rotated;
    this.#centroids = allocate(bytes);
    this.#halfNorms = this.#centroids + 4 * centroids.length;
    floatsAt(this.#centroids, centroids.length).set(centroids);
    floatsAt(this.#halfNorms, this.nLists).set(halfSquaredNorms(centroids, dimension));
  }

  /** The nearest list of each vector; `vectors` has layout (n, dimension), in list space. */
  assign(vectors: Float32Array): Uint32Array {
    const n = vectors.length / this.#dimension;
    const at = allocate(4 * vectors.length + 8 * n);
    const lists = at + 4 * vectors.length;
    floatsAt(at, vectors.length).set(vectors);
    assignNearest(
      at,
      n,
      this.#dimension,
      this.#centroids,
      this.nLists,
      this.#halfNorms,
      lists,
      lists + 4 * n,
    );
    const assigned = wordsAt(lists, n).slice();
    free(at);
    return assigned;
  }

  /** The nearest list of each of n vectors; `pointsOf` gives some of them, layout (count, dimension), in list space. */
  *assignAll(n: number, pointsOf: (first: number, count: number) => Float32Array): Work<Uint32Array> {
    const lists = new Uint32Array(n);
    const rowBytes = 4 * this.#dimension;
    const rowsHeld = Math.min(n, Math.max(1, Math.floor(heldBytes / rowBytes)));
    const at = allocate(rowsHeld * (rowBytes + 8));
    const listsAt = at + rowsHeld * rowBytes;
    try {
      for (let first = 0; first < n; first += rowsHeld) {
        const count = Math.min(rowsHeld, n - first);
        floatsAt(at, count * this.#dimension).set(pointsOf(first, count));
        yield inParts(count, this.nLists * this.#dimension, (row, rows) => ({
          kernel: "assignNearest",
          args: [
            at + row * rowBytes,
            rows,
            this.#dimension,
            this.#centroids,
            this.nLists,
            this.#halfNorms,
            listsAt + 4 * row,
            listsAt + 4 * (rowsHeld + row),
          ],
        }));
        lists.set(wordsAt(listsAt, count), first);
      }
      return lists;
    } finally {
      free(at);
    }
  }

  /** The largest distance of these rows of one list from its centroid, rounded up. */
  *radius(vectors: Float32Array, list: number): Work<number> {
    const n = vectors.length / this.#dimension;
    const at = allocate(4 * vectors.length + 8 * n + 8);
    const squares = Math.ceil((at + 4 * vectors.length) / 8) * 8;
    try {
      floatsAt(at, vectors.length).set(vectors);
      const centroid = this.#centroids + 4 * list * this.#dimension;
      yield [{ kernel: "squaredL2BlockWide", args: [centroid, at, n, this.#dimension, squares] }];
      let largest = 0;
      for (const square of doublesAt(squares, n)) largest = Math.max(largest, square);
      // Covers the rounding of this sum, and of the float32 distances it is compared with.
      return Math.sqrt(largest) * (1 + this.#dimension * 2 ** -22);
    } finally {
      free(at);
    }
  }

  /** The `nProbes` nearest lists; `query` is in list space. */
  probe(query: Float32Array, nProbes: number): Probes {
    const at = allocate(4 * this.#dimension + 4 * this.nLists);
    const squares = at + 4 * this.#dimension;
    floatsAt(at, this.#dimension).set(query);
    squaredL2Block(at, this.#centroids, this.nLists, this.#dimension, squares);
    const found = floatsAt(squares, this.nLists);
    const distances = new Float64Array(this.nLists);
    const best = new TopK(nProbes);
    for (let list = 0; list < this.nLists; list++) {
      distances[list] = Math.sqrt(found[list]);
      // A distance beyond float32 ranks last, but ranks.
      const rank = Number.isNaN(found[list]) ? Infinity : found[list];
      if (rank <= best.threshold) best.push(rank, list, 0, list, 0, 0, 0);
    }
    free(at);
    return { nearest: best.sorted().map(({ block }) => block), distances };
  }

  /** Rotates all centroids, which `rotatedCentroid` otherwise does at once when it is first asked. */
  *rotateCentroids(): Work<void> {
    if (this.#rotated > 0) return;
    const { dimension, rotated, signs, span } = this.rotation;
    const at = allocate(4 * this.nLists * rotated);
    try {
      const piece = Math.max(1, Math.floor(heldBytes / (4 * rotated)));
      for (let list = 0; list < this.nLists; list += piece) {
        const count = Math.min(piece, this.nLists - list);
        const centroids = floatsAt(this.#centroids + 4 * list * dimension, count * dimension);
        this.rotation.pad(centroids, at + 4 * list * rotated);
        yield inParts(count, 64 * rotated, (first, rows) => ({
          kernel: "rotate",
          args: [at + 4 * (list + first) * rotated, rows, rotated, signs, span],
        }));
      }
      // Another work may have been first.
      if (this.#rotated === 0) this.#rotated = at;
    } finally {
      if (this.#rotated !== at) free(at);
    }
  }

  /** Where the rotated centroid of a list lies in kernel memory. */
  rotatedCentroid(list: number): number {
    const { rotation } = this;
    if (this.#rotated === 0) {
      this.#rotated = allocate(4 * this.nLists * rotation.rotated);
      const centroids = floatsAt(this.#centroids, this.nLists * this.#dimension).slice();
      rotation.apply(centroids, this.#rotated);
    }
    return this.#rotated + 4 * list * rotation.rotated;
  }

  free(): void {
    if (this.#rotated > 0) free(this.#rotated);
    this.rotation.free();
    free(this.#centroids);
  }
}

/** |c|^2 / 2 of each centroid, which turns a nearest-centroid search into dot products. */
export function halfSquaredNorms(centroids: Float32Array, dimension: number): Float32Array {
  const norms = new Float32Array(centroids.length / dimension);
  for (let list = 0; list < norms.length; list++) {
    let sum = 0;
    for (let i = list * dimension; i < (list + 1) * dimension; i++) sum += centroids[i] * centroids[i];
    norms[list] = sum / 2;
  }
  return norms;
}
