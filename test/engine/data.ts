/** Seeded test vectors. */

import type { Metric } from "../../src/engine/config.js";
import type { Model } from "../../src/engine/model.js";
import { gaussian, seededRandom } from "../../src/engine/random.js";
import type { Sample } from "../../src/engine/training/train.js";

export { gaussian };

/** All rows of an index as the sample that it is trained on; layout (n, d). */
export function sampleOf(points: Float32Array, d: number, metric: Metric = "euclidean"): Sample {
  return { points, dimension: d, metric, spills: false, rows: points.length / d };
}

/** A model with these centroids, layout (lists, dimension), that no training has measured. */
export function modelOf(centroids: Float32Array, dimension: number, rotationSeed = 1): Model {
  return {
    dimension,
    centroids,
    rotationSeed,
    spreads: new Float32Array(centroids.length / dimension),
    curves: { depths: new Float32Array(0), values: new Float32Array(0) },
    probeLimits: new Float32Array(0),
  };
}

/** n vectors in `clusters` clouds, layout (n, d). */
export function clustered(n: number, d: number, clusters: number, seed: number): Float32Array {
  const random = seededRandom(seed);
  const centres = Float32Array.from({ length: clusters * d }, () => gaussian(random));
  const vectors = new Float32Array(n * d);
  for (let row = 0; row < n; row++) {
    const centre = Math.floor(random() * clusters);
    for (let i = 0; i < d; i++) vectors[row * d + i] = centres[centre * d + i] + 0.3 * gaussian(random);
  }
  return vectors;
}

/** n vectors of numbers from -1 to 1, layout (n, d). */
export function uniform(n: number, d: number, seed: number): Float32Array {
  const random = seededRandom(seed);
  return Float32Array.from({ length: n * d }, () => 2 * random() - 1);
}
