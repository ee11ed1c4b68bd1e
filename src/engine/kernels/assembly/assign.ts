/**
 * The nearest centroid of each vector, as the smallest |c|^2 / 2 - <v, c>, which orders as |v - c|^2 does.
 *
 * Dot products are computed for three vectors and four centroids at a time: twelve accumulators that stay in registers, seven
 * loads for twelve products. Of the shapes tried (1 x 4, 2 x 3 to 2 x 6, 3 x 3, 3 x 4, 4 x 2 to 4 x 4) this was among the fastest,
 * 9 % faster than 2 x 4. A tile of vectors stays in the cache while it is compared with all centroids; without tiles it was 12 %
 * slower.
 *
 * If fewer vectors or centroids are left, the last one stands in for the missing ones: a result is written twice, and a
 * repeated list wins only once. So there is one order of additions everywhere, and equal rows get equal bits.
 */

import { fitsFloat32, loadFirst, sumEach, sumRow } from "./distance";
import { fastScanSmall, smallEntryMax } from "./fast-scan";
import { rowsUpTo } from "./probe-lists";
import { buildTable, estimateRabitq } from "./rabitq";
import { rotate } from "./rotate";

const tileRows: u32 = 24;

/**
 * The list of each vector: the centroid c with the smallest |c|^2 / 2 - <v, c>, the lowest number among equals.
 *
 * `centroids` has layout (k, d), `halfNorms` k float32 |c|^2 / 2. Writes `lists` (n uint32) and that smallest value to
 * `distances` (n float32). A vector without a value below Infinity goes to list 0 with Infinity.
 */
export function assignNearest(
  vectors: usize,
  n: u32,
  d: u32,
  centroids: usize,
  k: u32,
  halfNorms: usize,
  lists: usize,
  distances: usize,
): void {
  for (let i: u32 = 0; i < n; i++) {
    store<u32>(lists + (<usize>i << 2), 0);
    store<f32>(distances + (<usize>i << 2), Infinity);
  }
  for (let tile: u32 = 0; tile < n; tile += tileRows) {
    const tileEnd = min<u32>(n - tile, tileRows) + tile;
    for (let list: u32 = 0; list < k; list += 4) {
      compareFour(vectors, tile, tileEnd, d, centroids, list, k, halfNorms, lists, distances);
    }
  }
}

