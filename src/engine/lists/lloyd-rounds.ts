/**
 * Rounds of Lloyd's algorithm (1982) in kernel memory: rows are assigned to their nearest centroids, which move to the means of their rows.
 *
 * A cluster that becomes empty takes over half of the largest one: its centroid is copied and the two are moved slightly apart,
 * as in faiss.
 */

import { allocate, doublesAt, floatsAt, free, wordsAt } from "../kernels/memory.js";
import { countPerList, directionsOf, noList, type SampleRows } from "../rows.js";
import { inSlices, type Work } from "../work.js";
import { assignOnce, assignsByCodes } from "./centroid-codes.js";

const columnsTogether = 64;

/** Rows from `firstRow` on that are clustered among themselves, into lists from `firstList` on. */
export interface Group {
  readonly firstRow: number;
  readonly rows: number;
  readonly firstList: number;
  readonly lists: number;
}

/** Holds kernel memory: call `free` when done. */
export class LloydRounds {
  readonly #rows: SampleRows;
  readonly #groups: readonly Group[];
  readonly #k: number;
  // Addresses.
  readonly #centroids: number;
  /** Of each list, float64. */
  readonly #sums: number;
  readonly #sizes: number;
  readonly #halfNorms: number;
  /** Of each row, within its group. */
  readonly #lists: number;
  readonly #distances: number;
  /** The lists whose sums have each row. */
  readonly #before: number;
  /** Rows are compared with these: the centroids, or their directions. */
  readonly #compared: number;

  /** `centroids`: the address of those of all groups, layout (lists, dimension). */
  constructor(rows: SampleRows, groups: readonly Group[], centroids: number) {
    const { n, dimension, areDirections } = rows;
    const k = groups.reduce((sum, group) => sum + group.lists, 0);
    const directionBytes = areDirections ? 4 * k * dimension : 0;
    this.#rows = rows;
    this.#groups = groups;
    this.#k = k;
    this.#centroids = centroids;
    this.#sums = allocate(8 * k * dimension + 4 * (k + k + n + n + n) + directionBytes);
    this.#sizes = this.#sums + 8 * k * dimension;
    this.#halfNorms = this.#sizes + 4 * k;
    this.#lists = this.#halfNorms + 4 * k;
    this.#distances = this.#lists + 4 * n;
    this.#before = this.#distances + 4 * n;
    this.#compared = areDirections ? this.#before + 4 * n : centroids;
  }

  /** Returns the list of each row: none. */
  *start(): Work<Uint32Array> {
    yield* clear(this.#sums, this.#k * this.#rows.dimension);
    return wordsAt(this.#before, this.#rows.n).fill(noList).slice();
  }

  /** Returns the nearest list of each row, of those of its group. */
  *assign(): Work<Uint32Array> {
    const { at, n, dimension, areDirections } = this.#rows;
    if (areDirections) yield directionsOf(this.#centroids, this.#k, dimension, this.#compared);
    yield inSlices(this.#k, dimension, (first, count) => ({
      kernel: "halfSquares",
      args: [this.#compared + 4 * first * dimension, count, dimension, this.#halfNorms + 4 * first],
    }));
    const byCodes = this.#groups.length === 1 && assignsByCodes(this.#k, dimension);
    const toCompare = { at: this.#compared, n: this.#k, dimension };
    if (!byCodes || !(yield* assignOnce(toCompare, this.#halfNorms, at, n, this.#lists))) {
      yield this.#groups.flatMap((group) =>
        inSlices(group.rows, group.lists * dimension, (first, count) => ({
          kernel: "assignNearest",
          args: [
            at + 4 * (group.firstRow + first) * dimension,
            count,
            dimension,
            this.#compared + 4 * group.firstList * dimension,
            group.lists,
            this.#halfNorms + 4 * group.firstList,
            this.#lists + 4 * (group.firstRow + first),
            this.#distances + 4 * (group.firstRow + first),
          ],
        })),
      );
    }
    const assigned = wordsAt(this.#lists, n);
    for (const { firstRow, rows, firstList } of this.#groups) {
      for (let row = firstRow; row < firstRow + rows; row++) assigned[row] += firstList;
    }
    return assigned.slice();
  }

  /** Moves the centroids to the means of the rows of their lists, `changes` of which were in another list before. */
  *move(lists: Uint32Array, changes: number): Work<void> {
    const { at, n, dimension } = this.#rows;
    const sizes = countPerList(lists, this.#k);
    wordsAt(this.#sizes, this.#k).set(sizes);
    yield Array.from({ length: Math.ceil(dimension / columnsTogether) }, (_, i) => ({
      kernel: "moveRows" as const,
      cost: changes * columnsTogether,
      args: [
        at,
        n,
        dimension,
        this.#before,
        this.#lists,
        i * columnsTogether,
        Math.min(dimension, (i + 1) * columnsTogether),
        this.#sums,
      ],
    }));
    wordsAt(this.#before, n).set(lists);
    yield inSlices(this.#k, 4 * dimension, (first, count) => ({
      kernel: "meanRows",
      args: [
        this.#sums + 8 * first * dimension,
        this.#sizes + 4 * first,
        count,
        dimension,
        this.#centroids + 4 * first * dimension,
      ],
    }));
    const centroids = floatsAt(this.#centroids, this.#k * dimension);
    for (const { firstList, lists: count } of this.#groups) {
      const ofGroup = centroids.subarray(firstList * dimension, (firstList + count) * dimension);
      splitLargest(ofGroup, dimension, sizes.subarray(firstList, firstList + count));
    }
    yield;
  }

  free(): void {
    free(this.#sums);
  }
}

function* clear(doubles: number, n: number): Work<void> {
  const piece = 2 ** 21;
  for (let first = 0; first < n; first += piece) {
    doublesAt(doubles + 8 * first, Math.min(piece, n - first)).fill(0);
    yield;
  }
}

// Empty clusters take over halves of the largest ones.

const step = 2 ** -10;

/**
 * Each cluster of size 0 takes over half of the currently largest one: its centroid becomes a copy, and the two are moved slightly
 * apart. `centroids` has layout (sizes, dimension).
 */
export function splitLargest(centroids: Float32Array, dimension: number, sizes: Uint32Array): void {
  const whole = Array.from(sizes.keys())
    .filter((list) => sizes[list] > 0)
    .sort((a, b) => sizes[b] - sizes[a] || a - b)
    .map((list) => ({ list, size: sizes[list] }));
  // Halves are created in descending order, since the largest is halved first: two queues replace a heap.
  const halves: { list: number; size: number }[] = [];
  let nextWhole = 0;
  let nextHalf = 0;
  let splits = 0;
  sizes.forEach((size, empty) => {
    if (size > 0) return;
    const fromHalves = nextHalf < halves.length && !(whole[nextWhole]?.size >= halves[nextHalf].size);
    const largest = fromHalves ? halves[nextHalf++] : whole[nextWhole++];
    const half = largest.size / 2;
    halves.push({ list: largest.list, size: half }, { list: empty, size: half });
    // Each split is a little wider, so that halves of halves do not coincide.
    const apart = step * (1 + splits++ / sizes.length);
    for (let i = 0; i < dimension; i++) {
      const value = centroids[largest.list * dimension + i];
      const shift = i % 2 === 0 ? apart : -apart;
      centroids[empty * dimension + i] = value * (1 + shift);
      centroids[largest.list * dimension + i] = value * (1 - shift);
    }
  });
}
