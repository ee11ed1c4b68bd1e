/** Training: from a sample of vectors to a model, which is coarse centroids and how much of them a query should scan. */

import { rowCodeBytes } from "../codes/code-layout.js";
import { layoutOf } from "../codes/model-quantizer.js";
import { roundVectors } from "../codes/scalar.js";
import type { IndexConfig, Metric, ScalarPrecision } from "../config.js";
import { allocate, floatsAt, free } from "../kernels/memory.js";
import { type Clusters, comparisonsMax, kmeans, type OnCompared } from "../lists/kmeans.js";
import { learnProbeLimits } from "../lists/probe-limits.js";
import { secondListsOf, spilledRowsMin } from "../lists/second-lists.js";
import type { Model, QuantizerModel } from "../model.js";
import { samplePositions, seededRandom } from "../random.js";
import { learnRecallCurves, limitsFor, type RecallCurves } from "../recall-curves.js";
import { type SampleRows, squaredL2 } from "../rows.js";
import { copyInPieces, rowsOfPiece, type Work } from "../work.js";
import { estimateCodes, type EstimatedRows, estimateRows } from "./estimated-rows.js";
import { includeUnseen, moveToEnd, observedDepths, queryRows, unseenRows } from "./held-out.js";
import { observeNeighbors } from "./measure-neighbors.js";
import { trainQuantizer } from "./train-quantizer.js";

/** Rows per list that k-means needs (the figure of faiss). */
export const rowsPerListMin = 39;
/** Rows per list beyond which a larger sample no longer moves the centroids. */
export const rowsPerListSampled = 40;

/** The depth, in rows of the sample, by which the limits of an explicit number of probes are learned. */
const limitsDepth = 10;

/** The recall by which training decides whether rows should be in second lists: that of automatic probing. */
const decidingRecall = 0.95;
/** Lists per query from which second ones may save much. Where fewer do, most neighbors are in the nearest one. */
const spilledFrom = 10;
/** The share of the lists beyond which these say too little about where neighbors are, as for rows that are far from the origin and near one another. */
const spilledShareMax = 1 / 2;
/** The share of its work that a query must save to make up for the room of second codes. */
const savedMin = 0.05;
/** The cost of a list besides its rows, as a number of rows: fewer lists are less work even if they have as many rows. */
const listRows = 16;

/** The input of training. */
export interface Sample {
  /** Layout (n, dimension), in list space. */
  readonly points: Float32Array;
  readonly dimension: number;
  readonly metric: Metric;
  /** Whether rows may be in second lists, too: see second-lists.ts. */
  readonly spills: boolean;
  /** Rows of the index that the sample is of. */
  readonly rows: number;
  /** If the index keeps codes alone, or will. */
  readonly coding?: Coding | undefined;
}

interface Coding {
  readonly config: IndexConfig;
  /** If rows are codes already. Default: the codes are learned from the sample. */
  readonly known: KnownCodes | undefined;
}

/** The rows of a sample as codes. */
export interface KnownCodes {
  readonly quantizer: QuantizerModel;
  /** Layout (n, row code). */
  readonly codes: Uint8Array;
}

/**
 * Trains on a sample of at least `nLists` rows. With `coding`, the model has a quantizer, and the limits of
 * queries are measured by its estimates. Deterministic in its arguments. `onProgress` receives the number of comparisons of
 * two vectors done, and the largest number there may be.
 */
