/** Second lists of rows: see ../../second-lists.ts. */

/**
 * For each of n rows of one list, which of k columns is its second list. `squares` has layout (n, k): squared distances of the rows from
 * the columns' centroids, column 0 being the list itself; `between`: k squared distances of that centroid from the others. Writes the
 * columns, n uint32; 0 if no other has a finite cost.
 *
 * The cost of a column is its squared distance plus `weight` times that of the residual's projection on the direction of the row's residual
 * in its own list. By the law of cosines the projection needs nothing but squared distances.
 */
export function chooseSecond(squares: usize, n: u32, k: u32, between: usize, weight: f64, columns: usize): void {
  for (let row: u32 = 0; row < n; row++) {
    const at = squares + <usize>row * (<usize>k << 2);
    const own = <f64>load<f32>(at);
    let best: f64 = Infinity;
    let chosen: u32 = 0;
    for (let column: u32 = 1; column < k; column++) {
      const skip = <usize>column << 2;
      const square = <f64>load<f32>(at + skip);
      const along = (own + square - <f64>load<f32>(between + skip)) / 2;
      const cost = own > 0 ? square + (weight * along * along) / own : square;
      if (cost < best) {
        best = cost;
        chosen = column;
      }
    }
    store<u32>(columns + (<usize>row << 2), chosen);
  }
}
