/** Vectors in several arrays, as if these followed one another: joining them would take as much memory once more. */

import { firstIndex } from "./first-index.js";

export class VectorParts {
  readonly rows: number;
  readonly bytes: number;
  readonly #parts: readonly Float32Array[];
  readonly #dimension: number;
  /** Of each part. */
  readonly #firstRows: readonly number[];

  /** `parts`: layout (rows, dimension) each, kept. */
  constructor(parts: readonly Float32Array[], dimension: number) {
    this.#parts = parts;
    this.#dimension = dimension;
    let rows = 0;
    this.#firstRows = parts.map(({ length }) => (rows += length / dimension) - length / dimension);
    this.rows = rows;
    this.bytes = 4 * dimension * rows;
  }

  /** The rows at these positions, layout (positions, dimension). */
  gather(positions: Uint32Array): Float32Array {
    const dimension = this.#dimension;
    const gathered = new Float32Array(positions.length * dimension);
    positions.forEach((position, i) => {
      const part = this.#partOf(position);
      const at = (position - this.#firstRows[part]) * dimension;
      gathered.set(this.#parts[part].subarray(at, at + dimension), i * dimension);
    });
    return gathered;
  }

  /** Up to `count` rows from `first` on, which are not copied if they are in one part. */
  range(first: number, count: number): Float32Array {
    const end = Math.min(first + count, this.rows);
    const part = this.#partOf(first);
    const at = (first - this.#firstRows[part]) * this.#dimension;
    const own = this.#parts[part].subarray(at, at + (end - first) * this.#dimension);
    return own.length === (end - first) * this.#dimension
      ? own
      : this.gather(Uint32Array.from({ length: end - first }, (_, i) => first + i));
  }

  /** The part that holds a row. */
  #partOf(row: number): number {
    return firstIndex(this.#parts.length, (part) => this.#firstRows[part] > row) - 1;
  }
}
