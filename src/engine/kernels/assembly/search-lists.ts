/**
 * One query among the nearest lists of a trained index, from its vector to the rows found: a complete search, if all of its
 * blocks are in memory.
 */

import { sumRow } from "./distance-float64";
import { Heap, rowAt, scoreAt, sortHeap } from "./heap";
import { scanJob } from "./scan-flat";
import { Block, Job, Query } from "./search";

/** The centroids of all lists. */
@unmanaged
export class CoarseQuantizer {
  /** The centroids, as rows with their list numbers as tie keys. */
  block: Block;
  /** float32: the mean of the centroids, which their codes are relative to. */
  mean: usize;
}

/** A block of a list. */
@unmanaged
class ListBlock {
  block: Block;
  /** The table's epoch in which `block` was written. Blocks leave memory only when an epoch ends. */
  epoch: u32;
  /** How many of the query's id tables may shadow rows of the block. */
  newerSegments: u32;
}

/** The blocks of all lists, in memory or not. */
@unmanaged
export class ListBlockTable {
  /** uint32: blocks firsts[l] to firsts[l + 1] (exclusive) belong to list l, for l = nLists to no list. */
  firsts: usize;
  /** `ListBlock` structs. */
  blocks: usize;
  epoch: u32;
  nLists: u32;
}

/**
 * Finds the `probes.capacity` lists nearest to `point`, the query in list space, nearest first; with `coded` 1, by the codes of
 * their centroids. `among`: bits of the lists that may be found; 0: all. `job` is scratch for one struct.
 */
export function probeLists(
  point: Query,
  quantizer: CoarseQuantizer,
  coded: u32,
  among: usize,
  probes: Heap,
  job: Job,
): void {
  job.number = 0;
  job.block = quantizer.block;
  job.newerSegments = 0;
  job.accepted = among;
  job.firstBit = 0;
  job.base = coded ? sumRow(point.vector, quantizer.mean, point.dimension, true) : -1;
  scanJob(point, probes, job);
  sortHeap(probes);
}

const pageBytes: usize = 4096;

/**
 * Scans the blocks of no list and those of the lists that `probeLists` finds into `heap`, and sorts it. Lists beyond the `limit`
 * (see ../../probe-limits.ts) are pruned. Blocks that are scanned are marked with `now`. Returns the number of lists scanned; 0,
 * with nothing scanned, if a block is not in memory.
 */
export function searchLists(
  query: Query,
  point: Query,
  quantizer: CoarseQuantizer,
  coded: u32,
  probes: Heap,
  limit: f64,
  table: ListBlockTable,
  heap: Heap,
  job: Job,
  now: u32,
): u32 {
  probeLists(point, quantizer, coded, 0, probes, job);
  const likely = likelyLists(probes, limit);
  if (!isOpen(table, table.nLists)) return 0;
  for (let i: u32 = 0; i < likely; i++) if (!isOpen(table, rowAt(probes, i))) return 0;
  job.readAhead = 0;
  for (let i: u32 = 0; i < likely; i++) job.readAhead += readListAhead(query, table, rowAt(probes, i));
  scanList(query, heap, job, table, table.nLists, -1, now);
  for (let i: u32 = 0; i < likely; i++) {
    scanList(query, heap, job, table, rowAt(probes, i), scoreAt(probes, i), now);
  }
  sortHeap(heap);
  return likely;
}

/** The same as the function of ../../probe-limits.ts. */
function likelyLists(probes: Heap, limit: f64): u32 {
  let likely = probes.size;
  while (likely > 1 && distanceRatio(probes, likely - 1) > limit) likely--;
  return likely;
}

/** The same as the function of ../../probe-limits.ts. */
@inline
function distanceRatio(probes: Heap, rank: u32): f64 {
  const nearest = scoreAt(probes, 0);
  const square = scoreAt(probes, rank);
  return sqrt<f64>(sqrt<f64>(<f64>(rank + 1))) * (square > nearest ? square / nearest : 1);
}

function isOpen(table: ListBlockTable, list: u32): bool {
  const end = firstOf(table, list + 1);
  for (let number = firstOf(table, list); number < end; number++) {
    if (listBlockAt(table, number).epoch != table.epoch) return false;
  }
  return true;
}

/**
 * Reads one byte of each page of codes that a scan will read, and returns the sum. The waits for memory overlap across all lists;
 * in the scan they would come one after the other.
 */
function readListAhead(query: Query, table: ListBlockTable, list: u32): u32 {
  let sum: u32 = 0;
  const end = firstOf(table, list + 1);
  for (let number = firstOf(table, list); number < end; number++) {
    const block = listBlockAt(table, number).block;
    if (!block.codes) continue;
    sum += load<u8>(block.factors);
    const last = block.codes + <usize>((block.n + 31) >>> 5) * (<usize>query.groups << 4) - 1;
    for (let at = block.codes; at < last; at += pageBytes) sum += load<u8>(at);
    sum += load<u8>(last);
  }
  return sum;
}

function scanList(query: Query, heap: Heap, job: Job, table: ListBlockTable, list: u32, base: f64, now: u32): void {
  const end = firstOf(table, list + 1);
  for (let number = firstOf(table, list); number < end; number++) {
    const listBlock = listBlockAt(table, number);
    listBlock.block.lastUse = now;
    job.number = number;
    job.block = listBlock.block;
    job.newerSegments = listBlock.newerSegments;
    job.base = base;
    scanJob(query, heap, job);
  }
}

@inline
function firstOf(table: ListBlockTable, list: u32): u32 {
  return load<u32>(table.firsts + (<usize>list << 2));
}

@inline
function listBlockAt(table: ListBlockTable, number: u32): ListBlock {
  return changetype<ListBlock>(table.blocks + <usize>number * offsetof<ListBlock>());
}
