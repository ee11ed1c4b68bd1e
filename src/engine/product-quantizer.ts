/**
 * Codes of a trained `ivfpq` index: product quantization of residuals (Jegou, Douze and Schmid, 2011). The components of the
 * direction of the residual r = o - a are reordered and split into `pqDim` parts, and each part is replaced by the nearest
 * codeword of its codebook, which gives u. Then
 *
 *   |q - o|^2 ~ |q - a|^2 + add - 2 scale <q - origin, u>,  scale = |r|^2 / <r, u>,  add = |r|^2 + 2 scale <a - origin, u>
 *
 * which keeps the length of r and corrects for the error of u along r, as RaBitQ does. The origin is subtracted to reduce
 * rounding, and one table of products with the codewords serves every list. Codewords of up to 4 bits are packed in nibbles and
 * summed by fast scan, with entries of two bytes since the estimate is final; longer ones are packed bit by bit.
 */

import { codeWords, type CodeLayout, noCentroid, rowCodeBytes } from "./code-layout.js";
import type { IndexConfig } from "./config.js";
import { kernels } from "./kernels/kernels.js";
import { allocate, floatsAt, free, wordsAt } from "./kernels/memory.js";
import type { QuantizerModel, Codebooks } from "./model.js";
import { addReferences, fromOrigin, residualsOf, toDirections } from "./residuals.js";
import type { Bases, EstimateRoom, QuantizedQuery, Quantizer } from "./quantizer.js";
import { estimateNibbles, type RoundedTable } from "./rounded-table.js";

/** Codewords that have almost nothing in common with a direction must not be scaled up to all of it. */
const alongMin = 0.25;
const nibbleBits = 4;

/** The layout of the codewords of a row in its bits. */
interface CodewordLayout extends CodeLayout {
  readonly parts: number;
  readonly bits: number;
  /** Codewords per nibble; 0 if they are longer. */
  readonly together: number;
}

export function productLayout({ pqDim = 1, pqBits = 1 }: IndexConfig): CodewordLayout {
  const together = Math.floor(nibbleBits / pqBits);
  const nibbles = together > 0 ? Math.ceil(pqDim / together) : 0;
  const bitBytes = together > 0 ? Math.ceil(nibbles / 2) : Math.ceil((pqDim * pqBits) / 8);
  return { nibbles, bitBytes, parts: pqDim, bits: pqBits, together };
}

/** The first bit of a part's codeword in the bits of a row. */
function positionOf({ bits, together }: CodewordLayout, part: number): number {
  if (together === 0) return part * bits;
  return nibbleBits * Math.floor(part / together) + bits * (part % together);
}

/** Writes the number of a codeword at a bit position of bytes that are zero there. */
export function putCodeword(bytes: Uint8Array, position: number, codeword: number): void {
  let rest = codeword << (position & 7);
  for (let at = position >> 3; rest > 0; at++) {
    bytes[at] |= rest & 255;
    rest >>>= 8;
  }
}

/** The number of the codeword of `bits` bits, at most 16, at a bit position. */
export function codewordAt(bytes: Uint8Array, position: number, bits: number): number {
  const at = position >> 3;
  const three = bytes[at] | ((bytes[at + 1] ?? 0) << 8) | ((bytes[at + 2] ?? 0) << 16);
  return (three >> (position & 7)) & (2 ** bits - 1);
}

export class ProductQuantizer implements Quantizer {
  readonly layout: CodewordLayout;
  readonly bytes: number;
  readonly #model: QuantizerModel;
  readonly #dimension: number;
  readonly #order: Uint32Array;
  readonly #codebooks: Float32Array;
  /** Codewords per codebook. */
  readonly #k: number;
  readonly #at: number;

