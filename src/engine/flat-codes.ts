/** Vectors in kernel memory, ready to be scanned by `scanFlat`. */

import { writeBlockRecord } from "./block-record.js";
import type { LoadedCodes } from "./codec.js";
import { blockLayout } from "./kernels/kernels.wasm.js";
import { allocate, doublesAt, free } from "./kernels/memory.js";

// Norms between these keep squares and their sums well inside float32, differences included.
const normMin = 1e-10;
const normMax = 1e15;

export interface FlatCodes extends LoadedCodes {
  /** Where the vectors lie in kernel memory. */
  readonly vectors: number;
}

/** Room in kernel memory for n rows; `vectors` is its beginning. */
export interface FlatRoom {
  readonly n: number;
  /** float32, layout (n, dimension). */
  readonly vectors: number;
  /** n float64. */
  readonly norms: number;
  /** The record of the block; it lies next to what a scan begins with. */
  readonly record: number;
  /** RaBitQ factors, followed by codes; or 0. */
  readonly factors: number;
  readonly bytes: number;
}

/** `rabitqLength`: bytes of RaBitQ factors and codes, or 0. */
export function allocateFlat(n: number, dimension: number, rabitqLength: number): FlatRoom {
  const vectorBytes = 4 * n * dimension;
  const bytes = vectorBytes + 8 + 8 * n + blockLayout.bytes + rabitqLength;
  const vectors = allocate(bytes);
  const norms = Math.ceil((vectors + vectorBytes) / 8) * 8;
  const record = norms + 8 * n;
  const factors = rabitqLength > 0 ? record + blockLayout.bytes : 0;
  return { n, vectors, norms, record, factors, bytes };
}

/** Codes of what was put into the room, which they take over. `fingerprints` has layout (n, 4) words. */
export function flatCodes(room: FlatRoom, fingerprints: number): FlatCodes {
  const { n, vectors, norms, record, factors, bytes } = room;
  const fitsFloat32 = doublesAt(norms, n).every((norm) => norm === 0 || (norm >= normMin && norm <= normMax));
  const codes = factors > 0 ? factors + 12 * Math.ceil(n / 32) * 32 : 0;
  writeBlockRecord(record, { n, fingerprints, vectors, norms, factors, codes, fitsFloat32 });
  return { n, bytes, record, vectors, free: () => free(vectors) };
}
