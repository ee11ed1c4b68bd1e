/**
 * The rows of a sample among which held-out rows look for neighbours. k-means draws the centroid of a list to the rows that it sees, which are therefore
 * found more often than other rows of the index if these are spread evenly, and less often in round clusters of many dimensions. So a sample has
 * further rows, and of what is measured, as large a share was seen by k-means as of the index.
 */

import { CoarseQuantizer } from "./coarse-quantizer.js";
import type { Metric } from "./config.js";
import { floatsAt } from "./kernels/memory.js";
import type { Rows } from "./kmeans.js";
import type { Lists } from "./model.js";
import type { Work } from "./work.js";

/** Bounds the memory of further rows. */
const furtherBytesMax = 128 * 1024 * 1024;

/** How many further rows of an index of `rows` a sample needs if lists are learned from `learned` others: as many rows are measured, or fewer. */
export function furtherRows(learned: number, rows: number, dimension: number): number {
  return Math.min(Math.round(learned * (1 - learned / rows)), Math.floor(furtherBytesMax / (4 * dimension)));
}

/** Rows of a sample, in this order: those that k-means saw, in any order among themselves, further ones, and those that are held out. */
export interface SampledRows {
  readonly seen: number;
  readonly further: number;
  readonly unseen: number;
  /** Rows of the index. */
  readonly rows: number;
}

/** The last of these rows, and the lists of all but those that are held out. `lists`: of the rows that k-means saw. */
export function* measuredRows(
  all: Rows,
  lists: Uint32Array,
  model: Lists,
  { seen, further, unseen, rows }: SampledRows,
): Work<{ readonly rows: Rows; readonly lists: Uint32Array }> {
  if (further === 0) return { rows: all, lists };
  const kept = Math.min(seen, Math.round((further * seen) / (rows - seen - unseen)));
  const { dimension, areDirections } = all;
  const rowBytes = 4 * dimension;
  const measured = new Uint32Array(kept + further);
  measured.set(lists.subarray(seen - kept));
  const metric: Metric = areDirections ? "cosine" : "euclidean";
  const quantizer = yield* CoarseQuantizer.open(model, metric);
  try {
    const vectorsAt = (first: number, count: number) =>
      floatsAt(all.at + (seen + first) * rowBytes, count * dimension);
    measured.set(yield* quantizer.assignAll(further, vectorsAt), kept);
  } finally {
    quantizer.free();
  }
  const at = all.at + (seen - kept) * rowBytes;
  return { rows: { ...all, at, n: kept + further + unseen }, lists: measured };
}
