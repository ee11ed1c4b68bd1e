/**
 * Seeded k-means (Lloyd, 1982) on a sample, for the coarse quantizer.
 *
 * Many lists are found on two levels: the rows form about sqrt(k) coarse clusters, each of which is divided into its share of the
 * k lists. Rounds over all rows and all lists follow, which correct the borders of the coarse clusters; they compare by codes
 * (centroid-codes.ts).
 *
 * Rows of length 1 belong to the centroid at the smallest angle (spherical k-means, Dhillon and Modha, 2001): the mean of a wide cluster is
 * shorter, and by distance it would attract rows, and queries, of other directions.
 */

import { allocate, floatsAt, free, wordsAt } from "../kernels/memory.js";
import { samplePositions } from "../random.js";
import { countPerList, exchangeRows, exchangesFor, type SampleRows, sortByList } from "../rows.js";
import { copyInPieces, inSlices, type Work } from "../work.js";
import { type Group, LloydRounds } from "./lloyd-rounds.js";

/** From this number of lists on, two levels cost less. */
const twoLevelsMin = 64;
/** At most this many rounds on one level; on each of two levels; and over all rows after two levels. */
const roundsMax = { alone: 10, level: 6, after: 8 };
/** Rounds end early once fewer than this share of rows change their cluster. */
const settledShare = 0.005;

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
  if (k < twoLevelsMin) return n * k * roundsMax.alone;
  const coarse = coarseLists(k);
  return n * ((coarse + Math.ceil(k / coarse)) * roundsMax.level + k * roundsMax.after);
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
      const lists = yield* lloyd(rows, groups, centroids, roundsMax.alone, onCompared);
      return { centroids: floatsAt(centroids, k * dimension).slice(), lists };
    }
    const m = coarseLists(k);
    yield* startFrom(rows, samplePositions(random, n, m), centroids);
    const coarse = yield* lloyd(rows, [{ ...all, lists: m }], centroids, roundsMax.level, onCompared);
    const groups = divide(coarse, m, k);
    const exchanges = exchangesFor(sortByList(coarse, m));
    yield* exchangeRows(floatsAt(rows.at, n * dimension), dimension, exchanges, "there");
    const starts = groups.flatMap((group) =>
      Array.from(samplePositions(random, group.rows, group.lists), (row) => group.firstRow + row),
    );
    yield* startFrom(rows, Uint32Array.from(starts), centroids);
    yield* lloyd(rows, groups, centroids, roundsMax.level, onCompared);
    yield* exchangeRows(floatsAt(rows.at, n * dimension), dimension, exchanges, "back");
    const lists = yield* lloyd(rows, [{ ...all, lists: k }], centroids, roundsMax.after, onCompared);
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
    yield* lloyd(rows, groups, centroids, roundsMax.alone, () => undefined);
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

/** Moves the centroids at most `moves` times, and returns the list of each row before the last move. */
function* lloyd(
  rows: SampleRows,
  groups: readonly Group[],
  centroids: number,
  moves: number,
  onCompared: OnCompared,
): Work<Uint32Array> {
  const rounds = new LloydRounds(rows, groups, centroids);
  try {
    let lists = yield* rounds.start();
    for (let move = 0; move < moves; move++) {
      const before = lists;
      lists = yield* rounds.assign();
      for (const group of groups) onCompared(group.rows * group.lists);
      const changes = countChanges(before, lists);
      if (changes < settledShare * rows.n) break;
      yield* rounds.move(lists, changes);
    }
    return lists;
  } finally {
    rounds.free();
  }
}

function countChanges(before: Uint32Array, after: Uint32Array): number {
  let changes = 0;
  for (let row = 0; row < after.length; row++) if (before[row] !== after[row]) changes++;
  return changes;
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
