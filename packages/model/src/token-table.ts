/**
 * The table of token vectors: stored with 4-bit components, two to a byte, and a float16 scale per row; held in the memory of a
 * WebAssembly kernel, which adds rows some four times as fast as JavaScript does.
 */

import { addRowsWasm } from "./add-rows.wasm";
import type { Part } from "./packed-data";

interface Kernel {
  addRows(
    components: number,
    scales: number,
    dimension: number,
    ids: number,
    count: number,
    sums: number,
  ): void;
}

const pageBytes = 65_536;
/** Rows that one call of the kernel adds. */
const rowsTogether = 4096;

export class TokenTable {
  readonly #dimension: number;
  readonly #kernel: Kernel;
  /** Where the ids and the sums of a call and the components are in the kernel's memory. */
  readonly #at: { readonly ids: number; readonly sums: number; readonly components: number };
  readonly #scales: Float64Array;
  readonly #ids: Int32Array;
  readonly #sums: Float64Array;
  readonly #components: Int8Array;

  /** All rows are 0. */
  constructor(tokens: number, dimension: number) {
    this.#dimension = dimension;
    const sums = 8 * tokens;
    const ids = sums + 8 * dimension;
    const components = ids + 4 * rowsTogether;
    this.#at = { ids, sums, components };
    const pages = Math.ceil((components + tokens * dimension) / pageBytes);
    const memory = new WebAssembly.Memory({ initial: pages, maximum: pages });
    this.#scales = new Float64Array(memory.buffer, 0, tokens);
    this.#sums = new Float64Array(memory.buffer, sums, dimension);
    this.#ids = new Int32Array(memory.buffer, ids, rowsTogether);
    this.#components = new Int8Array(memory.buffer, components, tokens * dimension);
    const module = new WebAssembly.Module(Buffer.from(addRowsWasm, "base64"));
    this.#kernel = new WebAssembly.Instance(module, { env: { memory } }).exports as unknown as Kernel;
  }

  /** Sets the rows of successive tokens, packed as in `Part`. */
  setRows(first: number, { scales, rows }: Pick<Part, "scales" | "rows">): void {
    const halves = Buffer.from(scales, "base64");
    for (let i = 0; 2 * i < halves.length; i++) {
      this.#scales[first + i] = float16(halves.readUInt16LE(2 * i));
    }
    const pairs = Buffer.from(rows, "base64");
    const unpacked = this.#components.subarray(first * this.#dimension);
    for (let i = 0; i < pairs.length; i++) {
      unpacked[2 * i] = (pairs[i] << 28) >> 28;
      unpacked[2 * i + 1] = (pairs[i] << 24) >> 28;
    }
  }

  /**
   * Adds the rows of these tokens to `sums`, each as often as it is named. Products and sums have few bits, so that sums in double
   * precision are exact and their order does not count.
   */
  addRows(ids: readonly number[], sums: Float64Array): void {
    const at = this.#at;
    this.#sums.set(sums);
    for (let start = 0; start < ids.length; start += rowsTogether) {
      const count = Math.min(rowsTogether, ids.length - start);
      for (let i = 0; i < count; i++) this.#ids[i] = ids[start + i];
      this.#kernel.addRows(at.components, 0, this.#dimension, at.ids, count, at.sums);
    }
    sums.set(this.#sums);
  }
}

/** IEEE 754 binary16. Scales are finite and not negative. */
function float16(bits: number): number {
  const exponent = bits >> 10;
  const fraction = bits & 0x3ff;
  return exponent === 0 ? fraction * 2 ** -24 : (0x400 + fraction) * 2 ** (exponent - 25);
}
