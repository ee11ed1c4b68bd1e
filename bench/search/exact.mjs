// Exact distances and neighbours, by brute force with Sealdex's kernels: a million vectors and 200 queries take seconds.

import { allocate, floatsAt, free } from "../../dist/esm/engine/kernels/memory.js";
import { kernels } from "../../dist/esm/engine/kernels/kernels.js";
import { directions } from "./directions.mjs";

/** Neighbours that a query asks for unless a benchmark says otherwise. */
export const neighbours = 10;
/** Candidates of float32 arithmetic, beyond the wanted ones, that float64 decides between. */
const spare = 10;
const rowsTogether = 6144;
const pointsTogether = 1024;
/** Rows that stay in the cache while all points are compared with them. */
const tileRows = 24;

/** Positions of the `wanted` nearest rows of each query, nearest first, layout (queries, wanted). */
export function exactNeighbours(data, wanted) {
  const count = data.queries.length / data.dimension;
  const best = Array.from({ length: count }, () => []);
  forEachTile(data, data.queries, (query, first, squares) =>
    keepNearest(best[query], squares, first, wanted + spare),
  );
  const distance = distances(data);
  return Int32Array.from(
    best.flatMap((kept, query) => {
      const exact = kept.map(([, row]) => [distance(query, row), row]).sort((a, b) => a[0] - b[0]);
      return exact.slice(0, wanted).map(([, row]) => row);
    }),
  );
}

/**
 * Calls `visit(point, first, squares)` until it has seen the squared distances of all points from all rows, in float32: `squares` are those
 * of some rows from `first` on, and are not kept. Of directions under cosine.
 */
export function forEachTile({ base, dimension, metric }, points, visit) {
  const n = base.length / dimension;
  const count = points.length / dimension;
  const direct = (vectors) => (metric === "cosine" ? directions(vectors, dimension) : vectors);
  const pointsAt = allocate(4 * pointsTogether * dimension);
  const rowsAt = allocate(4 * rowsTogether * dimension);
  const out = allocate(4 * rowsTogether * pointsTogether);
  for (let from = 0; from < count; from += pointsTogether) {
    const asked = Math.min(pointsTogether, count - from);
    const some = points.subarray(from * dimension, (from + asked) * dimension);
    floatsAt(pointsAt, some.length).set(direct(some));
    for (let first = 0; first < n; first += rowsTogether) {
      const taken = Math.min(rowsTogether, n - first);
      const rows = base.subarray(first * dimension, (first + taken) * dimension);
      floatsAt(rowsAt, rows.length).set(direct(rows));
      for (let tile = 0; tile < taken; tile += tileRows) {
        const tileAt = rowsAt + 4 * tile * dimension;
        const size = Math.min(tileRows, taken - tile);
        for (let i = 0; i < asked; i++) {
          const to = out + 4 * (i * rowsTogether + tile);
          kernels().squaredL2Block(pointsAt + 4 * i * dimension, tileAt, size, dimension, to);
        }
      }
      for (let i = 0; i < asked; i++) visit(from + i, first, floatsAt(out + 4 * i * rowsTogether, taken));
    }
  }
  for (const offset of [pointsAt, rowsAt, out]) free(offset);
}

function keepNearest(kept, squares, first, count) {
  for (let i = 0; i < squares.length; i++) {
    if (kept.length === count && squares[i] >= kept[count - 1][0]) continue;
    let place = kept.length;
    while (place > 0 && kept[place - 1][0] > squares[i]) place--;
    kept.splice(place, 0, [squares[i], first + i]);
    if (kept.length > count) kept.pop();
  }
}

/** The squared distance of a query from a row in float64, of directions under cosine. */
function distances({ base, queries, dimension, metric }) {
  return (query, row) => {
    let [sum, ofQuery, ofRow] = [0, 0, 0];
    for (let i = 0; i < dimension; i++) {
      const [a, b] = [queries[query * dimension + i], base[row * dimension + i]];
      sum += metric === "cosine" ? a * b : (a - b) ** 2;
      ofQuery += a * a;
      ofRow += b * b;
    }
    return metric === "cosine" ? 2 - (2 * sum) / Math.sqrt(ofQuery * ofRow) : sum;
  };
}

/**
 * A function that counts the found rows of a query that are as near as the last of its `k` nearest: of rows that are equal, any does.
 * Float32 sums differ a little.
 */
export function hitsAmong(data, k) {
  const distance = distances(data);
  const sets = data.truth.map((rows) => new Set(rows.subarray(0, k)));
  const farthest = data.truth.map((rows, query) => distance(query, rows[k - 1]) * (1 + 1e-5) + 1e-9);
  return (query, found) => {
    let hits = 0;
    for (const row of new Set(found)) {
      if (sets[query].has(row) || distance(query, row) <= farthest[query]) hits++;
    }
    return hits;
  };
}
