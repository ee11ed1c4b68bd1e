/** Squared distances between rows rounded to 16 bits: see kernels/assembly/rounded.ts. */

import { kernels } from "./kernels/kernels.js";
import { allocate, free } from "./kernels/memory.js";
import { inSlices, rowsOfSlice, type Work } from "./work.js";

/** n rows in kernel memory at `at`. */
interface Rows {
  readonly at: number;
  readonly n: number;
}

/**
 * Writes the squared distances of the queries from the rows, both of layout (n, dimension), to `out`, float32 of layout (queries, rows). The
 * rounding moves a query or a row by about 2^-15 of its distance from `center`, a vector near most of them; equal ones keep the distance 0.
 * `center` and `out` are addresses in kernel memory.
 */
export function* compareRows(
  queries: Rows,
  rows: Rows,
  dimension: number,
  center: number,
  out: number,
): Work<void> {
  const queryBytes = kernels().roundedBytes(queries.n, dimension);
  const scratchBytes = kernels().roundedScratchBytes(dimension);
  const rowCost = queries.n * dimension;
  const rowsPerCall = rowsOfSlice(rowCost);
  const rounded = allocate(queryBytes + Math.ceil(rows.n / rowsPerCall) * scratchBytes);
  const scratch = rounded + queryBytes;
  try {
    yield inSlices(queries.n, 4 * dimension, (first, count) => ({
      kernel: "roundRows",
      args: [
        queries.at + 4 * first * dimension,
        count,
        dimension,
        center,
        rounded + kernels().roundedBytes(first, dimension),
      ],
    }));
    yield inSlices(rows.n, rowCost, (first, count) => ({
      kernel: "squaredL2Rounded",
      args: [
        rounded,
        queries.n,
        rows.at + 4 * first * dimension,
        count,
        dimension,
        center,
        out + 4 * first,
        rows.n,
        scratch + (first / rowsPerCall) * scratchBytes,
      ],
    }));
  } finally {
    free(rounded);
  }
}
