/**
 * The nearest centroid of each vector, as `assignNearest` finds it, by RaBitQ codes of the centroids: estimates rule most of them out,
 * and only the others are compared exactly. So a thirtieth of the bytes is touched.
 */

import { sumRow } from "./distance-float64";
import { fastScanSmall, smallEntryMax } from "./fast-scan";
import { fitsFloat32 } from "./float32-range";
import { assignNearest, nearestOf } from "./nearest";
import { rowsUpTo } from "./probe-lists";
import { buildTable, estimateRabitq } from "./rabitq";
import { rotate } from "./rotate";

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
  /** float32: what codes are relative to. */
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
