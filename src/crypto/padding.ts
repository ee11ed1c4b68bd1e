/**
 * Padding of a block before it is sealed, so that its length tells little about what is in it: to the lengths of
 * Padmé (Nikitin et al., "Reducing Metadata Leakage from Encrypted Files and Communication with PURBs", PETS 2019).
 * Each doubling has 16 lengths from 256 bytes to 64 KiB and 32 from there to 4 GiB. Besides the four
 * bytes of their number, the zeros are at most 12 % of a block, on average 2 % up to 64 KiB and 1 % beyond.
 *
 * A padded block is the plaintext, zeros, and how many zeros there are, as a u32.
 */

const countBytes = 4;

/** The zeros and their number, to be put behind a plaintext of `length` bytes. */
export function paddingFor(length: number): Uint8Array {
  const padding = Buffer.alloc(paddedLength(length + countBytes) - length);
  padding.writeUInt32LE(padding.length - countBytes, padding.length - countBytes);
  return padding;
}

/** The plaintext in front of the padding, in the same memory; undefined if the block is no padded one. */
export function withoutPadding(padded: Buffer): Buffer | undefined {
  const end = padded.length - countBytes;
  if (end < 0) return undefined;
  const zeros = padded.readUInt32LE(end);
  return zeros > end ? undefined : padded.subarray(0, end - zeros);
}

/** The least length of Padmé that is not below `length`, a positive integer. */
export function paddedLength(length: number): number {
  const exponent = Math.floor(Math.log2(length));
  const significantBits = Math.floor(Math.log2(Math.max(exponent, 1))) + 1;
  const granule = 2 ** Math.max(exponent - significantBits, 0);
  return Math.ceil(length / granule) * granule;
}
