/**
 * One query among the nearest lists of a trained index, from its vector to the rows found: a complete search, if all of its
 * blocks are in memory.
 */

import { Heap, rowAt, scoreAt, sortHeap } from "./heap";
import { CoarseQuantizer, probeLists } from "./probe-lists";
import { scanJob } from "./scan-flat";
import { Block, Job, Query } from "./search";

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
  codedMax: u32,
  probes: Heap,
  limit: f64,
  table: ListBlockTable,
  heap: Heap,
  job: Job,
  now: u32,
): u32 {
  const likely = probeLists(point, quantizer, codedMax, limit, 0, probes, job);
  if (!isOpen(table, table.nLists)) return 0;
  for (let i: u32 = 0; i < likely; i++) if (!isOpen(table, rowAt(probes, i))) return 0;
  job.readAhead = 0;
  for (let i: u32 = 0; i < likely; i++) job.readAhead += readListAhead(query, table, rowAt(probes, i));
  scanList(query, heap, job, table, table.nLists, -1, now);
  for (let i: u32 = 0; i < likely; i++) {
    const list = rowAt(probes, i);
    scanList(query, heap, job, table, list, squareToCentroid(quantizer, list, scoreAt(probes, i)), now);
  }
  sortHeap(heap);
  return likely;
}

/** The same as the function of ../../metric.ts. */
@inline
function squareToCentroid(quantizer: CoarseQuantizer, list: u32, square: f64): f64 {
  if (!quantizer.lengths) return square;
  const length = load<f64>(quantizer.lengths + (<usize>list << 3));
  return (1 - length) * (1 - length) + length * square;
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
