/** The layout of `ivfpq` codes: the numbers of the codewords of a row, in its bits. */

import type { CodeLayout } from "./code-layout.js";
import type { IndexConfig } from "./config.js";

const nibbleBits = 4;

export interface CodewordLayout extends CodeLayout {
  readonly subspaces: number;
  readonly bits: number;
  /** Codewords per nibble; 0 if they are longer. */
  readonly together: number;
}

export function productLayout({ pqDim = 1, pqBits = 1 }: IndexConfig): CodewordLayout {
  const together = Math.floor(nibbleBits / pqBits);
  const nibbles = together > 0 ? Math.ceil(pqDim / together) : 0;
  const bitBytes = together > 0 ? Math.ceil(nibbles / 2) : Math.ceil((pqDim * pqBits) / 8);
  return { nibbles, bitBytes, subspaces: pqDim, bits: pqBits, together };
}

/** The first bit of a subspace's codeword in the bits of a row. */
export function bitOffsetOf({ bits, together }: CodewordLayout, subspace: number): number {
  if (together === 0) return subspace * bits;
  return nibbleBits * Math.floor(subspace / together) + bits * (subspace % together);
}

/** Writes the number of a codeword at a bit position of bytes that are zero there. */
export function putCodeword(bytes: Uint8Array, position: number, codeword: number): void {
  let rest = codeword << (position & 7);
  for (let at = position >> 3; rest > 0; at++) {
    bytes[at] |= rest & 255;
    rest >>>= 8;
  }
}

/** The number of the codeword of `bits` bits, at most 16, at a bit position. */
export function codewordAt(bytes: Uint8Array, position: number, bits: number): number {
  const at = position >> 3;
  const three = bytes[at] | ((bytes[at + 1] ?? 0) << 8) | ((bytes[at + 2] ?? 0) << 16);
  return (three >> (position & 7)) & ((1 << bits) - 1);
}
