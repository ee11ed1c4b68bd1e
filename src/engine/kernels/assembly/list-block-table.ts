/** The blocks of all lists, in memory or not. */

import { Heap } from "./heap";
import { addWaiting, WaitingRows } from "./scan-flat";
import { Block, checkBlock, Job, Query } from "./structs";

/** A block of a list. */
@unmanaged
export class ListBlock {
  block: Block;
  /** The table's epoch in which `block` was written. Blocks leave memory only when an epoch ends. */
  epoch: u32;
  /** How many of the query's id tables may shadow rows of the block. */
  newerSegments: u32;
  /** 1: its rows have codes in second lists, too. */
  isSpilled: u32;
  /** The `now` of the latest search with spilled rows that scanned its list. */
  scannedAt: u32;
}

@unmanaged
export class ListBlockTable {
  /** uint32: blocks firsts[l] to firsts[l + 1] (exclusive) belong to list l, for l = nLists to no list. */
  firsts: usize;
  /** `ListBlock` structs. */
  blocks: usize;
  epoch: u32;
  nLists: u32;
  /** `SpilledSegment` structs. */
  spilled: usize;
  nSpilled: u32;
  /** Room for `missingMax` uint32: numbers of blocks that the latest search missed, a few of them several times. */
  missing: usize;
  missingMax: u32;
  nMissing: u32;
  /** Rows that wait to be scored. */
  waiting: WaitingRows;
  /** The `MatchTable` of the search's filter; 0: there is no filter. */
  matching: usize;
}

/** Forgets the blocks that a search missed, and pending rows of a search that ended early. */
@inline
export function beginSearch(table: ListBlockTable): void {
  table.nMissing = 0;
  table.waiting.count = 0;
}

export function noteMissing(table: ListBlockTable, number: u32): void {
  const count = table.nMissing;
  if (count == table.missingMax) return;
  store<u32>(table.missing + (<usize>count << 2), number);
  table.nMissing = count + 1;
}

@inline
export function isOpen(table: ListBlockTable, listBlock: ListBlock): bool {
  return listBlock.epoch == table.epoch;
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
function isWanted(table: ListBlockTable, number: u32, unspilled: bool): bool {
  return (!unspilled || !listBlockAt(table, number).isSpilled) && hasMatch(table.matching, number);
}

/** Whether a block is needed and in memory. */
@inline
export function isScanned(table: ListBlockTable, number: u32, unspilled: bool): bool {
  return isOpen(table, listBlockAt(table, number)) && isWanted(table, number, unspilled);
}

/** Notes the blocks of a list that are needed and not in memory. */
export function noteClosed(table: ListBlockTable, list: u32, unspilled: bool): void {
  const end = firstOf(table, list + 1);
  for (let number = firstOf(table, list); number < end; number++) {
    if (!isOpen(table, listBlockAt(table, number)) && isWanted(table, number, unspilled)) noteMissing(table, number);
  }
}

/** Makes `job` that of a block, and marks the block as scanned by the search `now`. */
@inline
export function setJob(query: Query, table: ListBlockTable, job: Job, number: u32, base: f64, now: u32): void {
  const listBlock = listBlockAt(table, number);
  checkBlock(query, listBlock.block);
  listBlock.block.lastUse = now;
  job.number = number;
  job.block = listBlock.block;
  job.newerSegments = listBlock.newerSegments;
  job.base = base;
  acceptMatches(table.matching, number, job);
}

/** Lets a row of a block in memory wait for its score. Traps unless the block has it. */
@inline
export function addRow(query: Query, heap: Heap, table: ListBlockTable, number: u32, row: u32): void {
  const listBlock = listBlockAt(table, number);
  checkBlock(query, listBlock.block);
  if (row >= listBlock.block.n) unreachable();
  addWaiting(query, heap, table.waiting, number, listBlock.block, listBlock.newerSegments, row);
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
