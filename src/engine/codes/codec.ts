/**
 * The seam between inverted lists and the codes of vectors in them. Assigning vectors to lists and scanning codes are two
 * calls, so that reading and decryption can happen between them, and neither half depends on the other.
 */

import type { RowCodes } from "./code-sections.js";
import type { CodedModel } from "../model.js";
import type { RotatedCentroids } from "./rabitq.js";
import type { Work } from "../work.js";

/** A block of n rows in kernel memory, ready to be scanned. */
interface LoadedBlock {
  readonly n: number;
  /** Kernel memory held, in bytes. */
  readonly bytes: number;
  /** The address of its struct (see block-struct.ts). */
  readonly address: number;
  /** Vectors of rows at these positions, layout (rows, dimension), as the codec's `decode` returns them. */
  gather(rows: readonly number[]): Float32Array;
  /** Releases the kernel memory. */
  free(): void;
}

export interface LoadedVectors extends LoadedBlock {
  readonly kind: "vectors";
}

/** Vectors of fewer bits, which decode to float32. */
export interface LoadedScalarCodes extends LoadedBlock {
  readonly kind: "scalar";
}

export interface LoadedRowCodes extends LoadedBlock {
  readonly kind: "codes";
  readonly model: CodedModel;
  /** The reference centroid of all rows that have one; undefined if they differ. */
  readonly reference: number | undefined;
  /** Positions of rows without a reference centroid. In memory they have number 0. */
  readonly noCentroid: readonly number[];
  /** Row codes of rows at these positions. */
  gatherCodes(rows: readonly number[]): Uint8Array;
}

export type LoadedCodes = LoadedVectors | LoadedScalarCodes | LoadedRowCodes;

interface BlockCodec {
  /** Bytes of the codes of n rows. */
  codeBytes(n: number): number;
  /** Throws `corrupt` unless the codes are well-formed. All other functions take checked codes. */
  check(rows: RowCodes): void;
  /** Copies the codes of n rows into kernel memory. `fingerprints` is the address of n * 4 words. */
  load(rows: RowCodes, fingerprints: number): LoadedCodes;
}

/** Vectors that are stored bit for bit if they have the codec's precision, and RaBitQ codes of them. */
interface PreciseCodec extends BlockCodec {
  /**
   * Codes of the rows of one block, all of `list`, in pieces to be concatenated. `vectors` has layout (n, dimension) and may
   * be one of the pieces.
   */
  encode(vectors: Float32Array, list: number): Work<readonly Uint8Array[]>;
  /** The vectors of a block of n rows, layout (n, dimension), perhaps a view of `codes`. */
  decode(codes: Uint8Array, n: number): Float32Array;
}

/** Vectors of float32. */
export interface VectorCodec extends PreciseCodec {
  readonly kind: "vectors";
}

/** Vectors of float16 or int8. Those to encode were rounded before (see scalar.ts). */
export interface ScalarCodec extends PreciseCodec {
  readonly kind: "scalar";
}

/** Codes without vectors. They can move between blocks as they are. */
export interface RowCodec extends BlockCodec {
  readonly kind: "codes";
  readonly model: CodedModel;
  /** Bytes of one row code. */
  readonly rowBytes: number;
  /** Multiply-adds that encoding one row takes. */
  readonly rowCost: number;
  /** The row codes of a block of n rows, or of those at these positions. */
  unpack(codes: Uint8Array, n: number, chosen?: readonly number[]): Uint8Array;
  /** A block of row codes. */
  pack(rows: Uint8Array): Uint8Array;
  /** Row codes of vectors of some lists, layout (n, dimension). The codec must have been created to encode. */
  encodeRows(vectors: Float32Array, lists: Uint32Array): Work<Uint8Array>;
  /** The points in list space that row codes stand for, approximately, layout (n, dimension). `random`: see Quantizer. */
  decodeRows(rows: Uint8Array, random?: () => number): Float32Array;
  /** The same of a block of n rows. */
  decode(codes: Uint8Array, n: number): Float32Array;
}

/** How vectors become codes, and back. */
export type Codec = VectorCodec | ScalarCodec | RowCodec;

/**
 * The RaBitQ codes stored with vectors: none, if rows are not grouped by lists; else they are read (`"stored"`), or written
 * relative to the centroids of the lists.
 */
export type PruningCodes = "none" | "stored" | RotatedCentroids;
