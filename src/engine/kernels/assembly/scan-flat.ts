/**
 * The scan of `ivfflat`: vectors in float32 or scalar codes, and RaBitQ codes if rows are grouped by the query's quantizer.
 *
 * Rows pass up to three tests, each more expensive than the one before: the lower bound of the RaBitQ estimate; the score in
 * float32, with a margin that covers its rounding; the score in float64, which is the one reported.
 */

import { sumRow } from "./distance";
import { fastScanSmall } from "./fast-scan";
import { Heap } from "./heap";
import { estimateRabitq, firstBits, rabitqWithin, writePositions } from "./rabitq";
import { groupSum, rowsOfGroup, setGroupRow, sumGroup, vectorBytes } from "./row-group";
import { scanCoded } from "./scan-coded";
import { offerIfNear } from "./scan-scalar";
import { scanFirst } from "./scan-together";
import { acceptedFour, Block, checkBlock, clampCosine, isAccepted, Job, jobAt, offerRow, Query } from "./structs";

/** If more rows than this are wanted, choosing the most promising ones costs more than it saves. */
export const promisingMax: u32 = 128;
const float32Epsilon: f64 = 5.9604644775390625e-8;
/** Rounding of a term below the normal range is at most half of it, whatever the size of the term. */
const smallestFloat32: f64 = 1.401298464324817e-45;

/** Compares a query with `count` `Job` structs, and offers the rows to a heap. */
export function scanFlat(query: Query, heap: Heap, jobs: usize, count: u32): void {
  for (let i: u32 = 0; i < count; i++) checkBlock(query, jobAt(jobs, i).block);
  for (let i = scanFirst(query, heap, jobs, count); i < count; i++) scanJob(query, heap, jobAt(jobs, i));
}

/** Whether codes of the rows can rule them out. */
@inline
export function isPruned(query: Query, job: Job): bool {
  const block = job.block;
  return query.table && query.fitsFloat32 && block.fitsFloat32 && block.codes && job.base >= 0;
}

export function scanJob(query: Query, heap: Heap, job: Job): void {
  if (isPruned(query, job)) scanPruned(query, job, heap);
  else if (job.block.rowCodes) scanCoded(query, heap, job);
  else scanAll(query, job, heap);
}

function scanAll(query: Query, job: Job, heap: Heap): void {
  const rows = query.scratch;
  const n = job.block.n;
  let to = rows;
  for (let row: u32 = 0; row < n; row++) {
    store<u32>(to, row);
    to += <usize>isAccepted(job, row) << 2;
  }
  scoreRows(query, job, heap, rows, <u32>((to - rows) >> 2));
}

/**
 * Writes lower bounds and estimates of all rows by their codes, Infinity for those that the filter rejects: float32, as many of each as there
 * are rows, rounded up to 32.
 */
export function boundRows(query: Query, job: Job, lowerBounds: usize, estimates: usize): void {
  const block = job.block;
  const n = block.n;
  query.codesCompared += n;
  fastScanSmall(block.codes, query.table, (n + 31) >>> 5, query.groups, lowerBounds);
  estimateRabitq(
    block.factors,
    n,
    <f32>job.base,
    query.step,
    query.shift,
    query.rounding,
    query.epsilon,
    lowerBounds,
    estimates,
  );
  if (!job.accepted) return;
  const never = f32x4.splat(Infinity);
  for (let row: u32 = 0; row < n; row += 4) {
    const at = <usize>row << 2;
    const accepted = acceptedFour(job, row, n);
    v128.store(lowerBounds + at, v128.bitselect(v128.load(lowerBounds + at), never, accepted));
    v128.store(estimates + at, v128.bitselect(v128.load(estimates + at), never, accepted));
  }
}

function scanPruned(query: Query, job: Job, heap: Heap): void {
  const vacancies = heap.capacity - heap.size;
  if (vacancies > 0 && vacancies <= promisingMax && vacancies < job.block.n) scanPromisingFirst(query, job, heap, vacancies);
  else scanWithin(query, job, heap);
}

/** Scans the most promising rows first, which gives a threshold for the others. */
function scanPromisingFirst(query: Query, job: Job, heap: Heap, vacancies: u32): void {
  const n = job.block.n;
  const m = (n + 31) & ~31;
  const lowerBounds = query.scratch;
  const estimates = lowerBounds + (<usize>m << 2);
  const rows = estimates + (<usize>m << 2);
  boundRows(query, job, lowerBounds, estimates);
  const near = smallestAt(estimates, n, vacancies, rows);
  const done = f32x4.splat(near);
  const never = f32x4.splat(Infinity);
  let to = rows;
  for (let i: u32 = 0; i < n; i += 4) {
    const estimate = v128.load(estimates + (<usize>i << 2));
    const isNear = v128.and(f32x4.le(estimate, done), f32x4.lt(estimate, never));
    to = writePositions(i32x4.bitmask(isNear) & firstBits(i, n), i, to);
  }
  scoreRows(query, job, heap, rows, <u32>((to - rows) >> 2));
  const limit = f32x4.splat(codeLimit(query, heap));
  to = rows;
  for (let i: u32 = 0; i < n; i += 4) {
    const at = <usize>i << 2;
    const lowerBound = v128.load(lowerBounds + at);
    // Not greater, instead of less or equal: NaN is never ruled out.
    const ruledOut = v128.or(f32x4.gt(lowerBound, limit), f32x4.eq(lowerBound, never));
    const isOut = v128.or(ruledOut, f32x4.le(v128.load(estimates + at), done));
    to = writePositions(~i32x4.bitmask(isOut) & firstBits(i, n), i, to);
  }
  scoreRows(query, job, heap, rows, <u32>((to - rows) >> 2));
}

