/**
 * Codes of a trained `ivfpq` index: product quantization of residuals (Jegou, Douze and Schmid, 2011). The components of the
 * direction of the residual r = o - a are reordered and split into `pqDim` subvectors, and each is replaced by the nearest
 * codeword of its codebook, which gives u. Then
 *
 *   |q - o|^2 ~ |q - a|^2 + add - 2 scale <q - origin, u>,  scale = |r|^2 / <r, u>,  add = |r|^2 + 2 scale <a - origin, u>
 *
 * which keeps the length of r and corrects for the error of u along r, as RaBitQ does. The origin is subtracted to reduce
 * rounding, and one table of products with the codewords serves every list. Codewords of up to 4 bits are packed in nibbles and
 * summed by fast scan, with entries of two bytes since the estimate is final; longer ones are packed bit by bit.
 */

import type { IndexConfig } from "../config.js";
import { kernels } from "../kernels/kernels.js";
import { allocate, floatsAt, free, wordsAt } from "../kernels/memory.js";
import type { Codebooks, QuantizerModel } from "../model.js";
import type { Work } from "../work.js";
import {
  bitOffsetOf,
  codewordAt,
  type CodewordLayout,
  codeWords,
  noCentroid,
  productLayout,
  putCodeword,
  rowCodeBytes,
} from "./code-layout.js";
import { type Quantizer, QueryTables } from "./quantizer.js";
import { addRandomRest, addReferences, residualsOf, toDirections, toProjections } from "./residuals.js";

export class ProductQuantizer implements Quantizer {
  readonly layout: CodewordLayout;
  readonly bytes: number;
  readonly tables: QueryTables;
  readonly #model: QuantizerModel;
  readonly #dimension: number;
  readonly #codebooks: Codebooks;
  /** Codewords per codebook. */
  readonly #k: number;
  readonly #at: number;

