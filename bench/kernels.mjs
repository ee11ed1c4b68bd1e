// npm run bench -- kernels
//
// The kernels, one thread, beside what the machine's memory gives: the best of many short passes over data that lies in the
// cache, or that is too large for it. The best and not the median, since bandwidth is what nothing else was using. Prints
// Markdown.

import { cpus } from "node:os";
import { allocate, bytesAt, floatsAt, free } from "../dist/esm/engine/kernels/memory.js";
import { kernels } from "../dist/esm/engine/kernels/kernels.js";

const dimension = 384;
const seconds = 1;
const secondsOfPass = 0.004;
const cacheBytes = 256 * 2 ** 10;
const memoryBytes = 128 * 2 ** 20;

const taken = [];
const { assignNearest, dotBlock, fastScan, fastScanSmall, halfSquares, squaredL2Block } = kernels();
const query = filled(dimension);
const groups = dimension / 4;
const table = take(groups * 16);
bytesAt(table, groups * 16).forEach((_, i, all) => (all[i] = (i * 7) % 32));

console.log(`Node ${process.version}, ${cpus()[0].model}, d = ${dimension}, one thread\n`);
console.log("| kernel | cache | memory | unit |");
console.log("|---|---:|---:|---|");
row("memory, copied (bytes read + written)", "GB/s", (bytes) => {
  const source = Buffer.alloc(bytes / 2, 1);
  const target = Buffer.alloc(bytes / 2, 2);
  return { work: bytes, run: () => target.set(source) };
});
row("memory, read (products of 2,048 float32 by WebAssembly)", "GB/s", (bytes) => {
  const n = Math.floor(bytes / 8192);
  const vectors = filled(n * 2048);
  const one = filled(2048);
  const out = take(4 * n);
  return { work: n * 8192, run: () => dotBlock(one, vectors, n, 2048, out) };
});
for (const [name, kernel] of Object.entries({ dotBlock, squaredL2Block })) {
  row(`${name}, float32`, "GB/s", (bytes) => {
    const n = Math.floor(bytes / (4 * dimension));
    const vectors = filled(n * dimension);
    const out = take(4 * n);
    return { work: n * 4 * dimension, run: () => kernel(query, vectors, n, dimension, out) };
  });
}
for (const [name, kernel] of Object.entries({ fastScan, fastScanSmall })) {
  row(
    `${name}, codes of 1 bit a dimension`,
    "GB/s",
    scanOf(kernel, (blocks) => blocks * groups * 16),
  );
  row(
    `${name}, rows`,
    "G rows/s",
    scanOf(kernel, (blocks) => blocks * 32),
  );
}
row("assignNearest, 128 centroids in the cache, vectors", "GFLOP/s", (bytes) => {
  const [n, k] = [Math.floor(bytes / (4 * dimension)), 128];
  const [vectors, centroids] = [filled(n * dimension), filled(k * dimension)];
  const [norms, lists, distances] = [take(4 * k), take(4 * n), take(4 * n)];
  halfSquares(centroids, k, dimension, norms);
  const run = () => assignNearest(vectors, n, dimension, centroids, k, norms, lists, distances);
  return { work: 2 * n * k * dimension, run };
});

function scanOf(kernel, workOf) {
  return (bytes) => {
    const blocks = Math.floor(bytes / (groups * 16));
    const codes = take(blocks * groups * 16);
    bytesAt(codes, blocks * groups * 16).fill(0x5a);
    const sums = take(128 * blocks);
    return { work: workOf(blocks), run: () => kernel(codes, table, blocks, groups, sums) };
  };
}

function row(name, unit, make) {
  const kept = taken.length;
  const rates = [cacheBytes, memoryBytes].map((bytes) => {
    const rate = measure(make(bytes));
    for (const offset of taken.splice(kept)) free(offset);
    return rate.toFixed(unit.startsWith("G rows") ? 3 : 1);
  });
  console.log(`| ${name} | ${rates.join(" | ")} | ${unit} |`);
}

/** Billions of units of work a second, the best of passes of at least `secondsOfPass`. */
function measure({ work, run }) {
  run();
  const once = performance.now();
  run();
  const repeats = Math.ceil((secondsOfPass * 1000) / Math.max(0.001, performance.now() - once));
  const rates = [];
  for (const end = performance.now() + seconds * 1000; performance.now() < end;) {
    const started = performance.now();
    for (let i = 0; i < repeats; i++) run();
    rates.push((work * repeats) / ((performance.now() - started) * 1e6));
  }
  return Math.max(...rates);
}

function take(bytes) {
  const offset = allocate(bytes);
  taken.push(offset);
  return offset;
}

/** Float32 values around 0 that no kernel can guess. */
function filled(count) {
  const offset = take(4 * count);
  const values = floatsAt(offset, count);
  for (let i = 0; i < count; i++) values[i] = ((i * 2654435761) % 1000) / 1000 - 0.5;
  return offset;
}
