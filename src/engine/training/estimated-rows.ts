/**
 * Rows as a search of codes sees them. The squared distance of a query q from a row with the residual r, coded relative to a, is estimated as
 * |q - a - v|^2 + |r|^2 - |v|^2: v has the direction of the row's code, and a length such that <r, v> = |r|^2. If a code of few bits has little in
 * common with r, quantizers take it for more; then this is a few percent off their estimates.
 */

import { referenceAt, rowCodeBytes } from "../codes/code-layout.js";
import type { IndexConfig } from "../config.js";
import { allocate, floatsAt, free } from "../kernels/memory.js";
import type { Clusters } from "../lists/kmeans.js";
import type { QuantizerModel } from "../model.js";
import { codingCost, openQuantizer } from "../codes/model-quantizer.js";
import { NearestCentroids } from "../lists/nearest-centroids.js";
import type { Quantizer } from "../codes/quantizer.js";
import type { SampleRows } from "../rows.js";
import { rowsOfPiece, type Work } from "../work.js";

/** Holds kernel memory: call `free` when done. */
export interface EstimatedRows {
  /** Of each row a + v. */
  readonly rows: SampleRows;
  /** A term added to the squared distance of each. */
  readonly added: Float32Array;
  free(): void;
}

/** Rows whose codes are known, layout (n, row code), or may be: see `KnownCodes`. */
export function estimateCodes(
  config: IndexConfig,
  quantizer: QuantizerModel,
  rows: SampleRows,
  codes: Uint8Array,
): Work<EstimatedRows> {
  return estimate(config, quantizer, rows, { codes });
}

/** Codes all rows, including held-out ones. The quantizer's reference centroids may be those of the clusters. */
export function* estimateRows(
  config: IndexConfig,
  quantizer: QuantizerModel,
  rows: SampleRows,
  clusters: Clusters,
): Work<EstimatedRows> {
  const { references } = quantizer;
  const assigned = references === clusters.centroids ? clusters.lists : new Uint32Array();
  const numbers = yield* referencesOf(rows, references, assigned);
  return yield* estimate(config, quantizer, rows, { numbers });
}

/** The codes of all rows, or the numbers of their reference centroids. */
type CodesOrReferences = { readonly codes: Uint8Array } | { readonly numbers: Uint32Array };

function* estimate(
  config: IndexConfig,
  quantizer: QuantizerModel,
  rows: SampleRows,
  given: CodesOrReferences,
): Work<EstimatedRows> {
  const { n, dimension } = rows;
  const { references } = quantizer;
  const at = allocate(4 * n * dimension);
  const added = new Float32Array(n);
  let coder: Quantizer | undefined;
  let isDone = false;
  try {
    coder = openQuantizer(config, dimension, quantizer);
    const rowBytes = rowCodeBytes(coder.layout);
    // Rows are coded, and decoded again.
    const together = rowsOfPiece(8 * dimension, 2 * codingCost(dimension, quantizer));
    for (let first = 0; first < n; first += together) {
      const count = Math.min(together, n - first);
      const points = floatsAt(rows.at + 4 * first * dimension, count * dimension).slice();
      const codes =
        "codes" in given
          ? given.codes.subarray(first * rowBytes, (first + count) * rowBytes)
          : yield* coder.encode(points, given.numbers.subarray(first, first + count));
      const decoded = coder.decode(codes);
      for (let row = 0; row < count; row++) {
        const number = referenceAt(codes, row * rowBytes);
        const reference = references.subarray(number * dimension, (number + 1) * dimension);
        const range = [row * dimension, (row + 1) * dimension] as const;
        added[first + row] = toEstimated(decoded.subarray(...range), points.subarray(...range), reference);
      }
      floatsAt(at + 4 * first * dimension, decoded.length).set(decoded);
      yield;
    }
    isDone = true;
    return { rows: { ...rows, at }, added, free: () => free(at) };
  } finally {
    coder?.free();
    if (!isDone) free(at);
  }
}

/** The number of each row's reference centroid: the nearest one, to which the first rows may be assigned already. */
function* referencesOf(
  { at, n, dimension }: SampleRows,
  references: Float32Array,
  assigned: Uint32Array,
): Work<Uint32Array> {
  const numbers = new Uint32Array(n);
  numbers.set(assigned);
  const nearest = new NearestCentroids(references, dimension);
  try {
    const together = rowsOfPiece(4 * dimension, references.length);
    for (let first = assigned.length; first < n; first += together) {
      const count = Math.min(together, n - first);
      numbers.set(nearest.assign(floatsAt(at + 4 * first * dimension, count * dimension).slice()), first);
      yield;
    }
    return numbers;
  } finally {
    nearest.free();
  }
}

/** Replaces a decoded point a + p, p being the projection of the residual on its code, by a + v, and returns |r|^2 - |v|^2. */
function toEstimated(decoded: Float32Array, point: Float32Array, reference: Float32Array): number {
  let square = 0;
  let projected = 0;
  for (let i = 0; i < decoded.length; i++) {
    square += (point[i] - reference[i]) ** 2;
    projected += (decoded[i] - reference[i]) ** 2;
  }
  const times = projected > 0 ? square / projected : 0;
  for (let i = 0; i < decoded.length; i++) decoded[i] = reference[i] + times * (decoded[i] - reference[i]);
  return square - times ** 2 * projected;
}
