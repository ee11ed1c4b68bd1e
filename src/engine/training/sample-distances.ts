/** Squared distances of queries from the lists and the rows of a sample, which kernels compute. */

import { compareRows } from "../compare-rows.js";
import { allocate, doublesAt, floatsAt, free } from "../kernels/memory.js";
import { directionsOf, lengthsOf, type SampleRows } from "../rows.js";
import { copyInPieces, rowsOfPiece, type Work } from "../work.js";

/** Queries that are compared with the rows at a time. */
export const queriesTogether = 32;

interface ToLists {
  /** Of each query, from the centroids or their directions. */
  readonly squares: Float32Array[];
  /** Of the centroids, if they are compared as directions. */
  readonly lengths: Float64Array | undefined;
}

/** Holds kernel memory: call `free` when done. */
export class SampleDistances {
  readonly #sample: SampleRows;
  readonly #queries: { readonly at: number; readonly n: number };
  readonly #lists: number;
  // Addresses.
  readonly #lengths: number;
  readonly #centroids: number;
  readonly #toLists: number;
  readonly #toRows: number;
  readonly #center: number;

  /** `queries` has layout (n, dimension). `center`: see `compareRows`. */
  constructor(sample: SampleRows, queries: Float32Array, center: Float32Array, lists: number) {
    const { n: rows, dimension } = sample;
    const n = queries.length / dimension;
    const numbers = n * (dimension + lists) + lists * dimension + queriesTogether * rows + dimension;
    this.#sample = sample;
    this.#lists = lists;
    this.#lengths = allocate(8 * lists + 4 * numbers);
    this.#queries = { at: this.#lengths + 8 * lists, n };
    this.#centroids = this.#queries.at + 4 * queries.length;
    this.#toLists = this.#centroids + 4 * lists * dimension;
    this.#toRows = this.#toLists + 4 * n * lists;
    this.#center = this.#toRows + 4 * queriesTogether * rows;
    floatsAt(this.#queries.at, queries.length).set(queries);
    floatsAt(this.#center, dimension).set(center);
  }

  *toLists(centroids: Float32Array): Work<ToLists> {
    const { dimension, areDirections } = this.#sample;
    const lists = { at: this.#centroids, n: this.#lists };
    yield* copyInPieces(centroids, floatsAt(lists.at, centroids.length));
    if (areDirections) {
      yield lengthsOf(lists.at, lists.n, dimension, this.#lengths);
      yield directionsOf(lists.at, lists.n, dimension, lists.at);
    }
    const lengths = areDirections ? doublesAt(this.#lengths, lists.n).slice() : undefined;
    yield* compareRows(this.#queries, lists, dimension, this.#center, this.#toLists);
    const squares: Float32Array[] = [];
    const together = rowsOfPiece(4 * lists.n);
    for (let query = 0; query < this.#queries.n; query++) {
      squares.push(floatsAt(this.#toLists + 4 * query * lists.n, lists.n).slice());
      if (query % together === together - 1) yield;
    }
    return { squares, lengths };
  }

  /** Compares `n` queries from `first` on, at most `queriesTogether`, with the rows of the sample, or with these. */
  compareWithRows(first: number, n: number, { at } = this.#sample): Work<void> {
    const { n: rows, dimension } = this.#sample;
    const queries = { at: this.#queries.at + 4 * first * dimension, n };
    return compareRows(queries, { at, n: rows }, dimension, this.#center, this.#toRows);
  }

  /** Copies the distances of the i-th of the compared queries: memory that threads share is slow to read number by number. */
  copyToRows(i: number, toRows: Float32Array): void {
    const { n } = this.#sample;
    toRows.set(floatsAt(this.#toRows + 4 * i * n, n));
  }

  free(): void {
    free(this.#lengths);
  }
}
