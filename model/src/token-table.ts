/**
 * The table of token vectors: stored with 4-bit components, two to a byte, and a float16 scale per row; held in the memory of a
 * WebAssembly kernel, which adds rows some four times as fast as JavaScript does.
 */

import { readFileSync } from "node:fs";
import { addRowsWasm } from "./add-rows.wasm";

interface Tensor {
  readonly shape: readonly number[];
  readonly data_offsets: readonly [number, number];
}

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
  readonly dimension: number;
  readonly #kernel: Kernel;
  /** In the kernel's memory: float64 scales, the ids and the sums of a call, int8 components, in this order. */
  readonly #at: { readonly ids: number; readonly sums: number; readonly components: number };
  readonly #ids: Int32Array;
  readonly #sums: Float64Array;

  /** Reads a safetensors file with the tensors `table4` (U8: token, dimension / 2) and `scale` (F16: token). */
  constructor(path: string) {
    const file = readFileSync(path);
    const headerEnd = 8 + Number(file.readBigUInt64LE(0));
    const { table4, scale } = JSON.parse(file.toString("utf8", 8, headerEnd)) as Record<string, Tensor>;
    const bytesOf = ({ data_offsets: [start, end] }: Tensor) =>
      file.subarray(headerEnd + start, headerEnd + end);
    const pairs = bytesOf(table4);
    const halves = bytesOf(scale);
    const tokens = scale.shape[0];
    this.dimension = 2 * table4.shape[1];

    const sums = 8 * tokens;
    const ids = sums + 8 * this.dimension;
    const components = ids + 4 * rowsTogether;
    this.#at = { ids, sums, components };
    const pages = Math.ceil((components + 2 * pairs.length) / pageBytes);
    const memory = new WebAssembly.Memory({ initial: pages, maximum: pages });
    const scales = new Float64Array(memory.buffer, 0, tokens);
    for (let i = 0; i < tokens; i++) scales[i] = float16(halves.readUInt16LE(2 * i));
    const unpacked = new Int8Array(memory.buffer, components, 2 * pairs.length);
    for (let i = 0; i < pairs.length; i++) {
      // The low half of a byte comes first; both halves are signed.
      unpacked[2 * i] = (pairs[i] << 28) >> 28;
      unpacked[2 * i + 1] = (pairs[i] << 24) >> 28;
    }
    this.#ids = new Int32Array(memory.buffer, ids, rowsTogether);
    this.#sums = new Float64Array(memory.buffer, sums, this.dimension);
    const module = new WebAssembly.Module(Buffer.from(addRowsWasm, "base64"));
    this.#kernel = new WebAssembly.Instance(module, { env: { memory } }).exports as unknown as Kernel;
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
      this.#kernel.addRows(at.components, 0, this.dimension, at.ids, count, at.sums);
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
