/** Training: from a sample of vectors to a model, which is coarse centroids and how much of them a query should scan. */

import type { Metric } from "./config.js";
import { allocate, floatsAt, free } from "./kernels/memory.js";
import { comparisonsMax, kmeans } from "./kmeans.js";
import type { Model } from "./model.js";
import { heldOut, observedDepths, observeNeighbours, spreadsOf } from "./observe-neighbours.js";
import { learnProbeLimits } from "./probe-limits.js";
import { seededRandom } from "./random.js";
import { learnRecallCurves } from "./recall-curves.js";
import { copyInPieces, type Work } from "./work.js";

/** Rows per list that k-means needs (the figure of faiss). */
export const rowsPerListMin = 39;
/** Rows per list beyond which a larger sample no longer moves the centroids. */
export const rowsPerListSampled = 40;

/** The depth, in rows of the sample, by which the limits of an explicit number of probes are learned. */
const limitsDepth = 10;

/** What to train on. */
export interface Sample {
  /** Layout (n, dimension), in list space. */
  readonly points: Float32Array;
  readonly dimension: number;
  readonly metric: Metric;
  /** Rows of the index that the sample is of. */
  readonly rows: number;
}

/**
 * Trains on a sample of at least `nLists` rows. Deterministic in its arguments. `onProgress` receives the number of comparisons of
 * two vectors done, and the largest number there may be.
 */
export function* trainModel(
  { points: sample, dimension, metric, rows: rowsInIndex }: Sample,
  nLists: number,
  seed: number,
  onProgress: (done: number, total: number) => void = () => undefined,
): Work<Model> {
  const random = seededRandom(seed);
  const n = sample.length / dimension;
  const areDirections = metric === "cosine";
  const rows = { at: allocate(4 * sample.length), n, dimension, areDirections };
  const total = comparisonsMax(n, nLists) + n * heldOut;
  let done = 0;
  // Coarse clusters of uneven size need more comparisons than expected.
  const onCompared = (comparisons: number) => {
    done = Math.min(total, done + comparisons);
    onProgress(done, total);
  };
  try {
    yield* copyInPieces(sample, floatsAt(rows.at, sample.length));
    const clusters = yield* kmeans(rows, nLists, random, onCompared);
    const spreads = yield* spreadsOf(sample, dimension, clusters);
    const depths = observedDepths(n);
    const clustered = { rows, sample, clusters, spreads };
    const observed = yield* observeNeighbours(clustered, depths, random, onCompared);
    onProgress(total, total);
    return {
      dimension,
      centroids: clusters.centroids,
      rotationSeed: seed,
      spreads,
      curves: learnRecallCurves(depths, observed, Math.max(1, rowsInIndex / n)),
      probeLimits: learnProbeLimits(observed[depths.findLastIndex((depth) => depth <= limitsDepth)], nLists),
    };
  } finally {
    free(rows.at);
  }
}
