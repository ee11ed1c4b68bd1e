/** The blocks of all lists, in memory or not, and the search of one query among them. */

import { Heap } from "./heap";
import { CoarseQuantizer } from "./probe-lists";
import { addWaiting, WaitingRows } from "./scan-flat";
import { Block, checkBlock, Job, Query } from "./structs";

/** A block of a list. */
@unmanaged
export class ListBlock {
  block: Block;
  /** The epoch in which `block` was written. Blocks leave memory only when an epoch ends. */
  epoch: u32;
  /** How many of the query's id tables may shadow rows of the block. */
  newerSegments: u32;
  /** 1: its rows have codes in second lists, too. */
  isSpilled: u32;
}

/** Searches that run at the same time share it. */
@unmanaged
export class ListBlockTable {
  /** uint32: blocks firsts[l] to firsts[l + 1] (exclusive) belong to list l, for l = nLists to no list. */
  firsts: usize;
  /** `ListBlock` structs. */
  blocks: usize;
  nBlocks: u32;
  nLists: u32;
  /** `SpilledSegment` structs. */
  spilled: usize;
  nSpilled: u32;
}

/** A search of one query, with all that it writes. */
@unmanaged
export class ListSearch {
  query: Query;
  /** The query in list space. */
  point: Query;
  quantizer: CoarseQuantizer;
  /** Up to so many lists are found by the codes of their centroids. */
  codedMax: u32;
  /** The lists found: room for as many as may be scanned. */
  probes: Heap;
  /** Lists beyond it are pruned (see ../../probe-limits.ts). */
  limit: f64;
  /** So many lists, as far as they are within `spilledLimit`, are scanned with their spilled rows, if it is not 0. */
  spilledLimit: f64;
  spilledProbes: u32;
  table: ListBlockTable;
  /** The one of blocks in memory. */
  epoch: u32;
  /** The `MatchTable` of the filter; 0: there is no filter. */
  matching: usize;
  /** The rows found. */
  nearest: Heap;
  /** Room for a struct. */
  job: Job;
  /** Rows that wait to be scored. */
  waiting: WaitingRows;
  /** The mark of blocks that it scans. */
  now: u32;
  /** Room for a bit per block: whether the search scans its list. */
  scanned: usize;
  /** Room for a uint32 per block: numbers of blocks that are needed and not in memory, a few of them several times. */
  missing: usize;
  nMissing: u32;
  /** Result: the number of lists; 0 if spilled rows cannot be found. */
  nFound: u32;
  /** Result: 1 if `nearest` is sorted, as it is if it is full and nothing is missing. */
  isSorted: u32;
}

/** Forgets the results of an earlier search. */
@inline
export function beginSearch(search: ListSearch): void {
  search.nMissing = 0;
  search.waiting.count = 0;
  search.nFound = 0;
  search.isSorted = 0;
}

export function noteMissing(search: ListSearch, number: u32): void {
  const count = search.nMissing;
  if (count == search.table.nBlocks) return;
  store<u32>(search.missing + (<usize>count << 2), number);
  search.nMissing = count + 1;
}

@inline
export function isOpen(search: ListSearch, listBlock: ListBlock): bool {
  // Atomic, so that a block whose epoch was written meanwhile has its address, too.
  return atomic.load<u32>(changetype<usize>(listBlock) + offsetof<ListBlock>("epoch")) == search.epoch;
}

@inline
export function firstOf(table: ListBlockTable, list: u32): u32 {
  return load<u32>(table.firsts + (<usize>list << 2));
}

@inline
export function listBlockAt(table: ListBlockTable, number: u32): ListBlock {
  return changetype<ListBlock>(table.blocks + <usize>number * offsetof<ListBlock>());
}

/** Whether a block is needed: if it has a match, and if only `unspilled` ones are, no second lists. */
@inline
function isWanted(search: ListSearch, number: u32, unspilled: bool): bool {
  return (!unspilled || !listBlockAt(search.table, number).isSpilled) && hasMatch(search.matching, number);
}

