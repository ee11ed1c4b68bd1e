/** Which lists are nearest to a query. */

import { sumRow } from "./distance";
import { Heap, scoreAt, sortHeap } from "./heap";
import { writePositions } from "./rabitq";
import { boundRows, scanJob, scoreRows } from "./scan-flat";
import { Block, Job, Query } from "./structs";

/** The lists, by the points that vectors are compared with: the centroids, or for `cosine` their directions. */
@unmanaged
export class CoarseQuantizer {
  /** Those, as rows with their list numbers as tie keys. */
  block: Block;
  /** float32: the mean of these rows, which their codes are relative to. */
  mean: usize;
  /** float64: the length of each centroid, if directions are compared; otherwise 0. */
  lengths: usize;
}

/** With a limit, the codes of the centroids serve any number of probes from this one on. */
const limitedFrom: u32 = 8;
/** How often the distance of the farthest list within the limit is halved in. */
const halvings: u32 = 10;

/**
 * Finds the lists nearest to `point`, the query in list space, nearest first: `probes.capacity` of them, of which those beyond the `limit`
 * (see ../../probe-limits.ts) may be missing. Returns how many are within it. Up to `codedMax` lists are found by the codes of their
 * centroids, 0 if there are none. `among`: bits of the lists that may be found; 0: all. `job` is scratch for one struct.
 */
export function probeLists(
  point: Query,
  quantizer: CoarseQuantizer,
  codedMax: u32,
  limit: f64,
  among: usize,
  probes: Heap,
  job: Job,
): u32 {
  const block = quantizer.block;
  job.number = 0;
  job.block = block;
  job.newerSegments = 0;
  job.accepted = among;
  job.firstBit = 0;
  const isLimited = limit < Infinity && codedMax > 0 && probes.capacity >= limitedFrom;
  const coded = isLimited || probes.capacity <= codedMax;
  job.base = coded ? sumRow(point.vector, quantizer.mean, point.dimension, true) : -1;
  if (isLimited && point.fitsFloat32 && block.fitsFloat32) offerWithin(point, limit, probes, job);
  else scanJob(point, probes, job);
  sortHeap(probes);
  return likelyLists(probes, limit);
}

/**
 * Offers the lists that are within the limit by their codes, and those whose codes leave it open. Neither the others nor their order are
 * computed, however many are asked for.
 */
function offerWithin(point: Query, limit: f64, probes: Heap, job: Job): void {
  const n = job.block.n;
  const m = (n + 31) & ~31;
  const lowerBounds = point.scratch;
  const estimates = lowerBounds + (<usize>m << 2);
  const rows = estimates + (<usize>m << 2);
  boundRows(point, job, lowerBounds, estimates);
  for (let row = n; row < m; row++) {
    store<f32>(lowerBounds + (<usize>row << 2), Infinity);
    store<f32>(estimates + (<usize>row << 2), Infinity);
  }
  const nearest = smallest(estimates, m);
  if (nearest == Infinity) return;
  scoreRows(point, job, probes, rows, rowsUpTo(lowerBounds, m, nearest, rows));
  let square = Infinity;
  for (let i: u32 = 0; i < probes.size; i++) square = min<f64>(square, scoreAt(probes, i));
  const reach = farthestWithin(estimates, m, square, limit, rows);
  scoreRows(point, job, probes, rows, rowsBetween(lowerBounds, m, nearest, reach, rows));
}

/**
 * The least squared distance that lists beyond the limit have, by bisection, given that of the nearest list. m is a multiple of 4; `room` has
 * place for as many float32.
 */
function farthestWithin(estimates: usize, m: u32, nearest: f64, limit: f64, room: usize): f32 {
  let within = nearest;
  let beyond = limit * nearest;
  const n = valuesUpTo(estimates, m, <f32>beyond, room);
  for (let i: u32 = 0; i < halvings; i++) {
    const middle = (within + beyond) / 2;
    const rank = countUpTo(room, n, <f32>middle);
    if (rank == 0 || rankRoot(rank - 1) * middle <= limit * nearest) within = middle;
    else beyond = middle;
  }
  // Lists that are excluded or missing have distance Infinity.
  return <f32>min<f64>(beyond, f32.MAX_VALUE);
}

