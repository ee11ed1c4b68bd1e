/**
 * The coarse quantizer: which inverted list a vector belongs to, and in which order lists are worth probing.
 * Works in list space (see metric.ts), where nearness is L2.
 */

import type { LoadedCodes } from "./codec.js";
import { flatCodes } from "./flat-codes.js";
import { assignNearest, encodeRabitq, scanFlat, squaredL2BlockWide } from "./kernels/kernels.js";
import { allocate, doublesAt, floatsAt, free, wordsAt } from "./kernels/memory.js";
import { listCount, type Model } from "./model.js";
import type { QueryVector } from "./query-vector.js";
import { rabitqBytes } from "./rabitq.js";
import { Rotation } from "./rotation.js";
import { scanJobs } from "./search.js";
import { TopK } from "./top-k.js";

/** The lists that a query should probe. */
export interface Probes {
  /** List numbers, nearest first. */
  readonly lists: readonly number[];
  /** Distances of their centroids from the query, in list space. */
  readonly distances: readonly number[];
}

/** From so many lists on, the centroids have RaBitQ codes of their own, around their mean. */
const codedFrom = 64;
/** With codes, probing more than this share of the lists is no faster. */
const codedShareMax = 1 / 4;
/** The number of wanted lists up to which choosing the most promising ones pays. */
const codedProbesMax = 128;

/** A model's centroids in kernel memory. Call `free` when done. */
export class CoarseQuantizer {
  readonly nLists: number;
  /** Kernel memory held, in bytes. */
  readonly bytes: number;
  readonly rotation: Rotation;
  readonly #dimension: number;
  readonly #centroids: number;
  readonly #halfNorms: number;
  readonly #rotated: number;
  readonly #codes: LoadedCodes;
  /** List numbers as tie keys. */
  readonly #numbers: number;
  /** The mean of the centroids, or 0 where they have no codes. */
  readonly #mean: number;

  constructor(model: Model) {
    const { centroids, dimension } = model;
    const n = listCount(model);
    this.nLists = n;
    this.#dimension = dimension;
    this.rotation = new Rotation(dimension, model.rotationSeed);
    const { rotated } = this.rotation;

    const vectorBytes = Math.ceil((4 * centroids.length) / 8) * 8;
    const codeBytes = n < codedFrom ? 0 : rabitqBytes(n, dimension);
    const flatBytes = vectorBytes + 8 * n + codeBytes;
    this.#centroids = allocate(flatBytes);
    floatsAt(this.#centroids, centroids.length).set(centroids);
    const norms = this.#centroids + vectorBytes;
    const factors = codeBytes === 0 ? 0 : norms + 8 * n;

    const ownBytes = 20 * n + 4 * dimension;
    this.#numbers = allocate(ownBytes);
    this.#halfNorms = this.#numbers + 16 * n;
    const numbers = wordsAt(this.#numbers, 4 * n).fill(0);
    for (let list = 0; list < n; list++) numbers[4 * list] = list;
    floatsAt(this.#halfNorms, n).set(halfSquaredNorms(centroids, dimension));

    this.#rotated = allocate(4 * n * rotated);
    this.rotation.apply(centroids, this.#rotated);
    this.bytes = flatBytes + ownBytes + 4 * n * rotated + this.rotation.bytes;

    this.#mean = factors === 0 ? 0 : this.#halfNorms + 4 * n;
    if (factors > 0) {
      const mean = meanOf(centroids, dimension);
      floatsAt(this.#mean, dimension).set(mean);
      const rotatedMean = allocate(4 * rotated);
      this.rotation.apply(mean, rotatedMean);
      const codes = factors + 12 * Math.ceil(n / 32) * 32;
      encodeRabitq(this.#rotated, n, rotated, rotatedMean, codes, factors);
      free(rotatedMean);
    }
    this.#codes = flatCodes(n, dimension, this.#centroids, norms, factors, flatBytes);
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

  /** The largest distance of these rows of one list from its centroid, rounded up. */
  radius(vectors: Float32Array, list: number): number {
    const n = vectors.length / this.#dimension;
    const rowBytes = 4 * this.#dimension;
    const at = allocate(4 * vectors.length + 8 * n + 8);
    const squares = Math.ceil((at + 4 * vectors.length) / 8) * 8;
    floatsAt(at, vectors.length).set(vectors);
    squaredL2BlockWide(this.#centroids + list * rowBytes, at, n, this.#dimension, squares);
    let largest = 0;
    for (const square of doublesAt(squares, n)) largest = Math.max(largest, square);
    free(at);
    // Covers the rounding of this sum, and of the float32 distances it is compared with.
    return Math.sqrt(largest) * (1 + this.#dimension * 2 ** -22);
  }

  /**
   * The `nProbes` nearest lists. Few of many are found by the codes of their centroids, which now and then puts a list in the
   * place of one that is hardly nearer; otherwise the order is exact.
   */
  probe(query: QueryVector, nProbes: number): Probes {
    const coded = this.#mean > 0 && nProbes <= Math.min(codedProbesMax, codedShareMax * this.nLists);
    const nearest = new TopK(nProbes);
    query.reserve(this.nLists);
    const job = {
      block: 0,
      codes: this.#codes,
      fingerprints: this.#numbers,
      distance: coded ? this.#distanceFromMean(query) : undefined,
      newer: 0,
      accepted: 0,
      firstBit: 0,
    };
    scanJobs(scanFlat, query.listRecord, nearest.heap, [job]);
    const found = nearest.finish();
    nearest.free();
    return {
      lists: found.map(({ row }) => row),
      distances: found.map(({ score }) => Math.sqrt(score)),
    };
  }

  #distanceFromMean(query: QueryVector): number {
    const square = allocate(8);
    squaredL2BlockWide(query.point, this.#mean, 1, this.#dimension, square);
    const distance = Math.sqrt(doublesAt(square, 1)[0]);
    free(square);
    return distance;
  }

  /** Where the rotated centroid of a list lies in kernel memory. */
  rotatedCentroid(list: number): number {
    return this.#rotated + 4 * list * this.rotation.rotated;
  }

  free(): void {
    this.rotation.free();
    this.#codes.free();
    free(this.#numbers);
    free(this.#rotated);
  }
}

function meanOf(rows: Float32Array, dimension: number): Float32Array {
  const sums = new Float64Array(dimension);
  for (let at = 0; at < rows.length; at += dimension) {
    for (let i = 0; i < dimension; i++) sums[i] += rows[at + i];
  }
  return Float32Array.from(sums, (sum) => (sum * dimension) / rows.length);
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
