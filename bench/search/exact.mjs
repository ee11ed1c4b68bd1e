// The exact nearest of each query, by brute force with Sealdex's kernels: a million vectors and 200 queries take seconds.

import { allocate, floatsAt, free } from "../../dist/esm/engine/kernels/memory.js";
import { kernels } from "../../dist/esm/engine/kernels/kernels.js";

export const neighbours = 10;
/** Candidates of float32 arithmetic that float64 decides between. */
const candidates = 2 * neighbours;
const rowsTogether = 6144;

/** Positions of the nearest of each query, nearest first, layout (queries, neighbours); vectors have length 1. */
export function exactNeighbours(base, queries, dimension) {
  const n = base.length / dimension;
  const count = queries.length / dimension;
  const asked = allocate(4 * queries.length);
  const rows = allocate(4 * rowsTogether * dimension);
  const out = allocate(4 * rowsTogether * count);
  floatsAt(asked, queries.length).set(queries);
  const best = Array.from({ length: count }, () => []);
  for (let first = 0; first < n; first += rowsTogether) {
    const taken = Math.min(rowsTogether, n - first);
    floatsAt(rows, taken * dimension).set(base.subarray(first * dimension, (first + taken) * dimension));
    kernels().squaredL2Tile(asked, count, rows, taken, dimension, out, rowsTogether);
    for (let query = 0; query < count; query++) {
      keepNearest(best[query], floatsAt(out + 4 * query * rowsTogether, taken), first);
    }
  }
  for (const offset of [asked, rows, out]) free(offset);
  return Int32Array.from(
    best.flatMap((kept, query) => {
      const distance = (row) => squaredL2(base, row, queries, query, dimension);
      const exact = kept.map(([, row]) => [distance(row), row]).sort((a, b) => a[0] - b[0]);
      return exact.slice(0, neighbours).map(([, row]) => row);
    }),
  );
}

function keepNearest(kept, distances, first) {
  for (let i = 0; i < distances.length; i++) {
    if (kept.length === candidates && distances[i] >= kept[candidates - 1][0]) continue;
    let place = kept.length;
    while (place > 0 && kept[place - 1][0] > distances[i]) place--;
    kept.splice(place, 0, [distances[i], first + i]);
    if (kept.length > candidates) kept.pop();
  }
}

function squaredL2(base, row, queries, query, dimension) {
  let sum = 0;
  for (let i = 0; i < dimension; i++) {
    sum += (base[row * dimension + i] - queries[query * dimension + i]) ** 2;
  }
  return sum;
}