function smallest(values: usize, m: u32): f32 {
  let least = f32x4.splat(Infinity);
  for (let i: u32 = 0; i < m; i += 4) least = f32x4.pmin(least, v128.load(values + (<usize>i << 2)));
  least = f32x4.pmin(least, f32x4.shuffle(least, least, 2, 3, 0, 1));
  return min<f32>(f32x4.extract_lane(least, 0), f32x4.extract_lane(least, 1));
}

/** Copies the values up to `limit` and then, up to a multiple of 4, Infinity. Returns how many that makes. */
function valuesUpTo(values: usize, m: u32, limit: f32, to: usize): u32 {
  let end = to;
  for (let at = values; at < values + (<usize>m << 2); at += 16) {
    let mask = i32x4.bitmask(f32x4.le(v128.load(at), f32x4.splat(limit)));
    for (; mask; mask &= mask - 1) {
      store<f32>(end, load<f32>(at + (<usize>ctz(mask) << 2)));
      end += 4;
    }
  }
  for (; (end - to) & 15; end += 4) store<f32>(end, Infinity);
  return <u32>((end - to) >> 2);
}

/** How many of the values are not above `limit`. m is a multiple of 4. */
export function countUpTo(values: usize, m: u32, limit: f32): u32 {
  let counts = i32x4.splat(0);
  for (let i: u32 = 0; i < m; i += 4) {
    counts = i32x4.sub(counts, f32x4.le(v128.load(values + (<usize>i << 2)), f32x4.splat(limit)));
  }
  counts = i32x4.add(counts, i32x4.shuffle(counts, counts, 2, 3, 0, 1));
  return i32x4.extract_lane(counts, 0) + i32x4.extract_lane(counts, 1);
}

/** Writes the positions of values that are not above `limit`, ascending, to `rows`, and returns their number. */
export function rowsUpTo(values: usize, m: u32, limit: f32, rows: usize): u32 {
  let to = rows;
  for (let i: u32 = 0; i < m; i += 4) {
    // Not greater, instead of less or equal: NaN is never ruled out.
    const beyond = f32x4.gt(v128.load(values + (<usize>i << 2)), f32x4.splat(limit));
    to = writePositions(~i32x4.bitmask(beyond) & 15, i, to);
  }
  return <u32>((to - rows) >> 2);
}

/** The same for values above `above` and up to `limit`. */
function rowsBetween(values: usize, m: u32, above: f32, limit: f32, rows: usize): u32 {
  let to = rows;
  for (let i: u32 = 0; i < m; i += 4) {
    const value = v128.load(values + (<usize>i << 2));
    const between = v128.and(f32x4.gt(value, f32x4.splat(above)), f32x4.le(value, f32x4.splat(limit)));
    to = writePositions(i32x4.bitmask(between), i, to);
  }
  return <u32>((to - rows) >> 2);
}

/** How many of the lists are within the limit (see ../../probe-limits.ts). The nearest list always is. */
export function likelyLists(probes: Heap, limit: f64): u32 {
  let likely = probes.size;
  while (likely > 1 && distanceRatio(probes, likely - 1) > limit) likely--;
  return likely;
}

/** The same as the function of ../../probe-limits.ts. */
@inline
function distanceRatio(probes: Heap, rank: u32): f64 {
  const nearest = scoreAt(probes, 0);
  const square = scoreAt(probes, rank);
  return rankRoot(rank) * (square > nearest ? square / nearest : 1);
}

@inline
function rankRoot(rank: u32): f64 {
  return sqrt<f64>(sqrt<f64>(<f64>(rank + 1)));
}

/** The length of a list's centroid if directions are compared; otherwise 0. */
@inline
export function lengthOf(quantizer: CoarseQuantizer, list: u32): f64 {
  return quantizer.lengths ? load<f64>(quantizer.lengths + (<usize>list << 3)) : 0;
}

/** The same as the function of ../../metric.ts. */
@inline
export function squareToCentroid(quantizer: CoarseQuantizer, list: u32, square: f64): f64 {
  if (!quantizer.lengths) return square;
  const length = lengthOf(quantizer, list);
  return (1 - length) * (1 - length) + length * square;
}
