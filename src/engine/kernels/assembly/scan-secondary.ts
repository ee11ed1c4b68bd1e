/**
 * The scan of rows that have a list as their second one (see ../../second-lists.ts). Only their codes are there; their vectors are in
 * the blocks of their first lists. Rows whose first list is scanned too are found there, so each row is offered once.
 */

import { addRow, firstOf, isMatch, isOpen, listBlockAt, ListBlockTable, ListSearch, noteMissing, spilledMatches } from "./list-block-table";
import { encodeRow } from "./rabitq";
import { codesWithin } from "./scan-flat";
import { Query } from "./structs";

/** A segment with spilled codes. */
@unmanaged
class SpilledSegment {
  /** Per list, the address of its first `SpilledGroup`, uint32; 0: none. */
  groups: usize;
  /** Per code block of the segment, uint32: its first row, and its number in the table. */
  firstRows: usize;
  numbers: usize;
}

/** Spilled rows of a list: n `SpilledRow` structs, then RaBitQ factors and codes relative to this list. */
@unmanaged
class SpilledGroup {
  n: u32;
  /** How many of the rows have been written: all, once a search sees them. */
  written: u32;
}

@unmanaged
class SpilledRow {
  /** The position of its code block in the segment. */
  block: u32;
  /** Its position in the block. */
  row: u32;
}

/** Bytes of the place of a row in its second list. */
export const spilledRowBytes = offsetof<SpilledRow>();

/**
 * Writes the codes of n rotated rows, layout (n, d), in their second `lists` (n uint32): those of a segment's code block, from its first row on. `centroids`
 * are those of all `nLists` lists, rotated; `groups` has per list the address of its group, whose codes are zeros where rows have not been written. Traps
 * if a list is none of them, or its group has no room.
 */
export function encodeSpilled(
  rows: usize,
  n: u32,
  d: u32,
  centroids: usize,
  lists: usize,
  block: u32,
  groups: usize,
  nLists: u32,
): void {
  const rowBytes = <usize>d << 2;
  for (let i: u32 = 0; i < n; i++) {
    const list = <usize>load<u32>(lists + (<usize>i << 2));
    if (list >= <usize>nLists) unreachable();
    const address = <usize>load<u32>(groups + (list << 2));
    const group = changetype<SpilledGroup>(address);
    if (group.written >= group.n) unreachable();
    const place = group.written++;
    const spilledRow = rowAt(address, place);
    spilledRow.block = block;
    spilledRow.row = i;
    const factors = factorsOf(address);
    const m = roomOf(address);
    const codes = factors + 12 * <usize>m;
    encodeRow(rows + <usize>i * rowBytes, d, centroids + list * rowBytes, codes, factors, place, m);
  }
}

@inline
function rowAt(group: usize, i: u32): SpilledRow {
  return changetype<SpilledRow>(group + offsetof<SpilledGroup>() + <usize>i * spilledRowBytes);
}

@inline
function factorsOf(group: usize): usize {
  return changetype<usize>(rowAt(group, changetype<SpilledGroup>(group).n));
}

/** Rows that the codes of a group have room for. */
@inline
function roomOf(group: usize): u32 {
  return (changetype<SpilledGroup>(group).n + 31) & ~31;
}

/** Forgets the blocks that `markScanned` marked. */
export function clearScanned(search: ListSearch): void {
  memory.fill(search.scanned, 0, ((<usize>search.table.nBlocks + 31) >> 5) << 2);
}

/** Marks the blocks of a list that the search scans. */
export function markScanned(search: ListSearch, list: u32): void {
  const table = search.table;
  const end = firstOf(table, list + 1);
  for (let number = firstOf(table, list); number < end; number++) {
    const word = search.scanned + ((<usize>number >> 5) << 2);
    store<u32>(word, load<u32>(word) | (1 << (number & 31)));
  }
}

/**
 * Scans the spilled rows of a list. `base` is |q - c|^2 in list space. Rows that the filter rejects are left out, and so are rows whose vectors are not
 * in memory: their blocks are noted as missing.
 */
export function scanSpilled(search: ListSearch, list: u32, base: f64): void {
  const table = search.table;
  const matching = search.matching;
  for (let i: u32 = 0; i < table.nSpilled; i++) {
    const segment = changetype<SpilledSegment>(table.spilled + <usize>i * offsetof<SpilledSegment>());
    const group = <usize>load<u32>(segment.groups + (<usize>list << 2));
    const accepted = matching ? spilledMatches(matching, i) : 0;
    if (!group || (matching && !accepted)) continue;
    scanGroup(search, segment, accepted, group, base);
  }
}

function scanGroup(search: ListSearch, segment: SpilledSegment, accepted: usize, group: usize, base: f64): void {
  const query = search.query;
  const n = changetype<SpilledGroup>(group).n;
  const factors = factorsOf(group);
  const within = query.scratch;
  const count = codesWithin(query, search.nearest, n, factors, factors + 12 * <usize>roomOf(group), base, within);
  for (let i: u32 = 0; i < count; i++) {
    const spilled = rowAt(group, load<u32>(within + (<usize>i << 2)));
    if (!accepted || isMatch(accepted, positionOf(segment, spilled))) addSpilled(search, segment, spilled);
  }
}

/** Lets a row of a segment wait for its score, unless its list is scanned; if its block is not in memory, that is noted. */
@inline
function addSpilled(search: ListSearch, segment: SpilledSegment, spilled: SpilledRow): void {
  const number = load<u32>(segment.numbers + (<usize>spilled.block << 2));
  if (isMatch(search.scanned, number)) return;
  const listBlock = listBlockAt(search.table, number);
  if (!isOpen(search, listBlock)) {
    noteMissing(search, number);
    return;
  }
  listBlock.block.lastUse = search.now;
  addRow(search, number, spilled.row);
}

/** As `readListAhead` of search-lists.ts, for the spilled rows of a list. */
export function readSpilledAhead(query: Query, table: ListBlockTable, list: u32): u32 {
  let sum: u32 = 0;
  for (let i: u32 = 0; i < table.nSpilled; i++) {
    const segment = changetype<SpilledSegment>(table.spilled + <usize>i * offsetof<SpilledSegment>());
    const group = <usize>load<u32>(segment.groups + (<usize>list << 2));
    if (!group) continue;
    const m = <usize>roomOf(group);
    sum += touchPages(group, factorsOf(group) + 12 * m + ((m * <usize>query.groups) >> 1) - 1);
  }
  return sum;
}

/** The position of a row in its segment. */
@inline
function positionOf(segment: SpilledSegment, spilled: SpilledRow): u32 {
  return load<u32>(segment.firstRows + (<usize>spilled.block << 2)) + spilled.row;
}

// Reads memory before it is needed, so that the waits for it overlap.

const pageBytes: usize = 4096;

/** Reads one byte of each page from `first` to `last`, and returns the sum: without a use of it the reads would be left out. */
@inline
export function touchPages(first: usize, last: usize): u32 {
  let sum: u32 = 0;
  for (let at = first; at < last; at += pageBytes) sum += load<u8>(at);
  return sum + load<u8>(last);
}
