/**
 * One query among the nearest lists of a trained index, from its vector to the rows found: the whole of a search whose blocks
 * are all in memory. ../../list-search.ts and ../../part-table.ts write the records and know their layouts.
 */

import { sumRow } from "./distance-wide";
import { Heap, rowAt, scoreAt, sortHeap } from "./heap";
import { scanJob } from "./scan-flat";
import { Block, Job, Query } from "./search";

/** A coarse quantizer. */
@unmanaged
export class Lists {
  /** The centroids, as rows. */
  block: Block;
  /** float32, around which their codes are. */
  mean: usize;
}

/** A block of a list, where it is in memory. */
@unmanaged
class Part {
  block: Block;
  /** The table's epoch when the block was there; blocks leave memory only with an epoch. */
  epoch: u32;
  /** How many of the query's id tables may hide rows of the block. */
  newer: u32;
}

/** The blocks of all lists. */
@unmanaged
export class PartTable {
  /** Parts firsts[l] to firsts[l + 1] are of list l; the last of them are of no list. */
  firsts: usize;
  parts: usize;
  epoch: u32;
  nLists: u32;
}

/**
 * Finds the `probes.capacity` lists nearest to `point`, the query in list space, nearest first; `coded`: by the codes of their
 * centroids. `job` is room for one.
 */
export function probeLists(point: Query, lists: Lists, coded: u32, probes: Heap, job: Job): void {
  job.number = 0;
  job.block = lists.block;
  job.newer = 0;
  job.accepted = 0;
  job.firstBit = 0;
  job.base = coded ? sumRow(point.vector, lists.mean, point.dimension, true) : -1;
  scanJob(point, probes, job);
  sortHeap(probes);
}

const pageBytes: usize = 4096;

/**
 * Scans the blocks of no list, and those of the lists that `probeLists` finds, into `heap`, which is sorted after it. Lists
 * beyond the `limit` (see ../../probe-limits.ts) are passed over. Blocks are marked with `now`. Where a block is not in memory,
 * nothing is scanned and 0 returned, otherwise the number of lists that were scanned.
 */
export function searchLists(
  query: Query,
  point: Query,
  lists: Lists,
  coded: u32,
  probes: Heap,
  limit: f64,
  table: PartTable,
  heap: Heap,
  job: Job,
  now: u32,
): u32 {
  probeLists(point, lists, coded, probes, job);
  const likely = likelyLists(probes, limit);
  if (!isOpen(table, table.nLists)) return 0;
  for (let i: u32 = 0; i < likely; i++) if (!isOpen(table, rowAt(probes, i))) return 0;
  job.unused = 0;
  for (let i: u32 = 0; i < likely; i++) job.unused += touchList(query, table, rowAt(probes, i));
  scanList(query, heap, job, table, table.nLists, -1, now);
  for (let i: u32 = 0; i < likely; i++) {
    scanList(query, heap, job, table, rowAt(probes, i), scoreAt(probes, i), now);
  }
  sortHeap(heap);
  return likely;
}

/** As the function of ../../probe-limits.ts. */
function likelyLists(probes: Heap, limit: f64): u32 {
  let likely = probes.size;
  while (likely > 1 && distanceRatio(probes, likely - 1) > limit) likely--;
  return likely;
}

/** As the function of ../../probe-limits.ts. */
@inline
function distanceRatio(probes: Heap, rank: u32): f64 {
  const nearest = scoreAt(probes, 0);
  const square = scoreAt(probes, rank);
  return sqrt<f64>(sqrt<f64>(<f64>(rank + 1))) * (square > nearest ? square / nearest : 1);
}

function isOpen(table: PartTable, list: u32): bool {
  const end = firstOf(table, list + 1);
  for (let number = firstOf(table, list); number < end; number++) {
    if (partAt(table, number).epoch != table.epoch) return false;
  }
  return true;
}

/**
 * Reads a byte of each page of codes that a scan is to read, and returns their sum, so that it is not left out: for all lists at
 * once the waits for memory overlap, in a scan they come one by one.
 */
function touchList(query: Query, table: PartTable, list: u32): u32 {
  let sum: u32 = 0;
  const end = firstOf(table, list + 1);
  for (let number = firstOf(table, list); number < end; number++) {
    const block = partAt(table, number).block;
    if (!block.codes) continue;
    sum += load<u8>(block.factors);
    const last = block.codes + <usize>((block.n + 31) >>> 5) * (<usize>query.groups << 4) - 1;
    for (let at = block.codes; at < last; at += pageBytes) sum += load<u8>(at);
    sum += load<u8>(last);
  }
  return sum;
}

function scanList(query: Query, heap: Heap, job: Job, table: PartTable, list: u32, base: f64, now: u32): void {
  const end = firstOf(table, list + 1);
  for (let number = firstOf(table, list); number < end; number++) {
    const part = partAt(table, number);
    part.block.lastUse = now;
    job.number = number;
    job.block = part.block;
    job.newer = part.newer;
    job.base = base;
    scanJob(query, heap, job);
  }
}

@inline
function firstOf(table: PartTable, list: u32): u32 {
  return load<u32>(table.firsts + (<usize>list << 2));
}

@inline
function partAt(table: PartTable, number: u32): Part {
  return changetype<Part>(table.parts + <usize>number * offsetof<Part>());
}