/** Compares the vectors from `tile` to `tileEnd` with four centroids from `list` on. */
@inline
function compareFour(
  vectors: usize,
  tile: u32,
  tileEnd: u32,
  d: u32,
  centroids: usize,
  list: u32,
  k: u32,
  halfNorms: usize,
  lists: usize,
  distances: usize,
): void {
  const rowBytes = <usize>d << 2;
  const rest = d & 3;
  const end = rowBytes - (<usize>rest << 2);
  const list1 = min<u32>(list + 1, k - 1);
  const list2 = min<u32>(list + 2, k - 1);
  const list3 = min<u32>(list + 3, k - 1);
  const c0 = centroids + <usize>list * rowBytes;
  const c1 = centroids + <usize>list1 * rowBytes;
  const c2 = centroids + <usize>list2 * rowBytes;
  const c3 = centroids + <usize>list3 * rowBytes;
  let half = v128.load32_zero(halfNorms + (<usize>list << 2));
  half = f32x4.replace_lane(half, 1, load<f32>(halfNorms + (<usize>list1 << 2)));
  half = f32x4.replace_lane(half, 2, load<f32>(halfNorms + (<usize>list2 << 2)));
  half = f32x4.replace_lane(half, 3, load<f32>(halfNorms + (<usize>list3 << 2)));
  for (let row: u32 = tile; row < tileEnd; row += 3) {
    const row1 = min<u32>(row + 1, tileEnd - 1);
    const row2 = min<u32>(row + 2, tileEnd - 1);
    const v0 = vectors + <usize>row * rowBytes;
    const v1 = vectors + <usize>row1 * rowBytes;
    const v2 = vectors + <usize>row2 * rowBytes;
    let sum00 = f32x4.splat(0);
    let sum01 = f32x4.splat(0);
    let sum02 = f32x4.splat(0);
    let sum03 = f32x4.splat(0);
    let sum10 = f32x4.splat(0);
    let sum11 = f32x4.splat(0);
    let sum12 = f32x4.splat(0);
    let sum13 = f32x4.splat(0);
    let sum20 = f32x4.splat(0);
    let sum21 = f32x4.splat(0);
    let sum22 = f32x4.splat(0);
    let sum23 = f32x4.splat(0);
    for (let at: usize = 0; at < end; at += 16) {
      const x0 = v128.load(v0 + at);
      const x1 = v128.load(v1 + at);
      const x2 = v128.load(v2 + at);
      const y0 = v128.load(c0 + at);
      sum00 = addProducts(sum00, x0, y0);
      sum10 = addProducts(sum10, x1, y0);
      sum20 = addProducts(sum20, x2, y0);
      const y1 = v128.load(c1 + at);
      sum01 = addProducts(sum01, x0, y1);
      sum11 = addProducts(sum11, x1, y1);
      sum21 = addProducts(sum21, x2, y1);
      const y2 = v128.load(c2 + at);
      sum02 = addProducts(sum02, x0, y2);
      sum12 = addProducts(sum12, x1, y2);
      sum22 = addProducts(sum22, x2, y2);
      const y3 = v128.load(c3 + at);
      sum03 = addProducts(sum03, x0, y3);
      sum13 = addProducts(sum13, x1, y3);
      sum23 = addProducts(sum23, x2, y3);
    }
    if (rest) {
      const x0 = loadFirst(v0 + end, rest);
      const x1 = loadFirst(v1 + end, rest);
      const x2 = loadFirst(v2 + end, rest);
      const y0 = loadFirst(c0 + end, rest);
      sum00 = addProducts(sum00, x0, y0);
      sum10 = addProducts(sum10, x1, y0);
      sum20 = addProducts(sum20, x2, y0);
      const y1 = loadFirst(c1 + end, rest);
      sum01 = addProducts(sum01, x0, y1);
      sum11 = addProducts(sum11, x1, y1);
      sum21 = addProducts(sum21, x2, y1);
      const y2 = loadFirst(c2 + end, rest);
      sum02 = addProducts(sum02, x0, y2);
      sum12 = addProducts(sum12, x1, y2);
      sum22 = addProducts(sum22, x2, y2);
      const y3 = loadFirst(c3 + end, rest);
      sum03 = addProducts(sum03, x0, y3);
      sum13 = addProducts(sum13, x1, y3);
      sum23 = addProducts(sum23, x2, y3);
    }
    keepNearest(f32x4.sub(half, sumEach(sum00, sum01, sum02, sum03)), list, row, lists, distances);
    keepNearest(f32x4.sub(half, sumEach(sum10, sum11, sum12, sum13)), list, row1, lists, distances);
    keepNearest(f32x4.sub(half, sumEach(sum20, sum21, sum22, sum23)), list, row2, lists, distances);
  }
}

/**
 * Compares one vector with `count` of the centroids, at these `positions` (uint32), and keeps the nearest of them and of the ones that `list` and
 * `distance` hold: the lowest number among equals. Values have the bits that `assignNearest` gives them.
 */
