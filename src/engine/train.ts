/** Training: from a sample of vectors to a model, which is coarse centroids and how many lists a query should probe. */

import type { KernelCall } from "./kernels/kernels.js";
import { allocate, floatsAt, free, wordsAt } from "./kernels/memory.js";
import { comparisonsMax, kmeans, type OnCompared, type Rows } from "./kmeans.js";
import type { Model } from "./model.js";
import { learnProbeLimits, type Reach, distanceRatio } from "./probe-limits.js";
import { samplePositions, seededRandom } from "./random.js";
import { gather } from "./rows.js";
import { smallest } from "./smallest.js";
import { copyInPieces, inSlices, type Work } from "./work.js";

/** Rows per list that k-means needs (the figure of faiss). */
export const rowsPerListMin = 39;
/** Rows per list beyond which a larger sample no longer moves the centroids. */
export const rowsPerListSampled = 40;

const heldOut = 200;
const neighbours = 10;
/**
 * For the number of probes alone. 0.95 is promised; pruned lists lose half as much again, and pruning by codes a little more, most
 * if all rows are alike.
 */
const recallTarget = 0.98;
/** Held-out rows that are compared with the sample at a time. */
const heldOutTogether = 8;

/**
 * Trains on `sample`, layout (n, dimension) in list space, n >= nLists. Deterministic in its arguments. `onProgress` receives the
 * number of comparisons of two vectors done, and the largest number there may be.
 */
export function* trainModel(
  sample: Float32Array,
  dimension: number,
  nLists: number,
  seed: number,
  onProgress: (done: number, total: number) => void = () => undefined,
): Work<Model> {
  const random = seededRandom(seed);
  const n = sample.length / dimension;
  const rows = { at: allocate(4 * sample.length), n, dimension };
  const total = comparisonsMax(n, nLists) + n * heldOut;
  let done = 0;
  // Coarse clusters of uneven size need more comparisons than expected.
  const onCompared = (comparisons: number) => {
    done = Math.min(total, done + comparisons);
    onProgress(done, total);
  };
  try {
    yield* copyInPieces(sample, floatsAt(rows.at, sample.length));
    const centroids = yield* kmeans(rows, nLists, random, onCompared);
    const reaches = yield* measureReaches(rows, sample, centroids, random, onCompared);
    onProgress(total, total);
    return {
      dimension,
      centroids,
      rotationSeed: seed,
      autoProbes: probesFor(recallTarget, reaches),
      probeLimits: learnProbeLimits(reaches, nLists),
    };
  } finally {
    free(rows.at);
  }
}

/** The number of probes that reaches this share of the neighbours. */
function probesFor(share: number, reaches: readonly Reach[]): number {
  const ranks = reaches.map(({ rank }) => rank).sort((a, b) => a - b);
  return (ranks[Math.ceil(share * ranks.length) - 1] ?? 0) + 1;
}

/**
 * The lists of the ten nearest neighbours of held-out rows. Neighbours within a sample are farther away than in the whole index,
 * so this errs on the side of probing more.
 */
function* measureReaches(
  { at, n, dimension }: Rows,
  sample: Float32Array,
  centroids: Float32Array,
  random: () => number,
  onCompared: OnCompared,
): Work<Reach[]> {
  const k = centroids.length / dimension;
  const positions = samplePositions(random, n, Math.min(heldOut, n));
  const queries = gather(sample, dimension, positions);
  const queriesAt = allocate(4 * queries.length + 4 * centroids.length + 4 * heldOutTogether * (n + k));
  const centroidsAt = queriesAt + 4 * queries.length;
  const toRowsAt = centroidsAt + 4 * centroids.length;
  const toListsAt = toRowsAt + 4 * heldOutTogether * n;
  try {
    floatsAt(queriesAt, queries.length).set(queries);
    yield* copyInPieces(centroids, floatsAt(centroidsAt, centroids.length));
    const found: { readonly toLists: Float32Array; readonly nearest: readonly number[] }[] = [];
    for (let first = 0; first < positions.length; first += heldOutTogether) {
      const count = Math.min(heldOutTogether, positions.length - first);
      const group = queriesAt + 4 * first * dimension;
      yield [
        ...compare(group, count, { at, n, dimension }, toRowsAt),
        ...compare(group, count, { at: centroidsAt, n: k, dimension }, toListsAt),
      ];
      onCompared(count * n);
      for (let i = 0; i < count; i++) {
        const toRows = floatsAt(toRowsAt + 4 * i * n, n);
        toRows[positions[first + i]] = Infinity;
        const toLists = floatsAt(toListsAt + 4 * i * k, k).slice();
        found.push({ toLists, nearest: smallest(toRows, Math.min(neighbours, n - 1)) });
        yield;
      }
    }
    const rows = Uint32Array.from(new Set(found.flatMap(({ nearest }) => nearest)));
    const assigned = yield* assign(rows, { at, n, dimension }, { at: centroidsAt, n: k, dimension });
    const listOf = new Map(Array.from(rows, (row, i) => [row, assigned[i]]));
    return found.flatMap(({ toLists, nearest }) => {
      const nearestList = toLists.reduce((least, square) => Math.min(least, square), Infinity);
      return nearest.map((row) => {
        const list = listOf.get(row) as number;
        const rank = rankOf(toLists, list);
        return { rank, ratio: distanceRatio(rank, toLists[list], nearestList) };
      });
    });
  } finally {
    free(queriesAt);
  }
}

/** Squared distances of `count` queries from the rows, layout (count, n), at `out`. */
function compare(queries: number, count: number, { at, n, dimension }: Rows, out: number): KernelCall[] {
  return inSlices(n, count * dimension, (first, rows) => ({
    kernel: "squaredL2Tile",
    args: [queries, count, at + 4 * first * dimension, rows, dimension, out + 4 * first, n],
  }));
}

/** The nearest centroid of the rows at these positions. */
function* assign(positions: Uint32Array, { at, dimension }: Rows, centroids: Rows): Work<Uint32Array> {
  const n = positions.length;
  const k = centroids.n;
  const rowBytes = 4 * dimension;
  const positionsAt = allocate(4 * (n + n + n + k) + n * rowBytes);
  const listsAt = positionsAt + 4 * n;
  const distancesAt = listsAt + 4 * n;
  const halfNorms = distancesAt + 4 * n;
  const rowsAt = halfNorms + 4 * k;
  try {
    wordsAt(positionsAt, n).set(positions);
    yield [
      { kernel: "gatherRows", args: [at, positionsAt, n, dimension, rowsAt], cost: n * dimension },
      ...inSlices(k, dimension, (first, count): KernelCall => ({
        kernel: "halfSquares",
        args: [centroids.at + 4 * first * dimension, count, dimension, halfNorms + 4 * first],
      })),
    ];
    yield inSlices(n, k * dimension, (first, count) => ({
      kernel: "assignNearest",
      args: [
        rowsAt + first * rowBytes,
        count,
        dimension,
        centroids.at,
        k,
        halfNorms,
        listsAt + 4 * first,
        distancesAt + 4 * first,
      ],
    }));
    return wordsAt(listsAt, n).slice();
  } finally {
    free(positionsAt);
  }
}

/** How many lists are probed before `list`: of equally far ones, those with a lower number. */
function rankOf(distances: Float32Array, list: number): number {
  const own = distances[list];
  let rank = 0;
  for (let other = 0; other < distances.length; other++) {
    if (distances[other] < own || (distances[other] === own && other < list)) rank++;
  }
  return rank;
}
