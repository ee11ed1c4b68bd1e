/**
 * One query among the nearest lists of a trained index, from its vector to the rows found: a complete search, if all of its
 * blocks are in memory.
 */

import { Heap, rowAt, scoreAt, sortHeap } from "./heap";
import { firstOf, isOpen, isWanted, listBlockAt, ListBlockTable, setJob } from "./list-block-table";
import { CoarseQuantizer, likelyLists, probeLists, squareToCentroid } from "./probe-lists";
import { touchPages } from "./read-ahead";
import { scanNearest } from "./scan-nearest";
import { codesWithin, isPruned, scanJob } from "./scan-flat";
import { readSpilledAhead, scanSpilled } from "./scan-spilled";
import { Job, Query } from "./search";
import { addWaiting, scoreWaiting } from "./waiting-rows";

/**
 * Scans the blocks of no list and those of the lists that `probeLists` finds into `heap`, and sorts it. Lists beyond the `limit`
 * (see ../../probe-limits.ts) are pruned.
 *
 * With `spilledProbes` above 0, so many lists, as far as they are within `spilledLimit`, are scanned with their spilled rows; of the lists
 * after them only the blocks whose rows are not spilled.
 *
 * `nearestRows`: see `scanNearest`. Blocks that are scanned are marked with `now`, which no two searches have in common. Returns the number of lists scanned; 0, with
 * nothing that counts, if a block is not in memory.
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
  nearestRows: u32,
  now: u32,
): u32 {
  table.nMissing = 0;
  // Spilled rows have nothing else to be found by than codes.
  if (spilledProbes && !(query.table && query.fitsFloat32)) return 0;
  const likely = probeLists(point, quantizer, codedMax, limit, 0, probes, job);
  const whole = spilledProbes ? min<u32>(likely, min<u32>(spilledProbes, likelyLists(probes, spilledLimit))) : likely;
  if (!areOpen(table, table.nLists, false)) return 0;
  for (let i: u32 = 0; i < likely; i++) if (!areOpen(table, rowAt(probes, i), i >= whole)) return 0;
  if (spilledProbes) for (let i: u32 = 0; i < whole; i++) markScanned(table, rowAt(probes, i), now);
  job.readAhead = 0;
  for (let i: u32 = 0; i < likely; i++) job.readAhead += readListAhead(query, table, rowAt(probes, i), i >= whole);
  if (spilledProbes) for (let i: u32 = 0; i < whole; i++) job.readAhead += readSpilledAhead(query, table, rowAt(probes, i));
  scanList(query, heap, job, table, table.nLists, -1, false, now);
  const done = scanNearest(query, heap, job, table, quantizer, probes, likely, whole, nearestRows, now);
  for (let i = done; i < likely; i++) {
    const list = rowAt(probes, i);
    scanList(query, heap, job, table, list, squareToCentroid(quantizer, list, scoreAt(probes, i)), i >= whole, now);
  }
  if (spilledProbes) {
    // After all vectors that are at hand, so that few others are looked at.
    for (let i: u32 = 0; i < whole; i++) {
      const list = rowAt(probes, i);
      const base = squareToCentroid(quantizer, list, scoreAt(probes, i));
      scanSpilled(query, heap, job, table, list, base, now);
    }
  }
  scoreWaiting(query, heap, job, table);
  if (table.nMissing) return 0;
  sortHeap(heap);
  return likely;
}

/** Whether the blocks of a list are in memory, or those whose rows are not spilled. */
function areOpen(table: ListBlockTable, list: u32, unspilled: bool): bool {
  const end = firstOf(table, list + 1);
  for (let number = firstOf(table, list); number < end; number++) {
    const listBlock = listBlockAt(table, number);
    if (isWanted(listBlock, unspilled) && !isOpen(table, listBlock)) return false;
  }
  return true;
}

function markScanned(table: ListBlockTable, list: u32, now: u32): void {
  const end = firstOf(table, list + 1);
  for (let number = firstOf(table, list); number < end; number++) listBlockAt(table, number).scannedAt = now;
}

/**
 * Reads one byte of each page of codes that a scan will read, and returns the sum. The waits for memory overlap across all lists;
 * in the scan they would come one after the other.
 */
function readListAhead(query: Query, table: ListBlockTable, list: u32, unspilled: bool): u32 {
  let sum: u32 = 0;
  const end = firstOf(table, list + 1);
  for (let number = firstOf(table, list); number < end; number++) {
    const listBlock = listBlockAt(table, number);
    if (!isWanted(listBlock, unspilled)) continue;
    const block = listBlock.block;
    if (!block.codes) continue;
    sum += load<u8>(block.factors);
    const last = block.codes + <usize>((block.n + 31) >>> 5) * (<usize>query.groups << 4) - 1;
    sum += touchPages(block.codes, last);
  }
  return sum;
}

function scanList(
  query: Query,
  heap: Heap,
  job: Job,
  table: ListBlockTable,
  list: u32,
  base: f64,
  unspilled: bool,
  now: u32,
): void {
  const end = firstOf(table, list + 1);
  for (let number = firstOf(table, list); number < end; number++) {
    const listBlock = listBlockAt(table, number);
    if (!isWanted(listBlock, unspilled)) continue;
    setJob(job, number, listBlock, base, now);
    if (heap.size == heap.capacity && isPruned(query, job)) scanLater(query, heap, job, table);
    else scanJob(query, heap, job);
  }
}

/** As `scanJob`, with a heap that is full; the rows found wait for their scores. */
function scanLater(query: Query, heap: Heap, job: Job, table: ListBlockTable): void {
  const block = job.block;
  const number = job.number;
  const rows = query.scratch;
  const within = codesWithin(query, heap, block.n, block.factors, block.codes, job.base, rows);
  for (let i: u32 = 0; i < within; i++) addWaiting(query, heap, job, table, number, load<u32>(rows + (<usize>i << 2)));
}
