/** Which rows a filter accepts, by the lists and blocks of a `ListBlockTable`. */

import { Job } from "./search";

/** What a filter accepts of a list. */
@unmanaged
export class ListMatches {
  rows: u32;
  matches: u32;
}

/** What a filter accepts of a block. */
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
  /** A `BlockMatches` struct per block. */
  blocks: usize;
  /** Bits of the lists that have a match. */
  among: usize;
  /** uint32, per spilled segment of the table of blocks: bits of its rows; 0: none is accepted. */
  spilled: usize;
}

/** Whether the filter accepts a row of the block. `matching` 0: there is no filter. */
@inline
export function hasMatch(matching: usize, number: u32): bool {
  return !matching || blockAt(matching, number).accepted != 0;
}

/** Lets a job of a block scan only what the filter accepts. */
@inline
export function acceptMatches(matching: usize, number: u32, job: Job): void {
  if (!matching) return;
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
