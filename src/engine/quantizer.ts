/** What `ivf` and `ivfpq` differ in: how a vector becomes a code, and how a query estimates distances from codes. In list space. */

import type { CodeLayout } from "./code-layout.js";
import type { QueryTables } from "./query-tables.js";

/** A model's quantizer, ready for use. Holds kernel memory: call `free` when done. */
export interface Quantizer {
  readonly layout: CodeLayout;
  /** Kernel memory held, in bytes. */
  readonly bytes: number;
  readonly tables: QueryTables;
  /** Row codes of points, layout (n, dimension), each relative to the reference centroid with its number. */
  encode(points: Float32Array, references: Uint32Array): Uint8Array;
  /**
   * The points that row codes stand for, approximately, layout (n, dimension): of each the one nearest to what was encoded in
   * the direction of its code. With `random`, points that may have been encoded: each is as far from its reference centroid, too, in a
   * random direction.
   */
  decode(rows: Uint8Array, random?: () => number): Float32Array;
  free(): void;
}
