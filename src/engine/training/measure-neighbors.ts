/** Measures in which lists the neighbors of held-out rows lie, from which recall curves are learned. */

import { compareRows } from "../compare-rows.js";
import { allocate, doublesAt, floatsAt, free } from "../kernels/memory.js";
import type { Clusters, OnCompared, KmeansRows } from "../lists/kmeans.js";
import { distanceRatio } from "../lists/probe-limits.js";
import { squareToCentroid } from "../metric.js";
import { samplePositions } from "../random.js";
import { type ObservedNeighbors, type ScanLimits } from "../recall-curves.js";
import { countPerList, directionsOf, gather, lengthsOf, squaredL2 } from "../rows.js";
import { countBelow, positionOfLeast } from "../select-smallest.js";
import { copyInPieces, rowsOfPiece, type Work } from "../work.js";
import type { EstimatedRows } from "./estimated-rows.js";
import { FarQueries, type SimulatedQuery } from "./far-queries.js";
import { forEachDepth } from "./held-out.js";

/** Held-out rows that are compared with the sample at a time. */
const heldOutTogether = 32;
/** The largest share of the lists that a filter removes around a query. */
const removedShareMax = 0.6;
/**
 * This many held-out rows also show the need of a query outside of all neighbors' lists: two of three, one whose surroundings a filter removes, the
 * others, a query far from all rows.
 */
const outsideMax = 300;
const farEvery = 3;
/** Held-out rows whose lists within limits are counted. */
const countedMax = 300;

interface ClusteredSample {
  readonly rows: KmeansRows;
  /** Of the rows that k-means saw. Those after them are held out first. */
  readonly clusters: Clusters;
  /** The squared distance of each row that k-means saw from its centroid. */
  readonly residuals: Float32Array;
  /** The rows as queries among rows like themselves see them. Default: as they are. */
  readonly estimated?: EstimatedRows | undefined;
  /** How many rows are used as queries: all that are held out, and others. */
  readonly queries: number;
}

/** A held-out row: its squared distances from the lists, and the same ascending. */
interface HeldOut {
  readonly toLists: Float32Array;
  readonly sorted: Float32Array;
}

interface Observing {
  readonly ranks: number[];
  readonly ratios: number[];
  readonly outside: number[];
  readonly far: number[];
  /** Of each neighbor: its row, and which of the queries it is one of. */
  readonly rows: number[];
  readonly heldOut: number[];
}

/** The measured places of neighbors, with those in second lists. */
interface Observed {
  /** For each depth. */
  readonly first: readonly ObservedNeighbors[];
  /** The list of each row of the sample. */
  readonly lists: Uint32Array;
  /** The rows that are neighbors. */
  readonly neighbors: ReadonlySet<number>;
  /** Lists that are within limits of some held-out rows, on average. */
  listsWithin(limits: Pick<ScanLimits, "probes" | "ratio">): number;
  /** The same as `first` by the nearer one of a neighbor's two lists. `seconds` has the second list of each neighbor. */
  inEither(seconds: Uint32Array): Work<readonly ObservedNeighbors[]>;
}

