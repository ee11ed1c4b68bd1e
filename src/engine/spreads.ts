/** How far the rows of a list are from its centroid. */

import { floatsAt } from "./kernels/memory.js";
import type { Clusters, Rows } from "./kmeans.js";
import { squaredL2 } from "./rows.js";
import type { Work } from "./work.js";

const componentsTogether = 2 ** 20;

export interface Spreads {
  /** Per list, the mean squared distance of its rows from the centroid; of lists of fewer than two rows, that of all rows. */
  readonly spreads: Float32Array;
  /** The squared distance of each row that has a list; of the only row of a list, the mean of all rows. */
  readonly residuals: Float32Array;
}

/** `lists` may have fewer rows. */
export function* spreadsOf({ at, dimension }: Rows, { centroids, lists }: Clusters): Work<Spreads> {
  const residuals = new Float32Array(lists.length);
  const sums = new Float64Array(centroids.length / dimension);
  const sizes = new Uint32Array(sums.length);
  const together = Math.ceil(componentsTogether / dimension);
  for (let first = 0; first < lists.length; first += together) {
    const last = Math.min(lists.length, first + together);
    // A copy: memory that threads share is slow to read number by number.
    const points = floatsAt(at + 4 * first * dimension, (last - first) * dimension).slice();
    for (let row = first; row < last; row++) {
      const from = (row - first) * dimension;
      residuals[row] = squaredL2(points, from, centroids, lists[row] * dimension, dimension);
      sums[lists[row]] += residuals[row];
      sizes[lists[row]]++;
    }
    yield;
  }
  const mean = sums.reduce((sum, each) => sum + each, 0) / lists.length;
  for (let row = 0; row < lists.length; row++) if (sizes[lists[row]] < 2) residuals[row] = mean;
  const spreads = Float32Array.from(sums, (sum, list) => (sizes[list] < 2 ? mean : sum / sizes[list]));
  return { spreads, residuals };
}
