/** Data sets, filters and exact answers to measure recall with. */

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import type { Metric } from "sealdex/core";
import { seededRandom } from "../../src/engine/random.js";
import { clustered, gaussian } from "../engine/data.js";
import { dot, rowsOf, squaredL2 } from "../engine/oracle.js";

export interface RecallSet {
  readonly metric: Metric;
  readonly rows: readonly Float32Array[];
  readonly queries: readonly Float32Array[];
}

/** `uniform`, `clustered` and `skewed` have n rows of their own; others are read from the folder that SEALDEX_BENCH_DATA names. */
export function loadSet(name: string, n: number, queryCount: number): RecallSet {
  const folder = process.env.SEALDEX_BENCH_DATA ?? "";
  if (name === "uniform") return split("euclidean", rowsOf(uniform(n + queryCount, 12), 12), queryCount);
  if (name === "clustered")
    return split("cosine", rowsOf(clustered(n + queryCount, 32, 60, 5), 32), queryCount);
  if (name === "skewed") return split("euclidean", rowsOf(skewed(n + queryCount, 24), 24), queryCount);
  if (name === "flat") return split("euclidean", rowsOf(flat(n + queryCount, 64), 64), queryCount);
  if (name === "clip") {
    return split("cosine", directed(floats(join(folder, "clip-met-1500x512/vectors.f32")), 512), queryCount);
  }
  if (name === "text") {
    const [rows, queries] = ["docs", "queries"].map((file) =>
      directed(floats(join(folder, `ir-lsa256/${file}.f32`)), 256),
    );
    return { metric: "cosine", rows, queries: queries.slice(0, queryCount) };
  }
  const [rows, queries] = ["train", "test"].map((file) =>
    Float32Array.from(gunzipSync(readFileSync(join(folder, `mnist-784/${file}.u8.gz`)))),
  );
  return { metric: "euclidean", rows: rowsOf(rows, 784), queries: rowsOf(queries, 784).slice(0, queryCount) };
}

/** The sets on disk, as far as they are there. */
export function setsOnDisk(): string[] {
  const folder = process.env.SEALDEX_BENCH_DATA;
  if (folder === undefined) return [];
  const folders = { mnist: "mnist-784", text: "ir-lsa256", clip: "clip-met-1500x512" };
  return Object.entries(folders).flatMap(([name, path]) => (existsSync(join(folder, path)) ? [name] : []));
}

function floats(path: string): Float32Array {
  const bytes = readFileSync(path);
  return new Float32Array(new Uint8Array(bytes).buffer);
}

function uniform(n: number, d: number): Float32Array {
  return Float32Array.from({ length: n * d }, seededRandom(7));
}

/** Clusters whose sizes fall off as 1 / rank, and whose spreads differ by component. */
function skewed(n: number, d: number): Float32Array {
  const random = seededRandom(8);
  const clusters = Array.from({ length: 200 }, () => ({
    centre: Array.from({ length: d }, () => 2 * gaussian(random)),
    spreads: Array.from({ length: d }, () => (random() < 0.3 ? 2 * random() : 0.05)),
  }));
  const vectors = new Float32Array(n * d);
  for (let row = 0; row < n; row++) {
    const { centre, spreads } = clusters[Math.floor(clusters.length ** random()) - 1];
    for (let i = 0; i < d; i++) vectors[row * d + i] = centre[i] + spreads[i] * gaussian(random);
  }
  return vectors;
}

/** Few directions of many, as texts and images lie in. */
function flat(n: number, d: number): Float32Array {
  const random = seededRandom(9);
  const axes = Array.from({ length: 8 }, () => Array.from({ length: d }, () => gaussian(random)));
  const vectors = new Float32Array(n * d);
  for (let row = 0; row < n; row++) {
    const along = axes.map(() => random());
    for (let i = 0; i < d; i++) {
      const sum = axes.reduce((value, axis, j) => value + along[j] * axis[i], 0);
      vectors[row * d + i] = sum + 0.02 * gaussian(random);
    }
  }
  return vectors;
}

/** The vectors that have a direction: under cosine one of zeros, that of a text without a known word, is equally far from everything. */
function directed(vectors: Float32Array, d: number): Float32Array[] {
  return rowsOf(vectors, d).filter((row) => row.some((x) => x !== 0));
}

function split(metric: Metric, all: readonly Float32Array[], queryCount: number): RecallSet {
  return { metric, rows: all.slice(0, -queryCount), queries: all.slice(-queryCount) };
}

export interface Filter {
  readonly name: string;
  /** Per row. */
  readonly accepts: readonly boolean[];
}

/** No filter, and filters that accept a share of the rows: spread evenly, or whole cells of space, with a part of the last one. */
export function filtersOf({ rows }: RecallSet): Filter[] {
  const random = seededRandom(3);
  const pivots = Array.from({ length: 60 }, () => rows[Math.floor(random() * rows.length)]);
  const places = rows.map((row, number) => {
    const distances = pivots.map((pivot) => squaredL2(row, pivot));
    const distance = Math.min(...distances);
    return { number, cell: distances.indexOf(distance), distance };
  });
  places.sort((a, b) => a.cell - b.cell || a.distance - b.distance);
  const filters = [0.5, 0.25, 0.1, 0.05, 0.01, 0.001].flatMap((share) => {
    const bound = new Set(places.slice(0, Math.ceil(share * rows.length)).map(({ number }) => number));
    return [
      { name: `${100 * share} % spread evenly`, accepts: rows.map(() => random() < share) },
      { name: `${100 * share} % bound to clusters`, accepts: rows.map((_, row) => bound.has(row)) },
    ];
  });
  return [{ name: "all rows", accepts: rows.map(() => true) }, ...filters];
}

/** Squared distances of a query from all rows, under cosine those of the directions. */
export function squaresTo({ metric, rows }: RecallSet, query: Float32Array): Float64Array {
  const squares = new Float64Array(rows.length);
  const length = Math.sqrt(dot(query, query));
  for (const [number, row] of rows.entries()) {
    squares[number] =
      metric === "cosine"
        ? 2 - (2 * dot(row, query)) / (length * Math.sqrt(dot(row, row)))
        : squaredL2(query, row);
  }
  return squares;
}

/** At most `count` of the values, ascending: a sort of all of them for each query would take most of the time. */
export function smallest(
  values: Float64Array,
  isThere: (row: number) => boolean,
  count: number,
): Float64Array {
  const kept = new Float64Array(count);
  let size = 0;
  for (let row = 0; row < values.length; row++) {
    const value = values[row];
    if ((size === count && value >= kept[size - 1]) || !isThere(row)) continue;
    if (size < count) size++;
    let place = size - 1;
    for (; place > 0 && kept[place - 1] > value; place--) kept[place] = kept[place - 1];
    kept[place] = value;
  }
  return kept.subarray(0, size);
}
