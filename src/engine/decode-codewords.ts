/** The points that `ivfpq` codes stand for (see product-quantizer.ts). */

import { codeWords, noCentroid, rowCodeBytes } from "./code-layout.js";
import { bitOffsetOf, codewordAt, type CodewordLayout } from "./codeword-layout.js";
import type { Codebooks, QuantizerModel } from "./model.js";
import { addRandomRest, addReferences, toProjections } from "./residuals.js";

/** Codewords that have almost nothing in common with a direction must not be scaled up to all of it. */
export const alongMin = 0.25;
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
    // The factor holds `alongMin` in place of a smaller product, of which a mean of directions has about its own square.
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
