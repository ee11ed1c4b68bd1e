/**
 * Seeded k-means (Lloyd, 1982) on a sample, for the coarse quantizer.
 *
 * Many lists are found on two levels: the rows form about sqrt(k) coarse clusters, each of which is divided into its share of the
 * k lists. Rounds over all rows and all lists follow, which correct the borders of the coarse clusters; they compare by codes
 * (coded-centroids.ts).
 *
 * Rows of length 1 belong to the centroid at the smallest angle (spherical k-means, Dhillon and Modha, 2001): the mean of a wide cluster is
 * shorter, and by distance it would attract rows, and queries, of other directions.
 *
 * A cluster that becomes empty takes over half of the largest one: its centroid is copied and the two are moved slightly apart,
 * as in faiss.
 */

import { allocate, doublesAt, floatsAt, free, wordsAt } from "../kernels/memory.js";
import { samplePositions } from "../random.js";
import {
  countPerList,
  directionsOf,
  exchangeRows,
  exchangesFor,
  noList,
  type SampleRows,
  sortByList,
} from "../rows.js";
import { copyInPieces, inSlices, type Work } from "../work.js";
import { assignOnce, assignsByCodes } from "./centroid-codes.js";

/** From this number of lists on, two levels cost less. */
const twoLevelsMin = 64;
/** At most this many rounds on one level; on each of two levels; and over all rows after two levels. */
const rounds = { alone: 10, level: 6, after: 8 };
/** Rounds end early once fewer than this share of rows change their cluster. */
const settledShare = 0.005;
const columnsTogether = 64;

/** Rows from `firstRow` on that are clustered among themselves, into lists from `firstList` on. */
interface Group {
  readonly firstRow: number;
  readonly rows: number;
  readonly firstList: number;
  readonly lists: number;
}

/** The clusters of `kmeans`. */
export interface Clusters {
  /** Layout (k, dimension). */
  readonly centroids: Float32Array;
  /** The cluster of each row, before the centroids moved for the last time. */
  readonly lists: Uint32Array;
}

/** Called with the number of comparisons of a row and a centroid since the last call. */
export type OnCompared = (comparisons: number) => void;

/** The largest number of comparisons of a row and a centroid that `kmeans` makes. */
export function comparisonsMax(n: number, k: number): number {
  if (k < twoLevelsMin) return n * k * rounds.alone;
  const coarse = coarseLists(k);
  return n * ((coarse + Math.ceil(k / coarse)) * rounds.level + k * rounds.after);
}

function coarseLists(k: number): number {
  return Math.round(Math.sqrt(k));
}

/**
 * k <= n clusters. The same rows, k and random sequence give the same clusters. Between two levels the rows are put in another order, and back: a
 * sorted copy would take as much memory as they do.
 */
export function* kmeans(
  rows: SampleRows,
  k: number,
  random: () => number,
  onCompared: OnCompared = () => undefined,
): Work<Clusters> {
  const { n, dimension } = rows;
  const rowBytes = 4 * dimension;
  const all = { firstRow: 0, rows: n, firstList: 0 };
  const centroids = allocate(k * rowBytes);
  try {
    if (k < twoLevelsMin) {
      const groups = [{ ...all, lists: k }];
      yield* startFrom(rows, samplePositions(random, n, k), centroids);
      const lists = yield* lloyd(rows, groups, centroids, rounds.alone, onCompared);
      return { centroids: floatsAt(centroids, k * dimension).slice(), lists };
    }
    const m = coarseLists(k);
    yield* startFrom(rows, samplePositions(random, n, m), centroids);
    const coarse = yield* lloyd(rows, [{ ...all, lists: m }], centroids, rounds.level, onCompared);
    const groups = divide(coarse, m, k);
    const exchanges = exchangesFor(sortByList(coarse, m));
    yield* exchangeRows(floatsAt(rows.at, n * dimension), dimension, exchanges, "there");
    const starts = groups.flatMap((group) =>
      Array.from(samplePositions(random, group.rows, group.lists), (row) => group.firstRow + row),
    );
    yield* startFrom(rows, Uint32Array.from(starts), centroids);
    yield* lloyd(rows, groups, centroids, rounds.level, onCompared);
    yield* exchangeRows(floatsAt(rows.at, n * dimension), dimension, exchanges, "back");
    const lists = yield* lloyd(rows, [{ ...all, lists: k }], centroids, rounds.after, onCompared);
    return { centroids: floatsAt(centroids, k * dimension).slice(), lists };
  } finally {
    free(centroids);
  }
}

/** The same for points that are not in kernel memory, layout (n, dimension), always on one level. */
export function* kmeansOf(
  points: Float32Array,
  dimension: number,
  k: number,
  random: () => number,
): Work<Float32Array> {
  const n = points.length / dimension;
  const at = allocate(4 * points.length + 4 * k * dimension);
  const centroids = at + 4 * points.length;
  const rows = { at, n, dimension, areDirections: false };
  try {
    yield* copyInPieces(points, floatsAt(at, points.length));
    yield* startFrom(rows, samplePositions(random, n, k), centroids);
    const groups = [{ firstRow: 0, rows: n, firstList: 0, lists: k }];
    yield* lloyd(rows, groups, centroids, rounds.alone, () => undefined);
    return floatsAt(centroids, k * dimension).slice();
  } finally {
    free(at);
  }
}

