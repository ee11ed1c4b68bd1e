// Data sets, filters and exact answers of the recall benchmark.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { isPresent, loadDataset, seeded, storedDatasets, syntheticVectors } from "./datasets.mjs";
import { directed, withoutZeros } from "./directions.mjs";
import { forEachTile } from "./exact.mjs";

/** Cells of space that filters bound to clusters are made of. */
const cellCount = 200;

/** Names of the data sets that can be measured here. */
export function recallDatasets() {
  const pictures = isPresent("clip-met-1500x512") ? ["clip"] : [];
  return [...storedDatasets(), ...pictures, "clustered", "uniform", "skewed", "repeated"];
}

/** { dimension, metric, base, queries }, with at most `queryCount` queries. */
export function loadRecallDataset(name, queryCount) {
  const data = load(name, queryCount);
  return { ...data, queries: data.queries.subarray(0, queryCount * data.dimension) };
}

function load(name, queryCount) {
  if (name === "clip") return clip(queryCount);
  if (name === "clustered")
    return { dimension: 96, metric: "cosine", ...syntheticVectors(30_000, 96, queryCount) };
  if (name === "uniform") return uniform(30_000, 24, queryCount);
  if (name === "skewed") return skewed(30_000, 48, queryCount);
  if (name === "repeated") return repeated(30_000, 48, queryCount);
  if (name === "grown") return { ...skewed(30_000, 48, queryCount), growth: 3 };
  const data = loadDataset(name);
  return data.metric === "cosine" ? withoutZeros(data) : data;
}

/** The last vectors are the queries. */
function clip(queryCount) {
  const dimension = 512;
  const { buffer, byteOffset, byteLength } = readFileSync(
    join(process.env.SEALDEX_BENCH_DATA, "clip-met-1500x512", "vectors.f32"),
  );
  const all = directed(new Float32Array(buffer.slice(byteOffset, byteOffset + byteLength)), dimension);
  return { metric: "cosine", ...split(all, dimension, queryCount) };
}

function uniform(n, dimension, queryCount) {
  const random = seeded(7);
  const all = Float32Array.from({ length: (n + queryCount) * dimension }, random);
  return { metric: "euclidean", ...split(all, dimension, queryCount) };
}

/** Clusters whose sizes fall off as 1 / rank, and whose spreads and inner dimensions differ. */
function skewed(n, dimension, queryCount) {
  const random = seeded(8);
  const gauss = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  const clusters = Array.from({ length: 300 }, () => ({
    centre: Float32Array.from({ length: dimension }, () => 2 * gauss()),
    spreads: Float32Array.from({ length: dimension }, () => (random() < 0.3 ? 2 * random() : 0.05)),
  }));
  const all = new Float32Array((n + queryCount) * dimension);
  for (let row = 0; row < n + queryCount; row++) {
    const { centre, spreads } = clusters[Math.floor(clusters.length ** random()) - 1];
    for (let i = 0; i < dimension; i++) all[row * dimension + i] = centre[i] + spreads[i] * gauss();
  }
  return { metric: "euclidean", ...split(all, dimension, queryCount) };
}

/** Each row 20 times, nearly equal, and queries like the rows before they were repeated. */
function repeated(n, dimension, queryCount) {
  const times = 20;
  const random = seeded(9);
  const { base, queries, metric } = skewed(n / times, dimension, queryCount);
  const all = new Float32Array(n * dimension);
  for (let i = 0; i < all.length; i++) all[i] = base[i % base.length] + 0.01 * (random() - 0.5);
  return { dimension, metric, base: all, queries };
}

function split(all, dimension, queryCount) {
  const from = all.length - queryCount * dimension;
  return { dimension, base: all.subarray(0, from), queries: all.subarray(from) };
}

export const shares = [0.5, 0.25, 0.1, 0.05, 0.01, 0.001];

/** Per filter its name and the rows that match, as bytes 0 or 1: spread evenly, and bound to cells of space. */
export function filtersOf({ base, dimension, metric }) {
  const n = base.length / dimension;
  const random = seeded(3);
  const pivots = Float32Array.from({ length: cellCount }, () => Math.floor(random() * n));
  const points = Float32Array.from({ length: cellCount * dimension }, (_, i) => {
    const row = pivots[Math.floor(i / dimension)];
    return base[row * dimension + (i % dimension)];
  });
  const cells = Array.from({ length: cellCount }, () => []);
  const cellOf = new Uint8Array(n);
  const nearest = new Float32Array(n).fill(Infinity);
  forEachTile({ base, dimension, metric }, points, (cell, first, squares) =>
    squares.forEach((square, i) => {
      if (square >= nearest[first + i]) return;
      nearest[first + i] = square;
      cellOf[first + i] = cell;
    }),
  );
  cellOf.forEach((cell, row) => cells[cell].push({ row, distance: nearest[row] }));
  const byCell = cells.flatMap((rows) => rows.sort((a, b) => a.distance - b.distance).map(({ row }) => row));
  return shares.flatMap((share) => {
    const wanted = Math.max(1, Math.round(share * n));
    const bound = new Uint8Array(n);
    for (const row of byCell.slice(0, wanted)) bound[row] = 1;
    const even = Uint8Array.from({ length: n }, () => (random() < share ? 1 : 0));
    return [
      { name: `${share * 100} % even`, rows: even },
      { name: `${share * 100} % bound`, rows: bound },
    ];
  });
}

/** Per query the numbers of all rows, nearest first, and the squared distance of each row. */
export function rankedRows(data) {
  const { base, queries, dimension } = data;
  const n = base.length / dimension;
  const count = queries.length / dimension;
  const distances = Array.from({ length: count }, () => new Float32Array(n));
  forEachTile(data, queries, (query, first, squares) => distances[query].set(squares, first));
  return distances.map((squares) => ({
    squares,
    rows: Uint32Array.from({ length: n }, (_, row) => row).sort((a, b) => squares[a] - squares[b]),
  }));
}
