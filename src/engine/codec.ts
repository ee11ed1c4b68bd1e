/**
 * The seam between inverted lists and what is stored of a vector in them. Assignment to lists and scanning of
 * codes are two calls, so that reading and decryption happen between them and neither half knows.
 */

import type { RotatedCentroids } from "./rabitq.js";
import type { Work } from "./work.js";

/** The codes of n rows of one inverted list, in kernel memory, ready to be scanned. */
export interface LoadedCodes {
  readonly n: number;
  /** Kernel memory held, in bytes. */
  readonly bytes: number;
  /** Writes what a scan must know of these codes into a job's record: up to five words from `words[at]` on. */
  describe(words: Uint32Array, at: number): void;
  /** Gives the kernel memory back. */
  free(): void;
}

/**
 * Compares the query of a record with `count` jobs, which lie at `jobs`, and offers their rows to a heap; all of them lie in
 * kernel memory. See search.ts and query-vector.ts.
 */
export type Scan = (query: number, heap: number, jobs: number, count: number) => void;

/** How vectors become codes, and what compares a query with them. */
export interface Codec {
  readonly scan: Scan;
  /** Bytes of the codes of n rows. */
  codeBytes(n: number): number;
  /** Codes of the rows of one block, all of `list`; `vectors` has layout (n, dimension). */
  encode(vectors: Float32Array, list: number): Work<Uint8Array>;
  /** The vectors of a block of n rows, bit for bit, layout (n, dimension); the bytes given are not kept. */
  decode(codes: Uint8Array, n: number): Float32Array;
  /** Vectors of rows of a loaded block, bit for bit, layout (rows, dimension); absent where codes do not hold them. */
  pick?(codes: LoadedCodes, rows: readonly number[]): Float32Array;
  /** Copies the codes of n rows into kernel memory. */
  load(codes: Uint8Array, n: number): LoadedCodes;
}

/** Whether rows are grouped by a model's lists; its centroids, where rows are to be encoded. */
export type Grouping = "none" | "lists" | RotatedCentroids;
