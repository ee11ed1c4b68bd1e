/** In which lists the neighbours of held-out rows lie: what recall curves are learned from. */

import type { KernelCall } from "./kernels/kernels.js";
import { allocate, doublesAt, floatsAt, free } from "./kernels/memory.js";
import type { Clusters, OnCompared, Rows } from "./kmeans.js";
import { squareToCentroid } from "./metric.js";
import { distanceRatio } from "./probe-limits.js";
import { samplePositions } from "./random.js";
import { cosineNeeded, type ObservedNeighbours, type ScanLimits } from "./recall-curves.js";
import { directionsOf, gather, lengthsOf } from "./rows.js";
import { nearestPositions } from "./smallest.js";
import { copyInPieces, inSlices, type Work } from "./work.js";

export const heldOut = 200;
/** Held-out rows that are compared with the sample at a time. */
const heldOutTogether = 8;
/** Neighbours that are observed per held-out row and depth: if there are more, every so-many-th row of the sample counts. */
const observedMax = 64;
/**
 * The fewest neighbours by which ranks and distance ratios are learned. Ten are farther away than the nearest one, so searches for
 * fewer scan a little more than they need.
 */
const neighboursMin = 10;
/** The largest share of the lists that a filter removes around a query. */
const removedShareMax = 0.6;
/** From a depth to the next one, about. */
const step = Math.sqrt(10);

/** Numbers of neighbours that are observed in a sample of n rows, ascending from 1. */
export function observedDepths(n: number): number[] {
  const depths = [1];
  for (let power = 1; Math.round(step ** power) < n; power++) depths.push(Math.round(step ** power));
  return depths;
}

export interface ClusteredSample {
  readonly rows: Rows;
  readonly sample: Float32Array;
  readonly clusters: Clusters;
  /** Per list, the mean squared distance of its rows from the centroid. */
  readonly spreads: Float32Array;
}

interface Observing {
  readonly ranks: number[];
  readonly ratios: number[];
  readonly cosines: number[];
  /** Of each neighbour: its row, and which of the held-out rows it is one of. */
  readonly rows: number[];
  readonly heldOut: number[];
}

/** What was observed of neighbours, and what more can be told of them if they are in second lists, too. */
export interface Observed {
  /** For each depth. */
  readonly first: readonly ObservedNeighbours[];
  /** The rows that are neighbours. */
  readonly neighbours: ReadonlySet<number>;
  /** Lists that are within limits of held-out rows, on average. */
  listsWithin(limits: Pick<ScanLimits, "probes" | "ratio">): number;
  /** The same as `first` by the nearer one of a neighbour's two lists. `seconds` has the second list of each neighbour. */
  inEither(seconds: Uint32Array): readonly ObservedNeighbours[];
}

/** For each depth of `depths`, in rows of the sample, the neighbours of held-out rows down to there. */
export function* observeNeighbours(
  { rows, sample, clusters: { centroids, lists }, spreads }: ClusteredSample,
  depths: readonly number[],
  random: () => number,
  onCompared: OnCompared,
): Work<Observed> {
  const { n, dimension, areDirections } = rows;
  const k = spreads.length;
  const positions = samplePositions(random, n, Math.min(heldOut, n));
  const queries = gather(sample, dimension, positions);
  const numbers = queries.length + centroids.length + heldOutTogether * (n + k);
  const lengthsAt = allocate(8 * k + 4 * numbers);
  const queriesAt = lengthsAt + 8 * k;
  const centroidsAt = queriesAt + 4 * queries.length;
  const toRowsAt = centroidsAt + 4 * centroids.length;
  const toListsAt = toRowsAt + 4 * heldOutTogether * n;
  const observed: Observing[] = depths.map(() => ({
    ranks: [],
    ratios: [],
    cosines: [],
    rows: [],
    heldOut: [],
  }));
  const squaresOf: Float32Array[] = [];
  try {
    floatsAt(queriesAt, queries.length).set(queries);
    yield* copyInPieces(centroids, floatsAt(centroidsAt, centroids.length));
    if (areDirections) {
      yield lengthsOf(centroidsAt, k, dimension, lengthsAt);
      yield directionsOf(centroidsAt, k, dimension, centroidsAt);
    }
    const lengths = areDirections ? doublesAt(lengthsAt, k).slice() : undefined;
    for (let first = 0; first < positions.length; first += heldOutTogether) {
      const count = Math.min(heldOutTogether, positions.length - first);
      const group = queriesAt + 4 * first * dimension;
      yield [
        ...compare(group, count, rows, toRowsAt),
        ...compare(group, count, { ...rows, at: centroidsAt, n: k }, toListsAt),
      ];
      onCompared(count * n);
      for (let i = 0; i < count; i++) {
        // A copy: memory that threads share is slow to read number by number.
        const toRows = floatsAt(toRowsAt + 4 * i * n, n).slice();
        toRows[positions[first + i]] = Infinity;
        const toLists = floatsAt(toListsAt + 4 * i * k, k).slice();
        squaresOf.push(toLists);
        const without = Math.floor(removedShareMax * k ** random());
        const number = squaresOf.length - 1;
        observeOne({ number, toRows, toLists, lengths, lists, spreads }, depths, without, observed);
        yield;
      }
    }
    return {
      first: observed,
      neighbours: new Set(observed.flatMap((depth) => depth.rows)),
      listsWithin: (limits) => listsWithin(squaresOf, limits),
      inEither: (seconds) => observeEither(observed, squaresOf, lists, seconds),
    };
  } finally {
    free(lengthsAt);
  }
}

