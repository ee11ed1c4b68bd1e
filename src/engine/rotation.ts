/**
 * The random rotation that makes the components of vectors alike, so that their signs carry the most information. A seed and a
 * dimension determine it; a vector is first padded with zeros to a multiple of 64.
 */

import { allocate, floatsAt, free } from "./kernels/memory.js";
import { kernels } from "./kernels/kernels.js";
import { seededRandom } from "./random.js";

const rounds = 4;

/** Components of a rotated vector. */
export function rotatedDimension(dimension: number): number {
  return Math.ceil(dimension / 64) * 64;
}

/** A rotation in kernel memory. Call `free` when done. */
export class Rotation {
  readonly dimension: number;
  /** Components of a rotated vector, a multiple of 64. */
  readonly rotated: number;
  /** Kernel memory held, in bytes. */
  readonly bytes: number;
  /** Parameters of the kernels: the address of the signs, and the span of the transform. */
  readonly signs: number;
  readonly span: number;

  /** `rotated`, a multiple of 64, may be larger than necessary: more signs carry more information. */
  constructor(dimension: number, seed: number, rotated = rotatedDimension(dimension)) {
    this.dimension = dimension;
    this.rotated = rotated;
    this.span = 2 ** Math.floor(Math.log2(this.rotated));
    this.bytes = 4 * rounds * this.rotated;
    this.signs = allocate(this.bytes);
    const random = seededRandom(seed);
    const signs = floatsAt(this.signs, rounds * this.rotated);
    for (let i = 0; i < signs.length; i++) signs[i] = random() < 0.5 ? -1 : 1;
  }

  /** Writes the rotated vectors, layout (n, rotated), to kernel memory; `vectors` has layout (n, dimension). */
  apply(vectors: Float32Array, to: number): void {
    this.pad(vectors, to);
    kernels().rotate(to, vectors.length / this.dimension, this.rotated, this.signs, this.span);
  }

  /** Writes vectors to kernel memory, padded. */
  pad(vectors: Float32Array, to: number): void {
    const n = vectors.length / this.dimension;
    const rows = floatsAt(to, n * this.rotated);
    if (this.rotated === this.dimension) {
      rows.set(vectors);
      return;
    }
    rows.fill(0);
    for (let row = 0; row < n; row++) {
      rows.set(vectors.subarray(row * this.dimension, (row + 1) * this.dimension), row * this.rotated);
    }
  }

  /** Sets the fields of a query's struct that estimates need; see `rotateQuery`. */
  prepare(query: number, point: number, rotated: number): void {
    kernels().rotateQuery(query, point, rotated, this.rotated, this.signs, this.span);
  }

  /** The vectors, layout (n, dimension), that rotate to the n rows of layout (n, rotated) in kernel memory; overwrites those. */
  undo(at: number, n: number): Float32Array {
    kernels().rotateBack(at, n, this.rotated, this.signs, this.span);
    const rows = floatsAt(at, n * this.rotated);
    const vectors = new Float32Array(n * this.dimension);
    for (let row = 0; row < n; row++) {
      const start = row * this.rotated;
      vectors.set(rows.subarray(start, start + this.dimension), row * this.dimension);
    }
    return vectors;
  }

  free(): void {
    free(this.signs);
  }
}