/** Scans the rows that may be as near as those that the heap keeps. */
function scanWithin(query: Query, job: Job, heap: Heap): void {
  const block = job.block;
  const rows = query.scratch;
  const within = codesWithin(query, heap, block.n, block.factors, block.codes, job.base, rows);
  if (!job.accepted) {
    scoreRows(query, job, heap, rows, within);
    return;
  }
  let to = rows;
  for (let i: u32 = 0; i < within; i++) {
    const row = load<u32>(rows + (<usize>i << 2));
    store<u32>(to, row);
    to += <usize>isAccepted(job, row) << 2;
  }
  scoreRows(query, job, heap, rows, <u32>((to - rows) >> 2));
}

/**
 * Writes the positions of rows that may be as near as those that the heap keeps, by n codes relative to one centroid, and returns their number;
 * `base` is that of a `Job`. `rows` has room for n uint32, rounded up to 32.
 */
export function codesWithin(
  query: Query,
  heap: Heap,
  n: u32,
  factors: usize,
  codes: usize,
  base: f64,
  rows: usize,
): u32 {
  query.codesCompared += n;
  fastScanSmall(codes, query.table, (n + 31) >>> 5, query.groups, rows);
  return rabitqWithin(
    factors,
    n,
    <f32>base,
    query.step,
    query.shift,
    query.rounding,
    query.epsilon,
    codeLimit(query, heap),
    rows,
  );
}

/** The squared distance, in list space, up to which rows are nearer than the farthest one that the heap keeps. */
@inline
export function codeLimit(query: Query, heap: Heap): f32 {
  return float32Above(query.cosine ? 2 * heap.threshold : heap.threshold);
}

/** The k-th smallest of n values, k from 1 to n; `kept` has room for k. Insertion, for small k: four values at a time are hardly ever among them. */
export function smallestAt(values: usize, n: u32, k: u32, kept: usize): f32 {
  let size: u32 = 0;
  let worst: f32 = Infinity;
  for (let i: u32 = 0; i < n; i += 4) {
    let mask = firstBits(i, n);
    if (size == k) mask &= i32x4.bitmask(f32x4.lt(v128.load(values + (<usize>i << 2)), f32x4.splat(worst)));
    for (; mask; mask &= mask - 1) {
      const value = load<f32>(values + (<usize>(i + <u32>ctz(mask)) << 2));
      if (size == k && !(value < worst)) continue;
      let place = size < k ? size++ : k - 1;
      while (place > 0 && load<f32>(kept + (<usize>(place - 1) << 2)) > value) {
        store<f32>(kept + (<usize>place << 2), load<f32>(kept + (<usize>(place - 1) << 2)));
        place--;
      }
      store<f32>(kept + (<usize>place << 2), value);
      worst = load<f32>(kept + (<usize>(size - 1) << 2));
    }
  }
  return worst;
}

/** Scores the listed rows and offers them. */
export function scoreRows(query: Query, job: Job, heap: Heap, rows: usize, count: u32): void {
  const block = job.block;
  const precision = block.precision;
  if (!precision && !(query.fitsFloat32 && block.fitsFloat32)) {
    query.vectorsCompared += count;
    for (let i: u32 = 0; i < count; i++) scoreRow(query, job, heap, load<u32>(rows + (<usize>i << 2)));
    return;
  }
  const rowBytes = vectorBytes(query, precision);
  for (let i: u32 = 0; i < count; i += rowsOfGroup) {
    const at = rows + (<usize>i << 2);
    const some = min<u32>(rowsOfGroup, count - i);
    for (let j: u32 = 0; j < some; j++) {
      setGroupRow(query, j, block.vectors + <usize>load<u32>(at + (<usize>j << 2)) * rowBytes);
    }
    sumGroup(query, precision, some);
    for (let j: u32 = 0; j < some; j++) {
      offerSum(query, job, heap, load<u32>(at + (<usize>j << 2)), precision, groupSum(query, j));
    }
  }
}

/** Scores a row in float64 and offers it, unless its sum (see `sumGroup`) rules it out. */
@inline
export function offerSum(query: Query, job: Job, heap: Heap, row: u32, precision: u32, sum: f32): void {
  if (precision) offerIfNear(query, job, heap, row, sum);
  else offerFloat32(query, job, heap, row, sum);
}

