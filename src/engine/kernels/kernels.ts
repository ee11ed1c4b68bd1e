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
  readonly rotate: (vectors: number, n: number, d: number, signs: number, span: number) => void;
  readonly rotateBack: (vectors: number, n: number, d: number, signs: number, span: number) => void;
  readonly encodeSigns: typeof encodeSigns;
  readonly signSums: typeof signSums;
  readonly roundTable: typeof roundTable;
  readonly estimateNibbles: (
    codes: number,
    n: number,
    groups: number,
    low: number,
    high: number,
    step: number,
    shift: number,
    factors: number,
    anchors: number,
    bases: number,
    base: number,
    sums: number,
    estimates: number,
  ) => void;
  readonly estimateProducts: typeof estimateProducts;
  readonly encodeRabitq: typeof encodeRabitq;
  readonly buildTable: (query: number, groups: number, table: number, scale: number) => void;
  readonly scanRabitq: typeof scanRabitq;
}

let instantiated: Kernels | undefined;

function kernels(): Kernels {
  return (instantiated ??= instantiate());
}

function instantiate(): Kernels {
  const module = new WebAssembly.Module(Buffer.from(kernelsWasm, "base64"));
  const { exports } = new WebAssembly.Instance(module, { env: { memory: wasmMemory() } });
  return exports as unknown as Kernels;
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

/** Undoes `rotate`, with the same arguments. */
export function rotateBack(vectors: number, n: number, d: number, signs: number, span: number): void {
  kernels().rotateBack(vectors, n, d, signs, span);
}

/**
 * Signs and factors of n rotated residuals, layout (n, d), d a multiple of 8: writes `signs`, layout (n, d / 8) bytes, and
 * `factors`, float32 of layout (2, n), add and scale. Row i lies around row `anchors[i]` (uint32) of `origins`, layout (·, d).
 */
export function encodeSigns(
  residuals: number,
  n: number,
  d: number,
  anchors: number,
  origins: number,
  signs: number,
  factors: number,
): void {
  kernels().encodeSigns(residuals, n, d, anchors, origins, signs, factors);
}

/** The 16 signed sums of each 4 of a query's 4 * `groups` components, float32 of layout (groups, 16). */
export function signSums(query: number, groups: number, entries: number): void {
  kernels().signSums(query, groups, entries);
}

/**
 * Rounds `entries`, float32 of layout (groups, 16), to tables of low and high bytes, layout (groups, 16) each; `high` may be
 * 0 for coarser entries of one byte. Writes two float32 to `scale`, step and shift: an entry sum is step * sum + shift.
 */
export function roundTable(entries: number, groups: number, low: number, high: number, scale: number): void {
  kernels().roundTable(entries, groups, low, high, scale);
}

/** What the rows of a block are measured from. */
export interface Bases {
  /** Of each row the number of its base, uint32; 0: `base` is the base of every row. */
  readonly anchors: number;
  /** Bases, float32. */
  readonly bases: number;
  readonly base: number;
}

/** A query's tables as `roundTable` wrote them. */
export interface RoundedTable {
  readonly low: number;
  /** 0: entries are one byte. */
  readonly high: number;
  readonly step: number;
  readonly shift: number;
}

/**
 * Writes n float32 `estimates` of squared distances, base + add + scale * sum, from 0 to the largest float32. `factors` has
 * layout (2, n), add and scale. `codes` are nibbles as code-layout.ts packs them, and up to 15 bytes
 * after them are read; `sums` is room for 2 * m uint32, m being n rounded up to 32.
 */
export function estimateNibbles(
  codes: number,
  n: number,
  groups: number,
  { low, high, step, shift }: RoundedTable,
  factors: number,
  { anchors, bases, base }: Bases,
  sums: number,
  estimates: number,
): void {
  kernels().estimateNibbles(
    codes,
    n,
    groups,
    low,
    high,
    step,
    shift,
    factors,
    anchors,
    bases,
    base,
    sums,
    estimates,
  );
}

/**
 * Writes n float32 `estimates`, base + add + scale * sum of table entries, from 0 to the largest float32. A row's code is `parts`
 * numbers of `bits` bits, 1 to 16, low bits first, in `rowBytes`; `tables` are float32 of layout (parts, k). Up to 3 bytes
 * after the codes are read.
 */
export function estimateProducts(
  codes: number,
  n: number,
  rowBytes: number,
  parts: number,
  bits: number,
  tables: number,
  k: number,
  factors: number,
  anchors: number,
  bases: number,
  base: number,
  estimates: number,
): void {
  kernels().estimateProducts(
    codes,
    n,
    rowBytes,
    parts,
    bits,
    tables,
    k,
    factors,
    anchors,
    bases,
    base,
    estimates,
  );
}

/**
 * RaBitQ codes of n rotated rows, layout (n, d), around their rotated centroid (d float32). With m, n rounded up to 32:
 * writes `codes`, m * d / 8 bytes as `scanRabitq` reads them, and `factors`, float32 of layout (3, m).
 */
export function encodeRabitq(
  rows: number,
  n: number,
  d: number,
  centroid: number,
  codes: number,
  factors: number,
): void {
  kernels().encodeRabitq(rows, n, d, centroid, codes, factors);
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