  constructor(
    config: IndexConfig,
    dimension: number,
    quantizer: QuantizerModel,
    { order, codewords }: Codebooks,
  ) {
    this.layout = productLayout(config);
    this.#model = quantizer;
    this.#dimension = dimension;
    this.#order = order;
    this.#codebooks = codewords;
    this.#k = this.#codebooks.length / dimension;
    // The codewords, then half their squared norms.
    this.bytes = 4 * this.#codebooks.length + 4 * this.layout.parts * this.#k;
    this.#at = allocate(this.bytes);
    floatsAt(this.#at, this.#codebooks.length).set(this.#codebooks);
    const count = this.layout.parts * this.#k;
    const norms = this.#at + 4 * this.#codebooks.length;
    kernels().halfSquares(this.#at, count, this.#width, norms);
  }

  /** Components of a part. */
  get #width(): number {
    return this.#dimension / this.layout.parts;
  }

  encode(points: Float32Array, references: Uint32Array): Uint8Array {
    const d = this.#dimension;
    const n = references.length;
    const rowBytes = rowCodeBytes(this.layout);
    const rows = new Uint8Array(n * rowBytes);
    const view = new DataView(rows.buffer);
    const { references: around, origin } = this.#model;
    const residuals = residualsOf(points, around, references, d);
    const lengths = toDirections(residuals, d);
    const along = new Float64Array(n);
    const beside = new Float64Array(n);
    const scratch = allocate(4 * n * this.#width + 8 * n);
    for (let part = 0; part < this.layout.parts; part++) {
      const found = this.#nearestCodewords(residuals, part, scratch);
      const position = positionOf(this.layout, part);
      for (let row = 0; row < n; row++) {
        const bits = rows.subarray(row * rowBytes + 4 * codeWords, (row + 1) * rowBytes);
        putCodeword(bits, position, found[row]);
        const codeword = (part * this.#k + found[row]) * this.#width;
        const reference = references[row] === noCentroid ? 0 : references[row] * d;
        for (let i = 0, at = part * this.#width; i < this.#width; i++, at++) {
          const value = this.#codebooks[codeword + i];
          const component = this.#order[at];
          along[row] += value * residuals[row * d + component];
          beside[row] += value * (around[reference + component] - origin[component]);
        }
      }
    }
    free(scratch);
    for (let row = 0; row < n; row++) {
      const length = lengths[row];
      const scale = length / Math.max(along[row], alongMin);
      view.setUint32(row * rowBytes, references[row], true);
      view.setFloat32(row * rowBytes + 4, length * length + 2 * scale * beside[row], true);
      view.setFloat32(row * rowBytes + 8, scale, true);
    }
    return rows;
  }

  decode(rows: Uint8Array): Float32Array {
    const d = this.#dimension;
    const rowBytes = rowCodeBytes(this.layout);
    const n = rows.length / rowBytes;
    const view = new DataView(rows.buffer, rows.byteOffset, rows.byteLength);
    const points = new Float32Array(n * d);
    const references = Uint32Array.from({ length: n }, (_, row) => view.getUint32(row * rowBytes, true));
    const { references: around, origin } = this.#model;
    for (let row = 0; row < n; row++) {
      const bits = rows.subarray(row * rowBytes + 4 * codeWords, (row + 1) * rowBytes);
      const point = points.subarray(row * d, (row + 1) * d);
      const reference = references[row] === noCentroid ? 0 : references[row] * d;
      let beside = 0;
      for (let part = 0; part < this.layout.parts; part++) {
        const found = codewordAt(bits, positionOf(this.layout, part), this.layout.bits);
        const codeword = (part * this.#k + found) * this.#width;
        for (let i = 0; i < this.#width; i++) {
          const component = this.#order[part * this.#width + i];
          point[component] = this.#codebooks[codeword + i];
          beside += point[component] * (around[reference + component] - origin[component]);
        }
      }
      const add = view.getFloat32(row * rowBytes + 4, true);
      const scale = view.getFloat32(row * rowBytes + 8, true);
      const length = Math.sqrt(Math.max(0, add - 2 * scale * beside));
      for (let i = 0; i < d; i++) point[i] *= length;
    }
    addReferences(points, this.#model.references, references, d);
    return points;
  }

  /** For each part, -2 times the products of the query's part with the codewords. */
  ask(point: Float32Array): QuantizedQuery {
    const centred = fromOrigin(point, this.#model.origin);
    const query = Float32Array.from(this.#order, (component) => -2 * centred[component]);
    const width = this.#width;
    const k = this.#k;
    const { parts } = this.layout;
    const queryAt = allocate(4 * this.#dimension + 4 * parts * k);
    const tables = queryAt + 4 * this.#dimension;
    floatsAt(queryAt, this.#dimension).set(query);
    for (let part = 0; part < parts; part++) {
      const skip = 4 * part * width;
      kernels().dotBlock(queryAt + skip, this.#at + skip * k, k, width, tables + 4 * part * k);
    }
    if (this.layout.together === 0) return new ProductQuery(this.layout, queryAt, tables, k);
    const nibbles = new NibbleQuery(this.layout, floatsAt(tables, parts * k).slice(), k);
    free(queryAt);
    return nibbles;
  }

  free(): void {
    free(this.#at);
  }

  /** The nearest codeword to a part of each row. */
  #nearestCodewords(residuals: Float32Array, part: number, scratch: number): Uint32Array {
    const d = this.#dimension;
    const width = this.#width;
    const n = residuals.length / d;
    const gathered = floatsAt(scratch, n * width);
    for (let row = 0; row < n; row++) {
      for (let i = 0; i < width; i++) {
        gathered[row * width + i] = residuals[row * d + this.#order[part * width + i]];
      }
    }
    const found = scratch + 4 * n * width;
    const codebook = this.#at + 4 * part * width * this.#k;
    const norms = this.#at + 4 * this.#codebooks.length + 4 * part * this.#k;
    kernels().assignNearest(scratch, n, width, codebook, this.#k, norms, found, found + 4 * n);
    return wordsAt(found, n);
  }
}

/** Tables with one entry per codeword, looked up one by one. */
class ProductQuery implements QuantizedQuery {
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

  estimate(block: number, n: number, { references, bases, base }: Bases, { estimates }: EstimateRoom): void {
    const { bitBytes, parts, bits } = this.#layout;
    const terms = block + 4 * n;
    const codes = terms + 8 * n;
    const tables = this.#tables;
    kernels().estimateProducts(
      codes,
      n,
      bitBytes,
      parts,
      bits,
      tables,
      this.#k,
      terms,
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
class NibbleQuery implements QuantizedQuery {
  readonly #table: RoundedTable;

  /** `tables` has layout (parts, k). */
  constructor(layout: CodewordLayout, tables: Float32Array, k: number) {
    const { nibbles, parts, bits, together } = layout;
    const low = allocate((32 + 64) * nibbles + 8);
    const entriesAt = low + 32 * nibbles;
    const entries = floatsAt(entriesAt, 16 * nibbles);
    entries.fill(0);
    for (let part = 0; part < parts; part++) {
      const group = 16 * Math.floor(part / together);
      const shift = bits * (part % together);
      for (let value = 0; value < 16; value++) {
        const codeword = (value >> shift) & (2 ** bits - 1);
        // Values that no row has must not widen the range of the entries.
        entries[group + value] += tables[part * k + (codeword < k ? codeword : 0)];
      }
    }
    const scale = entriesAt + 64 * nibbles;
    kernels().roundTable(entriesAt, nibbles, low, low + 16 * nibbles, scale);
    const [step, shift] = floatsAt(scale, 2);
    this.#table = { groups: nibbles, low, high: low + 16 * nibbles, step, shift };
  }

  estimate(block: number, n: number, bases: Bases, room: EstimateRoom): void {
    estimateNibbles(this.#table, block, n, bases, room);
  }

  free(): void {
    free(this.#table.low);
  }
}
