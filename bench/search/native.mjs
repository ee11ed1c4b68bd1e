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
  for (const name of ["base", "queries"]) writeFileSync(join(folder, `${name}.f32`), comparable(data[name]));
  writeFileSync(join(folder, "nearest.i32"), Int32Array.from(data.truth.flatMap((rows) => [...rows])));
  const args = [program, engine, folder, String(data.dimension)];
  execFileSync(process.env.SEALDEX_BENCH_PYTHON, args, { stdio: ["ignore", "inherit", "inherit"] });
} finally {
  rmSync(folder, { recursive: true });
}

/** Vectors whose Euclidean distances order rows as the metric of the data set does. */
function comparable(vectors) {
  if (data.metric !== "cosine") return vectors;
  const unit = Float32Array.from(vectors);
  for (let start = 0; start < unit.length; start += data.dimension) {
    const row = unit.subarray(start, start + data.dimension);
    const norm = Math.sqrt(row.reduce((sum, value) => sum + value * value, 0));
    if (norm > 0) row.forEach((value, i) => (row[i] = value / norm));
  }
  return unit;
}