export function* trainModel(
  of: Sample,
  nLists: number,
  seed: number,
  onProgress: (done: number, total: number) => void = () => undefined,
): Work<Model> {
  const random = seededRandom(seed);
  const n = of.points.length / of.dimension;
  const known = of.coding?.known;
  const unseen = samplePositions(random, n, unseenRows(n, nLists));
  const queries = queryRows(n, unseen.length);
  const total = comparisonsMax(n, nLists) + n * queries;
  let done = 0;
  // Coarse clusters of uneven size need more comparisons than expected.
  const onCompared = (comparisons: number) => {
    done = Math.min(total, done + comparisons);
    onProgress(done, total);
  };
  return yield* withRows(of, function* (rows) {
    const vectors = () => floatsAt(rows.at, of.points.length);
    moveToEnd(vectors(), of.dimension, unseen);
    const clusters = yield* kmeans({ ...rows, n: n - unseen.length }, nLists, random, onCompared);
    const measuring = { rotationSeed: seed, random, onCompared, queries };
    const { coding } = of;
    const learned = { ...clusters, dimension: of.dimension, rotationSeed: seed };
    const quantizer =
      coding && (known?.quantizer ?? (yield* trainQuantizer(coding.config, of.points, learned)));
    const estimated = coding && quantizer && (yield* estimate(coding, quantizer, rows, clusters, unseen));
    try {
      const { model, lists } = yield* measureClusters(of, rows, clusters, { ...measuring, estimated });
      yield;
      includeUnseen(model.centroids, vectors(), lists, n - unseen.length);
      yield;
      yield* roundCentroids(model);
      onProgress(total, total);
      return quantizer === undefined ? model : { ...model, quantizer };
    } finally {
      estimated?.free();
    }
  });
}

/** The rows of a sample as queries see them, last those that are held out. */
function* estimate(
  { config, known }: Coding,
  quantizer: QuantizerModel,
  rows: SampleRows,
  clusters: Clusters,
  unseen: Uint32Array,
): Work<EstimatedRows> {
  if (known === undefined) return yield* estimateRows(config, quantizer, rows, clusters);
  const codes = known.codes.slice();
  moveToEnd(codes, rowCodeBytes(layoutOf(config, rows.dimension)), unseen);
  return yield* estimateCodes(config, quantizer, rows, codes);
}

/** Runs work on a sample in kernel memory. */
function* withRows<T>({ points, dimension, metric }: Sample, work: (rows: SampleRows) => Work<T>): Work<T> {
  const at = allocate(4 * points.length);
  try {
    yield* copyInPieces(points, floatsAt(at, points.length));
    const n = points.length / dimension;
    return yield* work({ at, n, dimension, areDirections: metric === "cosine" });
  } finally {
    free(at);
  }
}

/** A model, and the list of each row of the sample that it was measured with. */
interface Measured {
  readonly model: Model;
  readonly lists: Uint32Array;
}

interface Measuring {
  readonly rotationSeed: number;
  readonly random: () => number;
  readonly onCompared: OnCompared;
  /** The rows of the sample as queries see them, if they will be codes. Default: as they are. */
  readonly estimated?: EstimatedRows | undefined;
  /** How many rows are used as queries: all that are held out, and others. */
  readonly queries: number;
}

/**
 * The model of a sample's clusters, with the limits of queries, as held-out rows show. `rows`: the sample in kernel memory, last those that
 * `clusters` have no list of.
 */
function* measureClusters(
  { dimension, spills, rows: rowsInIndex }: Sample,
  rows: SampleRows,
  clusters: Clusters,
  { rotationSeed, random, onCompared, estimated, queries }: Measuring,
): Work<Measured> {
  const { centroids } = clusters;
  const nLists = centroids.length / dimension;
  const { spreads, residuals } = yield* spreadsOf(rows, clusters);
  const depths = observedDepths(rows.n);
  const places = yield* observeNeighbors(
    { rows, clusters, residuals, estimated, queries },
    depths,
    random,
    onCompared,
  );
  const { observed, lists } = places;
  const limitsAt = depths.findLastIndex((depth) => depth <= limitsDepth);
  const weight = Math.max(1, rowsInIndex / rows.n);
  const curves = yield* learnRecallCurves(depths, observed, weight);
  const listsFor = (of: RecallCurves) =>
    places.listsWithin(limitsFor(of, limitsDepth * weight, decidingRecall));
  let spilledCurves: RecallCurves | undefined;
  const scanned = listsFor(curves);
  const maySpill = scanned >= spilledFrom && scanned <= spilledShareMax * nLists;
  if (spills && maySpill && rowsInIndex >= spilledRowsMin * nLists) {
    const seconds = yield* secondListsOf(rows, { centroids, lists }, yield* places.neighbors());
    const either = yield* places.inEither(seconds);
    const curvesOfBoth = yield* learnRecallCurves(depths, either, weight);
    if (worthSpilling(scanned, listsFor(curvesOfBoth), rowsInIndex / nLists)) spilledCurves = curvesOfBoth;
  }
  const model = {
    dimension,
    centroids,
    rotationSeed,
    spreads,
    curves,
    ...(spilledCurves && { spilledCurves }),
    probeLimits: learnProbeLimits(observed[limitsAt], nLists),
  };
  return { model, lists };
}

