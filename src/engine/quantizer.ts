/** What `ivf` and `ivfpq` differ in: how a vector becomes a code, and how a query estimates distances from codes. In list space. */

import type { CodeLayout } from "./code-layout.js";

/** A model's quantizer, ready for use. Holds kernel memory: call `free` when done. */
export interface Quantizer {
  readonly layout: CodeLayout;
  /** Kernel memory held, in bytes. */
  readonly bytes: number;
  /** Row codes of points, layout (n, dimension), each relative to the reference centroid with its number. */
  encode(points: Float32Array, references: Uint32Array): Uint8Array;
  /**
   * The points that row codes stand for, approximately, layout (n, dimension): of each the one nearest to what was encoded in
   * the direction of its code. With `random`, points that may have been encoded: each is as far from its reference centroid, too, in a
   * random direction.
   */
  decode(rows: Uint8Array, random?: () => number): Float32Array;
  /** Prepares a query. */
  prepareQuery(point: Float32Array): QuantizedQuery;
  free(): void;
}

/** The squared distances of the query from what the rows of a block are relative to. */
export interface Bases {
  /** Address of each row's position in `bases`, n uint32; 0: all rows have the base `base`. */
  readonly references: number;
  /** Address of float32 bases. */
  readonly bases: number;
  readonly base: number;
}

/** Kernel memory for the estimates of n rows, m being n rounded up to 32. */
export interface EstimateBuffers {
  /** Address of scratch for 2 * m uint32. */
  readonly sums: number;
  /** Address of m float32. */
  readonly estimates: number;
}

/** One query's tables. Holds kernel memory: call `free` when done. It outlives its quantizer. */
export interface QuantizedQuery {
  /**
   * Writes n float32 estimates of squared distances to `buffers.estimates`, from 0 to the largest float32. `block` is the address
   * of a block of n rows with 15 readable bytes after it.
   */
  estimate(block: number, n: number, bases: Bases, buffers: EstimateBuffers): void;
  free(): void;
}
