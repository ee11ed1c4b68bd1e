/**
 * Spilling (SOAR: Sun, Simcha, Dopson, Guo and Kumar, 2023, arXiv 2404.00774): each row can be found in a second list, too.
 *
 * The second list is near the row, and chosen so that the residual there is at a right angle to the first one. A query that is far from the
 * first centroid, because it lies in the direction of the residual, is then unlikely to be far from the second one as well. So fewer
 * lists hold the same share of its neighbors.
 */

import { compareRows } from "../compare-rows.js";
import type { ListCentroids } from "./centroid-codes.js";
import { allocate, floatsAt, free, wordsAt } from "../kernels/memory.js";
import type { Clusters } from "./kmeans.js";
import { directionsOf, gather, noList, type SampleRows, sortByList } from "../rows.js";
import { positionsOfSmallest } from "../select-smallest.js";
import { copyInPieces, inSlices, together, type Work } from "../work.js";

/** The cost of a residual along the first one, relative to its square: lambda of SOAR. */
const weight = 1;
/** The second list is one of this many that are nearest to the first. Fewer cost recall, more the time of training. */
const candidatesMax = 256;
/**
 * Rows per list from which a segment's rows are in second lists. Codes take the room of 32 rows per list, and a search checks the list in
 * each segment.
 */
export const spilledRowsMin = 8;
/** Lists that a row is compared with, at most. */
export const comparedMax = candidatesMax + 1;

/** The second lists of rows of `list`; `noList` if it is the only one. `points` has layout (n, dimension), in list space. */
export function* secondLists(
  { at, n: nLists, dimension }: ListCentroids,
  points: Float32Array,
  list: number,
): Work<Uint32Array> {
  const n = points.length / dimension;
  const betweenAt = allocate(4 * nLists);
  const own = at + 4 * list * dimension;
  let held = 0;
  try {
    yield inSlices(nLists, dimension, (first, count) => ({
      kernel: "squaredL2Block",
      args: [own, at + 4 * first * dimension, count, dimension, betweenAt + 4 * first],
    }));
    const between = floatsAt(betweenAt, nLists).slice();
    between[list] = Infinity;
    const columns = Uint32Array.of(list, ...positionsOfSmallest(between, candidatesMax));
    between[list] = 0;
    const k = columns.length;
    if (k === 1) return new Uint32Array(n).fill(noList);

    held = allocate(4 * (n * dimension + k * dimension + n * k + n + k));
    const centroidsAt = held + 4 * n * dimension;
    const squaresAt = centroidsAt + 4 * k * dimension;
    const chosenAt = squaresAt + 4 * n * k;
    const columnsAt = chosenAt + 4 * n;
    floatsAt(held, points.length).set(points);
    wordsAt(columnsAt, k).set(columns);
    floatsAt(betweenAt, k).set(Float32Array.from(columns, (column) => between[column]));
    yield [
      {
        kernel: "gatherRows",
        args: [at, columnsAt, k, dimension, centroidsAt],
        cost: k * dimension,
      },
    ];
    yield* compareRows({ at: held, n }, { at: centroidsAt, n: k }, dimension, own, squaresAt);
    yield inSlices(n, 4 * k, (first, count) => ({
      kernel: "chooseSecond",
      args: [squaresAt + 4 * first * k, count, k, betweenAt, weight, chosenAt + 4 * first],
    }));
    return wordsAt(chosenAt, n).map((column) => (column === 0 ? noList : columns[column]));
  } finally {
    if (held > 0) free(held);
    free(betweenAt);
  }
}

/** Rows of a sample whose lists are worked on at a time, and distances between lists. */
const rowsTogether = 2048;
const distancesTogether = 2 ** 17;

/** The second lists of some rows of a clustered sample, by row; `noList` for the others. */
export function* secondListsOf(
  { at: rowsAt, n, dimension, areDirections }: SampleRows,
  { centroids, lists }: Clusters,
  wanted: ReadonlySet<number>,
): Work<Uint32Array> {
  const nLists = centroids.length / dimension;
  const at = allocate(4 * centroids.length);
  try {
    yield* copyInPieces(centroids, floatsAt(at, centroids.length));
    if (areDirections) yield directionsOf(at, nLists, dimension, at);
    const seconds = new Uint32Array(lists.length).fill(noList);
    const order = sortByList(lists, nLists).filter((row) => wanted.has(row));
    for (let start = 0; start < order.length;) {
      const parts: Uint32Array[] = [];
      const partsMax = Math.ceil(distancesTogether / nLists);
      for (let held = 0; start < order.length && held < rowsTogether && parts.length < partsMax;) {
        let end = start;
        while (end < order.length && end - start < rowsTogether && lists[order[end]] === lists[order[start]])
          end++;
        parts.push(order.subarray(start, end));
        held += end - start;
        start = end;
      }
      const of = { at, n: nLists, dimension };
      const chosen = yield* together(
        parts.map((part) => {
          const points = gather(floatsAt(rowsAt, n * dimension), dimension, part);
          return secondLists(of, points, lists[part[0]]);
        }),
      );
      parts.forEach((part, i) => part.forEach((row, place) => (seconds[row] = chosen[i][place])));
    }
    return seconds;
  } finally {
    free(at);
  }
}