/** Whether scanning `spilled` lists with twice the rows is less work than scanning `lists`, which have `rowsEach` on average. */
function worthSpilling(lists: number, spilled: number, rowsEach: number): boolean {
  return spilled * (2 * rowsEach + listRows) < (1 - savedMin) * lists * (rowsEach + listRows);
}

// Centroids are rounded once, when they are learned, to int8 or float16 numbers times a scale (scalar.ts), so that a model is read in a quarter of the
// bytes. Stored centroids decode to them exactly: codes, radii and distances are of the rounded ones.
// A centroid that moves by e from the mean of its rows is farther from them by |e|^2 in the mean square. That has to be little of all that
// it is: rows that are far from the origin and near one another need more bits, and may need all.

/** The share by which the mean squared distance of a list's rows from its centroid may grow. */
const growthMax = 1 / 1024;
/** The smaller one first. */
const precisions: readonly ScalarPrecision[] = ["int8", "float16"];

/** Rounds the centroids of some lists, default: of all, each as far as its spread allows. */
export function* roundCentroids(
  { centroids, spreads, dimension }: Pick<Model, "centroids" | "spreads" | "dimension">,
  isRounded: (list: number) => boolean = () => true,
): Work<void> {
  const listsTogether = rowsOfPiece(4 * dimension);
  for (let first = 0; first < spreads.length; first += listsTogether) {
    const exact = centroids.subarray(first * dimension, (first + listsTogether) * dimension);
    const rounded = precisions.map((precision) => {
      const copy = exact.slice();
      roundVectors(copy, precision, dimension);
      return copy;
    });
    for (let at = 0; at < exact.length; at += dimension) {
      const list = first + at / dimension;
      // A spread that is beyond float32 says nothing.
      if (!isRounded(list) || spreads[list] === Infinity) continue;
      const near = rounded.find(
        (copy) => squaredL2(copy, at, exact, at, dimension) <= growthMax * spreads[list],
      );
      if (near !== undefined) exact.set(near.subarray(at, at + dimension), at);
    }
    yield;
  }
}

// How far the rows of a list are from its centroid.

const componentsTogether = 2 ** 20;

interface Spreads {
  /** Per list, the mean squared distance of its rows from the centroid; of lists of fewer than two rows, that of all rows. */
  readonly spreads: Float32Array;
  /** The squared distance of each row that has a list; of the only row of a list, the mean of all rows. */
  readonly residuals: Float32Array;
}

/** `lists` may have fewer rows. */
function* spreadsOf({ at, dimension }: SampleRows, { centroids, lists }: Clusters): Work<Spreads> {
  const residuals = new Float32Array(lists.length);
  const sums = new Float64Array(centroids.length / dimension);
  const sizes = new Uint32Array(sums.length);
  const together = Math.ceil(componentsTogether / dimension);
  for (let first = 0; first < lists.length; first += together) {
    const last = Math.min(lists.length, first + together);
    // A copy: memory that threads share is slow to read number by number.
    const points = floatsAt(at + 4 * first * dimension, (last - first) * dimension).slice();
    for (let row = first; row < last; row++) {
      const from = (row - first) * dimension;
      residuals[row] = squaredL2(points, from, centroids, lists[row] * dimension, dimension);
      sums[lists[row]] += residuals[row];
      sizes[lists[row]]++;
    }
    yield;
  }
  const mean = sums.reduce((sum, each) => sum + each, 0) / lists.length;
  for (let row = 0; row < lists.length; row++) if (sizes[lists[row]] < 2) residuals[row] = mean;
  const spreads = Float32Array.from(sums, (sum, list) => (sizes[list] < 2 ? mean : sum / sizes[list]));
  return { spreads, residuals };
}
