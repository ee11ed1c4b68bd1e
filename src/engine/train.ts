/** A sample of vectors to a model: coarse centroids, and how many lists a query should probe. */

import { CoarseQuantizer } from "./coarse-quantizer.js";
import { squaredL2Block } from "./kernels/kernels.js";
import { allocate, floatsAt, free } from "./kernels/memory.js";
import { gather, kmeans } from "./kmeans.js";
import type { Model } from "./model.js";
import { QueryVector } from "./query-vector.js";
import { samplePositions, seededRandom } from "./random.js";
import { smallest } from "./smallest.js";

/** Rows that one list needs before k-means has something to average (faiss's figure). */
export const rowsPerListMin = 39;
/** Rows of a list beyond which a larger sample no longer moves its centroid. */
export const rowsPerListSampled = 128;

const heldOut = 200;
const neighbours = 10;
const recallTarget = 0.95;

/**
 * Trains on `sample`, layout (n, dimension) in list space, n >= nLists. Yields between pieces of work of a few
 * milliseconds. Deterministic in its arguments.
 */
export function* trainModel(
  sample: Float32Array,
  dimension: number,
  nLists: number,
  seed: number,
): Generator<void, Model> {
  const random = seededRandom(seed);
  const centroids = yield* kmeans(sample, dimension, nLists, random);
  const model = { dimension, centroids, rotationSeed: seed, autoProbes: nLists };
  const autoProbes = yield* learnProbes(sample, model, random);
  return { ...model, autoProbes };
}

/**
 * The number of probes that finds 95 % of the ten nearest neighbours of held-out rows, by where those
 * neighbours' lists stand in the query's order. Neighbours within a sample are farther away than in the whole
 * index, so this errs on the side of probing more.
 */
function* learnProbes(sample: Float32Array, model: Model, random: () => number): Generator<void, number> {
  const { dimension } = model;
  const n = sample.length / dimension;
  const positions = samplePositions(random, n, Math.min(heldOut, n));
  const at = allocate(4 * sample.length + 4 * dimension + 4 * n);
  const queryAt = at + 4 * sample.length;
  const squaresAt = queryAt + 4 * dimension;
  const quantizer = new CoarseQuantizer(model);
  try {
    floatsAt(at, sample.length).set(sample);
    const lists = new Uint32Array(n);
    const piece = Math.max(1, Math.floor(2 ** 25 / model.centroids.length));
    for (let row = 0; row < n; row += piece) {
      const rows = sample.subarray(row * dimension, (row + piece) * dimension);
      lists.set(quantizer.assign(rows), row);
      yield;
    }
    const ranks: number[] = [];
    for (const position of positions) {
      const query = gather(sample, dimension, Uint32Array.of(position));
      floatsAt(queryAt, dimension).set(query);
      squaredL2Block(queryAt, at, n, dimension, squaresAt);
      const squares = floatsAt(squaresAt, n).slice();
      squares[position] = Infinity;
      const rankOf = new Uint32Array(quantizer.nLists);
      const asking = new QueryVector("euclidean", query, quantizer.rotation);
      quantizer.probe(asking, quantizer.nLists).lists.forEach((list, rank) => {
        rankOf[list] = rank;
      });
      asking.free();
      for (const row of smallest(squares, Math.min(neighbours, n - 1))) ranks.push(rankOf[lists[row]]);
      yield;
    }
    ranks.sort((a, b) => a - b);
    const last = ranks[Math.ceil(recallTarget * ranks.length) - 1] ?? 0;
    return last + 1;
  } finally {
    quantizer.free();
    free(at);
  }
}
