/**
 * RaBitQ codes (Gao and Long, SIGMOD 2024): one bit per dimension, from which a squared distance is estimated within known
 * bounds. In list space. D is the rotated dimension.
 *
 * Kernels scan 32 rows together: in their memory, codes of n rows are factors, float32 of layout (3, m), then signs, m * D / 8 bytes, with m
 * the number of rows rounded up to 32. Stored are those of the n rows alone: of rows that do not fill 32, the signs of each by themselves.
 */

import type { Metric } from "../config.js";
import { rowsTogether } from "./code-sections.js";
import { allocate, bytesAt, floatsAt, free } from "../kernels/memory.js";
import { directionsOf } from "../rows.js";
import { type Rotation, rotatedDimension } from "../rotation.js";
import type { Work } from "../work.js";

/** Stored bytes of n rows: each of the three factors, and signs. */
export function rabitqSections(n: number, dimension: number): readonly number[] {
  return [4 * n, 4 * n, 4 * n, n * signBytes(dimension)];
}

/** Bytes of the codes of n rows in kernel memory. */
export function rabitqBytes(n: number, dimension: number): number {
  return roomFor(n) * (12 + signBytes(dimension));
}

/** Addresses of the stored sections of n rows in kernel memory. */
export function rabitqAddresses(at: number, n: number): readonly number[] {
  const stride = 4 * roomFor(n);
  return [at, at + stride, at + 2 * stride, at + 3 * stride];
}

/** Puts the stored bytes of n rows, copied to `rabitqAddresses`, in the order in which kernels read them. */
export function unpackRabitq(at: number, n: number, dimension: number): void {
  const room = roomFor(n);
  for (let factor = 0; factor < 3; factor++) floatsAt(at + 4 * (factor * room + n), room - n).fill(0);
  const last = lastSigns(at, n, dimension);
  const signs = last.slice(0, (n % rowsTogether) * signBytes(dimension));
  last.fill(0);
  interleave(signs, last, signBytes(dimension));
}

/** The stored codes of n rows. */
function packRabitq(at: number, n: number, dimension: number): Uint8Array {
  const lengths = rabitqSections(n, dimension);
  const packed = new Uint8Array(lengths.reduce((sum, length) => sum + length, 0));
  let end = 0;
  rabitqAddresses(at, n).forEach((address, section) => {
    packed.set(bytesAt(address, lengths[section]), end);
    end += lengths[section];
  });
  const alone = packed.subarray(end - (n % rowsTogether) * signBytes(dimension));
  separate(lastSigns(at, n, dimension), alone, signBytes(dimension));
  return packed;
}

function signBytes(dimension: number): number {
  return rotatedDimension(dimension) / 8;
}

function roomFor(n: number): number {
  return Math.ceil(n / rowsTogether) * rowsTogether;
}

/** The signs of the rows that do not fill `rowsTogether`, with room for as many; nothing if there are none. */
function lastSigns(at: number, n: number, dimension: number): Uint8Array {
  const room = roomFor(n);
  const whole = n - (n % rowsTogether);
  return bytesAt(at + 12 * room + whole * signBytes(dimension), (room - whole) * signBytes(dimension));
}

/** The centroids that codes are relative to. */
export interface RotatedCentroids {
  readonly rotation: Rotation;
  /** The address of the rotated centroid of a list. */
  rotatedCentroid(list: number): number;
}

/** The stored codes of rows of one list; `vectors` has layout (n, dimension), in list space or not. */
export function* encodeList(
  vectors: Float32Array,
  metric: Metric,
  centroids: RotatedCentroids,
  list: number,
): Work<Uint8Array> {
  const { rotation } = centroids;
  const { rotated, signs, span } = rotation;
  const n = vectors.length / rotation.dimension;
  const bytes = rabitqBytes(n, rotation.dimension);
  const at = allocate(4 * n * rotated + bytes);
  const out = at + 4 * n * rotated;
  try {
    rotation.pad(vectors, at);
    if (metric === "cosine") yield directionsOf(at, n, rotated, at);
    const centroid = centroids.rotatedCentroid(list);
    const [, , , codes] = rabitqAddresses(out, n);
    yield [
      {
        kernel: "rotateAndEncode",
        args: [at, n, rotated, signs, span, centroid, codes, out],
        cost: 64 * n * rotated,
      },
    ];
    return packRabitq(out, n, rotation.dimension);
  } finally {
    free(at);
  }
}

/** Puts the signs of rows, layout (rows, rowBytes), low bits first, where kernels read them: nibbles of up to 32 rows together. */
function interleave(rows: Uint8Array, together: Uint8Array, rowBytes: number): void {
  for (let row = 0; row * rowBytes < rows.length; row++) {
    const { place, shift } = nibbleOf(row);
    for (let i = 0; i < rowBytes; i++) {
      const signs = rows[row * rowBytes + i];
      together[32 * i + place] |= (signs & 15) << shift;
      together[32 * i + 16 + place] |= (signs >> 4) << shift;
    }
  }
}

/** The reverse of `interleave`. */
function separate(together: Uint8Array, rows: Uint8Array, rowBytes: number): void {
  for (let row = 0; row * rowBytes < rows.length; row++) {
    const { place, shift } = nibbleOf(row);
    for (let i = 0; i < rowBytes; i++) {
      const low = (together[32 * i + place] >> shift) & 15;
      const high = (together[32 * i + 16 + place] >> shift) & 15;
      rows[row * rowBytes + i] = low | (high << 4);
    }
  }
}

/** Where the signs of four components of a row are: in which of 16 bytes, and from which bit on. See `fastScan`. */
function nibbleOf(row: number): { readonly place: number; readonly shift: number } {
  return { place: 2 * (row % 8) + (Math.floor(row / 8) % 2), shift: row < 16 ? 0 : 4 };
}
