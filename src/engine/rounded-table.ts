/** A query's lookup tables for codes of nibbles, rounded to integers, and the estimates they give. */

import { codeWords } from "./code-layout.js";
import { kernels } from "./kernels/kernels.js";
import type { Bases, EstimateBuffers } from "./quantizer.js";

/** A sum of entries is `step` * (sum of rounded entries) + `shift`. */
export interface RoundedTable {
  /** Nibbles per code. */
  readonly groups: number;
  /** Addresses of low and high bytes, layout (groups, 16); `high` 0: entries are one byte. */
  readonly low: number;
  readonly high: number;
  readonly step: number;
  readonly shift: number;
}

/** As `QuantizedQuery.estimate`, for blocks whose bits are nibbles (see code-layout.ts). */
export function estimateNibbles(
  { groups, low, high, step, shift }: RoundedTable,
  block: number,
  n: number,
  { references, bases, base }: Bases,
  { sums, estimates }: EstimateBuffers,
): void {
  const factors = block + 4 * n;
  const codes = block + 4 * codeWords * n;
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
