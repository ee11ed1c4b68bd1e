/**
 * The scan of the nearest lists, in which most neighbours are. The codes of all of their rows are compared before the first vector is read, and
 * the rows with the least estimates are scored first: then the heap's threshold is nearly the final one when the others are tested.
 */

import { Heap, rowAt, scoreAt } from "./heap";
import { firstOf, isWanted, listBlockAt, ListBlockTable, setJob } from "./list-block-table";
import { CoarseQuantizer, squareToCentroid } from "./probe-lists";
import { boundRows, codeLimit, isPruned, promisingMax, scanJob, smallestAt } from "./scan-flat";
import { Job, Query } from "./search";
import { addWaiting, scoreWaiting } from "./waiting-rows";

/** A block whose rows are bounded. */
@unmanaged
class BoundedBlock {
  number: u32;
  /** The place of its first row among all that are bounded, a multiple of 32. */
  first: u32;
}

/**
 * Scans the first lists of `probes`, as many as have at most `room` rows, those of each block rounded up to 32, and returns their number. `likely`
 * and `whole` are as in `searchLists`. The query's scratch has 12 bytes for each row of `room`, which is a multiple of 32 and at least 256.
 */
export function scanNearest(
  query: Query,
  heap: Heap,
  job: Job,
  table: ListBlockTable,
  quantizer: CoarseQuantizer,
  probes: Heap,
  likely: u32,
  whole: u32,
  room: u32,
  now: u32,
): u32 {
  if (heap.capacity == 0 || heap.capacity > promisingMax) return 0;
  const lowerBounds = query.scratch;
  const estimates = lowerBounds + (<usize>room << 2);
  const blocks = estimates + (<usize>room << 2);
  let m: u32 = 0;
  let nBlocks: u32 = 0;
  let i: u32 = 0;
  for (; i < likely; i++) {
    const list = rowAt(probes, i);
    const unspilled = i >= whole;
    if (m + rowsIn(table, list, unspilled) > room) break;
    const base = squareToCentroid(quantizer, list, scoreAt(probes, i));
    const end = firstOf(table, list + 1);
    for (let number = firstOf(table, list); number < end; number++) {
      const listBlock = listBlockAt(table, number);
      if (!isWanted(listBlock, unspilled)) continue;
      setJob(job, number, listBlock, base, now);
      if (!isPruned(query, job)) {
        // The scan of a block uses the same scratch.
        if (m) scoreBounded(query, heap, job, table, lowerBounds, estimates, m, blocks, nBlocks);
        m = 0;
        nBlocks = 0;
        setJob(job, number, listBlock, base, now);
        scanJob(query, heap, job);
        continue;
      }
      const at = <usize>m << 2;
      boundRows(query, job, lowerBounds + at, estimates + at);
      const block = changetype<BoundedBlock>(blocks + <usize>nBlocks * offsetof<BoundedBlock>());
      nBlocks++;
      block.number = number;
      block.first = m;
      const n = m + job.block.n;
      m += roundedUp(job.block.n);
      for (let row = n; row < m; row++) store<f32>(estimates + (<usize>row << 2), Infinity);
    }
  }
  if (m) scoreBounded(query, heap, job, table, lowerBounds, estimates, m, blocks, nBlocks);
  return i;
}

@inline
function roundedUp(rows: u32): u32 {
  return (rows + 31) & ~31;
}

/** Rows of the list, those of each block rounded up. */
function rowsIn(table: ListBlockTable, list: u32, unspilled: bool): u32 {
  let rows: u32 = 0;
  const end = firstOf(table, list + 1);
  for (let number = firstOf(table, list); number < end; number++) {
    const listBlock = listBlockAt(table, number);
    if (isWanted(listBlock, unspilled)) rows += roundedUp(listBlock.block.n);
  }
  return rows;
}

/** Offers those of m rows that are near: float32 each of lower bounds and of estimates, which are Infinity where there is no row. */
function scoreBounded(
  query: Query,
  heap: Heap,
  job: Job,
  table: ListBlockTable,
  lowerBounds: usize,
  estimates: usize,
  m: u32,
  blocks: usize,
  nBlocks: u32,
): void {
  // After the blocks, of which there is at most one for each 32 rows.
  const end = blocks + <usize>nBlocks * offsetof<BoundedBlock>();
  const near = f32x4.splat(smallestAt(estimates, m, min<u32>(heap.capacity, m), end));
  const never = f32x4.splat(Infinity);
  let block = blocks;
  for (let row: u32 = 0; row < m; row += 4) {
    const estimate = v128.load(estimates + (<usize>row << 2));
    const isNear = v128.and(f32x4.le(estimate, near), f32x4.lt(estimate, never));
    block = addRows(query, heap, job, table, row, i32x4.bitmask(isNear), block, end);
  }
  scoreWaiting(query, heap, job, table);
  block = blocks;
  let limit = f32x4.splat(codeLimit(query, heap));
  for (let row: u32 = 0; row < m; row += 4) {
    const estimate = v128.load(estimates + (<usize>row << 2));
    const lowerBound = v128.load(lowerBounds + (<usize>row << 2));
    // Not greater, instead of less or equal: NaN is never ruled out.
    const isOut = v128.or(f32x4.gt(lowerBound, limit), v128.or(f32x4.le(estimate, near), f32x4.eq(estimate, never)));
    const mask = ~i32x4.bitmask(isOut) & 15;
    if (!mask) continue;
    block = addRows(query, heap, job, table, row, mask, block, end);
    limit = f32x4.splat(codeLimit(query, heap));
  }
}

/**
 * Adds rows to those that wait for their scores: `first` plus the position of each bit. `block` is that of the first of them or one before it, `end`
 * where blocks end. Returns the block of the last one.
 */
@inline
function addRows(
  query: Query,
  heap: Heap,
  job: Job,
  table: ListBlockTable,
  first: u32,
  bits: i32,
  block: usize,
  end: usize,
): usize {
  let at = block;
  for (let mask = bits; mask; mask &= mask - 1) {
    const row = first + <u32>ctz(mask);
    let next = at + offsetof<BoundedBlock>();
    while (next < end && changetype<BoundedBlock>(next).first <= row) {
      at = next;
      next += offsetof<BoundedBlock>();
    }
    const bounded = changetype<BoundedBlock>(at);
    addWaiting(query, heap, job, table, bounded.number, row - bounded.first);
  }
  return at;
}
