// Measures a native library through Python, as measure.mjs measures the libraries of Node. node native.mjs ENGINE DATASET

import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { loadDataset } from "./datasets.mjs";

const [engine, dataset] = process.argv.slice(2);
const program = fileURLToPath(new URL("native.py", import.meta.url));
const data = loadDataset(dataset);
const folder = mkdtempSync(join(tmpdir(), "sealdex-bench-native-"));
try {
  const { base, queries, truth } = data.metric === "cosine" ? ofUnitLength(data) : data;
  writeFileSync(join(folder, "base.f32"), base);
  writeFileSync(join(folder, "queries.f32"), queries);
  writeFileSync(join(folder, "nearest.i32"), Int32Array.from(truth.flatMap((rows) => [...rows])));
  const args = [program, engine, folder, String(data.dimension)];
  execFileSync(process.env.SEALDEX_BENCH_PYTHON, args, { stdio: ["ignore", "inherit", "inherit"] });
} finally {
  rmSync(folder, { recursive: true });
}

/**
 * The same rows with Euclidean distances that order them as cosine does. Rows of zeros are left out: they have no direction, and would
 * be nearer to all queries than most rows are.
 */
function ofUnitLength({ base, queries, truth, dimension }) {
  const lengths = Array.from({ length: base.length / dimension }, (_, i) => norm(row(base, i, dimension)));
  const kept = [...lengths.keys()].filter((i) => lengths[i] > 0);
  const places = new Map(kept.map((before, place) => [before, place]));
  const left = new Float32Array(kept.length * dimension);
  kept.forEach((before, place) => left.set(row(base, before, dimension), place * dimension));
  return {
    base: normalized(left, dimension),
    queries: normalized(queries, dimension),
    truth: truth.map((rows) => Array.from(rows, (nearest) => places.get(nearest) ?? -1)),
  };
}

function normalized(vectors, dimension) {
  const unit = Float32Array.from(vectors);
  for (let i = 0; i < unit.length / dimension; i++) {
    const own = row(unit, i, dimension);
    const length = norm(own);
    if (length > 0) own.forEach((value, k) => (own[k] = value / length));
  }
  return unit;
}

function row(vectors, i, dimension) {
  return vectors.subarray(i * dimension, (i + 1) * dimension);
}

function norm(vector) {
  return Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
}
