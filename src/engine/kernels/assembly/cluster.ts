/**
 * The steps of k-means between two assignments. Sums are float64 and always added in the order of the rows, so that they do not
 * depend on how the work is split: calls divide it by columns or lists, never by rows.
 */

import { sumRow } from "./distance";

/** The list of a row that is in none: as in ../../rows.ts. */
const noList: u32 = 0xffffffff;

/**
 * Moves columns `from` (inclusive) to `to` (exclusive) of n rows, layout (n, d), from the sums of their lists `before` to those of their
 * `lists` (n uint32 each; `before` may be `noList`). `sums` is float64 of layout (k, d).
 */
export function moveRows(
  vectors: usize,
  n: u32,
  d: u32,
  before: usize,
  lists: usize,
  from: u32,
  to: u32,
  sums: usize,
): void {
  const columns = to - from;
  for (let i: u32 = 0; i < n; i++) {
    const left = load<u32>(before + (<usize>i << 2));
    const list = load<u32>(lists + (<usize>i << 2));
    if (left == list) continue;
    const row = vectors + ((<usize>i * d + from) << 2);
    addRow(row, columns, sums + ((<usize>list * d + from) << 3), 1);
    if (left != noList) addRow(row, columns, sums + ((<usize>left * d + from) << 3), -1);
  }
}

/** Adds `sign` times n components of a row to a sum. */
@inline
function addRow(row: usize, n: u32, sum: usize, sign: f64): void {
  const signs = f64x2.splat(sign);
  const pairs = n & ~1;
  for (let j: u32 = 0; j < pairs; j += 2) {
    const at = sum + (<usize>j << 3);
    const terms = f64x2.promote_low_f32x4(v128.load64_zero(row + (<usize>j << 2)));
    v128.store(at, f64x2.add(v128.load(at), f64x2.mul(signs, terms)));
  }
  if (pairs < n) {
    const at = sum + (<usize>pairs << 3);
    store<f64>(at, load<f64>(at) + sign * <f64>load<f32>(row + (<usize>pairs << 2)));
  }
}

/** centroids[list] = sums[list] / sizes[list] for each of k lists, `sizes` being uint32. An empty list keeps its centroid. */
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

/** out[i] = vectors[i] scaled to length 1, n of them, layout (n, d); zeros stay zeros. `out` may be `vectors`. */
export function directions(vectors: usize, n: u32, d: u32, out: usize): void {
  for (let i: u32 = 0; i < n; i++) {
    const row = <usize>i * (<usize>d << 2);
    const length = sqrt<f64>(sumRow(vectors + row, vectors + row, d, false));
    scaleRow(vectors + row, length > 0 ? 1 / length : 0, d, out + row);
  }
}

/** Multiplies each of n rows, layout (n, d), by its own of `factors`, n float64, in place. */
export function scaleRows(vectors: usize, n: u32, d: u32, factors: usize): void {
  for (let i: u32 = 0; i < n; i++) {
    const row = vectors + <usize>i * (<usize>d << 2);
    scaleRow(row, load<f64>(factors + (<usize>i << 3)), d, row);
  }
}

@inline
function scaleRow(row: usize, factor: f64, d: u32, out: usize): void {
  for (let at: usize = 0, end = <usize>d << 2; at < end; at += 4) {
    store<f32>(out + at, <f32>(<f64>load<f32>(row + at) * factor));
  }
}

/** out[i] = vectors[positions[i]], n uint32 `positions`. */
export function gatherRows(vectors: usize, positions: usize, n: u32, d: u32, out: usize): void {
  const rowBytes = <usize>d << 2;
  for (let i: u32 = 0; i < n; i++) {
    const position = <usize>load<u32>(positions + (<usize>i << 2));
    memory.copy(out + <usize>i * rowBytes, vectors + position * rowBytes, rowBytes);
  }
}
