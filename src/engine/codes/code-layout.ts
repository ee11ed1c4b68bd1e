/**
 * The layout of codes without vectors, in memory and in storage.
 *
 * A *row code* is one row by itself: u32 reference centroid, float32 add and scale, then its bits. Row codes can be joined in any
 * order, which is how rows move from list to list. A *block* has n rows as the kernels scan them: n reference centroids, n adds, n
 * scales, then the bits. Nibbles are interleaved across rows, 32 rows at a time (see assembly/estimate.ts), which wastes at most
 * half a byte per 4 bits of one row.
 */

import type { IndexConfig } from "../config.js";

/** The reference centroid of a zero vector under `cosine`, which has no direction. */
export const noCentroid = 0xffffffff;

/** Words of 4 bytes before the bits of a row: its reference centroid, add and scale. */
export const codeWords = 3;

export interface CodeLayout {
  /** Nibbles per row that are interleaved across rows in a block; 0: the bits of a row stay together. */
  readonly nibbles: number;
  /** Bytes of the bits of a row. */
  readonly bitBytes: number;
}

export function rowCodeBytes({ bitBytes }: CodeLayout): number {
  return 4 * codeWords + bitBytes;
}

/** The number of the reference centroid that is stored at this byte: of a row code at its beginning, of row i of a block at byte 4 i. */
export function referenceAt(codes: Uint8Array, at: number): number {
  return new DataView(codes.buffer, codes.byteOffset, codes.byteLength).getUint32(at, true);
}

/** Bytes of a block of n rows: of each kind of words, and of their bits. */
export function blockSections({ nibbles, bitBytes }: CodeLayout, n: number): readonly number[] {
  const rest = n % 32;
  const bits = nibbles > 0 ? nibbles * ((n - rest) / 2 + Math.ceil(rest / 2)) : bitBytes * n;
  return [...Array.from({ length: codeWords }, () => 4 * n), bits];
}

/** Bytes of a block of n rows. */
export function blockBytes(layout: CodeLayout, n: number): number {
  return blockSections(layout, n).reduce((sum, bytes) => sum + bytes, 0);
}

/** A block of row codes, layout (n, row code). */
export function packBlock(layout: CodeLayout, rows: Uint8Array): Uint8Array {
  const { nibbles, bitBytes } = layout;
  const rowBytes = rowCodeBytes(layout);
  const n = rows.length / rowBytes;
  const block = new Uint8Array(blockBytes(layout, n));
  for (let row = 0; row < n; row++) {
    const from = row * rowBytes;
    for (let word = 0; word < codeWords; word++) {
      const at = from + 4 * word;
      block.set(rows.subarray(at, at + 4), 4 * (word * n + row));
    }
    const bits = rows.subarray(from + 4 * codeWords, from + rowBytes);
    if (nibbles === 0) {
      block.set(bits, 4 * codeWords * n + row * bitBytes);
      continue;
    }
    const { first, stride, shift } = placeOf(layout, n, row);
    for (let nibble = 0; nibble < nibbles; nibble++) {
      const value = (bits[nibble >> 1] >> (4 * (nibble & 1))) & 15;
      block[first + nibble * stride] |= value << shift;
    }
  }
  return block;
}

/** The row codes of a block of n rows, layout (n, row code). */
export function unpackBlock(layout: CodeLayout, block: Uint8Array, n: number): Uint8Array {
  return unpackRows(
    layout,
    block,
    n,
    Array.from({ length: n }, (_, row) => row),
  );
}

/** The row codes of some rows of a block of n rows, layout (wanted, row code). */
export function unpackRows(
  layout: CodeLayout,
  block: Uint8Array,
  n: number,
  wanted: readonly number[],
): Uint8Array {
  const { nibbles, bitBytes } = layout;
  const rowBytes = rowCodeBytes(layout);
  const rows = new Uint8Array(wanted.length * rowBytes);
  wanted.forEach((row, i) => {
    const to = i * rowBytes;
    for (let word = 0; word < codeWords; word++) {
      const at = 4 * (word * n + row);
      rows.set(block.subarray(at, at + 4), to + 4 * word);
    }
    const bitsAt = to + 4 * codeWords;
    if (nibbles === 0) {
      const at = 4 * codeWords * n + row * bitBytes;
      rows.set(block.subarray(at, at + bitBytes), bitsAt);
      return;
    }
    const { first, stride, shift } = placeOf(layout, n, row);
    for (let nibble = 0; nibble < nibbles; nibble++) {
      const value = (block[first + nibble * stride] >> shift) & 15;
      rows[bitsAt + (nibble >> 1)] |= value << (4 * (nibble & 1));
    }
  });
  return rows;
}

/** The position of a row's nibbles in a block: byte first + nibble * stride, shifted by `shift` bits. */
function placeOf({ nibbles }: CodeLayout, n: number, row: number) {
  const whole = n - (n % 32);
  const blockAt = 4 * codeWords * n + (nibbles * (row < whole ? row - (row % 32) : whole)) / 2;
  const place = row % 32;
  if (row >= whole) {
    return { first: blockAt + (place >> 1), stride: (n - whole + 1) >> 1, shift: 4 * (place & 1) };
  }
  const byte = 2 * (place & 7) + ((place >> 3) & 1);
  return { first: blockAt + byte, stride: 16, shift: place & 16 ? 4 : 0 };
}

// The layout of `ivfpq` codes: the numbers of the codewords of a row, in its bits.

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