/** Squared distances of `count` queries from the rows, layout (count, n), at `out`. */
function compare(queries: number, count: number, { at, n, dimension }: Rows, out: number): KernelCall[] {
  return inSlices(n, count * dimension, (first, rows) => ({
    kernel: "squaredL2Tile",
    args: [queries, count, at + 4 * first * dimension, rows, dimension, out + 4 * first, n],
  }));
}

function listsWithin(
  squaresOf: readonly Float32Array[],
  { probes, ratio }: Pick<ScanLimits, "probes" | "ratio">,
): number {
  let lists = 0;
  for (const squares of squaresOf) {
    const sorted = squares.slice().sort();
    let within = Math.min(probes, sorted.length);
    while (within > 1 && distanceRatio(within - 1, sorted[within - 1], sorted[0]) > ratio) within--;
    lists += within;
  }
  return lists / Math.max(1, squaresOf.length);
}

/** Cosines are those of first lists. */
function observeEither(
  observed: readonly Observing[],
  squaresOf: readonly Float32Array[],
  lists: Uint32Array,
  seconds: Uint32Array,
): ObservedNeighbours[] {
  const sortedOf = squaresOf.map((squares) => squares.slice().sort());
  return observed.map(({ rows, heldOut: held, cosines }) => {
    const nearer = rows.map((row, i) =>
      Math.min(squaresOf[held[i]][lists[row]], squaresOf[held[i]][seconds[row]]),
    );
    const ranks = nearer.map((square, i) => countBelow(sortedOf[held[i]], square));
    const ratios = nearer.map((square, i) => distanceRatio(ranks[i], square, sortedOf[held[i]][0]));
    return { ranks, ratios, cosines };
  });
}

interface HeldOutRow {
  readonly number: number;
  /** Squared distances from the rows of the sample, Infinity from itself. */
  readonly toRows: Float32Array;
  /** Squared distances from the centroids, or from their directions. */
  readonly toLists: Float32Array;
  /** Lengths of the centroids if directions are compared. */
  readonly lengths: Float64Array | undefined;
  readonly lists: Uint32Array;
  readonly spreads: Float32Array;
}

/** Adds what one held-out row shows, as a query among rows like itself, and as one whose nearest `without` lists a filter removes. */
function observeOne(
  { number, toRows, toLists, lengths, lists, spreads }: HeldOutRow,
  depths: readonly number[],
  without: number,
  observed: readonly Observing[],
): void {
  const sorted = toLists.slice().sort();
  forEachDepth(
    toRows,
    depths.map((depth) => Math.max(neighboursMin, depth)),
    (i, neighbours) => {
      for (const row of neighbours) {
        const square = toLists[lists[row]];
        const rank = countBelow(sorted, square);
        observed[i].ranks.push(rank);
        observed[i].ratios.push(distanceRatio(rank, square, sorted[0]));
        observed[i].rows.push(row);
        observed[i].heldOut.push(number);
      }
    },
  );
  const nearest = sorted[without];
  for (let row = 0; row < toRows.length; row++) if (toLists[lists[row]] < nearest) toRows[row] = Infinity;
  forEachDepth(toRows, depths, (i, neighbours) => {
    const reach = toRows[neighbours[neighbours.length - 1]];
    for (const row of neighbours) {
      const list = lists[row];
      const square = lengths === undefined ? toLists[list] : squareToCentroid(lengths[list], toLists[list]);
      observed[i].cosines.push(cosineNeeded(square, spreads[list], reach));
    }
  });
}

/** Calls `visit` for each depth that has a neighbour, with positions of neighbours down to there, nearest first. */
function forEachDepth(
  toRows: Float32Array,
  depths: readonly number[],
  visit: (i: number, neighbours: Uint32Array) => void,
): void {
  const few = nearestPositions(toRows, 1, observedMax);
  depths.forEach((depth, i) => {
    const stride = Math.ceil(depth / observedMax);
    const neighbours =
      stride === 1 ? few.subarray(0, depth) : nearestPositions(toRows, stride, Math.round(depth / stride));
    if (neighbours.length > 0) visit(i, neighbours);
  });
}

/** How many of ascending values are below `value`. */
function countBelow(sorted: Float32Array, value: number): number {
  let from = 0;
  let to = sorted.length;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (sorted[middle] < value) from = middle + 1;
    else to = middle;
  }
  return from;
}

const rowsMeasuredTogether = 2 ** 20;

/** Per list, the mean squared distance of its rows from the centroid; of lists without rows, that of all rows. */
export function* spreadsOf(
  sample: Float32Array,
  dimension: number,
  { centroids, lists }: Clusters,
): Work<Float32Array> {
  const sums = new Float64Array(centroids.length / dimension);
  const sizes = new Uint32Array(sums.length);
  const piece = Math.ceil(rowsMeasuredTogether / dimension);
  for (let row = 0; row < lists.length; row++) {
    sums[lists[row]] += squaredL2(sample, row * dimension, centroids, lists[row] * dimension, dimension);
    sizes[lists[row]]++;
    if (row % piece === piece - 1) yield;
  }
  const mean = sums.reduce((sum, each) => sum + each, 0) / lists.length;
  return Float32Array.from(sums, (sum, list) => (sizes[list] === 0 ? mean : sum / sizes[list]));
}

function squaredL2(a: Float32Array, atA: number, b: Float32Array, atB: number, dimension: number): number {
  let sum = 0;
  for (let i = 0; i < dimension; i++) {
    const difference = a[atA + i] - b[atB + i];
    sum += difference * difference;
  }
  return sum;
}
