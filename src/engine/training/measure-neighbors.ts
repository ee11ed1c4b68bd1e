/** Measures in which lists the neighbors of held-out rows lie, from which recall curves are learned. */

import { floatsAt } from "../kernels/memory.js";
import type { Clusters, OnCompared } from "../lists/kmeans.js";
import { squareToCentroid } from "../metric.js";
import { samplePositions } from "../random.js";
import { countPerList, gather, type SampleRows, squaredL2 } from "../rows.js";
import { positionOfLeast } from "../select-smallest.js";
import type { Work } from "../work.js";
import type { EstimatedRows } from "./estimated-rows.js";
import { FarQueries, type SimulatedQuery } from "./far-queries.js";
import { NeighborPlaces } from "./neighbor-places.js";
import { queriesTogether, SampleDistances } from "./sample-distances.js";

/** The largest share of the lists that a filter removes around a query. */
const removedShareMax = 0.6;
/**
 * This many held-out rows also show the need of a query outside of all neighbors' lists: two of three, one whose surroundings a filter removes, the
 * others, a query far from all rows.
 */
const outsideMax = 300;
const farEvery = 3;

interface ClusteredSample {
  readonly rows: SampleRows;
  /** Of the rows that k-means saw. Those after them are held out first. */
  readonly clusters: Clusters;
  /** The squared distance of each row that k-means saw from its centroid. */
  readonly residuals: Float32Array;
  /** The rows as queries among rows like themselves see them. Default: as they are. */
  readonly estimated?: EstimatedRows | undefined;
  /** How many rows are used as queries: all that are held out, and others. */
  readonly queries: number;
}

/** Finds the neighbors of held-out rows for each depth of `depths`, which are numbers of rows of the sample. */
export function* observeNeighbors(
  sample: ClusteredSample,
  depths: readonly number[],
  random: () => number,
  onCompared: OnCompared,
): Work<NeighborPlaces> {
  const { rows, clusters, residuals, estimated } = sample;
  const { centroids, lists: seen } = clusters;
  const { n, dimension, areDirections } = rows;
  const k = centroids.length / dimension;
  const positions = queryPositions(sample, random);
  const queries = gather(floatsAt(rows.at, n * dimension), dimension, positions);
  const mean = meanOf(centroids, dimension, seen);
  const center = medianOf(queries, dimension);
  const compared = new Float32Array(queries.length + dimension);
  compared.set(queries);
  compared.set(mean, queries.length);
  const distances = new SampleDistances(rows, compared, center, k);
  try {
    const { squares, lengths } = yield* distances.toLists(centroids);
    const lists = Uint32Array.from({ length: n }, (_, row) =>
      row < seen.length ? seen[row] : positionOfLeast(squares[row - seen.length]),
    );
    yield* distances.compareWithRows(positions.length, 1);
    const meanToRows = new Float32Array(n);
    distances.copyToRows(0, meanToRows);
    const far = new FarQueries({
      rows: meanToRows,
      lists: squares[positions.length],
      meanSquare: areDirections ? squareOf(mean) : undefined,
    });
    const reaches = Float64Array.from(positions, (row, number) => {
      const [list, toLists] = [lists[row], squares[number]];
      const residual = row < seen.length ? residuals[row] : squareToCentroid(lengths?.[list], toLists[list]);
      const query = queries.subarray(number * dimension, (number + 1) * dimension);
      return copyReach(residual, squareOf(query), squaredL2(query, 0, center, 0, dimension));
    });
    const toRows = new Float32Array(n);
    const read = (number: number, added?: Float32Array): SimulatedQuery => {
      distances.copyToRows(number % queriesTogether, toRows);
      // Estimates are not negative.
      if (added) for (let row = 0; row < n; row++) toRows[row] = Math.max(0, toRows[row] + added[row]);
      toRows[positions[number]] = Infinity;
      return { toRows, toLists: squares[number] };
    };
    const places = new NeighborPlaces(lists, depths);
    let fromOutside = 0;
    for (let first = 0; first < positions.length; first += queriesTogether) {
      const count = Math.min(queriesTogether, positions.length - first);
      yield* distances.compareWithRows(first, count, estimated?.rows);
      onCompared(count * n);
      const outside: number[] = [];
      for (let number = first; number < first + count; number++) {
        const query = read(number, estimated?.added);
        // A row and its copies are one query.
        if (hasCopyAmong(positions.subarray(0, number), toRows, reaches[number])) continue;
        removeCopies(toRows, reaches[number]);
        if (places.addAmong(query) <= outsideMax) outside.push(number);
        yield;
      }
      // By vectors: estimates are of rows like the query.
      if (estimated && outside.length > 0) yield* distances.compareWithRows(first, count);
      for (const number of outside) {
        const query = read(number);
        // Copies of a row are the last ones that the opposite query finds.
        if (++fromOutside % farEvery === 0) {
          places.addOutside(far.opposite(positions[number], query), "far");
        } else {
          removeCopies(toRows, reaches[number]);
          removeNearest(query, lists, Math.floor(removedShareMax * k ** random()));
          places.addOutside(query, "outside");
        }
        yield;
      }
    }
    return places;
  } finally {
    distances.free();
  }
}

/** The rows that are used as queries: first those that are held out. */
function queryPositions(
  { rows: { n }, clusters: { lists: seen }, queries }: ClusteredSample,
  random: () => number,
): Uint32Array {
  const unseen = Uint32Array.from({ length: n - seen.length }, (_, i) => seen.length + i);
  return Uint32Array.of(...unseen, ...samplePositions(random, seen.length, queries - unseen.length));
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

/** Removes the rows of a query's nearest `count` lists, as if a filter did. */
function removeNearest({ toRows, toLists }: SimulatedQuery, lists: Uint32Array, count: number): void {
  const nearest = toLists.slice().sort()[count];
  for (let row = 0; row < toRows.length; row++) if (toLists[lists[row]] < nearest) toRows[row] = Infinity;
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
