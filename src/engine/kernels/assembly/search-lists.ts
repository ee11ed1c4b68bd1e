/**
 * One query among the nearest lists of a trained index, from its vector to the rows found: a complete search, if all of its
 * blocks are in memory. Otherwise the caller scans the others (see scan-flat.ts) into the same heap.
 */

import { Heap, rowAt, scoreAt, sortHeap } from "./heap";
import { addRow, beginSearch, firstOf, isScanned, listBlockAt, ListSearch, MatchTable, noteClosed, setJob } from "./list-block-table";
import { likelyLists, probeLists, squareToCentroid } from "./probe-lists";
import { codesWithin, isPruned, promisingMax, scanJob, scoreWaiting } from "./scan-flat";
import { clearScanned, markScanned, readSpilledAhead, scanSpilled, touchPages } from "./scan-secondary";
import { jobsTogether, roomForJobs, scanTogether } from "./scan-together";
import { isAccepted, jobAt } from "./structs";

/**
 * Scans the blocks of no list and those of the lists that `probeLists` finds, as far as they are in memory, and notes the others as
 * missing, nearest list first. With a filter, lists and blocks without a match are left out.
 *
 * Of lists that are scanned without their spilled rows while others are scanned with them, only the blocks whose rows are not spilled are
 * scanned. A search of spilled rows counts only if nothing is missing: then blocks of spilled rows are noted. It finds no lists if the query
 * has no codes or a block of the lists is not in memory.
 */
export function searchLists(search: ListSearch): void {
  beginSearch(search);
  const query = search.query;
  const probes = search.probes;
  let spilled = search.spilledProbes;
  // Spilled rows have nothing else to be found by than codes.
  if (spilled && !(query.table && query.fitsFloat32)) return;
  const among = listsWithMatches(search);
  const likely = probeLists(search.point, search.quantizer, search.codedMax, search.limit, among, probes, search.job);
  if (spilled) spilled = min<u32>(likely, min<u32>(spilled, likelyLists(probes, search.spilledLimit)));
  const whole = spilled ? spilled : likely;
  noteClosed(search, search.table.nLists, false);
  for (let i: u32 = 0; i < likely; i++) noteClosed(search, rowAt(probes, i), i >= whole);
  if (spilled && search.nMissing) {
    search.nMissing = 0;
    return;
  }
  search.nFound = likely;
  scanLists(search, likely, whole, spilled);
}

/** Bits of the lists that have a match; 0: all. */
@inline
function listsWithMatches(search: ListSearch): usize {
  const matching = search.matching;
  return matching ? changetype<MatchTable>(matching).among : 0;
}

/** Scans the first `likely` of the lists found, the first `whole` of them with all of their blocks and the first `spilled` with their spilled rows. */
function scanLists(search: ListSearch, likely: u32, whole: u32, spilled: u32): void {
  const query = search.query;
  const probes = search.probes;
  const quantizer = search.quantizer;
  const job = search.job;
  if (spilled) clearScanned(search);
  for (let i: u32 = 0; i < spilled; i++) markScanned(search, rowAt(probes, i));
  job.readAhead = 0;
  for (let i: u32 = 0; i < likely; i++) job.readAhead += readListAhead(search, rowAt(probes, i), i >= whole);
  for (let i: u32 = 0; i < spilled; i++) job.readAhead += readSpilledAhead(query, search.table, rowAt(probes, i));
  scanList(search, search.table.nLists, -1, false, 0);
  let done = scanNearest(search, likely, whole);
  for (let i: u32 = 0; i < likely; i++) {
    const list = rowAt(probes, i);
    const base = squareToCentroid(quantizer, list, scoreAt(probes, i));
    done = scanList(search, list, base, i >= whole, done);
  }
  // After all vectors that are at hand, so that few others are looked at.
  for (let i: u32 = 0; i < spilled; i++) {
    const list = rowAt(probes, i);
    scanSpilled(search, list, squareToCentroid(quantizer, list, scoreAt(probes, i)));
  }
  const nearest = search.nearest;
  scoreWaiting(query, nearest, search.waiting);
  // Here, since a call of `sortHeap` takes longer.
  if (search.nMissing || nearest.size < nearest.capacity) return;
  sortHeap(nearest);
  search.isSorted = 1;
}

/** Scans the first blocks of the lists as `scanFirst` does, and returns how many. */
function scanNearest(search: ListSearch, likely: u32, whole: u32): u32 {
  const query = search.query;
  const nearest = search.nearest;
  const table = search.table;
  const probes = search.probes;
  const job = search.job;
  const jobs = roomForJobs(query);
  let count: u32 = 0;
  let scanned: u32 = 0;
  for (let i: u32 = 0; i < likely; i++) {
    const list = rowAt(probes, i);
    const base = squareToCentroid(search.quantizer, list, scoreAt(probes, i));
    const end = firstOf(table, list + 1);
    for (let number = firstOf(table, list); number < end; number++) {
      if (!isScanned(search, number, i >= whole)) continue;
      if (count == jobsTogether) return scanned + scanTogether(query, nearest, jobs, count, search.waiting);
      setJob(search, job, number, base);
      if (count == 0 && !isPruned(query, job)) {
        scanJob(query, nearest, job);
        scanned++;
        continue;
      }
      const together = jobAt(jobs, count++);
      together.accepted = 0;
      setJob(search, together, number, base);
    }
  }
  return scanned + scanTogether(query, nearest, jobs, count, search.waiting);
}

/**
 * Reads one byte of each page of codes that a scan will read, and returns the sum. The waits for memory overlap across all lists;
 * in the scan they would come one after the other.
 */
function readListAhead(search: ListSearch, list: u32, unspilled: bool): u32 {
  const table = search.table;
  const groupsBytes = <usize>search.query.groups << 4;
  let sum: u32 = 0;
  const end = firstOf(table, list + 1);
  for (let number = firstOf(table, list); number < end; number++) {
    if (!isScanned(search, number, unspilled)) continue;
    const block = listBlockAt(table, number).block;
    if (!block.codes) continue;
    sum += load<u8>(block.factors);
    const last = block.codes + <usize>((block.n + 31) >>> 5) * groupsBytes - 1;
    sum += touchPages(block.codes, last);
  }
  return sum;
}

/**
 * Scans the blocks of a list that are in memory, or those whose rows are not spilled, as far as they have a match. `base` is |q - c|^2 in list space. The first `done`
 * blocks are scanned already; returns how many of those after this list are.
 */
function scanList(search: ListSearch, list: u32, base: f64, unspilled: bool, done: u32): u32 {
  const table = search.table;
  let left = done;
  const end = firstOf(table, list + 1);
  for (let number = firstOf(table, list); number < end; number++) {
    if (!isScanned(search, number, unspilled)) continue;
    if (left) {
      left--;
      continue;
    }
    setJob(search, search.job, number, base);
    if (mayWait(search.nearest) && isPruned(search.query, search.job)) scanLater(search);
    else scanJob(search.query, search.nearest, search.job);
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
function scanLater(search: ListSearch): void {
  const query = search.query;
  const job = search.job;
  const block = job.block;
  const number = job.number;
  const rows = query.scratch;
  const within = codesWithin(query, search.nearest, block.n, block.factors, block.codes, job.base, rows);
  for (let i: u32 = 0; i < within; i++) {
    const row = load<u32>(rows + (<usize>i << 2));
    if (isAccepted(job, row)) addRow(search, number, row);
  }
}
