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
  /** Where their record lies (see block-record.ts). */
  readonly record: number;
  /** Gives the kernel memory back. */
  free(): void;
}

/** How vectors become codes, and back. */
export interface Codec {
  /** Bytes of the codes of n rows. */
  codeBytes(n: number): number;
  /**
   * Codes of the rows of one block, all of `list`, in pieces that follow one another; `vectors` has layout (n, dimension) and
   * may be one of the pieces.
   */
  encode(vectors: Float32Array, list: number): Work<readonly Uint8Array[]>;
  /**
   * The vectors of a block of n rows, layout (n, dimension): bit for bit, and perhaps a view of the bytes given, or, where only
   * codes are kept, the points in list space that these stand for.
   */
  decode(codes: Uint8Array, n: number): Float32Array;
  /** Whether codes hold the vectors bit for bit. */
  readonly exact: boolean;
  /** Vectors of rows of a loaded block, layout (rows, dimension), as `decode` gives them. */
  pick(codes: LoadedCodes, rows: readonly number[]): Float32Array;
  /** Copies the codes of n rows into kernel memory, where their `fingerprints` are, layout (n, 4) words. */
  load(codes: Uint8Array, n: number, fingerprints: number): LoadedCodes;
}

/** Whether rows are grouped by a model's lists; its centroids, where rows are to be encoded. */
export type Grouping = "none" | "lists" | RotatedCentroids;
