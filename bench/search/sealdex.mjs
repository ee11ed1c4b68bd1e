// Sealdex as a user has it: encrypted, durable on local disk, strong reads.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient, generateKey } from "sealdex/core";
import { folderBytes, rowsOf } from "./rows.mjs";

const rowsTogether = 5000;

/** As many lists as `train()` chooses, or SEALDEX_BENCH_LISTS times the square root of n. */
function trainOptions(n) {
  const { SEALDEX_BENCH_LISTS: lists } = process.env;
  return lists === undefined ? {} : { nLists: Math.max(1, Math.round(Number(lists) * Math.sqrt(n))) };
}

export async function openSealdex(data, indexConfigOf) {
  const path = mkdtempSync(join(tmpdir(), "sealdex-bench-"));
  const indexLocation = { location: "local", path };
  const client = createClient({ indexLocation, cacheBytesMax: 4e9, automaticTraining: false });
  const indexConfig = indexConfigOf(data.dimension);
  const options = { indexName: "bench", indexKey: generateKey(), metric: data.metric, indexConfig };
  const index = await client.createIndex(options);
  const n = data.base.length / data.dimension;
  return {
    async build() {
      for (let start = 0; start < n; start += rowsTogether) {
        const rows = rowsOf(data, start, Math.min(n, start + rowsTogether));
        await index.upsert(rows.map((vector, i) => ({ id: String(start + i), vector })));
      }
      await index.train(trainOptions(n));
      if (process.env.SEALDEX_BENCH_COMPACT) await index.compact();
    },
    settings: () => [
      ...["automatic", 1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 128, 256, "all"].map((probes) => ({ probes })),
      ...[0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999].map((recall) => ({
        declared: `declared ${recall}`,
        recall,
      })),
    ],
    // As of the other engines: all is in memory before anything is asked.
    warm: () => index.prefetch(),
    async query(queryVector, { probes, recall }, topK) {
      const nProbes = { automatic: 0, all: Number.MAX_SAFE_INTEGER }[probes] ?? probes;
      const probing = recall === undefined ? { nProbes } : { recall };
      const matches = await index.query({ queryVector, topK, ...probing });
      return matches.map(({ id }) => Number(id));
    },
    diskBytes: () => folderBytes(path),
    async close() {
      await client.close();
      rmSync(path, { recursive: true });
    },
  };
}
