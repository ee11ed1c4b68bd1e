/**
 * The metrics.
 *
 * Inside the engine a *score* ranks rows, lower is nearer: squared L2 for `euclidean` and `squared_euclidean`, 1 - cos for
 * `cosine`. Clustering uses *list space*, in which distances are L2 for every metric: the vectors themselves, or for `cosine` their
 * directions.
 */

import type { Metric } from "./config.js";

/** The distance to report for an exact score. */
export function distanceOf(metric: Metric, score: number): number {
  return metric === "euclidean" ? Math.sqrt(score) : score;
}

/**
 * The smallest score that a row within `radius` of a centroid can have if the query is at `distance` from that centroid (both in
 * list space). By the triangle inequality; for `cosine`, 1 - cos is half the squared chord. Allows for rounding of `distance`, a
 * float32 sum of `dimension` terms, and of directions.
 */
export function scoreLowerBound(metric: Metric, dimension: number, distance: number, radius: number): number {
  const direction = metric === "cosine" ? float32Epsilon * Math.sqrt(dimension) : 0;
  // Squares below the normal range of float32 are off by up to its smallest number each.
  const underflow = Math.sqrt(dimension) * 2 ** -74.5;
  const gap = Math.max(0, distance * (1 - dimension * float32Epsilon) - radius - direction - underflow);
  return metric === "cosine" ? (gap * gap) / 2 : gap * gap;
}

/**
 * The squared distance of a centroid of this length from a direction whose squared distance from the centroid's direction is `square`
 * (law of cosines). Undefined: `square` is from the centroid.
 */
export function squareToCentroid(length: number | undefined, square: number): number {
  return length === undefined ? square : (1 - length) ** 2 + length * square;
}

const float32Epsilon = 2 ** -22;

/** Vectors in list space, layout (n, dimension): the input itself unless the metric is `cosine`. */
export function toListSpace(metric: Metric, vectors: Float32Array, dimension: number): Float32Array {
  if (metric !== "cosine") return vectors;
  const directions = new Float32Array(vectors.length);
  for (let start = 0; start < vectors.length; start += dimension) {
    let sum = 0;
    for (let i = start; i < start + dimension; i++) sum += vectors[i] * vectors[i];
    // A zero vector has no direction and stays zero.
    const scale = sum > 0 ? 1 / Math.sqrt(sum) : 0;
    for (let i = start; i < start + dimension; i++) directions[i] = vectors[i] * scale;
  }
  return directions;
}