/** Copies the rows at these positions to `to`. */
function* startFrom({ at, dimension }: SampleRows, positions: Uint32Array, to: number): Work<void> {
  const positionsAt = allocate(4 * positions.length);
  try {
    wordsAt(positionsAt, positions.length).set(positions);
    // Copying a number takes about as long as sixteen multiplications.
    yield inSlices(positions.length, 16 * dimension, (first, count) => ({
      kernel: "gatherRows",
      args: [at, positionsAt + 4 * first, count, dimension, to + 4 * first * dimension],
    }));
  } finally {
    free(positionsAt);
  }
}

/** Moves the centroids `moves` times, and returns the list of each row before the last move. */
function* lloyd(
  { at, n, dimension, areDirections }: SampleRows,
  groups: readonly Group[],
  centroids: number,
  moves: number,
  onCompared: OnCompared,
): Work<Uint32Array> {
  const k = groups.reduce((sum, group) => sum + group.lists, 0);
  const directionBytes = areDirections ? 4 * k * dimension : 0;
  const sums = allocate(8 * k * dimension + 4 * (k + k + n + n + n) + directionBytes);
  const sizes = sums + 8 * k * dimension;
  const halfNorms = sizes + 4 * k;
  const lists = halfNorms + 4 * k;
  const distances = lists + 4 * n;
  const before = distances + 4 * n;
  const compared = areDirections ? before + 4 * n : centroids;
  try {
    yield* clear(sums, k * dimension);
    let previous = new Uint32Array(n).fill(noList);
    wordsAt(before, n).set(previous);
    for (let move = 0; move < moves; move++) {
      if (areDirections) yield directionsOf(centroids, k, dimension, compared);
      yield inSlices(k, dimension, (first, count) => ({
        kernel: "halfSquares",
        args: [compared + 4 * first * dimension, count, dimension, halfNorms + 4 * first],
      }));
      const byCodes = groups.length === 1 && assignsByCodes(k, dimension);
      const toCompare = { at: compared, n: k, dimension };
      if (!byCodes || !(yield* assignOnce(toCompare, halfNorms, at, n, lists))) {
        yield groups.flatMap((group) =>
          inSlices(group.rows, group.lists * dimension, (first, count) => {
            const row = group.firstRow + first;
            const list = group.firstList;
            const vectors = at + 4 * row * dimension;
            const candidates = compared + 4 * list * dimension;
            const halves = halfNorms + 4 * list;
            return {
              kernel: "assignNearest",
              args: [
                vectors,
                count,
                dimension,
                candidates,
                group.lists,
                halves,
                lists + 4 * row,
                distances + 4 * row,
              ],
            };
          }),
        );
      }
      const assigned = wordsAt(lists, n);
      for (const { firstRow, rows, firstList, lists: candidates } of groups) {
        for (let row = firstRow; row < firstRow + rows; row++) assigned[row] += firstList;
        onCompared(rows * candidates);
      }
      const current = assigned.slice();
      const changes = countChanges(previous, current);
      previous = current;
      if (changes < settledShare * n) break;

      const counts = countPerList(current, k);
      wordsAt(sizes, k).set(counts);
      const columns = Math.ceil(dimension / columnsTogether);
      yield Array.from({ length: columns }, (_, i) => ({
        kernel: "moveRows" as const,
        cost: changes * columnsTogether,
        args: [
          at,
          n,
          dimension,
          before,
          lists,
          i * columnsTogether,
          Math.min(dimension, (i + 1) * columnsTogether),
          sums,
        ],
      }));
      wordsAt(before, n).set(current);
      yield inSlices(k, 4 * dimension, (first, count) => ({
        kernel: "meanRows",
        args: [
          sums + 8 * first * dimension,
          sizes + 4 * first,
          count,
          dimension,
          centroids + 4 * first * dimension,
        ],
      }));
      const moved = floatsAt(centroids, k * dimension);
      for (const { firstList, lists: count } of groups) {
        const range = moved.subarray(firstList * dimension, (firstList + count) * dimension);
        splitLargest(range, dimension, counts.subarray(firstList, firstList + count));
      }
      yield;
    }
    return previous;
  } finally {
    free(sums);
  }
}

function* clear(doubles: number, n: number): Work<void> {
  const piece = 2 ** 21;
  for (let first = 0; first < n; first += piece) {
    doublesAt(doubles + 8 * first, Math.min(piece, n - first)).fill(0);
    yield;
  }
}

/** The coarse clusters, in rows sorted by cluster, with shares of the k lists in proportion to their sizes, at least one each. */
function divide(coarse: Uint32Array, m: number, k: number): Group[] {
  const sizes = Array.from(countPerList(coarse, m)).filter((size) => size > 0);
  const shares = sizes.map((size) => Math.max(1, Math.floor((k * size) / coarse.length)));
  const crowding = (i: number) => sizes[i] / shares[i];
  const places = sizes.map((_, i) => i);
  for (let missing = k - shares.reduce((sum, share) => sum + share, 0); missing !== 0;) {
    if (missing > 0) {
      // Some share is below the size of its cluster, since there are at least as many rows as lists.
      const most = places.reduce((a, b) => (crowding(b) > crowding(a) ? b : a));
      shares[most]++;
      missing--;
    } else {
      const largest = places.reduce((a, b) => (shares[b] > shares[a] ? b : a));
      shares[largest]--;
      missing++;
    }
  }
  let firstRow = 0;
  let firstList = 0;
  return sizes.map((rows, i) => {
    const group = { firstRow, rows, firstList, lists: shares[i] };
    firstRow += rows;
    firstList += shares[i];
    return group;
  });
}

function countChanges(before: Uint32Array, after: Uint32Array): number {
  let changes = 0;
  for (let row = 0; row < after.length; row++) if (before[row] !== after[row]) changes++;
  return changes;
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
