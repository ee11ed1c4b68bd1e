/** Codewords or reference centroids in kernel memory, to compare points with. coarse-quantizer.ts has the lists of an index. */

import { kernels } from "../kernels/kernels.js";
import { allocate, floatsAt, free, wordsAt } from "../kernels/memory.js";

/** Holds kernel memory: call `free` when done. */
export class NearestCentroids {
  /** Kernel memory held, in bytes. */
  readonly bytes: number;
  readonly count: number;
  readonly #dimension: number;
  readonly #at: number;
  readonly #halfNorms: number;

  /** `centroids` has layout (count, dimension). */
  constructor(centroids: Float32Array, dimension: number) {
    this.#dimension = dimension;
    this.count = centroids.length / dimension;
    this.bytes = 4 * centroids.length + 4 * this.count;
    this.#at = allocate(this.bytes);
    this.#halfNorms = this.#at + 4 * centroids.length;
    floatsAt(this.#at, centroids.length).set(centroids);
    kernels().halfSquares(this.#at, this.count, dimension, this.#halfNorms);
  }

  /** The number of the nearest centroid of each point; `points` has layout (n, dimension). */
  assign(points: Float32Array): Uint32Array {
    const n = points.length / this.#dimension;
    const at = allocate(4 * points.length + 8 * n);
    const found = at + 4 * points.length;
    floatsAt(at, points.length).set(points);
    kernels().assignNearest(
      at,
      n,
      this.#dimension,
      this.#at,
      this.count,
      this.#halfNorms,
      found,
      found + 4 * n,
    );
    const numbers = wordsAt(found, n).slice();
    free(at);
    return numbers;
  }

  /** Writes the squared distances of all centroids from the point at `point` to `squares`, as float32. */
  squares(point: number, squares: number): void {
    kernels().squaredL2Block(point, this.#at, this.count, this.#dimension, squares);
  }

  free(): void {
    free(this.#at);
  }
}
