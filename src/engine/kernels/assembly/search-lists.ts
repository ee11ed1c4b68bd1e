/**
 * One query among the nearest lists of a trained index, from its vector to the rows found: a complete search, if all of its
 * blocks are in memory. Otherwise the caller scans the others (see scan-flat.ts) into the same heap.
 */

import { Heap, rowAt, scoreAt, sortHeap } from "./heap";
import { addRow, beginSearch, firstOf, isScanned, listBlockAt, ListBlockTable, MatchTable, noteClosed, setJob } from "./list-block-table";
import { CoarseQuantizer, likelyLists, probeLists, squareToCentroid } from "./probe-lists";
import { codesWithin, isPruned, promisingMax, scanJob, scoreWaiting } from "./scan-flat";
import { readSpilledAhead, scanSpilled, touchPages } from "./scan-secondary";
import { jobsTogether, roomForJobs, scanTogether } from "./scan-together";
import { isAccepted, Job, jobAt, Query } from "./structs";

/**
 * Scans the blocks of no list and those of the lists that `probeLists` finds into `heap`, as far as they are in memory, and notes the others as
 * missing, nearest list first. Lists beyond the `limit` (see ../../probe-limits.ts) are pruned.
 *
 * With a filter, `table.matching`, lists and blocks without a match are left out.
 *
 * With `spilledProbes` above 0, so many lists, as far as they are within `spilledLimit`, are scanned with their spilled rows; of the lists
 * after them only the blocks whose rows are not spilled. Such a search counts only if nothing is missing: then blocks of spilled rows are noted.
 *
 * Blocks that are scanned are marked with `now`, which no two searches have in common. Returns the number of lists; 0 if spilled rows
 * cannot be found, since the query has no codes or a block of the lists is not in memory. The heap is sorted if it is full and nothing is missing.
 */
export function searchLists(
  query: Query,
  point: Query,
  quantizer: CoarseQuantizer,
  codedMax: u32,
  probes: Heap,
  limit: f64,
  spilledProbes: u32,
  spilledLimit: f64,
  table: ListBlockTable,
  heap: Heap,
  job: Job,
  now: u32,
): u32 {
  beginSearch(table);
  // Spilled rows have nothing else to be found by than codes.
  if (spilledProbes && !(query.table && query.fitsFloat32)) return 0;
  const likely = probeLists(point, quantizer, codedMax, limit, listsWithMatches(table), probes, job);
  const spilled = spilledProbes ? min<u32>(likely, min<u32>(spilledProbes, likelyLists(probes, spilledLimit))) : 0;
  return scanLists(query, quantizer, probes, likely, spilled, table, heap, job, now) ? likely : 0;
}

/**
 * Scans the first `likely` of `probes` as `searchLists` does, the first `spilled` of them with their spilled rows; if that is not 0, of those after them only
 * the blocks whose rows are not spilled.
 */
function scanLists(
  query: Query,
  quantizer: CoarseQuantizer,
  probes: Heap,
  likely: u32,
  spilled: u32,
  table: ListBlockTable,
  heap: Heap,
  job: Job,
  now: u32,
): bool {
  const whole = spilled ? spilled : likely;
  noteClosed(table, table.nLists, false);
  for (let i: u32 = 0; i < likely; i++) noteClosed(table, rowAt(probes, i), i >= whole);
  if (spilled && table.nMissing) {
    table.nMissing = 0;
    return false;
  }
  for (let i: u32 = 0; i < spilled; i++) markScanned(table, rowAt(probes, i), now);
  job.readAhead = 0;
  for (let i: u32 = 0; i < likely; i++) job.readAhead += readListAhead(query, table, rowAt(probes, i), i >= whole);
  for (let i: u32 = 0; i < spilled; i++) job.readAhead += readSpilledAhead(query, table, rowAt(probes, i));
  scanList(query, heap, job, table, table.nLists, -1, false, now, 0);
  let done = scanNearest(query, heap, job, table, quantizer, probes, likely, whole, now);
  for (let i: u32 = 0; i < likely; i++) {
    const list = rowAt(probes, i);
    const base = squareToCentroid(quantizer, list, scoreAt(probes, i));
    done = scanList(query, heap, job, table, list, base, i >= whole, now, done);
  }
  // After all vectors that are at hand, so that few others are looked at.
  for (let i: u32 = 0; i < spilled; i++) {
    const list = rowAt(probes, i);
    const base = squareToCentroid(quantizer, list, scoreAt(probes, i));
    scanSpilled(query, heap, table, list, base, now);
  }
  scoreWaiting(query, heap, table.waiting);
  sortIfDone(table, heap);
  return true;
}