/** Whether a block is needed and in memory. */
@inline
export function isScanned(search: ListSearch, number: u32, unspilled: bool): bool {
  return isOpen(search, listBlockAt(search.table, number)) && isWanted(search, number, unspilled);
}

/** Notes the blocks of a list that are needed and not in memory. */
export function noteClosed(search: ListSearch, list: u32, unspilled: bool): void {
  const table = search.table;
  const end = firstOf(table, list + 1);
  for (let number = firstOf(table, list); number < end; number++) {
    if (!isOpen(search, listBlockAt(table, number)) && isWanted(search, number, unspilled)) noteMissing(search, number);
  }
}

/** Makes `job` that of a block, and marks the block as used. */
@inline
export function setJob(search: ListSearch, job: Job, number: u32, base: f64): void {
  const listBlock = listBlockAt(search.table, number);
  checkBlock(search.query, listBlock.block);
  listBlock.block.lastUse = search.now;
  job.number = number;
  job.block = listBlock.block;
  job.newerSegments = listBlock.newerSegments;
  job.base = base;
  acceptMatches(search.matching, number, job);
}

/** Lets a row of a block in memory wait for its score. Traps unless the block has it. */
@inline
export function addRow(search: ListSearch, number: u32, row: u32): void {
  const listBlock = listBlockAt(search.table, number);
  checkBlock(search.query, listBlock.block);
  if (row >= listBlock.block.n) unreachable();
  addWaiting(search.query, search.nearest, search.waiting, number, listBlock.block, listBlock.newerSegments, row);
}

// Which rows a filter accepts, by the lists and blocks of a `ListBlockTable`.

/** The matches of a filter in a list. */
@unmanaged
export class ListMatches {
  rows: u32;
  matches: u32;
  /** The mean squared distance of its rows from the centroid. */
  spread: f32;
}

/** The matches of a filter in a block. */
@unmanaged
class BlockMatches {
  /** Bits of the rows of its segment; 0: none of the block's rows is accepted. */
  accepted: usize;
  /** The bit of the block's first row. */
  firstBit: u32;
}

@unmanaged
export class MatchTable {
  /** A `ListMatches` struct per list. */
  lists: usize;
  /** A `BlockMatches` struct per block; 0: all rows match. */
  blocks: usize;
  /** Bits of the lists that have a match; 0: all have one. */
  among: usize;
  /** uint32, per spilled segment of the table of blocks: bits of its rows; 0: none is accepted. */
  spilled: usize;
}

/** Whether the filter accepts a row of the block. `matching` 0: there is no filter. */
@inline
function hasMatch(matching: usize, number: u32): bool {
  return acceptsAll(matching) || blockAt(matching, number).accepted != 0;
}

@inline
function acceptsAll(matching: usize): bool {
  return !matching || !changetype<MatchTable>(matching).blocks;
}

/** Lets a job of a block scan only rows that the filter accepts. */
@inline
function acceptMatches(matching: usize, number: u32, job: Job): void {
  if (acceptsAll(matching)) return;
  const block = blockAt(matching, number);
  job.accepted = block.accepted;
  job.firstBit = block.firstBit;
}

@inline
export function listMatchesAt(matching: usize, list: u32): ListMatches {
  return changetype<ListMatches>(changetype<MatchTable>(matching).lists + <usize>list * offsetof<ListMatches>());
}

@inline
function blockAt(matching: usize, number: u32): BlockMatches {
  return changetype<BlockMatches>(changetype<MatchTable>(matching).blocks + <usize>number * offsetof<BlockMatches>());
}

/** The bits of the rows of a spilled segment that the filter accepts, 0 if it accepts none. */
@inline
export function spilledMatches(matching: usize, segment: u32): usize {
  return load<u32>(changetype<MatchTable>(matching).spilled + (<usize>segment << 2));
}

@inline
export function isMatch(bits: usize, row: u32): bool {
  return <bool>((load<u32>(bits + ((<usize>row >> 5) << 2)) >> (row & 31)) & 1);
}
