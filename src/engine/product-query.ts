/** Queries of `ivfpq` codes: tables of products with codewords, and the estimates they give. */

import { codeWords } from "./code-layout.js";
import type { CodewordLayout } from "./codeword-layout.js";
import { kernels } from "./kernels/kernels.js";
import { allocate, floatsAt, free } from "./kernels/memory.js";
import type { Bases, EstimateBuffers, QuantizedQuery } from "./quantizer.js";
import { estimateNibbles, type RoundedTable } from "./rounded-table.js";

/** Tables with one entry per codeword, looked up one by one. */
export class ProductQuery implements QuantizedQuery {
  readonly #layout: CodewordLayout;
  readonly #at: number;
  readonly #tables: number;
  readonly #k: number;

  /** Takes over the memory at `at`, which the tables are part of. */
  constructor(layout: CodewordLayout, at: number, tables: number, k: number) {
    this.#layout = layout;
    this.#at = at;
    this.#tables = tables;
    this.#k = k;
  }

  estimate(
    block: number,
    n: number,
    { references, bases, base }: Bases,
    { estimates }: EstimateBuffers,
  ): void {
    const { bitBytes, subspaces, bits } = this.#layout;
    const factors = block + 4 * n;
    const codes = block + 4 * codeWords * n;
    const tables = this.#tables;
    kernels().estimateProducts(
      codes,
      n,
      bitBytes,
      subspaces,
      bits,
      tables,
      this.#k,
      factors,
      references,
      bases,
      base,
      estimates,
    );
  }

  free(): void {
    free(this.#at);
  }
}

/** Tables for the 16 values of a nibble, which may be several codewords: the sums of their entries. */
export class NibbleQuery implements QuantizedQuery {
  readonly #table: RoundedTable;

  /** `tables` has layout (subspaces, k). */
  constructor(layout: CodewordLayout, tables: Float32Array, k: number) {
    const { nibbles, subspaces, bits, together } = layout;
    const low = allocate((32 + 64) * nibbles + 8);
    const entriesAt = low + 32 * nibbles;
    const entries = floatsAt(entriesAt, 16 * nibbles);
    entries.fill(0);
    for (let subspace = 0; subspace < subspaces; subspace++) {
      const group = 16 * Math.floor(subspace / together);
      const shift = bits * (subspace % together);
      for (let value = 0; value < 16; value++) {
        const codeword = (value >> shift) & (2 ** bits - 1);
        // Values that no row has must not widen the range of the entries.
        entries[group + value] += tables[subspace * k + (codeword < k ? codeword : 0)];
      }
    }
    const scale = entriesAt + 64 * nibbles;
    kernels().roundTable(entriesAt, nibbles, low, low + 16 * nibbles, scale);
    const [step, shift] = floatsAt(scale, 2);
    this.#table = { groups: nibbles, low, high: low + 16 * nibbles, step, shift };
  }

  estimate(block: number, n: number, bases: Bases, buffers: EstimateBuffers): void {
    estimateNibbles(this.#table, block, n, bases, buffers);
  }

  free(): void {
    free(this.#table.low);
  }
}
