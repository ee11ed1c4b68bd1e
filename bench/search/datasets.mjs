// Data sets of the search benchmarks: base vectors, queries, and the exact nearest rows of each query.

import { createHash } from "node:crypto";
import { existsSync, readFileSync, realpathSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { gunzipSync } from "node:zlib";
import { cached } from "./cache.mjs";
import { withoutZeros } from "./directions.mjs";
import { exactNeighbours } from "./exact.mjs";
import { fromFloat16, readVectors } from "./vector-files.mjs";

/** Nearest rows of each query that a data set has: the most that a benchmark asks for. */
const kept = 100;

/** Data sets in the folder that SEALDEX_BENCH_DATA names: their folders there, and what reads them. */
const stored = {
  // Embeddings by MiniLM, with queries of another kind than the rows.
  sentences: { folder: "summaries-minilm-384", read: sentences },
  text: { folder: "ir-lsa256", read: text },
  mnist: { folder: "mnist-784", read: mnist },
};

/** Options of the benchmarks that take any data set. */
export const datasetOptions = {
  "data-set": { type: "string", multiple: true },
  base: { type: "string" },
  queries: { type: "string" },
  metric: { type: "string", default: "cosine" },
};

/** The data sets that the options name: `files`, which are the reader's own vectors, or the named ones, or `otherwise`. */
export function chosenDatasets({ base, queries, metric, ...values }, otherwise) {
  if (base === undefined && queries === undefined) return values["data-set"] ?? otherwise;
  if (base === undefined || queries === undefined) throw new Error("expected both --base and --queries");
  // Engines are measured in processes of their own, which find the files here. npm runs programs in the folder of the package.
  const path = (file) => resolve(process.env.INIT_CWD ?? ".", file);
  process.env.SEALDEX_BENCH_FILES = JSON.stringify({ base: path(base), queries: path(queries), metric });
  return ["files"];
}

/** `files`, `sentences`, `text`, `mnist`, or `synthetic-N`: N x 384 seeded vectors in clusters of uneven size. */
export function loadDataset(name) {
  if (name === "files") return files(JSON.parse(process.env.SEALDEX_BENCH_FILES));
  if (name.startsWith("synthetic-")) return synthetic(Number(name.slice("synthetic-".length)), 384, 200);
  if (!Object.hasOwn(stored, name)) {
    throw new Error(`unknown data set ${name}: expected synthetic-N, ${Object.keys(stored).join(", ")}`);
  }
  const { folder, read } = stored[name];
  if (!isPresent(folder)) throw new Error(`${name}: set SEALDEX_BENCH_DATA to the folder that has ${folder}`);
  return read(join(process.env.SEALDEX_BENCH_DATA, folder));
}

export function isPresent(folder) {
  const { SEALDEX_BENCH_DATA } = process.env;
  return SEALDEX_BENCH_DATA !== undefined && existsSync(join(SEALDEX_BENCH_DATA, folder));
}

/** Names of the stored data sets that are here, real embeddings first. */
export function storedDatasets() {
  return Object.keys(stored).filter((name) => isPresent(stored[name].folder));
}

/** At most `rows` rows of a data set, and `queryCount` queries. `synthetic` vectors have `dimension` numbers. */
export function someOf(name, { rows, dimension, queryCount }) {
  if (name === "synthetic") {
    return { metric: "cosine", dimension, ...syntheticVectors(rows, dimension, queryCount) };
  }
  const { base, queries, ...data } = loadDataset(name);
  const present = queries.length / data.dimension;
  if (present < queryCount) throw new Error(`expected at least ${queryCount} queries, got ${present}`);
  return {
    metric: data.metric,
    dimension: data.dimension,
    base: base.subarray(0, rows * data.dimension),
    queries: queries.subarray(0, queryCount * data.dimension),
  };
}

/** The reader's own vectors. Their nearest rows are computed once, and again if a file changes. */
function files({ base, queries, metric }) {
  if (metric !== "cosine" && metric !== "euclidean") {
    throw new Error(`--metric ${metric}: expected cosine or euclidean`);
  }
  const [rows, asked] = [base, queries].map(readVectors);
  const { dimension } = rows;
  if (asked.dimension !== dimension) {
    throw new Error(`${queries} has ${asked.dimension} numbers in a row, and ${base} has ${dimension}`);
  }
  const vectors = { dimension, metric, base: rows.vectors, queries: asked.vectors };
  const data = metric === "cosine" ? withoutZeros(vectors) : vectors;
  if (data.base.length === 0 || data.queries.length === 0) {
    throw new Error(`${data.base.length === 0 ? base : queries} has zeros only, which have no direction`);
  }
  const versions = [base, queries].map((file) => [
    realpathSync(file),
    statSync(file).size,
    statSync(file).mtimeMs,
  ]);
  const digest = createHash("sha256")
    .update(JSON.stringify([versions, metric]))
    .digest("hex");
  return withNearest(data, `files-${digest.slice(0, 24)}`);
}

function mnist(folder) {
  const dimension = 784;
  const base = Float32Array.from(gunzipSync(readFileSync(join(folder, "train.u8.gz"))));
  const queries = Float32Array.from(
    gunzipSync(readFileSync(join(folder, "test.u8.gz"))).subarray(0, 1000 * dimension),
  );
  return withStored({ dimension, metric: "euclidean", base, queries }, join(folder, "gt100_first1000.i32"));
}

function text(folder) {
  const floats = (name) => view(readFileSync(join(folder, name)), Float32Array);
  const data = { dimension: 256, metric: "cosine", base: floats("docs.f32"), queries: floats("queries.f32") };
  return withStored(data, join(folder, "gt100.i32"));
}

function sentences(folder) {
  const read = (name) => fromFloat16(view(readFileSync(join(folder, name)), Uint16Array));
  const data = { dimension: 384, metric: "cosine", base: read("base.f16"), queries: read("queries.f16") };
  return withStored(data, join(folder, "gt100.i32"));
}

function withStored(data, file) {
  return withTruth(data, view(readFileSync(file), Int32Array));
}

/** From the cache, or computed and put there. */
function withNearest(data, name) {
  const [nearest] = cached(`${name}-nearest`, () => [exactNeighbours(data, kept)]);
  return withTruth(data, nearest);
}

function withTruth(data, nearest) {
  const count = data.queries.length / data.dimension;
  const each = nearest.length / count;
  const truth = Array.from({ length: count }, (_, i) => nearest.subarray(i * each, (i + 1) * each));
  return { ...data, truth };
}

function view(bytes, Type) {
  return new Type(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
}

/** From the cache, or made and put there: a million vectors take half a minute to draw. */
function synthetic(n, dimension, queryCount) {
  const [base, queries] = cached(`${n}x${dimension}`, () => {
    const drawn = syntheticVectors(n, dimension, queryCount);
    return [drawn.base, drawn.queries];
  });
  return withNearest({ dimension, metric: "cosine", base, queries }, `${n}x${dimension}`);
}

/** Clustered vectors of length 1, and the cluster of each of the base. */
export function syntheticVectors(n, dimension, queryCount) {
  const random = seeded(42);
  const clusters = Math.max(20, Math.round(Math.sqrt(n) / 2));
  const gauss = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  const centres = Float32Array.from({ length: clusters * dimension }, gauss);
  const draw = (count) => {
    const vectors = new Float32Array(count * dimension);
    const clusterOf = new Uint32Array(count);
    for (let row = 0; row < count; row++) {
      // Squared: some clusters are large, most are small.
      const centre = Math.floor(random() ** 2 * clusters);
      clusterOf[row] = centre;
      let norm = 0;
      for (let i = 0; i < dimension; i++) {
        const value = centres[centre * dimension + i] + 0.9 * gauss();
        vectors[row * dimension + i] = value;
        norm += value * value;
      }
      for (let i = 0; i < dimension; i++) vectors[row * dimension + i] /= Math.sqrt(norm);
    }
    return { vectors, clusterOf };
  };
  const { vectors: base, clusterOf } = draw(n);
  return { base, clusterOf, clusters, queries: draw(queryCount).vectors };
}

export function seeded(seed) {
  let state = seed;
  return () => {
    state = (state + 0x9e3779b9) | 0;
    let z = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
    return ((z ^ (z >>> 15)) >>> 0) / 2 ** 32;
  };
}
