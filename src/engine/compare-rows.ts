/** Squared distances of rows, which are rounded to 16 bits for it: see kernels/assembly/rounded.ts. */

import { kernels } from "./kernels/kernels.js";
import { allocate, free } from "./kernels/memory.js";
import { inSlices, rowsOfSlice, type Work } from "./work.js";

/** n rows in kernel memory at `at`. */
interface Rows {
  readonly at: number;
  readonly n: number;
}

/**
 * Writes the squared distances of the queries from the rows, both of layout (n, dimension), to `out`, float32 of layout (queries, rows). A
 * distance is off by about 2^-15 of the queries' and rows' distances from the `center`, which is an address too; that of equal rows is 0.
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
