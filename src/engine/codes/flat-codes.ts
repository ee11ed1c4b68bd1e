/** Vectors in kernel memory, ready to be scanned by `scanFlat`. */

import { writeBlockStruct } from "./block-struct.js";
import type { LoadedVectors } from "./codec.js";
import { kernels } from "../kernels/kernels.js";
import { blockLayout } from "../kernels/kernels.wasm.js";
import { allocate, floatsAt, free } from "../kernels/memory.js";

/** Addresses in kernel memory that holds n rows; `vectors` is its beginning. */
export interface FlatMemory {
  readonly n: number;
  readonly dimension: number;
  /** float32, layout (n, dimension). */
  readonly vectors: number;
  /** n float64. */
  readonly norms: number;
  /** The struct of the block, next to the bytes that a scan reads first. */
  readonly block: number;
  /** RaBitQ factors, followed by codes; or 0. */
  readonly factors: number;
  readonly bytes: number;
}

/** `rabitqLength`: bytes of RaBitQ factors and codes, 0 for none. */
export function allocateFlat(n: number, dimension: number, rabitqLength: number): FlatMemory {
  const vectorBytes = 4 * n * dimension;
  const bytes = vectorBytes + 8 + 8 * n + blockLayout.bytes + rabitqLength;
  const vectors = allocate(bytes);
  const norms = Math.ceil((vectors + vectorBytes) / 8) * 8;
  const block = norms + 8 * n;
  const factors = rabitqLength > 0 ? block + blockLayout.bytes : 0;
  return { n, dimension, vectors, norms, block, factors, bytes };
}

/** The block of the rows written to `memory`, which it takes over. `fingerprints` is the address of n * 4 words. */
export function loadedVectors(memory: FlatMemory, fingerprints: number): LoadedVectors {
  const { n, dimension, vectors, norms, block, factors, bytes } = memory;
  const fitsFloat32 = kernels().fitsFloat32(norms, n);
  const codes = factors > 0 ? factors + 12 * Math.ceil(n / 32) * 32 : 0;
  writeBlockStruct(block, { n, dimension, fingerprints, vectors, norms, factors, codes, fitsFloat32 });
  return {
    kind: "vectors",
    n,
    bytes,
    address: block,
    gather(rows) {
      const own = floatsAt(vectors, n * dimension);
      const gathered = new Float32Array(rows.length * dimension);
      rows.forEach((row, i) =>
        gathered.set(own.subarray(row * dimension, (row + 1) * dimension), i * dimension),
      );
      return gathered;
    },
    free: () => free(vectors),
  };
}
