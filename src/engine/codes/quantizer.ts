/** The difference between `ivf` and `ivfpq`: how a vector becomes a code, and how a query estimates distances from codes. In list space. */

import { kernels } from "../kernels/kernels.js";
import { rowQuantizerLayout } from "../kernels/kernels.wasm.js";
import { allocate, floatsAt, free, writeWords } from "../kernels/memory.js";
import type { Work } from "../work.js";
import type { CodeLayout } from "./code-layout.js";

/** A model's quantizer, ready for use. Holds kernel memory: call `free` when done. */
export interface Quantizer {
  readonly layout: CodeLayout;
  /** Kernel memory held, in bytes. */
  readonly bytes: number;
  readonly tables: QueryTables;
  /** Row codes of points, layout (n, dimension), each relative to the reference centroid with its number. */
  encode(points: Float32Array, references: Uint32Array): Work<Uint8Array>;
  /**
   * The points that row codes stand for, approximately, layout (n, dimension): of each the one nearest to the encoded vector in
   * the direction of its code. With `random`, points that may have been encoded: each is as far from its reference centroid, too, in a
   * random direction.
   */
  decode(rows: Uint8Array, random?: () => number): Float32Array;
  free(): void;
}

// Tables that a query computes once, to be compared with codes without vectors (see kernels/assembly/query-tables.ts).

type Field = Exclude<keyof typeof rowQuantizerLayout, "bytes" | "dimension" | "origin">;

const absent: Readonly<Record<Field, number>> = {
  nibbles: 0,
  rowBytes: 0,
  rotated: 0,
  signs: 0,
  span: 0,
  order: 0,
  codewords: 0,
  subspaces: 0,
  k: 0,
  bits: 0,
  together: 0,
};

/** The struct of a quantizer from which kernels make a query's tables. Holds kernel memory: call `free` when done. */
export class QueryTables {
  /** Kernel memory held, in bytes. */
  readonly bytes: number;
  /** Kernel memory that a query takes, in bytes, a multiple of 16. */
  readonly queryBytes: number;
  readonly #address: number;

  /** `origin`: the point that queries are relative to. `fields`: those of the struct that the codes have; the memory they name must outlive it. */
  constructor(origin: Float32Array, fields: Partial<Readonly<Record<Field, number>>>) {
    this.bytes = rowQuantizerLayout.bytes + 4 * origin.length;
    this.#address = allocate(this.bytes);
    const originAt = this.#address + rowQuantizerLayout.bytes;
    floatsAt(originAt, origin.length).set(origin);
    writeWords(this.#address, rowQuantizerLayout, {
      ...absent,
      ...fields,
      dimension: origin.length,
      origin: originAt,
    });
    this.queryBytes = kernels().codedQueryBytes(this.#address);
  }

  /** Writes the tables of a query to `at`, which outlive the quantizer. `point`: the address of its struct in list space. */
  prepare(point: number, at: number): void {
    kernels().prepareCodes(point, this.#address, at);
  }

  free(): void {
    free(this.#address);
  }
}
