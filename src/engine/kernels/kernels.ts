/**
 * The WebAssembly SIMD kernels, compiled synchronously at first use (assembly/ has their source).
 *
 * Parameters are byte offsets into the memory of memory.ts, then counts; nothing is checked. Matrices are
 * row-major float32, d from 1 and n from 0; offsets are multiples of 4, of float64 multiples of 8. Arithmetic
 * is IEEE 754: what overflows float32 comes out as Infinity or NaN, without a trap.
 *
 * A row's result depends on the row, the query and d alone, bit for bit, not on n or on where the row lies.
 */

import { kernelsWasm } from "./kernels.wasm.js";
import { wasmMemory } from "./memory.js";

type BlockKernel = (query: number, vectors: number, n: number, d: number, out: number) => void;

interface Kernels {
  readonly dotBlock: BlockKernel;
  readonly squaredL2Block: BlockKernel;
  readonly dotBlockWide: BlockKernel;
  readonly squaredL2BlockWide: BlockKernel;
  readonly normsWide: (vectors: number, n: number, d: number, out: number) => void;
  readonly selectBelow: (distances: number, n: number, threshold: number, rows: number) => number;
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
   * Rotates n rows in place as `rotate` does, and writes their RaBitQ codes around their rotated centroid (d float32). With m, n
   * rounded up to 32: `codes`, m * d / 8 bytes as `scanRabitq` reads them, and `factors`, float32 of layout (3, m).
   */
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
  readonly buildTable: (query: number, groups: number, table: number, scale: number) => void;
  readonly scanRabitq: typeof scanRabitq;
}

/**
 * One call of a kernel, as data: it can be made on any thread that shares the memory. What the kernel returns is lost, so
 * its results are what it writes.
 */
export interface KernelCall {
  readonly kernel: keyof Kernels;
  readonly args: readonly number[];
}

let compiled: WebAssembly.Module | undefined;
let instantiated: Kernels | undefined;

/** The compiled kernels, to be instantiated on `wasmMemory()` as `env.memory`. */
export function kernelModule(): WebAssembly.Module {
  return (compiled ??= new WebAssembly.Module(Buffer.from(kernelsWasm, "base64")));
}

function kernels(): Kernels {
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
 * Writes the positions (uint32, ascending) of the float32 distances that are at most `threshold` to `rows`,
 * room for n, and returns how many. NaN is never selected. `threshold` is rounded to the nearest float32.
 */
export function selectBelow(distances: number, n: number, threshold: number, rows: number): number {
  return kernels().selectBelow(distances, n, threshold, rows) >>> 0;
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
 * The lookup table of a rotated query of 4 * `groups` float32: writes `table`, layout (groups, 16) bytes, and to `scale`
 * two float32, its step and its shift.
 */
export function buildTable(query: number, groups: number, table: number, scale: number): void {
  kernels().buildTable(query, groups, table, scale);
}

/**
 * Estimates the squared distances of n encoded rows, and selects those whose estimate, less `spread` times its standard
 * deviation per unit of |q - c| and less the effect of `slack`, is not above `threshold`. `base` is |q - c|^2. Writes
 * `estimates` (m float32) and the selected `rows` (uint32, ascending; room for m), uses `sums` (m uint32), and returns how
 * many are selected.
 */
export function scanRabitq(
  codes: number,
  factors: number,
  n: number,
  groups: number,
  table: number,
  base: number,
  step: number,
  shift: number,
  slack: number,
  spread: number,
  threshold: number,
  sums: number,
  estimates: number,
  rows: number,
): number {
  return (
    kernels().scanRabitq(
      codes,
      factors,
      n,
      groups,
      table,
      base,
      step,
      shift,
      slack,
      spread,
      threshold,
      sums,
      estimates,
      rows,
    ) >>> 0
  );
}
