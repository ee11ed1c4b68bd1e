// Libraries that a Node user would pick instead, each with the settings that trade recall for speed. One thread each.

import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { folderBytes, rowsOf } from "./rows.mjs";

export async function openHnswlib(data) {
  return hnswlib(data, (await import("hnswlib-node")).default);
}

/** The same, from the folder that SEALDEX_BENCH_HNSWLIB names: compiled for this very processor (README.md). */
export function openNativeHnswlib(data) {
  const from = createRequire(join(process.env.SEALDEX_BENCH_HNSWLIB, "package.json"));
  return hnswlib(data, from("hnswlib-node"));
}

function hnswlib(data, { HierarchicalNSW }) {
  const index = new HierarchicalNSW(data.metric === "cosine" ? "cosine" : "l2", data.dimension);
  const n = data.base.length / data.dimension;
  let ef = 0;
  return {
    async build() {
      index.initIndex(n, 16, 200, 42);
      rowsOf(data, 0, n).forEach((row, i) => index.addPoint(Array.from(row), i));
    },
    settings: (k) => [1, 1.5, 2, 3, 4, 6, 8, 16, 32].map((times) => ({ efSearch: times * k })),
    query(vector, { efSearch }, k) {
      if (ef !== efSearch) index.setEf((ef = efSearch));
      return index.searchKnn(Array.from(vector), k).neighbors;
    },
    diskBytes: () => 0,
    async close() {},
  };
}

export async function openUsearch(data) {
  const { Index, MetricKind, ScalarKind } = (await import("usearch")).default;
  const metric = data.metric === "cosine" ? MetricKind.Cos : MetricKind.L2sq;
  const n = data.base.length / data.dimension;
  const make = (expansionSearch) =>
    new Index(data.dimension, metric, ScalarKind.F32, 16, 200, expansionSearch, false);
  const expansions = [16, 32, 64, 128, 256, 512];
  const built = new Map(expansions.map((expansion) => [expansion, make(expansion)]));
  const [first] = built.values();
  return {
    async build() {
      rowsOf(data, 0, n).forEach((row, i) => first.add(BigInt(i), row));
    },
    // The expansion of a search is fixed when an index is made: the others are copies.
    warm() {
      const path = mkdtempSync(join(tmpdir(), "usearch-bench-"));
      first.save(join(path, "index"));
      for (const index of built.values()) if (index !== first) index.load(join(path, "index"));
      rmSync(path, { recursive: true });
    },
    settings: (k) => expansions.filter((expansion) => expansion >= k).map((expansion) => ({ expansion })),
    query: (vector, { expansion }, k) => Array.from(built.get(expansion).search(vector, k, 1).keys, Number),
    diskBytes: () => 0,
    async close() {},
  };
}

export async function openZvec(data) {
  const { default: zvec } = await import("@zvec/zvec");
  const path = mkdtempSync(join(tmpdir(), "zvec-bench-"));
  const n = data.base.length / data.dimension;
  const indexType = zvec.ZVecIndexType.HNSW;
  const metricType = zvec.ZVecMetricType[data.metric === "cosine" ? "COSINE" : "L2"];
  const indexParams = { indexType, metricType, m: 16, efConstruction: 200 };
  const dataType = zvec.ZVecDataType.VECTOR_FP32;
  const vectors = { name: "vector", dataType, dimension: data.dimension, indexParams };
  zvec.ZVecInitialize({ queryThreads: 1, logLevel: zvec.ZVecLogLevel.ERROR });
  let collection;
  return {
    async build() {
      const schema = new zvec.ZVecCollectionSchema({ name: "bench", vectors });
      collection = zvec.ZVecCreateAndOpen(join(path, "bench"), schema);
      for (let start = 0; start < n; start += 1000) {
        const rows = rowsOf(data, start, Math.min(n, start + 1000));
        collection.insertSync(rows.map((vector, i) => ({ id: String(start + i), vectors: { vector } })));
      }
      collection.optimizeSync({ concurrency: availableParallelism() });
    },
    settings: (k) => [1, 1.5, 2, 3, 4, 6, 8, 16].map((times) => ({ ef: times * k })),
    query(vector, { ef }, topk) {
      const params = { indexType, ef };
      const request = { fieldName: "vector", vector, topk, outputFields: [], params };
      return collection.querySync(request).map(({ id }) => Number(id));
    },
    diskBytes: () => folderBytes(path),
    async close() {
      collection.closeSync();
      rmSync(path, { recursive: true });
    },
  };
}

export async function openLance(data) {
  const { connect, Index } = await import("@lancedb/lancedb");
  const path = mkdtempSync(join(tmpdir(), "lance-bench-"));
  const n = data.base.length / data.dimension;
  let table;
  return {
    async build() {
      const database = await connect(path);
      table = await database.createTable("t", [{ row: 0, vector: Array.from(rowsOf(data, 0, 1)[0]) }]);
      for (let start = 1; start < n; start += 5000) {
        const rows = rowsOf(data, start, Math.min(n, start + 5000));
        await table.add(rows.map((vector, i) => ({ row: start + i, vector: Array.from(vector) })));
      }
      const distanceType = data.metric === "cosine" ? "cosine" : "l2";
      const numPartitions = Math.round(Math.sqrt(n));
      await table.createIndex("vector", { config: Index.ivfPq({ distanceType, numPartitions }) });
    },
    settings: () => [8, 16, 32, 64].map((nprobes) => ({ nprobes })),
    async query(vector, { nprobes }, k) {
      const found = await table
        .vectorSearch(Array.from(vector))
        .nprobes(nprobes)
        .refineFactor(10)
        .limit(k)
        .toArray();
      return found.map(({ row }) => Number(row));
    },
    diskBytes: () => folderBytes(path),
    async close() {
      rmSync(path, { recursive: true });
    },
  };
}

export async function openSqlite(data) {
  const { default: Database } = await import("better-sqlite3");
  const extension = await import("sqlite-vec");
  const database = new Database(":memory:");
  extension.load(database);
  const metric = data.metric === "cosine" ? " distance_metric=cosine" : "";
  database.exec(`create virtual table t using vec0(v float[${data.dimension}]${metric})`);
  const n = data.base.length / data.dimension;
  const blob = (vector) => Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength);
  const select = () => database.prepare("select rowid from t where v match ? order by distance limit ?");
  let prepared;
  return {
    async build() {
      const insert = database.prepare("insert into t(rowid, v) values (?, ?)");
      database.transaction(() => rowsOf(data, 0, n).forEach((row, i) => insert.run(BigInt(i), blob(row))))();
      prepared = select();
    },
    settings: () => [{}],
    query: (vector, _, k) => prepared.all(blob(vector), k).map(({ rowid }) => rowid),
    diskBytes: () => 0,
    async close() {
      database.close();
    },
  };
}

export async function openMemoryVectorStore(data) {
  const { MemoryVectorStore } = await import("@langchain/classic/vectorstores/memory");
  const { FakeEmbeddings } = await import("@langchain/core/utils/testing");
  const store = new MemoryVectorStore(new FakeEmbeddings());
  const n = data.base.length / data.dimension;
  return {
    async build() {
      const documents = Array.from({ length: n }, (_, i) => ({ pageContent: "", metadata: { i } }));
      await store.addVectors(
        rowsOf(data, 0, n).map((row) => Array.from(row)),
        documents,
      );
    },
    settings: () => [{}],
    async query(vector, _, k) {
      const found = await store.similaritySearchVectorWithScore(Array.from(vector), k);
      return found.map(([{ metadata }]) => metadata.i);
    },
    diskBytes: () => 0,
    async close() {},
  };
}