  constructor(config: IndexConfig, dimension: number, quantizer: QuantizerModel, codebooks: Codebooks) {
    const { order, codewords } = codebooks;
    this.layout = productLayout(config);
    this.#model = quantizer;
    this.#dimension = dimension;
    this.#codebooks = codebooks;
    this.#k = codewords.length / dimension;
    const { nibbles, bitBytes: rowBytes, subspaces, bits, together } = this.layout;
    const count = subspaces * this.#k;
    // The codewords, half their squared norms, and the order of components.
    const bytes = 4 * (codewords.length + count + dimension);
    this.#at = allocate(bytes);
    floatsAt(this.#at, codewords.length).set(codewords);
    const norms = this.#at + 4 * codewords.length;
    kernels().halfSquares(this.#at, count, this.#width, norms);
    const orderAt = norms + 4 * count;
    wordsAt(orderAt, dimension).set(order);
    const fields = { nibbles, rowBytes, order: orderAt, codewords: this.#at, subspaces, bits, together };
    this.tables = new QueryTables(quantizer.origin, { ...fields, k: this.#k });
    this.bytes = bytes + this.tables.bytes;
  }

  /** Components per subspace. */
  get #width(): number {
    return this.#dimension / this.layout.subspaces;
  }

  *encode(points: Float32Array, references: Uint32Array): Work<Uint8Array> {
    const d = this.#dimension;
    const n = references.length;
    const rowBytes = rowCodeBytes(this.layout);
    const rows = new Uint8Array(n * rowBytes);
    const view = new DataView(rows.buffer);
    const { references: around, origin } = this.#model;
    const { order, codewords } = this.#codebooks;
    const residuals = residualsOf(points, around, references, d);
    const lengths = toDirections(residuals, d);
    const nearest = yield* this.#nearestCodewords(residuals);
    const along = new Float64Array(n);
    const beside = new Float64Array(n);
    for (let subspace = 0; subspace < this.layout.subspaces; subspace++) {
      const found = nearest.subarray(subspace * n, (subspace + 1) * n);
      const position = bitOffsetOf(this.layout, subspace);
      for (let row = 0; row < n; row++) {
        const bits = rows.subarray(row * rowBytes + 4 * codeWords, (row + 1) * rowBytes);
        putCodeword(bits, position, found[row]);
        const codeword = (subspace * this.#k + found[row]) * this.#width;
        const reference = references[row] === noCentroid ? 0 : references[row] * d;
        for (let i = 0, at = subspace * this.#width; i < this.#width; i++, at++) {
          const value = codewords[codeword + i];
          const component = order[at];
          along[row] += value * residuals[row * d + component];
          beside[row] += value * (around[reference + component] - origin[component]);
        }
      }
    }
    for (let row = 0; row < n; row++) {
      const length = lengths[row];
      const scale = length / Math.max(along[row], alongMin);
      view.setUint32(row * rowBytes, references[row], true);
      view.setFloat32(row * rowBytes + 4, length * length + 2 * scale * beside[row], true);
      view.setFloat32(row * rowBytes + 8, scale, true);
    }
    return rows;
  }

  decode(rows: Uint8Array, random?: () => number): Float32Array {
    return decodeCodewords(this.layout, this.#model, this.#codebooks, rows, random);
  }

  free(): void {
    this.tables.free();
    free(this.#at);
  }

  /** The nearest codeword to each row's subvector, layout (subspaces, n). */
  *#nearestCodewords(residuals: Float32Array): Work<Uint32Array> {
    const d = this.#dimension;
    const width = this.#width;
    const k = this.#k;
    const n = residuals.length / d;
    const { subspaces } = this.layout;
    const { order, codewords } = this.#codebooks;
    const gathered = new Float32Array(residuals.length);
    for (let subspace = 0, to = 0; subspace < subspaces; subspace++) {
      for (let row = 0; row < n; row++) {
        for (let i = 0; i < width; i++) gathered[to++] = residuals[row * d + order[subspace * width + i]];
      }
    }
    const at = allocate(4 * gathered.length + 8 * subspaces * n);
    const found = at + 4 * gathered.length;
    const distances = found + 4 * subspaces * n;
    const norms = this.#at + 4 * codewords.length;
    try {
      floatsAt(at, gathered.length).set(gathered);
      yield Array.from({ length: subspaces }, (_, subspace) => ({
        kernel: "assignNearest" as const,
        cost: n * k * width,
        args: [
          at + 4 * subspace * n * width,
          n,
          width,
          this.#at + 4 * subspace * k * width,
          k,
          norms + 4 * subspace * k,
          found + 4 * subspace * n,
          distances + 4 * subspace * n,
        ],
      }));
      return wordsAt(found, subspaces * n).slice();
    } finally {
      free(at);
    }
  }
}

// The points that `ivfpq` codes stand for (see product-quantizer.ts).

/** Codewords that have almost nothing in common with a direction must not be scaled up to all of it. */
const alongMin = 0.25;
/** The same, as it may be rounded in a factor. */
const alongRounded = 1.001 * alongMin;

/** Layout (n, dimension). See `Quantizer.decode`. */
export function decodeCodewords(
  layout: CodewordLayout,
  { references: around, origin }: QuantizerModel,
  { order, codewords }: Codebooks,
  rows: Uint8Array,
  random: (() => number) | undefined,
): Float32Array {
  const d = order.length;
  const { subspaces, bits } = layout;
  const width = d / subspaces;
  const k = codewords.length / d;
  const rowBytes = rowCodeBytes(layout);
  const n = rows.length / rowBytes;
  const view = new DataView(rows.buffer, rows.byteOffset, rows.byteLength);
  const points = new Float32Array(n * d);
  const references = Uint32Array.from({ length: n }, (_, row) => view.getUint32(row * rowBytes, true));
  const squares = new Float64Array(n);
  const along = new Float64Array(n);
  for (let row = 0; row < n; row++) {
    const own = rows.subarray(row * rowBytes + 4 * codeWords, (row + 1) * rowBytes);
    const point = points.subarray(row * d, (row + 1) * d);
    const reference = references[row] === noCentroid ? 0 : references[row] * d;
    let beside = 0;
    for (let subspace = 0; subspace < subspaces; subspace++) {
      const found = codewordAt(own, bitOffsetOf(layout, subspace), bits);
      const codeword = (subspace * k + found) * width;
      for (let i = 0; i < width; i++) {
        const component = order[subspace * width + i];
        point[component] = codewords[codeword + i];
        beside += point[component] * (around[reference + component] - origin[component]);
      }
    }
    const add = view.getFloat32(row * rowBytes + 4, true);
    const scale = view.getFloat32(row * rowBytes + 8, true);
    squares[row] = Math.max(0, add - 2 * scale * beside);
    along[row] = scale > 0 ? squares[row] / scale : 0;
    // The factor holds `alongMin` instead of a smaller product, of which a mean of directions has about its own square.
    if (random !== undefined && along[row] < alongRounded * Math.sqrt(squares[row])) {
      const square = point.reduce((sum, value) => sum + value * value, 0);
      along[row] = Math.min(along[row], square * Math.sqrt(squares[row]));
    }
  }
  toProjections(points, squares, along);
  if (random !== undefined) addRandomRest(points, squares, random);
  addReferences(points, around, references, d);
  return points;
}