@inline
function offerFloat32(query: Query, job: Job, heap: Heap, row: u32, sum: f32): void {
  // Rounding of a float32 sum of `dimension` terms: relative for squares, which are all positive, unless they underflow; for
  // dot products relative to the product of the norms.
  const roundoff = <f64>query.dimension * float32Epsilon;
  if (!query.cosine) offerSquare(query, job, heap, row, sum, 1 + roundoff, <f64>query.dimension * smallestFloat32);
  else if (nearCosine(query, job, heap, row, sum, roundoff + float32Epsilon)) scoreRow(query, job, heap, row);
}

@inline
function offerSquare(query: Query, job: Job, heap: Heap, row: u32, square: f32, scale: f64, underflow: f64): void {
  if (query.rankOnly) offerRow(query, job, heap, row, <f64>square);
  else if (<f64>square <= heap.threshold * scale + underflow) scoreRow(query, job, heap, row);
}

@inline
function nearCosine(query: Query, job: Job, heap: Heap, row: u32, product: f32, slack: f64): bool {
  const scale = query.norm * load<f64>(job.block.norms + (<usize>row << 3));
  return (scale == 0 ? 1 : 1 - <f64>product / scale) <= heap.threshold + slack;
}

/** Scores a row in float64 and offers it. */
function scoreRow(query: Query, job: Job, heap: Heap, row: u32): void {
  const vector = job.block.vectors + <usize>row * (<usize>query.dimension << 2);
  let score: f64;
  if (query.cosine) {
    const scale = query.norm * load<f64>(job.block.norms + (<usize>row << 3));
    score = clampCosine(scale, sumRow(query.vector, vector, query.dimension, false));
  } else score = sumRow(query.vector, vector, query.dimension, true);
  offerRow(query, job, heap, row, score);
}

/** The float32 at or just above a float64, so that a float32 comparison with it never loses a row. */
@inline
function float32Above(value: f64): f32 {
  const rounded = <f32>value;
  return <f64>rounded >= value ? rounded : <f32>(value + abs<f64>(value) * 2 * float32Epsilon);
}

// Rows of any blocks that wait for their exact scores: eight are scored at a time, so that the waits for memory overlap. Most lists have one or
// two rows to score, whose vectors lie anywhere.

/** The rows that wait. Room for `rowsOfGroup` `WaitingRow` structs follows. */
@unmanaged
export class WaitingRows {
  count: u32;
}

/** A row, and the job of its block as far as a score needs it. */
@unmanaged
class WaitingRow extends Job {
  row: u32;
}

/** Bytes that the pending rows take. */
export const waitingBytes = offsetof<WaitingRows>() + <usize>rowsOfGroup * offsetof<WaitingRow>();

/** Adds a row of a block in memory, see `Job`, and scores those that wait if there are `rowsOfGroup`. */
@inline
export function addWaiting(
  query: Query,
  heap: Heap,
  waiting: WaitingRows,
  number: u32,
  block: Block,
  newerSegments: u32,
  row: u32,
): void {
  const added = waitingAt(waiting, waiting.count);
  added.number = number;
  added.block = block;
  added.newerSegments = newerSegments;
  added.row = row;
  if (++waiting.count == rowsOfGroup) scoreWaiting(query, heap, waiting);
}

/** Scores and offers the rows that wait. */
export function scoreWaiting(query: Query, heap: Heap, waiting: WaitingRows): void {
  const count = waiting.count;
  if (!count) return;
  waiting.count = 0;
  const precision = waitingAt(waiting, 0).block.precision;
  const rowBytes = vectorBytes(query, precision);
  for (let i: u32 = 0; i < count; i++) {
    const one = waitingAt(waiting, i);
    const block = one.block;
    // Float32 arithmetic has to suffice for the numbers of all of them.
    if (block.precision != precision || (!precision && !block.fitsFloat32)) {
      scoreEach(query, heap, waiting, count);
      return;
    }
    setGroupRow(query, i, block.vectors + <usize>one.row * rowBytes);
  }
  sumGroup(query, precision, count);
  for (let i: u32 = 0; i < count; i++) {
    const one = waitingAt(waiting, i);
    offerSum(query, one, heap, one.row, precision, groupSum(query, i));
  }
}

function scoreEach(query: Query, heap: Heap, waiting: WaitingRows, count: u32): void {
  for (let i: u32 = 0; i < count; i++) {
    const one = waitingAt(waiting, i);
    scoreRows(query, one, heap, changetype<usize>(one) + offsetof<WaitingRow>("row"), 1);
  }
}

@inline
function waitingAt(waiting: WaitingRows, i: u32): WaitingRow {
  return changetype<WaitingRow>(changetype<usize>(waiting) + offsetof<WaitingRows>() + <usize>i * offsetof<WaitingRow>());
}
