// Data sets of the search benchmark: base vectors, queries, and the exact ten nearest of each query.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { cached } from "./cache.mjs";
import { exactNeighbours, neighbours } from "./exact.mjs";

export { neighbours };

/**
 * `synthetic-N`: N x 384 seeded vectors in clusters of uneven size. `sentences` (embeddings by MiniLM, with queries of another kind
 * than the rows), `mnist` and `text`: read from the folder that SEALDEX_BENCH_DATA names, if present.
 */
export function loadDataset(name) {
  const folder = process.env.SEALDEX_BENCH_DATA;
  if (name.startsWith("synthetic-")) return synthetic(Number(name.slice("synthetic-".length)), 384, 200);
  if (folder === undefined) throw new Error(`${name}: set SEALDEX_BENCH_DATA to the folder that holds it`);
  if (name === "mnist") return mnist(join(folder, "mnist-784"));
  if (name === "text") return text(join(folder, "ir-lsa256"));
  if (name === "sentences") return sentences(join(folder, "summaries-minilm-384"));
  throw new Error(`unknown data set ${name}: expected synthetic-N, sentences, mnist or text`);
}

/** Names of the data sets that can be loaded here, by default. */
export function availableDatasets() {
  const folder = process.env.SEALDEX_BENCH_DATA;
  const present = (path) => folder !== undefined && existsSync(join(folder, path));
  const real = [
    present("summaries-minilm-384") && "sentences",
    present("ir-lsa256") && "text",
    present("mnist-784") && "mnist",
  ];
  return [...real.filter(Boolean), "synthetic-10000", "synthetic-100000"];
}

function mnist(folder) {
  const dimension = 784;
  const base = Float32Array.from(gunzipSync(readFileSync(join(folder, "train.u8.gz"))));
  const queries = Float32Array.from(
    gunzipSync(readFileSync(join(folder, "test.u8.gz"))).subarray(0, 1000 * dimension),
  );
  return withTruth(
    { dimension, metric: "euclidean", base, queries },
    join(folder, "gt100_first1000.i32"),
    100,
  );
}

function text(folder) {
  const floats = (name) => view(readFileSync(join(folder, name)), Float32Array);
  const data = { dimension: 256, metric: "cosine", base: floats("docs.f32"), queries: floats("queries.f32") };
  return withTruth(data, join(folder, "gt100.i32"), 100);
}

function sentences(folder) {
  const read = (name) => float16(readFileSync(join(folder, name)));
  const data = { dimension: 384, metric: "cosine", base: read("base.f16"), queries: read("queries.f16") };
  return withTruth(data, join(folder, "gt100.i32"), 100);
}

/** Float16Array is there from Node.js 24 on. */
function float16(bytes) {
  return Float32Array.from(view(bytes, Uint16Array), (bits) => {
    const exponent = (bits >> 10) & 31;
    const fraction = (bits & 1023) / 1024;
    const size = exponent === 0 ? fraction * 2 ** -14 : (1 + fraction) * 2 ** (exponent - 15);
    return bits >> 15 ? -size : size;
  });
}

function withTruth(data, file, kept) {
  const all = view(readFileSync(file), Int32Array);
  const count = data.queries.length / data.dimension;
  const truth = Array.from({ length: count }, (_, i) => all.subarray(i * kept, i * kept + neighbours));
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
  const [nearest] = cached(`${n}x${dimension}-nearest`, () => [exactNeighbours(base, queries, dimension)]);
  const truth = Array.from({ length: queryCount }, (_, i) =>
    nearest.subarray(i * neighbours, (i + 1) * neighbours),
  );
  return { dimension, metric: "cosine", base, queries, truth };
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