export function nearestOf(
  vector: usize,
  d: u32,
  centroids: usize,
  halfNorms: usize,
  positions: usize,
  count: u32,
  list: usize,
  distance: usize,
): void {
  const rest = d & 3;
  const end = vector + (<usize>(d - rest) << 2);
  for (let i: u32 = 0; i < count; i += 4) {
    const list0 = load<u32>(positions + (<usize>i << 2));
    const list1 = load<u32>(positions + (<usize>min<u32>(i + 1, count - 1) << 2));
    const list2 = load<u32>(positions + (<usize>min<u32>(i + 2, count - 1) << 2));
    const list3 = load<u32>(positions + (<usize>min<u32>(i + 3, count - 1) << 2));
    let c0 = centroids + ((<usize>list0 * d) << 2);
    let c1 = centroids + ((<usize>list1 * d) << 2);
    let c2 = centroids + ((<usize>list2 * d) << 2);
    let c3 = centroids + ((<usize>list3 * d) << 2);
    let sum0 = f32x4.splat(0);
    let sum1 = f32x4.splat(0);
    let sum2 = f32x4.splat(0);
    let sum3 = f32x4.splat(0);
    let at = vector;
    for (; at < end; at += 16) {
      const x = v128.load(at);
      sum0 = addProducts(sum0, x, v128.load(c0));
      sum1 = addProducts(sum1, x, v128.load(c1));
      sum2 = addProducts(sum2, x, v128.load(c2));
      sum3 = addProducts(sum3, x, v128.load(c3));
      c0 += 16;
      c1 += 16;
      c2 += 16;
      c3 += 16;
    }
    if (rest) {
      const x = loadFirst(at, rest);
      sum0 = addProducts(sum0, x, loadFirst(c0, rest));
      sum1 = addProducts(sum1, x, loadFirst(c1, rest));
      sum2 = addProducts(sum2, x, loadFirst(c2, rest));
      sum3 = addProducts(sum3, x, loadFirst(c3, rest));
    }
    const sums = sumEach(sum0, sum1, sum2, sum3);
    keepLowest(load<f32>(halfNorms + (<usize>list0 << 2)) - f32x4.extract_lane(sums, 0), list0, list, distance);
    keepLowest(load<f32>(halfNorms + (<usize>list1 << 2)) - f32x4.extract_lane(sums, 1), list1, list, distance);
    keepLowest(load<f32>(halfNorms + (<usize>list2 << 2)) - f32x4.extract_lane(sums, 2), list2, list, distance);
    keepLowest(load<f32>(halfNorms + (<usize>list3 << 2)) - f32x4.extract_lane(sums, 3), list3, list, distance);
  }
}

@inline
function keepLowest(value: f32, list: u32, best: usize, distance: usize): void {
  if (value == load<f32>(distance) && list < load<u32>(best)) store<u32>(best, list);
  keepIfNearer(value, list, best, distance);
}

@inline
function addProducts(sum: v128, a: v128, b: v128): v128 {
  return f32x4.add(sum, f32x4.mul(a, b));
}

/** Keeps the smallest of four values, of the lists from `list` on, if it is below the row's value so far. */
function keepNearest(values: v128, list: u32, row: u32, lists: usize, distances: usize): void {
  const at = <usize>row << 2;
  if (!v128.any_true(f32x4.lt(values, v128.load32_splat(distances + at)))) return;
  keepIfNearer(f32x4.extract_lane(values, 0), list, lists + at, distances + at);
  keepIfNearer(f32x4.extract_lane(values, 1), list + 1, lists + at, distances + at);
  keepIfNearer(f32x4.extract_lane(values, 2), list + 2, lists + at, distances + at);
  keepIfNearer(f32x4.extract_lane(values, 3), list + 3, lists + at, distances + at);
}

@inline
function keepIfNearer(value: f32, list: u32, best: usize, distance: usize): void {
  if (value < load<f32>(distance)) {
    store<f32>(distance, value);
    store<u32>(best, list);
  }
}

// The nearest centroid of each vector, as `assignNearest` finds it, by RaBitQ codes of the centroids: estimates rule most of them out,
// and only the others are compared exactly. So a thirtieth of the bytes is touched.

/** By how many standard deviations an estimate may be too large. Of thirty thousand vectors one gets another list, hardly farther. */
const epsilon: f32 = 4;
const float32Epsilon: f64 = 5.9604644775390625e-8;