/** Sorts the heap if nothing is left to be scanned: a call of `sortHeap` takes longer. */
@inline
export function sortIfDone(table: ListBlockTable, heap: Heap): void {
  if (!table.nMissing && heap.size == heap.capacity) sortHeap(heap);
}

/** Bits of the lists that have a match; 0: all. */
@inline
function listsWithMatches(table: ListBlockTable): usize {
  return table.matching ? changetype<MatchTable>(table.matching).among : 0;
}

/**
 * Scans the first blocks of the lists as `scanFirst` does, and returns how many.
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
  now: u32,
): u32 {
  const jobs = roomForJobs(query);
  let count: u32 = 0;
  let scanned: u32 = 0;
  for (let i: u32 = 0; i < likely; i++) {
    const list = rowAt(probes, i);
    const base = squareToCentroid(quantizer, list, scoreAt(probes, i));
    const end = firstOf(table, list + 1);
    for (let number = firstOf(table, list); number < end; number++) {
      if (!isScanned(table, number, i >= whole)) continue;
      if (count == jobsTogether) return scanned + scanTogether(query, heap, jobs, count, table.waiting);
      setJob(query, table, job, number, base, now);
      if (count == 0 && !isPruned(query, job)) {
        scanJob(query, heap, job);
        scanned++;
        continue;
      }
      const together = jobAt(jobs, count++);
      together.accepted = 0;
      setJob(query, table, together, number, base, now);
    }
  }
  return scanned + scanTogether(query, heap, jobs, count, table.waiting);
}

function markScanned(table: ListBlockTable, list: u32, now: u32): void {
  const end = firstOf(table, list + 1);
  for (let number = firstOf(table, list); number < end; number++) listBlockAt(table, number).scannedAt = now;
}

/**
 * Reads one byte of each page of codes that a scan will read, and returns the sum. The waits for memory overlap across all lists;
 * in the scan they would come one after the other.
 */
export function readListAhead(query: Query, table: ListBlockTable, list: u32, unspilled: bool): u32 {
  let sum: u32 = 0;
  const end = firstOf(table, list + 1);
  for (let number = firstOf(table, list); number < end; number++) {
    if (!isScanned(table, number, unspilled)) continue;
    const block = listBlockAt(table, number).block;
    if (!block.codes) continue;
    sum += load<u8>(block.factors);
    const last = block.codes + <usize>((block.n + 31) >>> 5) * (<usize>query.groups << 4) - 1;
    sum += touchPages(block.codes, last);
  }
  return sum;
}

/**
 * Scans the blocks of a list that are in memory, or those whose rows are not spilled, as far as they have a match. `base` is |q - c|^2 in list space. The first `done`
 * blocks are scanned already; returns how many of those after this list are.
 */
export function scanList(
  query: Query,
  heap: Heap,
  job: Job,
  table: ListBlockTable,
  list: u32,
  base: f64,
  unspilled: bool,
  now: u32,
  done: u32,
): u32 {
  let left = done;
  const end = firstOf(table, list + 1);
  for (let number = firstOf(table, list); number < end; number++) {
    if (!isScanned(table, number, unspilled)) continue;
    if (left) {
      left--;
      continue;
    }
    setJob(query, table, job, number, base, now);
    if (mayWait(heap) && isPruned(query, job)) scanLater(query, heap, job, table);
    else scanJob(query, heap, job);
  }
  return left;
}

/**
 * Whether rows wait for those of other blocks before they are scored. The threshold falls later then. Where many rows are near it, a scan of jobs, in
 * which rows do not wait, would find others.
 */
@inline
function mayWait(heap: Heap): bool {
  return heap.size == heap.capacity && heap.capacity <= promisingMax;
}

/** As `scanJob`, if `mayWait`: the rows found wait for their scores. */
function scanLater(query: Query, heap: Heap, job: Job, table: ListBlockTable): void {
  const block = job.block;
  const number = job.number;
  const rows = query.scratch;
  const within = codesWithin(query, heap, block.n, block.factors, block.codes, job.base, rows);
  for (let i: u32 = 0; i < within; i++) {
    const row = load<u32>(rows + (<usize>i << 2));
    if (isAccepted(job, row)) addRow(query, heap, table, number, row);
  }
}
