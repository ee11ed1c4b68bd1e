/**
 * The coarse quantizer: which inverted list a vector belongs to, and in which order a query probes lists. Works in list space
 * (see metric.ts), in which distances are L2. For `cosine` vectors are compared with the directions of centroids (see kmeans.ts).
 */

import { allocateFlat, type FlatMemory, loadedVectors } from "../codes/flat-codes.js";
import {
  assignByCodes,
  assignsByCodes,
  type CentroidCodes,
  encodeCentroids,
  type ListCentroids,
} from "./centroid-codes.js";
import type { Metric } from "../config.js";
import { type KernelCall, kernels } from "../kernels/kernels.js";
import { coarseQuantizerLayout, jobLayout } from "../kernels/kernels.wasm.js";
import {
  allocate,
  doubleAt,
  doublesAt,
  floatsAt,
  free,
  freeScratch,
  wordsAt,
  writeWords,
} from "../kernels/memory.js";
import { squareToCentroid } from "../metric.js";
import { isCodedModel, listCount, type Model } from "../model.js";
import type { QueryVector } from "../query-vector.js";
import { rabitqBytes } from "../codes/rabitq.js";
import { directionsOf, lengthsOf } from "../rows.js";
import { Rotation } from "../rotation.js";
import { readHeap, TopK } from "../top-k.js";
import { copyInPieces, inSlices, rowsOfPiece, type Work } from "../work.js";

/** Vectors assigned or rotated in parallel, in bytes; they are copied in pieces. */
const heldBytes = 16 * 1024 * 1024;

/** The lists that a query should probe. */
export interface Probes {
  /** List numbers, nearest first. */
  readonly lists: readonly number[];
  /** Distances of their centroids, or of the centroids' directions, from the query, in list space. */
  readonly distances: readonly number[];
}

/** Some of the lists. */
export interface ListSet {
  /** Bit l: list l is one of them. */
  readonly bits: Uint32Array;
  readonly count: number;
}

export interface ProbeOptions {
  /** Only these lists. */
  readonly among?: ListSet | undefined;
  /** Lists beyond it may be missing (see probe-limits.ts). Default Infinity. */
  readonly limit?: number;
}

/** From this number of lists on, the centroids have RaBitQ codes of their own, relative to their mean. */
const codedFrom = 64;
/** If more than this share of the lists is probed, codes are no faster. */
const codedShareMax = 1 / 4;
/** The number of probes up to which codes are faster. */
const codedProbesMax = 128;

/** A model's centroids in kernel memory. Call `free` when done. */
export class CoarseQuantizer {
  readonly nLists: number;
  readonly rotation: Rotation;
  /** The address of the struct that kernels take. */
  readonly address: number;
  readonly #model: Model;
  readonly #dimension: number;
  readonly #memory: FlatMemory;
  /** The points that vectors are compared with. */
  readonly centroids: ListCentroids;
  readonly #halfNorms: number;
  /** Address of the rotated centroids, or 0. Once the centroids have codes, only encoding RaBitQ codes of rows needs them. */
  #rotated: number;
  /** Address of list numbers as tie keys. */
  readonly #numbers: number;
  readonly #mean: number;
  /** Address of the length of each centroid if directions are compared, or 0. */
  readonly #lengths: number;
  readonly #ownBytes: number;
  #coded = false;
  #assignsByCodes = false;

