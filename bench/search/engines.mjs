// What is compared: each engine builds an index of a data set and then answers queries at several settings.
//
// An engine's `open(data)` gives { build(): Promise, settings(k): [...], query(vector, setting, k): row numbers or a
// promise of them, diskBytes(), close() }. Row numbers are positions in the base vectors.

import {
  openHnswlib,
  openLance,
  openMemoryVectorStore,
  openNativeHnswlib,
  openSqlite,
  openUsearch,
  openZvec,
} from "./peers.mjs";
import { openSealdex } from "./sealdex.mjs";

const rebuilt = process.env.SEALDEX_BENCH_HNSWLIB !== undefined;
const flat = () => ({ type: "ivfflat" });

export const engines = {
  sealdex: (data) => openSealdex(data, flat),
  "sealdex ivf": (data) => openSealdex(data, () => ({ type: "ivf" })),
  // A quarter of the components as sub-vectors of 8 bits; of 4 bits, half.
  "sealdex ivfpq": (data) => openSealdex(data, (d) => ({ type: "ivfpq", pqDim: d / 4, pqBits: 8 })),
  "sealdex ivfpq, 4 bits": (data) => openSealdex(data, (d) => ({ type: "ivfpq", pqDim: d / 2, pqBits: 4 })),
  "hnswlib-node": openHnswlib,
  ...(rebuilt && { "hnswlib-node, native": openNativeHnswlib }),
  usearch: openUsearch,
  zvec: openZvec,
  lancedb: openLance,
  "sqlite-vec": openSqlite,
  MemoryVectorStore: openMemoryVectorStore,
};

/** Native libraries, measured by native.py with the Python that SEALDEX_BENCH_PYTHON names (README.md). */
export const nativeEngines = [
  "rabitqlib IVF",
  "rabitqlib SymphonyQG",
  "ScaNN",
  "FAISS IVF, PQfs",
  "FAISS IVF, RaBitQfs",
  "FAISS HNSW",
];

/** Packages whose versions are printed. */
export const packages = [
  "hnswlib-node",
  "usearch",
  "@zvec/zvec",
  "@lancedb/lancedb",
  "sqlite-vec",
  "better-sqlite3",
  "@langchain/classic",
];
