// Data sets, filters and exact answers of the recall benchmark.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { kernels } from "../../dist/esm/engine/kernels/kernels.js";
import { allocate, floatsAt, free } from "../../dist/esm/engine/kernels/memory.js";
import { loadDataset, seeded, syntheticVectors } from "./datasets.mjs";

/** Cells of space that filters bound to clusters are made of. */
const cellCount = 200;
const rowsTogether = 4096;

/** Names of the data sets that can be measured here. */
export function recallDatasets() {
  const folder = process.env.SEALDEX_BENCH_DATA;
  const present = (path) => folder !== undefined && existsSync(join(folder, path));
  const real = [
    present("summaries-minilm-384") && "sentences",
    present("mnist-784") && "mnist",
    present("ir-lsa256") && "text",
    present("clip-met-1500x512") && "clip",
  ];
  return [...real.filter(Boolean), "clustered", "uniform", "skewed", "repeated"];
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

/** Under cosine, a vector of zeros is equally far from everything: no row is its neighbour. */
function withoutZeros({ base, queries, ...data }) {
  return { ...data, base: directed(base, data.dimension), queries: directed(queries, data.dimension) };
}

function directed(vectors, dimension) {
  const out = new Float32Array(vectors.length);
  let at = 0;
  for (let from = 0; from < vectors.length; from += dimension) {
    const vector = vectors.subarray(from, from + dimension);
    if (vector.every((x) => x === 0)) continue;
    out.set(vector, at);
    at += dimension;
  }
  return out.subarray(0, at);
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
  forEachRow({ base, dimension, metric }, points, (row, distances) => {
    let nearest = 0;
    for (let cell = 1; cell < cellCount; cell++) if (distances(cell) < distances(nearest)) nearest = cell;
    cells[nearest].push({ row, distance: distances(nearest) });
  });
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
  forEachRow(data, queries, (row, of) => {
    for (let query = 0; query < count; query++) distances[query][row] = of(query);
  });
  return distances.map((squares) => ({
    squares,
    rows: Uint32Array.from({ length: n }, (_, row) => row).sort((a, b) => squares[a] - squares[b]),
  }));
}

/** Calls `visit` with each row and a function that returns its squared distance from a point, of directions for cosine. */
function forEachRow({ base, dimension, metric }, points, visit) {
  const n = base.length / dimension;
  const count = points.length / dimension;
  const asked = allocate(4 * points.length);
  const rowsAt = allocate(4 * rowsTogether * dimension);
  const out = allocate(4 * rowsTogether * count);
  const direct = (vectors) => (metric === "cosine" ? directions(vectors, dimension) : vectors);
  floatsAt(asked, points.length).set(direct(points));
  for (let first = 0; first < n; first += rowsTogether) {
    const size = Math.min(rowsTogether, n - first);
    const rows = direct(base.subarray(first * dimension, (first + size) * dimension));
    floatsAt(rowsAt, rows.length).set(rows);
    kernels().squaredL2Tile(asked, count, rowsAt, size, dimension, out, rowsTogether);
    const found = floatsAt(out, rowsTogether * count);
    for (let i = 0; i < size; i++) {
      visit(first + i, (point) => found[point * rowsTogether + i]);
    }
  }
  for (const at of [asked, rowsAt, out]) free(at);
}

function directions(vectors, dimension) {
  const out = new Float32Array(vectors.length);
  for (let from = 0; from < vectors.length; from += dimension) {
    let square = 0;
    for (let i = from; i < from + dimension; i++) square += vectors[i] ** 2;
    const norm = Math.sqrt(square) || 1;
    for (let i = from; i < from + dimension; i++) out[i] = vectors[i] / norm;
  }
  return out;
}
