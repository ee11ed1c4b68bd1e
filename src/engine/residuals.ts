/** Differences between points and what they are coded relative to. */

import { nowhere } from "./code-layout.js";

/** Points less their anchors, layout (n, dimension); zeros where a point is nowhere. */
export function residualsOf(
  points: Float32Array,
  anchors: Float32Array,
  numbers: Uint32Array,
  dimension: number,
): Float32Array {
  const residuals = new Float32Array(points.length);
  numbers.forEach((anchor, row) => {
    if (anchor === nowhere) return;
    const from = anchor * dimension;
    for (let i = 0, at = row * dimension; i < dimension; i++, at++)
      residuals[at] = points[at] - anchors[from + i];
  });
  return residuals;
}

/** Scales rows to length 1, in place, and gives the lengths they had; zero stays zero. */
export function toDirections(rows: Float32Array, dimension: number): Float64Array {
  const lengths = new Float64Array(rows.length / dimension);
  for (let row = 0; row < lengths.length; row++) {
    const end = (row + 1) * dimension;
    let squares = 0;
    for (let i = row * dimension; i < end; i++) squares += rows[i] * rows[i];
    lengths[row] = Math.sqrt(squares);
    if (squares > 0) for (let i = row * dimension; i < end; i++) rows[i] /= lengths[row];
  }
  return lengths;
}

/** Adds each row's anchor to it, in place; rows that are nowhere become zero. */
export function addAnchors(
  residuals: Float32Array,
  anchors: Float32Array,
  numbers: Uint32Array,
  dimension: number,
): void {
  numbers.forEach((anchor, row) => {
    const at = row * dimension;
    if (anchor === nowhere) residuals.fill(0, at, at + dimension);
    else for (let i = 0; i < dimension; i++) residuals[at + i] += anchors[anchor * dimension + i];
  });
}

/** A point less the origin. */
export function fromOrigin(point: Float32Array, origin: Float32Array): Float32Array {
  return point.map((value, i) => value - origin[i]);
}
