/** Vectors in kernel memory, ready to be scanned by `scanFlat`. */

import type { LoadedCodes } from "./codec.js";
import { doublesAt, free } from "./kernels/memory.js";

// Norms between these keep squares and their sums well inside float32, differences included.
const normMin = 1e-10;
const normMax = 1e15;

export interface FlatCodes extends LoadedCodes {
  /** Where the vectors lie in kernel memory. */
  readonly vectors: number;
}

/**
 * Codes that lie in kernel memory: `vectors`, float32 of layout (n, dimension), their `norms` (n float64), and `factors`,
 * RaBitQ factors followed by codes, or 0. `bytes` were allocated from `vectors` on.
 */
export function flatCodes(
  n: number,
  vectors: number,
  norms: number,
  factors: number,
  bytes: number,
): FlatCodes {
  const narrow = doublesAt(norms, n).every((norm) => norm === 0 || (norm >= normMin && norm <= normMax));
  const codes = factors > 0 ? factors + 12 * Math.ceil(n / 32) * 32 : 0;
  return {
    n,
    bytes,
    vectors,
    describe(words, at) {
      words[at] = vectors;
      words[at + 1] = norms;
      words[at + 2] = factors;
      words[at + 3] = codes;
      words[at + 4] = narrow ? 1 : 0;
    },
    free: () => free(vectors),
  };
}