/** Centroids and their codes. */
@unmanaged
export class CodedCentroids {
  /** float32, layout (k, dimension). */
  centroids: usize;
  k: u32;
  dimension: u32;
  /** k float32 |c|^2 / 2. */
  halfNorms: usize;
  /** float32: the points that codes are relative to. */
  mean: usize;
  /** See `encodeRabitq`. */
  factors: usize;
  codes: usize;
  /** Of the rotation: see `rotate`. */
  rotated: u32;
  signs: usize;
  span: u32;
}

/**
 * Writes the list of each of n vectors to `lists` (n uint32). Norms of the centroids must fit float32. `scratch` takes 64 bytes, 8 per
 * rotated component, and 8 per centroid, k rounded up to 32.
 */
export function assignCoded(vectors: usize, n: u32, coded: CodedCentroids, lists: usize, scratch: usize): void {
  const rowBytes = <usize>coded.dimension << 2;
  for (let i: u32 = 0; i < n; i++) {
    assignOne(vectors + <usize>i * rowBytes, coded, lists + (<usize>i << 2), scratch);
  }
}

function assignOne(vector: usize, coded: CodedCentroids, list: usize, scratch: usize): void {
  const dimension = coded.dimension;
  const k = coded.k;
  const d = coded.rotated;
  const m = (k + 31) & ~31;
  const norm = scratch;
  const scale = scratch + 8;
  const distance = scratch + 16;
  const likely = scratch + 20;
  const table = scratch + 64;
  const rotated = table + (<usize>d << 2);
  const lowerBounds = rotated + (<usize>d << 2);
  const estimates = lowerBounds + (<usize>m << 2);

  const square = sumRow(vector, vector, dimension, false);
  store<f64>(norm, sqrt<f64>(square));
  if (!fitsFloat32(norm, 1)) {
    assignNearest(vector, 1, dimension, coded.centroids, k, coded.halfNorms, list, distance);
    return;
  }
  const bytes = <usize>dimension << 2;
  memory.copy(rotated, vector, bytes);
  memory.fill(rotated + bytes, 0, (<usize>d << 2) - bytes);
  rotate(rotated, 1, d, coded.signs, coded.span);
  const groups = d >> 2;
  buildTable(rotated, groups, smallEntryMax, table, scale);
  const step = load<f32>(scale);
  const shift = load<f32>(scale, 4);
  // Each entry is rounded by up to half a step, uniformly distributed.
  const rounding = step * sqrt<f32>(<f32>groups / 12);
  const base = <f32>sumRow(vector, coded.mean, dimension, true);
  fastScanSmall(coded.codes, table, m >>> 5, groups, lowerBounds);
  estimateRabitq(coded.factors, k, base, step, shift, rounding, epsilon, lowerBounds, estimates);
  for (let i = k; i < m; i++) store<f32>(lowerBounds + (<usize>i << 2), Infinity);

  store<u32>(list, 0);
  store<f32>(distance, Infinity);
  store<u32>(likely, smallestAt(estimates, k));
  nearestOf(vector, dimension, coded.centroids, coded.halfNorms, likely, 1, list, distance);
  const limit = square + 2 * <f64>load<f32>(distance) + <f64>dimension * float32Epsilon * square;
  const count = rowsUpTo(lowerBounds, m, <f32>limit, estimates);
  nearestOf(vector, dimension, coded.centroids, coded.halfNorms, estimates, count, list, distance);
}

/** The position of the smallest of n values; 0 if none is below Infinity. */
function smallestAt(values: usize, n: u32): u32 {
  let least: f32 = Infinity;
  let at: u32 = 0;
  for (let i: u32 = 0; i < n; i++) {
    const value = load<f32>(values + (<usize>i << 2));
    if (value < least) {
      least = value;
      at = i;
    }
  }
  return at;
}
