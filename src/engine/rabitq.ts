/**
 * RaBitQ codes (Gao and Long, SIGMOD 2024): one bit per dimension, from which a squared distance is estimated within known
 * bounds. In list space. Stored as factors, float32 of layout (3, m), then codes, m * D / 8 bytes; m is the number of rows
 * rounded up to 32 and D the rotated dimension.
 */

import type { Metric } from "./config.js";
import { allocate, bytesAt, free } from "./kernels/memory.js";
import { directionsOf } from "./rows.js";
import { type Rotation, rotatedDimension } from "./rotation.js";
import type { Work } from "./work.js";

/** Bytes of the codes of n rows. */
export function rabitqBytes(n: number, dimension: number): number {
  const rows = Math.ceil(n / 32) * 32;
  return rows * (12 + rotatedDimension(dimension) / 8);
}

/** The centroids that codes are relative to. */
export interface RotatedCentroids {
  readonly rotation: Rotation;
  /** The address of the rotated centroid of a list. */
  rotatedCentroid(list: number): number;
}

/** Codes of rows of one list; `vectors` has layout (n, dimension), in list space or not. */
export function* encodeList(
  vectors: Float32Array,
  metric: Metric,
  centroids: RotatedCentroids,
  list: number,
): Work<Uint8Array> {
  const { rotation } = centroids;
  const { rotated, signs, span } = rotation;
  const n = vectors.length / rotation.dimension;
  const factorBytes = 12 * Math.ceil(n / 32) * 32;
  const bytes = rabitqBytes(n, rotation.dimension);
  const at = allocate(4 * n * rotated + bytes);
  const out = at + 4 * n * rotated;
  try {
    rotation.pad(vectors, at);
    if (metric === "cosine") yield directionsOf(at, n, rotated, at);
    const centroid = centroids.rotatedCentroid(list);
    yield [
      {
        kernel: "rotateAndEncode",
        args: [at, n, rotated, signs, span, centroid, out + factorBytes, out],
        cost: 64 * n * rotated,
      },
    ];
    return bytesAt(out, bytes).slice();
  } finally {
    free(at);
  }
}
