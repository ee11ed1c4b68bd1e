/** Rows that are compared with a query together, wherever they lie: up to eight share the loads of the query, and their waits for memory overlap. */

import { sumEight, sumFour } from "./distance";
import { float16, int8, scalarBytes } from "./scalar";
import { eightProductsFloat16, prepareScalar, productsFloat16, productsInt8 } from "./scalar-sums";
import { Query } from "./structs";

/** The most rows of a group. */
export const rowsOfGroup: u32 = 8;

/** A group, in the room of its query. */
@unmanaged
export class RowGroup {
  /** uint32 addresses of the rows, eight in all. */
  rows: v128;
  moreRows: v128;
  /** Their sums, by which they are compared, float32. */
  sums: v128;
  moreSums: v128;
}

/** Makes the vector at an address row i of the group. */
@inline
export function setGroupRow(query: Query, i: u32, vector: usize): void {
  store<u32>(changetype<usize>(query.group) + (<usize>i << 2), <u32>vector);
}

/** The sum of row i, after `sumGroup`. */
@inline
export function groupSum(query: Query, i: u32): f32 {
  return load<f32>(changetype<usize>(query.group) + (<usize>i << 2), offsetof<RowGroup>("sums"));
}

/** The bytes of a vector. `precision` 0: float32. */
@inline
export function vectorBytes(query: Query, precision: u32): usize {
  return precision ? scalarBytes(query.dimension, precision) : <usize>query.dimension << 2;
}

/**
 * Computes the sums by which the first `count` rows, of one precision, are compared: of float32 their products with the query or their squared distances from it, of
 * scalar codes their products in the query's `scalarStep` and their scales. The last row stands in for missing ones.
 */
export function sumGroup(query: Query, precision: u32, count: u32): void {
  if (precision && query.scalarPrecision != precision) prepareScalar(query, precision);
  query.vectorsCompared += count;
  const room: u32 = count <= 4 ? 4 : rowsOfGroup;
  const last = vectorAt(query, count - 1);
  for (let i = count; i < room; i++) setGroupRow(query, i, last);
  if (room > 4 && precision != int8) {
    sumsOfEight(query, precision);
    return;
  }
  // Rows of int8 have few lines of memory to wait for: eight at a time take longer than four and four.
  query.group.sums = sumsOfFour(query, precision, 0);
  if (room > 4) query.group.moreSums = sumsOfFour(query, precision, 4);
}

@inline
function vectorAt(query: Query, i: u32): usize {
  return <usize>load<u32>(changetype<usize>(query.group) + (<usize>i << 2));
}

/** The sums of four rows from `first` on. */
function sumsOfFour(query: Query, precision: u32, first: u32): v128 {
  const row0 = vectorAt(query, first);
  const row1 = vectorAt(query, first + 1);
  const row2 = vectorAt(query, first + 2);
  const row3 = vectorAt(query, first + 3);
  const d = query.dimension;
  if (!precision) {
    return query.cosine
      ? sumFour(query.vector, row0, row1, row2, row3, d, false)
      : sumFour(query.vector, row0, row1, row2, row3, d, true);
  }
  return precision == float16
    ? productsFloat16(query.scalarVector, row0, row1, row2, row3, d)
    : productsInt8(query.scalarVector, row0, row1, row2, row3, d);
}

/** Computes the sums of eight rows of float32 or float16. */
@inline
function sumsOfEight(query: Query, precision: u32): void {
  const row0 = vectorAt(query, 0);
  const row1 = vectorAt(query, 1);
  const row2 = vectorAt(query, 2);
  const row3 = vectorAt(query, 3);
  const row4 = vectorAt(query, 4);
  const row5 = vectorAt(query, 5);
  const row6 = vectorAt(query, 6);
  const row7 = vectorAt(query, 7);
  const d = query.dimension;
  const vector = precision ? query.scalarVector : query.vector;
  const sums = changetype<usize>(query.group) + offsetof<RowGroup>("sums");
  if (precision) eightProductsFloat16(vector, row0, row1, row2, row3, row4, row5, row6, row7, d, sums);
  else if (query.cosine) sumEight(vector, row0, row1, row2, row3, row4, row5, row6, row7, d, sums, false);
  else sumEight(vector, row0, row1, row2, row3, row4, row5, row6, row7, d, sums, true);
}
