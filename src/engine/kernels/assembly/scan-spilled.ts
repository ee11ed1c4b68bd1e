/**
 * The scan of rows that have a list as their second one (see ../../second-lists.ts). Only their codes are there; their vectors are in
 * the blocks of their first lists. Rows whose first list is scanned too are found there, so each row is offered once.
 */

import { Heap } from "./heap";
import { isOpen, listBlockAt, ListBlockTable, noteMissing } from "./list-block-table";
import { touchPages } from "./read-ahead";
import { codesWithin, offerSum, scoreRows, sumsOfFour } from "./scan-flat";
import { Job, Query } from "./search";

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
 * `now`. Rows whose vectors are not in memory are left out: their blocks are noted as missing.
 */
export function scanSpilled(
  query: Query,
  heap: Heap,
  job: Job,
  table: ListBlockTable,
  list: u32,
  base: f64,
  now: u32,
): void {
  for (let i: u32 = 0; i < table.nSpilled; i++) {
    const segment = changetype<SpilledSegment>(table.spilled + <usize>i * offsetof<SpilledSegment>());
    let group = <usize>load<u32>(segment.groups + (<usize>list << 2));
    if (!group) continue;
    for (; changetype<SpilledGroup>(group).list == list; group = nextGroup(query, group)) {
      scanGroup(query, heap, job, table, segment, group, base, now);
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
  job: Job,
  table: ListBlockTable,
  segment: SpilledSegment,
  group: usize,
  base: f64,
  now: u32,
): void {
  const n = changetype<SpilledGroup>(group).n;
  const rows = group + offsetof<SpilledGroup>();
  const m = (n + 31) & ~31;
  const factors = rows + (<usize>n << 2);
  const within = query.scratch;
  const found = within + (<usize>m << 2);
  const count = codesWithin(query, heap, n, factors, factors + 12 * <usize>m, base, within);
  let to = found;
  for (let i: u32 = 0; i < count; i++) {
    const position = load<u32>(within + (<usize>i << 2));
    to = place(table, segment, load<u32>(rows + (<usize>position << 2)), now, to);
  }
  scorePlaced(query, heap, job, table, found, <u32>((to - found) / offsetof<PlacedRow>()));
}

/** Where the vector of a row is. */
@unmanaged
class PlacedRow {
  /** The number of the block in the table. */
  number: u32;
  row: u32;
}

/** Writes where a row of a segment is to `to`, and returns where the next goes; `to`, if its list is scanned or its block is missing. */
@inline
function place(table: ListBlockTable, segment: SpilledSegment, row: u32, now: u32, to: usize): usize {
  const ordinal = blockOf(segment, row);
  const number = load<u32>(segment.numbers + (<usize>ordinal << 2));
  const listBlock = listBlockAt(table, number);
  if (listBlock.scannedAt == now) return to;
  if (!isOpen(table, listBlock)) {
    noteMissing(table, number);
    return to;
  }
  listBlock.block.lastUse = now;
  const placed = changetype<PlacedRow>(to);
  placed.number = number;
  placed.row = row - load<u32>(segment.firstRows + (<usize>ordinal << 2));
  return to + offsetof<PlacedRow>();
}

/** Scores rows of different blocks and offers them, four at a time, so that the waits for memory overlap. */
function scorePlaced(query: Query, heap: Heap, job: Job, table: ListBlockTable, placed: usize, count: u32): void {
  const stride = offsetof<PlacedRow>();
  for (let i: u32 = 0; i < count; i += 4) {
    const last = min<u32>(3, count - 1 - i);
    const at0 = placed + <usize>i * stride;
    const at1 = at0 + <usize>min<u32>(1, last) * stride;
    const at2 = at0 + <usize>min<u32>(2, last) * stride;
    const at3 = at0 + <usize>last * stride;
    if (!areFloat32(table, at0, last)) {
      for (let j: u32 = 0; j <= last; j++) scoreRows(query, jobOf(job, table, at0 + <usize>j * stride), heap, at0 + <usize>j * stride + offsetof<PlacedRow>("row"), 1);
      continue;
    }
    const sums = sumsOfFour(query, vectorAt(query, table, at0), vectorAt(query, table, at1), vectorAt(query, table, at2), vectorAt(query, table, at3));
    offerSum(query, jobOf(job, table, at0), heap, changetype<PlacedRow>(at0).row, f32x4.extract_lane(sums, 0));
    if (last >= 1) offerSum(query, jobOf(job, table, at1), heap, changetype<PlacedRow>(at1).row, f32x4.extract_lane(sums, 1));
    if (last >= 2) offerSum(query, jobOf(job, table, at2), heap, changetype<PlacedRow>(at2).row, f32x4.extract_lane(sums, 2));
    if (last >= 3) offerSum(query, jobOf(job, table, at3), heap, changetype<PlacedRow>(at3).row, f32x4.extract_lane(sums, 3));
  }
}

/** Whether the vectors of rows, `last` and one of them, are float32 numbers that float32 arithmetic suffices for. */
function areFloat32(table: ListBlockTable, placed: usize, last: u32): bool {
  for (let i: u32 = 0; i <= last; i++) {
    const block = listBlockAt(table, changetype<PlacedRow>(placed + <usize>i * offsetof<PlacedRow>()).number).block;
    if (block.precision || !block.fitsFloat32) return false;
  }
  return true;
}

@inline
function vectorAt(query: Query, table: ListBlockTable, at: usize): usize {
  const placed = changetype<PlacedRow>(at);
  return listBlockAt(table, placed.number).block.vectors + <usize>placed.row * (<usize>query.dimension << 2);
}

/** `job`, as one of the block of a row. */
@inline
function jobOf(job: Job, table: ListBlockTable, at: usize): Job {
  const number = changetype<PlacedRow>(at).number;
  const listBlock = listBlockAt(table, number);
  job.number = number;
  job.block = listBlock.block;
  job.newerSegments = listBlock.newerSegments;
  return job;
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
