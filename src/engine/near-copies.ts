/**
 * Copies among the rows of a sample, and rows that are nearly copies: the same passage in many documents. A query is hardly ever one of them. As a query, a
 * row that has copies finds them in its own list, and shows nothing of the lists that other queries have to scan.
 */

/** The largest squared distance of copies, over the squared distance of the row from its centroid. */
const copyShare = 1 / 16;
/** And over its squared length: equal directions differ by rounding. */
const roundingShare = 2 ** -40;

/** The squared distance up to which rows are copies of one, by its squared distance from its centroid and its squared length. */
export function copyReach(residual: number, square: number): number {
  return copyShare * residual + roundingShare * square;
}

/** Whether one of the rows at these positions is a copy, by the squared distances of a row from all. */
export function hasCopyAmong(positions: Uint32Array, toRows: Float32Array, reach: number): boolean {
  return positions.some((position) => toRows[position] <= reach);
}

/** Makes copies no neighbours: sets their distance to Infinity. */
export function removeCopies(toRows: Float32Array, reach: number): void {
  for (let row = 0; row < toRows.length; row++) if (toRows[row] <= reach) toRows[row] = Infinity;
}
