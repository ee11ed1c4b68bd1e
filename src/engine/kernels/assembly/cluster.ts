/**
 * What k-means does between two assignments. Sums are float64, and each is added up in the order of the rows, so that it does not
 * depend on how the work is cut: calls that share it out take columns or lists, never rows.
 */

/**
 * Adds the columns `from` to `to` of n rows, layout (n, d), to the sums of their lists (n uint32): `sums` has layout (k, d)
 * in float64.
 */
export function addRows(vectors: usize, n: u32, d: u32, lists: usize, from: u32, to: u32, sums: usize): void {
  const pairs = from + ((to - from) & ~1);
  for (let i: u32 = 0; i < n; i++) {
    const row = vectors + <usize>i * (<usize>d << 2);
    const sum = sums + <usize>load<u32>(lists + (<usize>i << 2)) * (<usize>d << 3);
    for (let j = from; j < pairs; j += 2) {
      const at = sum + (<usize>j << 3);
      const terms = f64x2.promote_low_f32x4(v128.load64_zero(row + (<usize>j << 2)));
      v128.store(at, f64x2.add(v128.load(at), terms));
    }
    if (pairs < to) {
      const at = sum + (<usize>pairs << 3);
      store<f64>(at, load<f64>(at) + <f64>load<f32>(row + (<usize>pairs << 2)));
    }
  }
}

/** The mean of each of k lists of which `sizes` (uint32) rows were added; a list without rows keeps its centroid. */
export function meanRows(sums: usize, sizes: usize, k: u32, d: u32, centroids: usize): void {
  for (let list: u32 = 0; list < k; list++) {
    const size = <f64>load<u32>(sizes + (<usize>list << 2));
    if (size === 0) continue;
    for (let i: u32 = 0; i < d; i++) {
      const at = <usize>list * d + i;
      store<f32>(centroids + (at << 2), <f32>(load<f64>(sums + (at << 3)) / size));
    }
  }
}

/** out[i] (n float32) = |vectors[i]|^2 / 2, summed in float64. */
export function halfSquares(vectors: usize, n: u32, d: u32, out: usize): void {
  for (let i: u32 = 0; i < n; i++) {
    let sum: f64 = 0;
    for (let j: u32 = 0; j < d; j++) {
      const value = <f64>load<f32>(vectors + ((<usize>i * d + j) << 2));
      sum += value * value;
    }
    store<f32>(out + (<usize>i << 2), <f32>(sum / 2));
  }
}

/** The rows at n positions (uint32), one after the other. */
export function gatherRows(vectors: usize, positions: usize, n: u32, d: u32, out: usize): void {
  const rowBytes = <usize>d << 2;
  for (let i: u32 = 0; i < n; i++) {
    const position = <usize>load<u32>(positions + (<usize>i << 2));
    memory.copy(out + <usize>i * rowBytes, vectors + position * rowBytes, rowBytes);
  }
}
