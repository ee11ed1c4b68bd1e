/** The blocks of all lists, in memory or not. */

import { Block, Job } from "./search";

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
  nMissing: u32;
  /** Rows that wait to be scored, and room for four: see waiting-rows.ts. None between searches. */
  nWaiting: u32;
  waiting: usize;
}

/** Blocks missed that are noted per search. */
const missingMax: u32 = 64;

export function noteMissing(table: ListBlockTable, number: u32): void {
  const count = table.nMissing;
  if (count == missingMax) return;
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

/** Whether a block is scanned: all are, or if only those of rows without second lists are `unspilled`, these. */
@inline
export function isWanted(listBlock: ListBlock, unspilled: bool): bool {
  return !unspilled || !listBlock.isSpilled;
}

/** Makes `job` that of a block, and marks the block as scanned by the search `now`. */
@inline
export function setJob(job: Job, number: u32, listBlock: ListBlock, base: f64, now: u32): void {
  listBlock.block.lastUse = now;
  job.number = number;
  job.block = listBlock.block;
  job.newerSegments = listBlock.newerSegments;
  job.base = base;
}
