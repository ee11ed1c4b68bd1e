/**
 * Seeded k-means (Lloyd, 1982) on a sample, for the coarse quantizer.
 *
 * Starts from k distinct rows of the sample. A cluster that runs empty takes over half of the largest one: its
 * centroid is copied and the two are moved apart by a hair, as faiss does. The generator yields between pieces
 * of a few milliseconds of work, so that its driver can let others run.
 */

import { halfSquaredNorms } from "./coarse-quantizer.js";
import { assignNearest } from "./kernels/kernels.js";
import { allocate, floatsAt, free, wordsAt } from "./kernels/memory.js";
import { samplePositions } from "./random.js";

const iterationsMax = 12;
/** Rounds end early once fewer than this share of rows change their cluster. */
const settledShare = 0.005;
/** Multiply-adds of one piece of work. */
const pieceCost = 2 ** 25;
const splitStep = 2 ** -10;

/**
 * The k centroids, layout (k, dimension), of `sample`, layout (n, dimension) with n >= k.
 * The same sample, k and random sequence give the same centroids.
 */
export function* kmeans(
  sample: Float32Array,
  dimension: number,
  k: number,
  random: () => number,
): Generator<void, Float32Array> {
  const n = sample.length / dimension;
  const rowBytes = 4 * dimension;
  const at = allocate((n + k) * rowBytes + 4 * k + 8 * n);
  const centroidsAt = at + n * rowBytes;
  const halfNormsAt = centroidsAt + k * rowBytes;
  const listsAt = halfNormsAt + 4 * k;
  const distancesAt = listsAt + 4 * n;
  try {
    floatsAt(at, sample.length).set(sample);
    let centroids: Float32Array = gather(sample, dimension, samplePositions(random, n, k));
    let previous = new Uint32Array(0);
    for (let round = 0; round < iterationsMax; round++) {
      floatsAt(centroidsAt, centroids.length).set(centroids);
      floatsAt(halfNormsAt, k).set(halfSquaredNorms(centroids, dimension));
      const piece = Math.max(1, Math.floor(pieceCost / (k * dimension)));
      for (let row = 0; row < n; row += piece) {
        const rows = Math.min(piece, n - row);
        const vectors = at + row * rowBytes;
        assignNearest(
          vectors,
          rows,
          dimension,
          centroidsAt,
          k,
          halfNormsAt,
          listsAt + 4 * row,
          distancesAt + 4 * row,
        );
        yield;
      }
      const lists = wordsAt(listsAt, n).slice();
      if (round > 0 && countChanges(previous, lists) < settledShare * n) break;
      previous = lists;
      centroids = yield* means(sample, dimension, lists, centroids);
    }
    return centroids;
  } finally {
    free(at);
  }
}

/** The mean of each cluster; empty clusters split the largest ones. */
function* means(
  sample: Float32Array,
  dimension: number,
  lists: Uint32Array,
  previous: Float32Array,
): Generator<void, Float32Array> {
  const k = previous.length / dimension;
  const sums = new Float64Array(previous.length);
  const sizes = new Float64Array(k);
  const piece = Math.ceil(pieceCost / 16 / dimension);
  for (let row = 0; row < lists.length; row++) {
    const to = lists[row] * dimension;
    const from = row * dimension;
    for (let i = 0; i < dimension; i++) sums[to + i] += sample[from + i];
    sizes[lists[row]]++;
    if (row % piece === piece - 1) yield;
  }
  const centroids = Float32Array.from(previous);
  for (let list = 0; list < k; list++) {
    if (sizes[list] === 0) continue;
    for (let i = list * dimension; i < (list + 1) * dimension; i++) centroids[i] = sums[i] / sizes[list];
  }
  for (let list = 0; list < k; list++) {
    if (sizes[list] === 0) splitLargest(centroids, dimension, sizes, list);
  }
  return centroids;
}

function splitLargest(centroids: Float32Array, dimension: number, sizes: Float64Array, empty: number): void {
  let largest = 0;
  for (let list = 1; list < sizes.length; list++) if (sizes[list] > sizes[largest]) largest = list;
  for (let i = 0; i < dimension; i++) {
    const value = centroids[largest * dimension + i];
    const step = i % 2 === 0 ? splitStep : -splitStep;
    centroids[empty * dimension + i] = value * (1 + step);
    centroids[largest * dimension + i] = value * (1 - step);
  }
  sizes[empty] = sizes[largest] / 2;
  sizes[largest] /= 2;
}

function countChanges(before: Uint32Array, after: Uint32Array): number {
  let changes = 0;
  for (let row = 0; row < after.length; row++) if (before[row] !== after[row]) changes++;
  return changes;
}

/** The rows at these positions, layout (positions, dimension). */
export function gather(vectors: Float32Array, dimension: number, positions: Uint32Array): Float32Array {
  const rows = new Float32Array(positions.length * dimension);
  positions.forEach((position, row) => {
    rows.set(vectors.subarray(position * dimension, (position + 1) * dimension), row * dimension);
  });
  return rows;
}