  private constructor(model: Model, metric: Metric) {
    const { dimension } = model;
    const n = listCount(model);
    this.nLists = n;
    this.#model = model;
    this.#dimension = dimension;
    this.rotation = new Rotation(dimension, model.rotationSeed);
    this.#memory = allocateFlat(n, dimension, n < codedFrom ? 0 : rabitqBytes(n, dimension));
    this.centroids = { at: this.#memory.vectors, n, dimension };

    const lengthBytes = metric === "cosine" ? 8 * n : 0;
    const ownBytes = 20 * n + 4 * dimension + nextMultipleOf8(coarseQuantizerLayout.bytes) + lengthBytes;
    this.address = allocate(ownBytes);
    const lengths = this.address + nextMultipleOf8(coarseQuantizerLayout.bytes);
    this.#lengths = lengthBytes > 0 ? lengths : 0;
    this.#numbers = lengths + lengthBytes;
    this.#halfNorms = this.#numbers + 16 * n;
    this.#mean = this.#halfNorms + 4 * n;
    const numbers = wordsAt(this.#numbers, 4 * n).fill(0);
    for (let list = 0; list < n; list++) numbers[4 * list] = list;

    this.#rotated = allocate(4 * n * this.rotation.rotated);
    this.#ownBytes = this.#memory.bytes + ownBytes + this.rotation.bytes;
  }

  /** Kernel memory held, in bytes. */
  get bytes(): number {
    return this.#ownBytes + (this.#rotated > 0 ? 4 * this.nLists * this.rotation.rotated : 0);
  }

  /** Loads and rotates a model's centroids; if there are many, computes codes of them. */
  static *open(model: Model, metric: Metric): Work<CoarseQuantizer> {
    const quantizer = new CoarseQuantizer(model, metric);
    let isOpen = false;
    try {
      yield* quantizer.#load();
      if (isCodedModel(model)) quantizer.#freeRotated();
      isOpen = true;
      return quantizer;
    } finally {
      // Work that is abandoned ends here, too.
      if (!isOpen) quantizer.free();
    }
  }

  *#load(): Work<void> {
    const { nLists, rotation } = this;
    const { centroids } = this.#model;
    const { rotated, signs, span } = rotation;
    const dimension = this.#dimension;
    yield* copyInPieces(centroids, floatsAt(this.centroids.at, centroids.length));
    const { norms, factors } = this.#memory;
    if (this.#lengths > 0) {
      yield lengthsOf(this.centroids.at, nLists, dimension, this.#lengths);
      yield directionsOf(this.centroids.at, nLists, dimension, this.centroids.at);
    }
    yield [
      ...inSlices(nLists, dimension, (list, count): KernelCall => ({
        kernel: "halfSquares",
        args: [this.centroids.at + 4 * list * dimension, count, dimension, this.#halfNorms + 4 * list],
      })),
      ...lengthsOf(this.centroids.at, nLists, dimension, norms),
    ];
    const piece = Math.max(1, Math.floor(heldBytes / (4 * rotated)));
    for (let list = 0; list < nLists; list += piece) {
      const count = Math.min(piece, nLists - list);
      for (const [first, rows] of piecesOf(count, 4 * rotated)) {
        const part = floatsAt(this.centroids.at + 4 * (list + first) * dimension, rows * dimension);
        rotation.pad(part, this.#rotated + 4 * (list + first) * rotated);
        yield;
      }
      yield inSlices(count, 64 * rotated, (first, rows) => ({
        kernel: "rotate",
        args: [this.#rotated + 4 * (list + first) * rotated, rows, rotated, signs, span],
      }));
    }
    if (factors > 0) yield* encodeCentroids(this.#codes, this.#rotated);
    if (this.#lengths > 0) {
      yield inSlices(nLists, 4 * rotated, (list, count) => ({
        kernel: "scaleRows",
        args: [this.#rotated + 4 * list * rotated, count, rotated, this.#lengths + 8 * list],
      }));
    }
    const { address } = loadedVectors(this.#memory, this.#numbers);
    writeWords(this.address, coarseQuantizerLayout, {
      block: address,
      mean: this.#mean,
      lengths: this.#lengths,
    });
    this.#coded = factors > 0;
    const fitFloat32 = kernels().fitsFloat32(norms, nLists) === 1;
    this.#assignsByCodes = fitFloat32 && assignsByCodes(nLists, dimension);
  }

  /** The nearest list of each vector; `vectors` has layout (n, dimension), in list space. */
  assign(vectors: Float32Array): Uint32Array {
    const n = vectors.length / this.#dimension;
    const at = allocate(4 * vectors.length + 8 * n);
    const lists = at + 4 * vectors.length;
    floatsAt(at, vectors.length).set(vectors);
    kernels().assignNearest(
      at,
      n,
      this.#dimension,
      this.centroids.at,
      this.nLists,
      this.#halfNorms,
      lists,
      lists + 4 * n,
    );
    const assigned = wordsAt(lists, n).slice();
    free(at);
    return assigned;
  }

  get #codes(): CentroidCodes {
    const { centroids, rotation } = this;
    return {
      centroids,
      halfNorms: this.#halfNorms,
      rotation,
      mean: this.#mean,
      factors: this.#memory.factors,
    };
  }

  /** The nearest list of each of n vectors; `vectorsAt` returns `count` of them, layout (count, dimension), in list space or not. */
  *assignAll(n: number, vectorsAt: (first: number, count: number) => Float32Array): Work<Uint32Array> {
    const lists = new Uint32Array(n);
    const rowBytes = 4 * this.#dimension;
    const rowsHeld = Math.min(n, Math.max(1, Math.floor(heldBytes / rowBytes)));
    const at = allocate(rowsHeld * (rowBytes + 8));
    const listsAt = at + rowsHeld * rowBytes;
    try {
      for (let first = 0; first < n; first += rowsHeld) {
        const count = Math.min(rowsHeld, n - first);
        for (const [row, rows] of piecesOf(count, rowBytes)) {
          floatsAt(at + row * rowBytes, rows * this.#dimension).set(vectorsAt(first + row, rows));
          yield;
        }
        if (this.#lengths > 0) yield directionsOf(at, count, this.#dimension, at);
        if (this.#assignsByCodes) yield* assignByCodes(this.#codes, at, count, listsAt);
        else {
          yield inSlices(count, this.nLists * this.#dimension, (row, rows) => ({
            kernel: "assignNearest",
            args: [
              at + row * rowBytes,
              rows,
              this.#dimension,
              this.centroids.at,
              this.nLists,
              this.#halfNorms,
              listsAt + 4 * row,
              listsAt + 4 * (rowsHeld + row),
            ],
          }));
        }
        lists.set(wordsAt(listsAt, count), first);
      }
      return lists;
    } finally {
      free(at);
    }
  }

  /** The largest distance of these rows of one list from its centroid, in list space, rounded up. */
  *radius(vectors: Float32Array, list: number): Work<number> {
    const n = vectors.length / this.#dimension;
    const at = allocate(4 * vectors.length + 4 * this.#dimension + 8 * n + 8);
    const centroid = at + 4 * vectors.length;
    const squares = nextMultipleOf8(centroid + 4 * this.#dimension);
    try {
      floatsAt(at, vectors.length).set(vectors);
      floatsAt(centroid, this.#dimension).set(
        this.#model.centroids.subarray(list * this.#dimension, (list + 1) * this.#dimension),
      );
      if (this.#lengths > 0) yield directionsOf(at, n, this.#dimension, at);
      yield [
        {
          kernel: "squaredL2BlockFloat64",
          args: [centroid, at, n, this.#dimension, squares],
          cost: 2 * vectors.length,
        },
      ];
      let largest = 0;
      for (const square of doublesAt(squares, n)) largest = Math.max(largest, square);
      // Allows for rounding of this sum, and of the float32 distances it is compared with.
      return Math.sqrt(largest) * (1 + this.#dimension * 2 ** -22);
    } finally {
      free(at);
    }
  }

  /**
   * The `nProbes` nearest lists, or all if there are fewer. A small share of many lists is found by the codes of their centroids,
   * which sometimes replaces a list by one that is hardly farther; otherwise the order is exact.
   */
  probe(query: QueryVector, nProbes: number, { among, limit = Infinity }: ProbeOptions = {}): Probes {
    const count = Math.min(nProbes, among?.count ?? this.nLists);
    const nearest = new TopK(count);
    const words = among?.bits.length ?? 0;
    const job = allocate(jobLayout.bytes + 4 * words);
    const bits = words === 0 ? 0 : job + jobLayout.bytes;
    if (among !== undefined) wordsAt(bits, words).set(among.bits);
    query.reserve(this.nLists);
    const codedMax = this.codedMax(among?.count);
    kernels().probeLists(query.listAddress, this.address, codedMax, limit, bits, nearest.heap, job);
    freeScratch(job);
    const found = readHeap(nearest.heap);
    nearest.free();
    return {
      lists: found.map(({ row }) => row),
      distances: found.map(({ score }) => Math.sqrt(score)),
    };
  }

  /** The distance of a list's centroid from a query, given its distance as `probe` finds it. */
  distanceToCentroid(list: number, distance: number): number {
    if (this.#lengths === 0) return distance;
    return Math.sqrt(squareToCentroid(doubleAt(this.#lengths + 8 * list), distance ** 2));
  }

  /** The largest number of lists, of all, that is found by the codes of their centroids. */
  codedMax(among: number = this.nLists): number {
    return this.#coded ? Math.floor(Math.min(codedProbesMax, codedShareMax * among)) : 0;
  }

  /** The address of a list's rotated centroid. Not for a model whose rows are codes without vectors. */
  rotatedCentroid(list: number): number {
    return this.#rotated + 4 * list * this.rotation.rotated;
  }

  free(): void {
    this.rotation.free();
    free(this.centroids.at);
    free(this.address);
    this.#freeRotated();
  }

  #freeRotated(): void {
    if (this.#rotated > 0) free(this.#rotated);
    this.#rotated = 0;
  }
}

function nextMultipleOf8(offset: number): number {
  return Math.ceil(offset / 8) * 8;
}

/** The first row and the number of rows of each piece of n rows. */
function* piecesOf(n: number, rowBytes: number): Generator<readonly [number, number]> {
  const rows = rowsOfPiece(rowBytes);
  for (let first = 0; first < n; first += rows) yield [first, Math.min(rows, n - first)];
}
