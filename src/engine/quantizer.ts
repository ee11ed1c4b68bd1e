/** What `ivf` and `ivfpq` differ in: how a vector becomes a code, and what a query makes of codes. Works in list space. */

import type { CodeLayout } from "./code-layout.js";
import type { Bases } from "./kernels/estimates.js";

/** A model's quantizer, ready for work. Holds kernel memory: call `free` when done. */
export interface Quantizer {
  readonly layout: CodeLayout;
  /** Kernel memory held, in bytes. */
  readonly bytes: number;
  /** Row codes of points, layout (n, dimension), each relative to the reference centroid with its number. */
  encode(points: Float32Array, references: Uint32Array): Uint8Array;
  /** The points that row codes stand for, approximately, layout (n, dimension). */
  decode(rows: Uint8Array): Float32Array;
  ask(point: Float32Array): QuantizedQuery;
  free(): void;
}

/** One query's tables. Holds kernel memory: call `free` when done; does not need its quantizer any more. */
export interface QuantizedQuery {
  /**
   * Writes n float32 estimates of squared distances, from 0 to the largest float32. `block` is where the block of n rows
   * lies, with 15 bytes of kernel memory after it; a base is the squared distance of the query from a reference centroid. `sums` is
   * room for 2 * m uint32, m being n rounded up to 32.
   */
  estimate(block: number, n: number, bases: Bases, sums: number, estimates: number): void;
  free(): void;
}
