/**
 * The scan of the nearest blocks, in which most neighbors are. The codes of all of their rows are compared before the first vector is read, and
 * the rows with the least estimates are scored first: then the heap's threshold is nearly the final one when the others are tested.
 */

import { Heap } from "./heap";
import { addWaiting, boundRows, codeLimit, isPruned, promisingMax, scanJob, scoreWaiting, smallestAt, waitingBytes, WaitingRows } from "./scan-flat";
import { Job, jobAt, Query } from "./structs";

/** The most rows whose codes are compared together, those of each block rounded up to 32. A query's scratch has 12 bytes for each of them. */
export const rowsTogether: u32 = 1024;
/** The fewest rows that a query's scratch has room for. */
export const scratchRowsMin = rowsTogether;
/** The most blocks. */
export const jobsTogether = rowsTogether / 32;

/** A block whose rows are bounded. */
@unmanaged
class BoundedBlock {
  job: Job;
  /** The place of its first row among all that are bounded, a multiple of 32. */
  first: u32;
}

// The scratch, in this order: lower bounds, estimates, blocks, the smallest estimates, rows that wait, jobs.
@inline
function estimatesOf(query: Query): usize {
  return query.scratch + (<usize>rowsTogether << 2);
}

@inline
function blocksOf(query: Query): usize {
  return query.scratch + (<usize>rowsTogether << 3);
}

@inline
function keptOf(query: Query): usize {
  return blocksOf(query) + <usize>jobsTogether * offsetof<BoundedBlock>();
}

@inline
function waitingOf(query: Query): usize {
  return keptOf(query) + (<usize>promisingMax << 2);
}

/** Room for `jobsTogether` jobs that are to be scanned together. */
@inline
export function roomForJobs(query: Query): usize {
  return waitingOf(query) + waitingBytes;
}

/** Scans the first of `count` jobs: those whose codes rule nothing out, and then those that can be scanned together. Returns how many. */
export function scanFirst(query: Query, heap: Heap, jobs: usize, count: u32): u32 {
  let scanned: u32 = 0;
  for (; scanned < count && !isPruned(query, jobAt(jobs, scanned)); scanned++) scanJob(query, heap, jobAt(jobs, scanned));
  if (scanned == count) return count;
  const waiting = changetype<WaitingRows>(waitingOf(query));
  waiting.count = 0;
  scanned += scanTogether(query, heap, changetype<usize>(jobAt(jobs, scanned)), count - scanned, waiting);
  scoreWaiting(query, heap, waiting);
  return scanned;
}

/** Scans the first of `count` jobs whose codes rule rows out, as many as there is room for, and returns how many. Some rows may be left `waiting`. */
export function scanTogether(query: Query, heap: Heap, jobs: usize, count: u32, waiting: WaitingRows): u32 {
  if (heap.capacity == 0 || heap.capacity > promisingMax) return 0;
  const lowerBounds = query.scratch;
  const estimates = estimatesOf(query);
  let m: u32 = 0;
  let scanned: u32 = 0;
  for (; scanned < count; scanned++) {
    const job = jobAt(jobs, scanned);
    const end = m + ((job.block.n + 31) & ~31);
    if (end > rowsTogether || !isPruned(query, job)) break;
    const at = <usize>m << 2;
    boundRows(query, job, lowerBounds + at, estimates + at);
    for (let row = m + job.block.n; row < end; row++) store<f32>(estimates + (<usize>row << 2), Infinity);
    const block = boundedAt(query, scanned);
    block.job = job;
    block.first = m;
    m = end;
  }
  if (m) scoreBounded(query, heap, m, scanned, waiting);
  return scanned;
}

/** Offers those of m rows that are near, by their lower bounds and estimates; the latter are Infinity where there is no row. */
function scoreBounded(query: Query, heap: Heap, m: u32, nBlocks: u32, waiting: WaitingRows): void {
  const lowerBounds = query.scratch;
  const estimates = estimatesOf(query);
  const near = f32x4.splat(smallestAt(estimates, m, min<u32>(heap.capacity, m), keptOf(query)));
  const never = f32x4.splat(Infinity);
  let block: u32 = 0;
  for (let row: u32 = 0; row < m; row += 4) {
    const estimate = v128.load(estimates + (<usize>row << 2));
    const isNear = v128.and(f32x4.le(estimate, near), f32x4.lt(estimate, never));
    block = addRows(query, heap, row, i32x4.bitmask(isNear), block, nBlocks, waiting);
  }
  scoreWaiting(query, heap, waiting);
  block = 0;
  let limit = f32x4.splat(codeLimit(query, heap));
  for (let row: u32 = 0; row < m; row += 4) {
    const estimate = v128.load(estimates + (<usize>row << 2));
    const lowerBound = v128.load(lowerBounds + (<usize>row << 2));
    // Not greater, instead of less or equal: NaN is never ruled out.
    const isOut = v128.or(f32x4.gt(lowerBound, limit), v128.or(f32x4.le(estimate, near), f32x4.eq(estimate, never)));
    const mask = ~i32x4.bitmask(isOut) & 15;
    if (!mask) continue;
    block = addRows(query, heap, row, mask, block, nBlocks, waiting);
    limit = f32x4.splat(codeLimit(query, heap));
  }
}

/**
 * Lets rows wait for their scores: `first` plus the position of each bit. `block` is that of the first of them or one before it. Returns that of the
 * last one.
 */
@inline
function addRows(query: Query, heap: Heap, first: u32, bits: i32, block: u32, nBlocks: u32, waiting: WaitingRows): u32 {
  let at = block;
  for (let mask = bits; mask; mask &= mask - 1) {
    const row = first + <u32>ctz(mask);
    while (at + 1 < nBlocks && boundedAt(query, at + 1).first <= row) at++;
    const bounded = boundedAt(query, at);
    const job = bounded.job;
    addWaiting(query, heap, waiting, job.number, job.block, job.newerSegments, row - bounded.first);
  }
  return at;
}

@inline
function boundedAt(query: Query, i: u32): BoundedBlock {
  return changetype<BoundedBlock>(blocksOf(query) + <usize>i * offsetof<BoundedBlock>());
}
