/**
 * The WebAssembly SIMD kernels, compiled synchronously at first use (assembly/ has their source).
 *
 * Parameters are byte offsets into the memory of memory.ts, then counts; nothing is checked. Matrices are
 * row-major float32, d from 1 and n from 0; offsets are multiples of 4, of float64 multiples of 8. Arithmetic
 * is IEEE 754: what overflows float32 comes out as Infinity or NaN, without a trap.
 *
 * A row's result depends on the row, the query and d alone, bit for bit, not on n or on where the row lies.
 */

import type { EstimateKernels } from "./estimate-kernels.js";
import { kernelsWasm } from "./kernels.wasm.js";
import { wasmMemory } from "./memory.js";

type BlockKernel = (query: number, vectors: number, n: number, d: number, out: number) => void;

interface Kernels extends EstimateKernels {
  readonly dotBlock: BlockKernel;
  readonly squaredL2Block: BlockKernel;
  readonly dotBlockWide: BlockKernel;
  readonly squaredL2BlockWide: BlockKernel;
  readonly normsWide: (vectors: number, n: number, d: number, out: number) => void;
  readonly fastScan: typeof fastScan;
  readonly fastScanSmall: typeof fastScanSmall;
  readonly offer: typeof offer;
  readonly sortHeap: typeof sortHeap;
  readonly assignNearest: (
    vectors: number,
    n: number,
    d: number,
    centroids: number,
    k: number,
    halfNorms: number,
    lists: number,
    distances: number,
  ) => void;
  /** |queries[i] - vectors[j]|^2 to out[i * stride + j], float32; `queries` has layout (q, d). */
  readonly squaredL2Tile: (
    queries: number,
    q: number,
    vectors: number,
    n: number,
    d: number,
    out: number,
    stride: number,
  ) => void;
  /** Adds columns `from` to `to` of each row to those of its list: `lists` n uint32, `sums` float64 of layout (k, d). */
  readonly addRows: (
    vectors: number,
    n: number,
    d: number,
    lists: number,
    from: number,
    to: number,
    sums: number,
  ) => void;
  /** centroids[list] = sums[list] / sizes[list], where sizes[list] (uint32) is not 0. */
  readonly meanRows: (sums: number, sizes: number, k: number, d: number, centroids: number) => void;
  /** out[i] (n float32) = |vectors[i]|^2 / 2. */
  readonly halfSquares: (vectors: number, n: number, d: number, out: number) => void;
  /** out[i] = vectors[positions[i]] (n uint32). */
  readonly gatherRows: (vectors: number, positions: number, n: number, d: number, out: number) => void;
  readonly rotate: (vectors: number, n: number, d: number, signs: number, span: number) => void;
  /**
   * RaBitQ codes of n rotated rows, layout (n, d), around their rotated centroid (d float32). With m, n rounded up to 32:
   * writes `codes`, m * d / 8 bytes as `fastScan` reads them, and `factors`, float32 of layout (3, m).
   */
  readonly encodeRabitq: (
    rows: number,
    n: number,
    d: number,
    centroid: number,
    codes: number,
    factors: number,
  ) => void;
  /** `rotate`, then `encodeRabitq`. */
  readonly rotateAndEncode: (
    rows: number,
    n: number,
    d: number,
    signs: number,
    span: number,
    centroid: number,
    codes: number,
    factors: number,
  ) => void;
  readonly rotateBack: (vectors: number, n: number, d: number, signs: number, span: number) => void;
  readonly buildTable: typeof buildTable;
  readonly estimateRabitq: typeof estimateRabitq;
  readonly measureQuery: typeof measureQuery;
  readonly rotateQuery: typeof rotateQuery;
  readonly scanFlat: typeof scanFlat;
  /** As `scanFlat` of `count` queries, whose arguments lie at `scans`: four words each. */
  readonly scanFlatEach: (scans: number, count: number) => void;
  readonly probeLists: typeof probeLists;
  readonly searchLists: typeof searchLists;
}

/**
 * One call of a kernel, as data: it can be made on any thread that shares the memory. What the kernel returns is lost, so
 * its results are what it writes.
 */
export interface KernelCall {
  readonly kernel: keyof Kernels;
  readonly args: readonly number[];
  /** Multiply-adds, about: what is small is not worth sending to another thread. Absent: enough. */
  readonly cost?: number;
}

let compiled: WebAssembly.Module | undefined;
let instantiated: Kernels | undefined;

/** The compiled kernels, to be instantiated on `wasmMemory()` as `env.memory`. */
export function kernelModule(): WebAssembly.Module {
  return (compiled ??= new WebAssembly.Module(Buffer.from(kernelsWasm, "base64")));
}

/** The kernels, for the wrappers. */
export function kernels(): Kernels {
  return (instantiated ??= instantiate());
}

function instantiate(): Kernels {
  const { exports } = new WebAssembly.Instance(kernelModule(), { env: { memory: wasmMemory() } });
  return exports as unknown as Kernels;
}

/** Makes the call here and now. */
export function callKernel({ kernel, args }: KernelCall): void {
  (kernels()[kernel] as (...values: readonly number[]) => void)(...args);
}

/** out[i] (n float32) = <query, vectors[i]>. */
export function dotBlock(query: number, vectors: number, n: number, d: number, out: number): void {
  kernels().dotBlock(query, vectors, n, d, out);
}

/** out[i] (n float32) = |query - vectors[i]|^2. */
export function squaredL2Block(query: number, vectors: number, n: number, d: number, out: number): void {
  kernels().squaredL2Block(query, vectors, n, d, out);
}

