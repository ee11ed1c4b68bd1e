/**
 * Pads blocks before they are sealed, so that lengths reveal little: to the lengths of Padmé
 * (Nikitin et al., "Reducing Metadata Leakage from Encrypted Files and Communication with PURBs",
 * PETS 2019). Each doubling has 16 lengths from 256 bytes to 64 KiB and 32 from there to 4 GiB.
 * Besides the four-byte count, zeros are at most 12 % of a block, on average 2 % up to 64 KiB and 1
 * % beyond.
 *
 * A padded block is the plaintext, zeros, and the number of zeros as a u32.
 */

const countBytes = 4;

/** The zeros and their count, to append to a plaintext of `length` bytes. */
export function paddingFor(length: number): Uint8Array {
  const padding = Buffer.alloc(paddedLength(length + countBytes) - length);
  padding.writeUInt32LE(padding.length - countBytes, padding.length - countBytes);
  return padding;
}

/** The plaintext before the padding, in the same memory; undefined if the padding is invalid. */
export function withoutPadding(padded: Buffer): Buffer | undefined {
  const end = padded.length - countBytes;
  if (end < 0) return undefined;
  const zeros = padded.readUInt32LE(end);
  return zeros > end ? undefined : padded.subarray(0, end - zeros);
}

/** The smallest Padmé length of at least `length`, a positive integer. */
export function paddedLength(length: number): number {
  const exponent = Math.floor(Math.log2(length));
  const significantBits = Math.floor(Math.log2(Math.max(exponent, 1))) + 1;
  const granule = 2 ** Math.max(exponent - significantBits, 0);
  return Math.ceil(length / granule) * granule;
}
