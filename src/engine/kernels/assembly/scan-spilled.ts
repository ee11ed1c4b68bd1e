/**
 * The scan of rows that have a list as their second one (see ../../second-lists.ts). Only their codes are there; their vectors are in
 * the blocks of their first lists. Rows whose first list is scanned too are found there, so each row is offered once.
 */

import { Heap } from "./heap";
import { addRow, isOpen, listBlockAt, ListBlockTable, noteMissing } from "./list-block-table";
import { isMatch, spilledMatches } from "./match-table";
import { touchPages } from "./read-ahead";
import { codesWithin } from "./scan-flat";
import { Query } from "./search";

/** A segment with spilled codes. */
@unmanaged
class SpilledSegment {
  /** Per list, the address of its first `SpilledGroup`, uint32; 0: none. */
  groups: usize;
  /** Per code block of the segment, uint32: its first row, and its number in the table. */
  firstRows: usize;
  numbers: usize;
  blocks: u32;
}

/** Spilled rows of a list: n uint32 positions in the segment, then RaBitQ factors and codes relative to this list. The next group follows. */
@unmanaged
class SpilledGroup {
  list: u32;
  n: u32;
}

/**
 * Scans the spilled rows of a list into `heap`. `base` is |q - c|^2 in list space. Blocks of lists that are scanned are marked with
 * `now`. Rows that the table's filter rejects are left out, and so are rows whose vectors are not in memory: their blocks are noted as missing.
 */
export function scanSpilled(
  query: Query,
  heap: Heap,
  table: ListBlockTable,
  list: u32,
  base: f64,
  now: u32,
): void {
  for (let i: u32 = 0; i < table.nSpilled; i++) {
    const segment = changetype<SpilledSegment>(table.spilled + <usize>i * offsetof<SpilledSegment>());
    let group = <usize>load<u32>(segment.groups + (<usize>list << 2));
    const accepted = table.matching ? spilledMatches(table.matching, i) : 0;
    if (!group || (table.matching && !accepted)) continue;
    for (; changetype<SpilledGroup>(group).list == list; group = nextGroup(query, group)) {
      scanGroup(query, heap, table, segment, accepted, group, base, now);
    }
  }
}

function nextGroup(query: Query, group: usize): usize {
  const n = changetype<SpilledGroup>(group).n;
  const m = <usize>((n + 31) & ~31);
  return group + offsetof<SpilledGroup>() + (<usize>n << 2) + m * 12 + ((m * <usize>query.groups) >> 1);
}

function scanGroup(
  query: Query,
  heap: Heap,
  table: ListBlockTable,
  segment: SpilledSegment,
  accepted: usize,
  group: usize,
  base: f64,
  now: u32,
): void {
  const n = changetype<SpilledGroup>(group).n;
  const rows = group + offsetof<SpilledGroup>();
  const m = (n + 31) & ~31;
  const factors = rows + (<usize>n << 2);
  const within = query.scratch;
  const count = codesWithin(query, heap, n, factors, factors + 12 * <usize>m, base, within);
  for (let i: u32 = 0; i < count; i++) {
    const position = load<u32>(within + (<usize>i << 2));
    const row = load<u32>(rows + (<usize>position << 2));
    if (!accepted || isMatch(accepted, row)) addSpilled(query, heap, table, segment, row, now);
  }
}

/** Lets a row of a segment wait for its score, unless its list is scanned; if its block is not in memory, that is noted. */
@inline
function addSpilled(query: Query, heap: Heap, table: ListBlockTable, segment: SpilledSegment, row: u32, now: u32): void {
  const ordinal = blockOf(segment, row);
  const number = load<u32>(segment.numbers + (<usize>ordinal << 2));
  const listBlock = listBlockAt(table, number);
  if (listBlock.scannedAt == now) return;
  if (!isOpen(table, listBlock)) {
    noteMissing(table, number);
    return;
  }
  listBlock.block.lastUse = now;
  addRow(query, heap, table, number, row - load<u32>(segment.firstRows + (<usize>ordinal << 2)));
}

/** As `readListAhead` of search-lists.ts, for the spilled rows of a list. */
export function readSpilledAhead(query: Query, table: ListBlockTable, list: u32): u32 {
  let sum: u32 = 0;
  for (let i: u32 = 0; i < table.nSpilled; i++) {
    const segment = changetype<SpilledSegment>(table.spilled + <usize>i * offsetof<SpilledSegment>());
    const group = <usize>load<u32>(segment.groups + (<usize>list << 2));
    if (!group) continue;
    sum += touchPages(group, nextGroup(query, group) - 1);
  }
  return sum;
}

/** The position of the block that has a row: the last one whose first row is not after it. */
function blockOf(segment: SpilledSegment, row: u32): u32 {
  let low: u32 = 0;
  let high = segment.blocks - 1;
  while (low < high) {
    const middle = (low + high + 1) >>> 1;
    if (load<u32>(segment.firstRows + (<usize>middle << 2)) <= row) low = middle;
    else high = middle - 1;
  }
  return low;
}
