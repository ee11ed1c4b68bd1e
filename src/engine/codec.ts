/**
 * The seam between inverted lists and what is stored of a vector in them. Assignment to lists and scanning of
 * codes are two calls, so that reading and decryption happen between them and neither half knows.
 */

import type { CoarseQuantizer } from "./coarse-quantizer.js";

/** The codes of n rows of one inverted list, in kernel memory, ready to be scanned. */
export interface LoadedCodes {
  readonly n: number;
  /** Kernel memory held, in bytes. */
  readonly bytes: number;
  /** Gives the kernel memory back. */
  free(): void;
}

/** Whom a scan reports to. */
export interface ScanTarget {
  /** No row with a greater score is of use any more; may fall while rows are offered. */
  readonly threshold: number;
  /** How many rows are still wanted before the threshold means anything. */
  readonly vacancies: number;
  offer(row: number, score: number): void;
}

/** Compares one query with blocks of codes. Holds kernel memory: call `free` when done. */
export interface Scanner<Codes extends LoadedCodes = LoadedCodes> {
  /**
   * Offers the rows whose score may be at most the target's threshold, with their scores. `centroidDistance`: from the
   * query to the list's centroid in list space, or undefined where the rows are not grouped by the query's quantizer.
   */
  scan(codes: Codes, centroidDistance: number | undefined, target: ScanTarget): void;
  free(): void;
}

/** How vectors become codes, and how a query is compared with them. */
export interface Codec<Codes extends LoadedCodes = LoadedCodes> {
  /** Bytes of the codes of n rows. */
  codeBytes(n: number): number;
  /** Codes of the rows of one block, all of `list`; `vectors` has layout (n, dimension). */
  encode(vectors: Float32Array, list: number): Uint8Array;
  /**
   * The vectors of a block of n rows, layout (n, dimension): bit for bit or, where only codes are kept, the points in list
   * space that these stand for. The bytes given are not kept.
   */
  decode(codes: Uint8Array, n: number): Float32Array;
  /** Copies the codes of n rows into kernel memory. */
  load(codes: Uint8Array, n: number): Codes;
}

/** Whether rows are grouped by a model's lists; its quantizer, where rows are to be encoded. */
export type Grouping = "none" | "lists" | CoarseQuantizer;
