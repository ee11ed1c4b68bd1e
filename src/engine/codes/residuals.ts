/** Differences between points and their reference centroids. */

import { noCentroid } from "./code-layout.js";
import { gaussian } from "../random.js";

/** Points minus their reference centroids, layout (n, dimension); zeros for a point without one. */
export function residualsOf(
  points: Float32Array,
  references: Float32Array,
  numbers: Uint32Array,
  dimension: number,
): Float32Array {
  const residuals = new Float32Array(points.length);
  numbers.forEach((reference, row) => {
    if (reference === noCentroid) return;
    const from = reference * dimension;
    for (let i = 0, at = row * dimension; i < dimension; i++, at++)
      residuals[at] = points[at] - references[from + i];
  });
  return residuals;
}

/** Scales rows to length 1, in place, and returns their lengths; zero stays zero. */
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

/** Adds to each row its reference centroid, in place; rows without one become zero. */
export function addReferences(
  residuals: Float32Array,
  references: Float32Array,
  numbers: Uint32Array,
  dimension: number,
): void {
  numbers.forEach((reference, row) => {
    const at = row * dimension;
    if (reference === noCentroid) residuals.fill(0, at, at + dimension);
    else for (let i = 0; i < dimension; i++) residuals[at + i] += references[reference * dimension + i];
  });
}

/**
 * Replaces the direction of each code, layout (n, dimension), by the projection of its residual on it, in place: no multiple of the direction is
 * nearer to the residual. `squares` are those of the residuals' lengths, `along` the products of residuals and directions.
 */
export function toProjections(directions: Float32Array, squares: Float64Array, along: Float64Array): void {
  const dimension = directions.length / squares.length;
  squares.forEach((square, row) => {
    const direction = directions.subarray(row * dimension, (row + 1) * dimension);
    let own = 0;
    for (let i = 0; i < dimension; i++) own += direction[i] * direction[i];
    // Factors are rounded: a residual has no more of a direction than its own length.
    const product = Math.min(along[row], Math.sqrt(square * own));
    const times = own > 0 ? product / own : 0;
    for (let i = 0; i < dimension; i++) direction[i] *= times;
  });
}

/**
 * Adds to each projection, layout (n, dimension), in place, the possible part of its residual that is orthogonal to it: in a random direction, as long as the
 * residual's length leaves it. `squares` are those of the residuals' lengths.
 */
export function addRandomRest(projections: Float32Array, squares: Float64Array, random: () => number): void {
  const dimension = projections.length / squares.length;
  // A vector of one number has nothing orthogonal to it.
  if (dimension === 1) return;
  const rest = new Float64Array(dimension);
  squares.forEach((square, row) => {
    const projection = projections.subarray(row * dimension, (row + 1) * dimension);
    let own = 0;
    let product = 0;
    for (let i = 0; i < dimension; i++) {
      rest[i] = gaussian(random);
      own += projection[i] * projection[i];
      product += projection[i] * rest[i];
    }
    const along = own > 0 ? product / own : 0;
    let restSquare = 0;
    for (let i = 0; i < dimension; i++) {
      rest[i] -= along * projection[i];
      restSquare += rest[i] * rest[i];
    }
    const times = restSquare > 0 ? Math.sqrt(Math.max(0, square - own) / restSquare) : 0;
    for (let i = 0; i < dimension; i++) projection[i] += times * rest[i];
  });
}