/** For each depth of `depths`, in rows of the sample, the neighbors of held-out rows down to there. */
export function* observeNeighbors(
  {
    rows,
    clusters: { centroids, lists: seen },
    residuals: seenResiduals,
    estimated,
    queries: asQueries,
  }: ClusteredSample,
  depths: readonly number[],
  random: () => number,
  onCompared: OnCompared,
): Work<Observed> {
  const { n, dimension, areDirections } = rows;
  const k = centroids.length / dimension;
  const unseen = n - seen.length;
  const others = samplePositions(random, seen.length, asQueries - unseen);
  const positions = Uint32Array.of(
    ...Uint32Array.from({ length: unseen }, (_, i) => seen.length + i),
    ...others,
  );
  const queries = gather(floatsAt(rows.at, n * dimension), dimension, positions);
  const mean = meanOf(centroids, dimension, seen);
  // The last query is the mean.
  const count = positions.length + 1;
  const center = medianOf(queries, dimension);
  const numbers = count * (dimension + k) + centroids.length + heldOutTogether * n + dimension;
  const lengthsAt = allocate(8 * k + 4 * numbers);
  const queriesAt = lengthsAt + 8 * k;
  const centroidsAt = queriesAt + 4 * count * dimension;
  const toListsAt = centroidsAt + 4 * centroids.length;
  const toRowsAt = toListsAt + 4 * count * k;
  const centerAt = toRowsAt + 4 * heldOutTogether * n;
  const observed: Observing[] = depths.map(() => ({
    ranks: [],
    ratios: [],
    outside: [],
    far: [],
    rows: [],
    heldOut: [],
  }));
  try {
    floatsAt(queriesAt, queries.length).set(queries);
    floatsAt(queriesAt + 4 * queries.length, dimension).set(mean);
    yield* copyInPieces(centroids, floatsAt(centroidsAt, centroids.length));
    if (areDirections) {
      yield lengthsOf(centroidsAt, k, dimension, lengthsAt);
      yield directionsOf(centroidsAt, k, dimension, centroidsAt);
    }
    const lengths = areDirections ? doublesAt(lengthsAt, k).slice() : undefined;
    floatsAt(centerAt, dimension).set(center);
    const compare = (first: number, some: number, to: Pick<KmeansRows, "at" | "n">, out: number) =>
      compareRows({ at: queriesAt + 4 * first * dimension, n: some }, to, dimension, centerAt, out);
    yield* compare(0, count, { at: centroidsAt, n: k }, toListsAt);
    yield* compare(count - 1, 1, rows, toRowsAt);
    const squaresOf: Float32Array[] = [];
    const together = rowsOfPiece(4 * k);
    for (let i = 0; i < count; i++) {
      squaresOf.push(floatsAt(toListsAt + 4 * i * k, k).slice());
      if (i % together === together - 1) yield;
    }
    const lists = Uint32Array.from({ length: n }, (_, row) =>
      row < seen.length ? seen[row] : positionOfLeast(squaresOf[row - seen.length]),
    );
    const far = new FarQueries({
      rows: floatsAt(toRowsAt, n).slice(),
      lists: squaresOf[count - 1],
      meanSquare: areDirections ? squareOf(mean) : undefined,
    });
    squaresOf.length--;
    const asked: HeldOut[] = [];
    const residuals = new Float32Array(n);
    residuals.set(seenResiduals);
    for (let row = seen.length; row < n; row++) {
      const list = lists[row];
      residuals[row] = squareToCentroid(lengths?.[list], squaresOf[row - seen.length][list]);
    }
    // Of one query at a time. A copy: memory that threads share is slow to read number by number.
    const toRows = new Float32Array(n);
    const readDistances = (number: number, added?: Float32Array) => {
      toRows.set(floatsAt(toRowsAt + 4 * (number % heldOutTogether) * n, n));
      // Estimates are not negative.
      if (added) for (let row = 0; row < n; row++) toRows[row] = Math.max(0, toRows[row] + added[row]);
      toRows[positions[number]] = Infinity;
    };
    const reachOf = (number: number) => {
      const query = queries.subarray(number * dimension, (number + 1) * dimension);
      const fromCenter = squaredL2(query, 0, center, 0, dimension);
      return copyReach(residuals[positions[number]], squareOf(query), fromCenter);
    };
    let fromOutside = 0;
    const observeFromOutside = (number: number) => {
      readDistances(number);
      const row = { toLists: squaresOf[number], toRows };
      // Copies of a row are the last ones that the opposite query finds.
      if (++fromOutside % farEvery === 0) {
        const ratios = observed.map((depth) => depth.far);
        observeOutside(far.opposite(positions[number], row), lists, depths, ratios);
      } else {
        removeCopies(toRows, reachOf(number));
        removeNearest(row, lists, Math.floor(removedShareMax * k ** random()));
        const ratios = observed.map((depth) => depth.outside);
        observeOutside(row, lists, depths, ratios);
      }
    };
    for (let first = 0; first < positions.length; first += heldOutTogether) {
      const last = Math.min(positions.length, first + heldOutTogether);
      yield* compare(first, last - first, estimated?.rows ?? rows, toRowsAt);
      onCompared((last - first) * n);
      const outside: number[] = [];
      for (let number = first; number < last; number++) {
        readDistances(number, estimated?.added);
        const reach = reachOf(number);
        // A row and its copies are one query.
        if (hasCopyAmong(positions.subarray(0, number), toRows, reach)) continue;
        removeCopies(toRows, reach);
        const toLists = squaresOf[number];
        const own = { toLists, sorted: toLists.slice().sort() };
        observeAmong({ ...own, number: asked.length, toRows }, lists, depths, observed);
        if (asked.push(own) <= outsideMax) outside.push(number);
        yield;
      }
      // By vectors: estimates are of rows like the query.
      if (estimated && outside.length > 0) yield* compare(first, last - first, rows, toRowsAt);
      for (const number of outside) {
        observeFromOutside(number);
        yield;
      }
    }
    const neighbors = new Set<number>();
    for (const depth of observed) {
      for (const row of depth.rows) neighbors.add(row);
      yield;
    }
    return {
      first: observed,
      lists,
      neighbors,
      listsWithin: (limits) => listsWithin(asked.slice(0, countedMax), limits),
      inEither: (seconds) => observeEither(observed, asked, lists, seconds),
    };
  } finally {
    free(lengthsAt);
  }
}

/** The mean of the rows that these centroids are the means of. */
function meanOf(centroids: Float32Array, dimension: number, lists: Uint32Array): Float32Array {
  const mean = new Float64Array(dimension);
  countPerList(lists, centroids.length / dimension).forEach((size, list) => {
    for (let i = 0; i < dimension; i++) mean[i] += (size / lists.length) * centroids[list * dimension + i];
  });
  return Float32Array.from(mean);
}

/** Rows that a median is of, at most. */
const medianRowsMax = 33;

