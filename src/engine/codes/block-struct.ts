/** The structs of blocks of rows in kernel memory, which jobs and list block tables point to. */

import { blockLayout } from "../kernels/kernels.wasm.js";
import { wordAt, writeWords } from "../kernels/memory.js";

/** Addresses of a block's data in kernel memory; see `Block` in assembly/search.ts. Absent: the block has none. */
export interface BlockStruct {
  readonly n: number;
  readonly dimension: number;
  /** Address of n * 4 words. */
  readonly fingerprints: number;
  readonly vectors?: number;
  readonly norms?: number;
  readonly factors?: number;
  readonly codes?: number;
  /** 1: float32 arithmetic suffices for a first look at its rows. */
  readonly fitsFloat32?: number;
  /** Of scalar codes (see assembly/scalar.ts). */
  readonly precision?: number;
  readonly scales?: number;
  /** Of codes without vectors (see assembly/scan-coded.ts). */
  readonly rowCodes?: number;
}

/** Writes a struct to `at`. */
export function writeBlockStruct(at: number, block: BlockStruct): void {
  const {
    n,
    dimension,
    fingerprints,
    vectors = 0,
    norms = 0,
    factors = 0,
    codes = 0,
    fitsFloat32 = 0,
  } = block;
  const { precision = 0, scales = 0, rowCodes = 0 } = block;
  const fields = {
    n,
    fingerprints,
    vectors,
    norms,
    factors,
    codes,
    fitsFloat32,
    lastUse: 0,
    precision,
    scales,
    rowCodes,
    dimension,
  };
  writeWords(at, blockLayout, fields);
}

/** The `now` of the latest `searchLists` (see list-search.ts) that scanned the block; 0: none did. */
export function lastUseOf(address: number): number {
  return wordAt(address + blockLayout.lastUse);
}
