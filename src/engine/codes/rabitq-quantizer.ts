/**
 * Codes of a trained `ivf` index: RaBitQ (Gao and Long, SIGMOD 2024) without the vectors, so that the estimate is the distance
 * reported. Relative to a reference centroid a, with the rotation P, r = P (o - a), x = sign(r) / sqrt(D) and s = <x, r> / |r|:
 *
 *   |q - o|^2 ~ |q - a|^2 + add + scale * <x, P (q - origin)>,  scale = -2 |r| / s,  add = |r|^2 - scale * <x, P (a - origin)>
 *
 * Vectors are padded with zeros to D before they are rotated. D is as large as d / 8 + 40 bytes per row allow, since every
 * additional sign improves the estimate.
 */

import { allocate, bytesAt, floatsAt, free, wordsAt } from "../kernels/memory.js";
import type { QuantizerModel } from "../model.js";
import { Rotation } from "../rotation.js";
import type { Work } from "../work.js";
import { type CodeLayout, codeWords, noCentroid, rowCodeBytes } from "./code-layout.js";
import { type Quantizer, QueryTables } from "./quantizer.js";
import { addRandomRest, addReferences, residualsOf, toProjections } from "./residuals.js";

/** Bytes per row beyond d / 8 that signs may take: of 40, 12 are for reference centroid and factors and 4 for overhead of blocks. */
const spareBytes = 24;

/** Signs per row: a multiple of 64, at most d + 192. */
export function signCount(dimension: number): number {
  return Math.floor((dimension + 8 * spareBytes) / 64) * 64;
}

export function rabitqLayout(dimension: number): CodeLayout {
  const signs = signCount(dimension);
  return { nibbles: signs / 4, bitBytes: signs / 8 };
}

export class RabitqQuantizer implements Quantizer {
  readonly layout: CodeLayout;
  readonly bytes: number;
  readonly tables: QueryTables;
  readonly #model: QuantizerModel;
  readonly #rotation: Rotation;

  constructor(dimension: number, quantizer: QuantizerModel) {
    this.layout = rabitqLayout(dimension);
    this.#model = quantizer;
    this.#rotation = new Rotation(dimension, quantizer.rotationSeed, signCount(dimension));
    const { rotated, signs, span } = this.#rotation;
    this.tables = new QueryTables(quantizer.origin, { nibbles: this.layout.nibbles, rotated, signs, span });
    this.bytes = this.#rotation.bytes + this.tables.bytes;
  }

  *encode(points: Float32Array, references: Uint32Array): Work<Uint8Array> {
    const { dimension, rotated } = this.#rotation;
    const { bitBytes } = this.layout;
    const n = references.length;
    const { numbers, distinct } = distinctOf(references);
    const at = allocate(4 * rotated * (n + distinct.length) + (12 + bitBytes) * n);
    const origins = at + 4 * rotated * n;
    const numbersAt = origins + 4 * rotated * distinct.length;
    const factors = numbersAt + 4 * n;
    const signs = factors + 8 * n;
    try {
      this.#rotation.apply(residualsOf(points, this.#model.references, references, dimension), at);
      this.#rotation.apply(this.#fromOrigins(distinct), origins);
      wordsAt(numbersAt, n).set(numbers);
      const args = [at, n, rotated, numbersAt, origins, signs, factors] as const;
      yield [{ kernel: "encodeSigns", args, cost: n * rotated }];

      const rowBytes = rowCodeBytes(this.layout);
      const rows = new Uint8Array(n * rowBytes);
      const view = new DataView(rows.buffer);
      const values = floatsAt(factors, 2 * n);
      const bits = bytesAt(signs, n * bitBytes);
      for (let row = 0; row < n; row++) {
        const to = row * rowBytes;
        view.setUint32(to, references[row], true);
        view.setFloat32(to + 4, values[row], true);
        view.setFloat32(to + 8, values[n + row], true);
        rows.set(bits.subarray(row * bitBytes, (row + 1) * bitBytes), to + 4 * codeWords);
      }
      return rows;
    } finally {
      free(at);
    }
  }

  decode(rows: Uint8Array, random?: () => number): Float32Array {
    const { dimension, rotated } = this.#rotation;
    const rowBytes = rowCodeBytes(this.layout);
    const n = rows.length / rowBytes;
    const view = new DataView(rows.buffer, rows.byteOffset, rows.byteLength);
    const references = Uint32Array.from({ length: n }, (_, row) => view.getUint32(row * rowBytes, true));
    const { numbers, distinct } = distinctOf(references);
    const at = allocate(4 * rotated * (n + distinct.length));
    const originsAt = at + 4 * rotated * n;
    this.#rotation.apply(this.#fromOrigins(distinct), originsAt);
    const origins = floatsAt(originsAt, rotated * distinct.length);
    const signs = floatsAt(at, rotated * n);
    const squares = new Float64Array(n);
    const along = new Float64Array(n);
    const unit = 1 / Math.sqrt(rotated);
    for (let row = 0; row < n; row++) {
      const from = row * rowBytes;
      const add = view.getFloat32(from + 4, true);
      const scale = view.getFloat32(from + 8, true);
      const origin = numbers[row] * rotated;
      let beside = 0;
      for (let i = 0; i < rotated; i++) {
        // Without a branch, which would be predicted wrongly every other time.
        const bit = (rows[from + 4 * codeWords + (i >> 3)] >> (i & 7)) & 1;
        const sign = unit * (2 * bit - 1);
        signs[row * rotated + i] = sign;
        beside += sign * origins[origin + i];
      }
      // |r|^2 = add + scale * <x, P (a - origin)>, and |r| s = -2 |r|^2 / scale.
      squares[row] = Math.max(0, add + scale * beside);
      along[row] = scale < 0 ? (-2 * squares[row]) / scale : 0;
    }
    // Without the dimensions of padding: a point has nothing there.
    const points = this.#rotation.undo(at, n);
    free(at);
    toProjections(points, squares, along);
    if (random !== undefined) addRandomRest(points, squares, random);
    addReferences(points, this.#model.references, references, dimension);
    return points;
  }

  free(): void {
    this.tables.free();
    this.#rotation.free();
  }

  /** Reference centroids minus the origin, layout (numbers, dimension). */
  #fromOrigins(numbers: readonly number[]): Float32Array {
    const { references, origin } = this.#model;
    const d = origin.length;
    const rows = new Float32Array(numbers.length * d);
    numbers.forEach((reference, row) => {
      for (let i = 0; i < d; i++) rows[row * d + i] = references[reference * d + i] - origin[i];
    });
    return rows;
  }
}

/** The distinct reference centroids, and the position of each row's among them; that of a row without one is arbitrary. */
function distinctOf(references: Uint32Array): { numbers: Uint32Array; distinct: number[] } {
  const positions = new Map<number, number>();
  const numbers = references.map((reference) => {
    const wanted = reference === noCentroid ? 0 : reference;
    const known = positions.get(wanted);
    if (known !== undefined) return known;
    positions.set(wanted, positions.size);
    return positions.size - 1;
  });
  return { numbers, distinct: [...positions.keys()] };
}
