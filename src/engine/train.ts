/** Training: from a sample of vectors to a model, which is coarse centroids and how much of them a query should scan. */

import type { Metric } from "./config.js";
import { heldOut, includeUnseen, moveToEnd, unseenRows } from "./held-out.js";
import { allocate, floatsAt, free } from "./kernels/memory.js";
import { comparisonsMax, kmeans } from "./kmeans.js";
import type { Model } from "./model.js";
import { observedDepths, observeNeighbours } from "./observe-neighbours.js";
import { learnProbeLimits } from "./probe-limits.js";
import { samplePositions, seededRandom } from "./random.js";
import { learnRecallCurves, limitsFor, type RecallCurves } from "./recall-curves.js";
import { secondListsOf, spilledRowsMin } from "./second-lists.js";
import { spreadsOf } from "./spreads.js";
import { copyInPieces, type Work } from "./work.js";

/** Rows per list that k-means needs (the figure of faiss). */
export const rowsPerListMin = 39;
/** Rows per list beyond which a larger sample no longer moves the centroids. */
export const rowsPerListSampled = 40;

/** The depth, in rows of the sample, by which the limits of an explicit number of probes are learned. */
const limitsDepth = 10;

/** The recall by which it is decided whether rows should be in second lists: what automatic probing promises. */
const decidingRecall = 0.95;
/** Lists per query from which second ones may save much. Where fewer do, most neighbours are in the nearest one. */
const spilledFrom = 12;
/** The share of the lists beyond which these say too little about where neighbours are, as of rows that are far from the origin and near one another. */
const spilledShareMax = 1 / 2;
/** The share of rows that a query must save to make up for the room of second codes. */
const savedMin = 0.02;

/** What to train on. */
export interface Sample {
  /** Layout (n, dimension), in list space. */
  readonly points: Float32Array;
  readonly dimension: number;
  readonly metric: Metric;
  /** Whether rows may be in second lists, too: see second-lists.ts. */
  readonly spills: boolean;
  /** Rows of the index that the sample is of. */
  readonly rows: number;
}

/**
 * Trains on a sample of at least `nLists` rows. Deterministic in its arguments. `onProgress` receives the number of comparisons of
 * two vectors done, and the largest number there may be.
 */
export function* trainModel(
  { points: sample, dimension, metric, spills, rows: rowsInIndex }: Sample,
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
    const unseen = unseenRows(n, nLists);
    moveToEnd(floatsAt(rows.at, sample.length), dimension, samplePositions(random, n, unseen));
    const clusters = yield* kmeans({ ...rows, n: n - unseen }, nLists, random, onCompared);
    const { centroids } = clusters;
    const spreads = yield* spreadsOf(rows, clusters);
    const depths = observedDepths(n);
    const observed = yield* observeNeighbours({ rows, clusters, spreads }, depths, random, onCompared);
    const { first, lists: listOf } = observed;
    const limitsAt = depths.findLastIndex((depth) => depth <= limitsDepth);
    const weight = Math.max(1, rowsInIndex / n);
    const curves = learnRecallCurves(depths, first, weight);
    const listsFor = (of: RecallCurves) =>
      observed.listsWithin(limitsFor(of, limitsDepth * weight, decidingRecall));
    let spilledCurves: RecallCurves | undefined;
    const lists = listsFor(curves);
    const maySpill = lists >= spilledFrom && lists <= spilledShareMax * nLists;
    if (spills && maySpill && rowsInIndex >= spilledRowsMin * nLists) {
      const either = observed.inEither(
        yield* secondListsOf(rows, { centroids, lists: listOf }, observed.neighbours),
      );
      spilledCurves = learnRecallCurves(depths, either, weight);
    }
    includeUnseen(centroids, floatsAt(rows.at, sample.length), listOf, n - unseen);
    onProgress(total, total);
    return {
      dimension,
      centroids,
      rotationSeed: seed,
      spreads,
      curves,
      // Each list has twice the rows then.
      ...(spilledCurves && 2 * listsFor(spilledCurves) < (1 - savedMin) * lists && { spilledCurves }),
      probeLimits: learnProbeLimits(first[limitsAt], nLists),
    };
  } finally {
    free(rows.at);
  }
}