/** out[i] (n float64) = <query, vectors[i]>, in float64 throughout. */
export function dotBlockWide(query: number, vectors: number, n: number, d: number, out: number): void {
  kernels().dotBlockWide(query, vectors, n, d, out);
}

/** out[i] (n float64) = |query - vectors[i]|^2, in float64 throughout. */
export function squaredL2BlockWide(query: number, vectors: number, n: number, d: number, out: number): void {
  kernels().squaredL2BlockWide(query, vectors, n, d, out);
}

/** out[i] (n float64) = |vectors[i]|, in float64 throughout. */
export function normsWide(vectors: number, n: number, d: number, out: number): void {
  kernels().normsWide(vectors, n, d, out);
}

/**
 * The list of each vector: the centroid c with the smallest |c|^2 / 2 - <v, c>, the lowest number among equals.
 *
 * `centroids` has layout (k, d), `halfNorms` k float32 |c|^2 / 2; writes `lists` (n uint32) and that smallest
 * value to `distances` (n float32). A vector with no value below Infinity goes to list 0 with Infinity.
 */
export function assignNearest(
  vectors: number,
  n: number,
  d: number,
  centroids: number,
  k: number,
  halfNorms: number,
  lists: number,
  distances: number,
): void {
  kernels().assignNearest(vectors, n, d, centroids, k, halfNorms, lists, distances);
}

/**
 * Rotates n rows of layout (n, d) in place; d is a multiple of 64, `signs` has layout (4, d), each 1 or -1, `span` is the
 * largest power of two up to d.
 */
export function rotate(vectors: number, n: number, d: number, signs: number, span: number): void {
  kernels().rotate(vectors, n, d, signs, span);
}

/**
 * The lookup table of a rotated query of 4 * `groups` float32, with entries up to `entryMax`, at most 255: writes `table`,
 * layout (groups, 16) bytes, and to `scale` two float32, its step and its shift.
 */
export function buildTable(
  query: number,
  groups: number,
  entryMax: number,
  table: number,
  scale: number,
): void {
  kernels().buildTable(query, groups, entryMax, table, scale);
}

/**
 * Sums of table entries for 32 rows at a time: `codes` has layout (blocks, groups, 16), `table` (groups, 16) bytes; writes
 * 32 * blocks uint32. assembly/fast-scan.ts says which nibble is whose.
 */
export function fastScan(codes: number, table: number, blocks: number, groups: number, sums: number): void {
  kernels().fastScan(codes, table, blocks, groups, sums);
}

/** The same, faster, for a multiple of eight groups and a table of entries up to 31. */
export function fastScanSmall(
  codes: number,
  table: number,
  blocks: number,
  groups: number,
  sums: number,
): void {
  kernels().fastScanSmall(codes, table, blocks, groups, sums);
}

/**
 * Estimates the squared distances of n encoded rows from their sums of table entries. A row's floor is its estimate less
 * `deviations` times its standard deviation, to which rounding of the table adds `rounding` of <x, P q>. `base` is
 * |q - c|^2. With m, n rounded up to 32: writes `estimates` (m float32) and, in place of the `sums`, the floors (m float32).
 */
export function estimateRabitq(
  factors: number,
  n: number,
  base: number,
  step: number,
  shift: number,
  rounding: number,
  deviations: number,
  sums: number,
  estimates: number,
): void {
  kernels().estimateRabitq(factors, n, base, step, shift, rounding, deviations, sums, estimates);
}

/** Offers a candidate to a heap (see top-k.ts); `tie` is where the 16 bytes of its tie key lie. */
export function offer(heap: number, score: number, block: number, row: number, tie: number): void {
  kernels().offer(heap, score, block, row, tie);
}

/** Sorts what a heap kept, nearest first; it takes no more offers. */
export function sortHeap(heap: number): void {
  kernels().sortHeap(heap);
}

/** Fills in the norm of a query's record (see query-vector.ts), and whether float32 is enough for it. */
export function measureQuery(query: number): void {
  kernels().measureQuery(query);
}

/**
 * Fills in what estimates need of a query: `point` (float32 of the dimension) takes it in list space, `rotated` (d float32)
 * its rotation; `signs` and `span` as for `rotate`.
 */
export function rotateQuery(
  query: number,
  point: number,
  rotated: number,
  d: number,
  signs: number,
  span: number,
): void {
  kernels().rotateQuery(query, point, rotated, d, signs, span);
}

/** Compares a query with `count` jobs (see search.ts) of flat codes, and offers the rows to a heap. */
export function scanFlat(query: number, heap: number, jobs: number, count: number): void {
  kernels().scanFlat(query, heap, jobs, count);
}

/** Undoes `rotate`, with the same arguments. */
export function rotateBack(vectors: number, n: number, d: number, signs: number, span: number): void {
  kernels().rotateBack(vectors, n, d, signs, span);
}

/** See assembly/search-lists.ts. */
export function probeLists(point: number, lists: number, coded: number, probes: number, job: number): void {
  kernels().probeLists(point, lists, coded, probes, job);
}

/** See assembly/search-lists.ts. */
export function searchLists(
  query: number,
  point: number,
  lists: number,
  coded: number,
  probes: number,
  limit: number,
  table: number,
  heap: number,
  job: number,
  now: number,
): number {
  return kernels().searchLists(query, point, lists, coded, probes, limit, table, heap, job, now);
}
