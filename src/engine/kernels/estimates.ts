/** Kernels of codes without vectors beside them, `ivf` and `ivfpq`; what kernels.ts says of parameters holds here too. */

import { kernels } from "./kernels.js";

/** What the rows of a block are measured from. */
export interface Bases {
  /** Of each row the number of its base, uint32; 0: `base` is the base of every row. */
  readonly references: number;
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
 * Signs and factors of n rotated residuals, layout (n, d), d a multiple of 8: writes `signs`, layout (n, d / 8) bytes, and
 * `factors`, float32 of layout (2, n), add and scale. Row i lies around row `reference centroids[i]` (uint32) of `origins`, layout (·, d).
 */
export function encodeSigns(
  residuals: number,
  n: number,
  d: number,
  references: number,
  origins: number,
  signs: number,
  factors: number,
): void {
  kernels().encodeSigns(residuals, n, d, references, origins, signs, factors);
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
  { references, bases, base }: Bases,
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
    references,
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
  references: number,
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
    references,
    bases,
    base,
    estimates,
  );
}

/** Offers the rows of a job (see scanner.ts) to a heap, with their `estimates`: float32, room for n rounded up to 4. */
export function offerEstimates(query: number, heap: number, job: number, estimates: number): void {
  kernels().offerEstimates(query, heap, job, estimates);
}
