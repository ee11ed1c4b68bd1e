/**
 * The seam between inverted lists and what is stored of a vector in them. Assignment to lists and scanning of
 * codes are two calls, so that reading and decryption happen between them and neither half knows.
 */

import type { IndexConfig } from "./config.js";
import { flatCodec } from "./flat.js";

/** The codes of n rows of one inverted list, in kernel memory, ready to be scanned. */
export interface LoadedCodes {
  readonly n: number;
  /** Kernel memory held, in bytes. */
  readonly bytes: number;
  /** Gives the kernel memory back. */
  free(): void;
}

/** Compares one query with blocks of codes. Holds kernel memory: call `free` when done. */
export interface Scanner<Codes extends LoadedCodes = LoadedCodes> {
  /**
   * Finds the rows whose score may be at most `threshold`; never misses one. Returns how many; their
   * positions stand in `survivors`, ascending, until the next scan or allocation of kernel memory.
   */
  scan(codes: Codes, threshold: number): number;
  readonly survivors: Uint32Array;
  /** The score of one row, as exactly as the codes can tell. Independent of the row's position. */
  score(codes: Codes, row: number): number;
  free(): void;
}

/** How vectors become codes, and how a query is compared with them. */
export interface Codec<Codes extends LoadedCodes = LoadedCodes> {
  /** Bytes of the codes of n rows. */
  codeBytes(n: number): number;
  /** Codes of the n rows of one block; `vectors` has layout (n, dimension). */
  encode(vectors: Float32Array): Uint8Array;
  /** The vectors of a block, bit for bit, layout (n, dimension); the bytes given are not kept. */
  decode(codes: Uint8Array): Float32Array;
  /** Copies codes into kernel memory. */
  load(codes: Uint8Array): Codes;
  /** Prepares a query once, to be compared with many blocks. */
  scanner(query: Float32Array): Scanner<Codes>;
}

/** The codec of rows that no training has compressed; after training, of `ivfflat`. */
export function exactCodec(config: IndexConfig, dimension: number): Codec {
  return flatCodec(config.metric, dimension) as Codec;
}
