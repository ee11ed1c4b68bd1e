/** Blocks of rows as kernels see them: a record in kernel memory, which jobs and the parts of lists point to. */

import { allWords } from "./kernels/memory.js";

/** Bytes of a record; assembly/search.ts has the same layout. */
export const blockRecordBytes = 32;
const lastUseWord = 7;

/** Where things of a block lie in kernel memory, or 0; see `Block` in assembly/search.ts. */
export interface BlockRecord {
  readonly n: number;
  /** Layout (n, 4) words. */
  readonly fingerprints: number;
  readonly vectors?: number;
  readonly norms?: number;
  readonly factors?: number;
  readonly codes?: number;
  /** Whether float32 suffices for a first look at its rows. */
  readonly narrow?: boolean;
}

/** Writes the record to kernel memory. */
export function writeBlockRecord(at: number, block: BlockRecord): void {
  const { n, fingerprints, vectors = 0, norms = 0, factors = 0, codes = 0, narrow = false } = block;
  allWords().set([n, fingerprints, vectors, norms, factors, codes, narrow ? 1 : 0, 0], at >>> 2);
}

/** The `now` of the latest search by lists (see list-search.ts) that scanned the block; 0: none did. */
export function lastUseOf(record: number): number {
  return allWords()[(record >>> 2) + lastUseWord];
}
