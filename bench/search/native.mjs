// Measures a native library through Python, as measure.mjs measures the libraries of Node. node native.mjs ENGINE DATASET K …

import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { loadDataset } from "./datasets.mjs";
import { directions } from "./directions.mjs";

const [engine, dataset, ...counts] = process.argv.slice(2);
const program = fileURLToPath(new URL("native.py", import.meta.url));
const data = loadDataset(dataset);
const folder = mkdtempSync(join(tmpdir(), "sealdex-bench-native-"));
try {
  const { base, queries, truth } = data.metric === "cosine" ? ofUnitLength(data) : data;
  writeFileSync(join(folder, "base.f32"), base);
  writeFileSync(join(folder, "queries.f32"), queries);
  writeFileSync(join(folder, "nearest.i32"), Int32Array.from(truth.flatMap((rows) => Array.from(rows))));
  const args = [program, engine, folder, String(data.dimension), ...counts];
  execFileSync(process.env.SEALDEX_BENCH_PYTHON, args, { stdio: ["ignore", "inherit", "inherit"] });
} finally {
  rmSync(folder, { recursive: true });
}

/**
 * The same rows with Euclidean distances that order them as cosine does. Rows of zeros are left out: they have no direction, and would
 * be nearer to all queries than most rows are.
 */
function ofUnitLength({ base, queries, truth, dimension }) {
  const kept = Array.from({ length: base.length / dimension }, (_, i) => i).filter((i) =>
    row(base, i, dimension).some((value) => value !== 0),
  );
  const places = new Map(kept.map((before, place) => [before, place]));
  const left = new Float32Array(kept.length * dimension);
  kept.forEach((before, place) => left.set(row(base, before, dimension), place * dimension));
  return {
    base: directions(left, dimension),
    queries: directions(queries, dimension),
    truth: truth.map((rows) => Array.from(rows, (nearest) => places.get(nearest) ?? -1)),
  };
}

function row(vectors, i, dimension) {
  return vectors.subarray(i * dimension, (i + 1) * dimension);
}