/** The median of each component, of some rows of layout (n, dimension): few rows that are far from the others do not move it. */
function medianOf(rows: Float32Array, dimension: number): Float32Array {
  const n = Math.min(rows.length / dimension, medianRowsMax);
  const values = new Float32Array(n);
  return Float32Array.from({ length: dimension }, (_, i) => {
    for (let row = 0; row < n; row++) values[row] = rows[row * dimension + i];
    return values.sort()[n >> 1];
  });
}

function squareOf(vector: Float32Array): number {
  return vector.reduce((sum, value) => sum + value * value, 0);
}

function listsWithin(
  asked: readonly HeldOut[],
  { probes, ratio }: Pick<ScanLimits, "probes" | "ratio">,
): number {
  let lists = 0;
  for (const { sorted } of asked) {
    const most = Math.min(probes, sorted.length);
    let within = 1;
    // Ratios ascend, too.
    while (within < most && distanceRatio(within, sorted[within], sorted[0]) <= ratio) within++;
    lists += within;
  }
  return lists / Math.max(1, asked.length);
}

/** Ratios of queries outside are those of first lists. */
function* observeEither(
  observed: readonly Observing[],
  asked: readonly HeldOut[],
  lists: Uint32Array,
  seconds: Uint32Array,
): Work<ObservedNeighbors[]> {
  const either: ObservedNeighbors[] = [];
  for (const { rows, heldOut: held, outside, far } of observed) {
    const nearer = rows.map((row, i) =>
      Math.min(asked[held[i]].toLists[lists[row]], asked[held[i]].toLists[seconds[row]]),
    );
    const ranks = nearer.map((square, i) => countBelow(asked[held[i]].sorted, square));
    const ratios = nearer.map((square, i) => distanceRatio(ranks[i], square, asked[held[i]].sorted[0]));
    either.push({ ranks, ratios, outside, far });
    yield;
  }
  return either;
}

/** Adds the lists of a held-out row's neighbors, as a query among similar rows. */
function observeAmong(
  { number, sorted, toRows, toLists }: SimulatedQuery & HeldOut & { readonly number: number },
  lists: Uint32Array,
  depths: readonly number[],
  observed: readonly Observing[],
): void {
  forEachDepth(toRows, depths, (i, rows) => {
    for (const row of rows) {
      const square = toLists[lists[row]];
      const rank = countBelow(sorted, square);
      observed[i].ranks.push(rank);
      observed[i].ratios.push(distanceRatio(rank, square, sorted[0]));
      observed[i].rows.push(row);
      observed[i].heldOut.push(number);
    }
  });
}

/** Removes the rows of a query's nearest `count` lists, as if a filter did. */
function removeNearest({ toRows, toLists }: SimulatedQuery, lists: Uint32Array, count: number): void {
  const nearest = toLists.slice().sort()[count];
  for (let row = 0; row < toRows.length; row++) if (toLists[lists[row]] < nearest) toRows[row] = Infinity;
}

/** Adds the distance ratios of the lists of a query's neighbors, relative to the nearest list that has a row left. */
function observeOutside(
  { toRows, toLists }: SimulatedQuery,
  lists: Uint32Array,
  depths: readonly number[],
  ratios: readonly number[][],
): void {
  const isLeft = new Uint8Array(toLists.length);
  for (let row = 0; row < toRows.length; row++) if (toRows[row] < Infinity) isLeft[lists[row]] = 1;
  const sorted = toLists.filter((_, list) => isLeft[list] === 1).sort();
  forEachDepth(toRows, depths, (i, rows) => {
    for (const row of rows) {
      const square = toLists[lists[row]];
      ratios[i].push(distanceRatio(countBelow(sorted, square), square, sorted[0]));
    }
  });
}

// Copies among the rows of a sample, and rows that are nearly copies: the same passage in many documents. A query is hardly ever one of them. As a query, a
// row that has copies finds them in its own list, and shows nothing of the lists that other queries have to scan.

/** The largest squared distance of copies, over the squared distance of the row from its centroid. */
const copyShare = 1 / 16;
/** And over its squared length: equal directions differ by the rounding of float32. */
const float32Share = 2 ** -40;
/** And over its squared distance from the center: `compareRows` may round these differences up to a step. */
const stepShare = 2 ** -26;

/** The squared distance up to which rows are copies of a row. All arguments are squared: its residual, its length, its distance from the center. */
function copyReach(residual: number, length: number, fromCenter: number): number {
  return copyShare * residual + float32Share * length + stepShare * fromCenter;
}

/** Whether one of the rows at these positions is a copy, by the squared distances of a row from all. */
function hasCopyAmong(positions: Uint32Array, toRows: Float32Array, reach: number): boolean {
  return positions.some((position) => toRows[position] <= reach);
}

/** Makes copies no neighbors: sets their distance to Infinity. */
function removeCopies(toRows: Float32Array, reach: number): void {
  for (let row = 0; row < toRows.length; row++) if (toRows[row] <= reach) toRows[row] = Infinity;
}
