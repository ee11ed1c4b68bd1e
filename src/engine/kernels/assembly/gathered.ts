/**
 * The codes of all rows that a filter accepts, side by side, list after list: a search compares them all, which takes no longer than looking for
 * lists that have few of them each.
 */

import { squaredL2Block } from "./distance";
import { fastScanSmall } from "./fast-scan";
import { Heap, sortHeap } from "./heap";
import { addRow, beginSearch, isOpen, listBlockAt, ListBlockTable, noteMissing } from "./list-block-table";
import { firstBits } from "./positions";
import { CoarseQuantizer, countUpTo, squareToCentroid } from "./probe-lists";
import { estimateEach } from "./rabitq";
import { codeLimit, smallestAt } from "./scan-flat";
import { areOpen, scanList } from "./search-lists";
import { Job, Query } from "./search";
import { scoreWaiting } from "./waiting-rows";

@unmanaged
export class GatheredCodes {
  n: u32;
  /** uint32 per list, and one more: the position of its first row. */
  firsts: usize;
  /** `GatheredRow` structs, n of them. */
  rows: usize;
  /** As `encodeRabitq` writes them, relative to the centroids of the rows' lists. */
  factors: usize;
  codes: usize;
}

@unmanaged
class GatheredRow {
  /** The number of its block in the table. */
  number: u32;
  row: u32;
}

/** Copies factors and codes, of `groups` groups, of the rows. Returns 0 if a block is not in memory, or has no codes that rule rows out. */
export function gatherCodes(table: ListBlockTable, gathered: GatheredCodes, groups: u32): u32 {
  const n = gathered.n;
  const stride = ((<usize>n + 31) & ~31) << 2;
  const blockBytes = <usize>groups << 4;
  memory.fill(gathered.factors, 0, 3 * stride);
  memory.fill(gathered.codes, 0, (stride >> 7) * blockBytes);
  for (let i: u32 = 0; i < n; i++) {
    const from = rowOf(gathered, i);
    const listBlock = listBlockAt(table, from.number);
    if (!isOpen(table, listBlock)) return 0;
    const block = listBlock.block;
    if (!block.codes || !block.fitsFloat32) return 0;
    const fromStride = ((<usize>block.n + 31) & ~31) << 2;
    for (let factor: usize = 0; factor < 3; factor++) {
      const value = load<f32>(block.factors + factor * fromStride + (<usize>from.row << 2));
      store<f32>(gathered.factors + factor * stride + (<usize>i << 2), value);
    }
    copyCode(codeAt(block.codes, from.row, blockBytes), from.row, codeAt(gathered.codes, i, blockBytes), i, groups);
  }
  return 1;
}

/** Where `encodeRabitq` puts the first four components of a row. */
@inline
function codeAt(codes: usize, row: u32, blockBytes: usize): usize {
  return codes + <usize>(row >> 5) * blockBytes + <usize>(((row & 7) << 1) + ((row >> 3) & 1));
}

@inline
function copyCode(from: usize, fromRow: u32, to: usize, toRow: u32, groups: u32): void {
  const fromShift: u32 = fromRow & 16 ? 4 : 0;
  const toShift: u32 = toRow & 16 ? 4 : 0;
  for (let group: usize = 0; group < <usize>groups; group++) {
    const bits = (<u32>load<u8>(from + (group << 4)) >> fromShift) & 15;
    const at = to + (group << 4);
    store<u8>(at, <u8>(<u32>load<u8>(at) | (bits << toShift)));
  }
}

/**
 * Scans all rows and, by the table's filter, the blocks of no list, into `heap`, and sorts it. Blocks whose rows are scored are marked with `now`.
 * Returns 0, with nothing that counts, if rows have to be looked at whose blocks are not in memory. The query's scratch has room for as many rows
 * and for as many lists as there are.
 */
export function searchGathered(
  query: Query,
  point: Query,
  quantizer: CoarseQuantizer,
  gathered: GatheredCodes,
  table: ListBlockTable,
  heap: Heap,
  job: Job,
  now: u32,
): u32 {
  const n = gathered.n;
  const lists = quantizer.block;
  beginSearch(table);
  if (!query.table || !query.fitsFloat32 || !point.fitsFloat32 || !lists.fitsFloat32) return 0;
  if (!areOpen(table, table.nLists, false)) return 0;
  scanList(query, heap, job, table, table.nLists, -1, 0, false, now, 0);
  const room = (max<usize>(<usize>n, <usize>lists.n) + 31) & ~31;
  const lowerBounds = query.scratch;
  const estimates = lowerBounds + (room << 2);
  const rest = estimates + (room << 2);
  squaredL2Block(point.vector, lists.vectors, lists.n, point.dimension, rest);
  fastScanSmall(gathered.codes, query.table, (n + 31) >>> 5, query.groups, lowerBounds);
  boundLists(query, quantizer, gathered, rest, lowerBounds, estimates);
  const near = scanPromising(query, heap, table, gathered, estimates, rest, now);
  scanOthers(query, heap, table, gathered, lowerBounds, estimates, near, now);
  scoreWaiting(query, heap, table.waiting);
  if (table.nMissing) return 0;
  sortHeap(heap);
  return 1;
}

/** Lower bounds, in place of the sums of table entries, and estimates of all rows, Infinity up to a multiple of 4. `squares` are those of all centroids from the query. */
function boundLists(
  query: Query,
  quantizer: CoarseQuantizer,
  gathered: GatheredCodes,
  squares: usize,
  sums: usize,
  estimates: usize,
): void {
  const nLists = quantizer.block.n;
  let at = estimates;
  for (let list: u32 = 0; list < nLists; list++) {
    const end = estimates + (<usize>load<u32>(gathered.firsts + (<usize>list << 2), 4) << 2);
    if (at == end) continue;
    const base = <f32>squareToCentroid(quantizer, list, <f64>load<f32>(squares + (<usize>list << 2)));
    for (; at < end; at += 4) store<f32>(at, base);
  }
  estimateEach(gathered.factors, gathered.n, query.step, query.shift, query.rounding, query.epsilon, sums, estimates);
  for (let row = gathered.n; row & 3; row++) store<f32>(estimates + (<usize>row << 2), Infinity);
}

/**
 * While the heap has vacancies, the rows with the least estimates are scored first, which gives a threshold for the others. Returns the greatest of
 * their estimates, -Infinity if there are none.
 */
function scanPromising(
  query: Query,
  heap: Heap,
  table: ListBlockTable,
  gathered: GatheredCodes,
  estimates: usize,
  kept: usize,
  now: u32,
): f32 {
  const n = gathered.n;
  const vacancies = heap.capacity - heap.size;
  if (vacancies == 0 || n == 0) return -Infinity;
  const near = nearEstimate(estimates, n, min<u32>(vacancies, n), kept);
  const nears = f32x4.splat(near);
  for (let i: u32 = 0; i < n; i += 4) {
    const isNear = f32x4.le(v128.load(estimates + (<usize>i << 2)), nears);
    for (let mask = i32x4.bitmask(isNear) & firstBits(i, n); mask; mask &= mask - 1) {
      addGathered(query, heap, table, rowOf(gathered, i + <u32>ctz(mask)), now);
    }
  }
  scoreWaiting(query, heap, table.waiting);
  return near;
}

/** Up to so many, the smallest estimates are found by insertion. */
const insertedMax: u32 = 16;
const halvings: u32 = 12;

/** An estimate up to which there are `count` rows, or a few more. `kept` has room for as many. */
function nearEstimate(estimates: usize, n: u32, count: u32, kept: usize): f32 {
  if (count <= insertedMax) return smallestAt(estimates, n, count, kept);
  let low = smallestAt(estimates, n, 1, kept);
  let high: f32 = low;
  for (let i: u32 = 0; i < n; i++) high = max<f32>(high, load<f32>(estimates + (<usize>i << 2)));
  for (let i: u32 = 0; i < halvings; i++) {
    const middle = (low + high) / 2;
    if (countUpTo(estimates, (n + 3) & ~3, middle) < count) low = middle;
    else high = middle;
  }
  return high;
}

/** Scans the rows whose estimates are above `near`, as far as they may be as near as those that the heap keeps. */
function scanOthers(
  query: Query,
  heap: Heap,
  table: ListBlockTable,
  gathered: GatheredCodes,
  lowerBounds: usize,
  estimates: usize,
  near: f32,
  now: u32,
): void {
  const n = gathered.n;
  const nears = f32x4.splat(near);
  let limit = f32x4.splat(codeLimit(query, heap));
  for (let i: u32 = 0; i < n; i += 4) {
    const at = <usize>i << 2;
    // Not greater, instead of less or equal: NaN is never ruled out.
    const isOut = v128.or(f32x4.gt(v128.load(lowerBounds + at), limit), f32x4.le(v128.load(estimates + at), nears));
    let mask = ~i32x4.bitmask(isOut) & firstBits(i, n);
    if (!mask) continue;
    for (; mask; mask &= mask - 1) {
      addGathered(query, heap, table, rowOf(gathered, i + <u32>ctz(mask)), now);
    }
    limit = f32x4.splat(codeLimit(query, heap));
  }
}

@inline
function rowOf(gathered: GatheredCodes, i: u32): GatheredRow {
  return changetype<GatheredRow>(gathered.rows + <usize>i * offsetof<GatheredRow>());
}

/** Lets a row wait for its score; if its block is not in memory, that is noted. */
@inline
function addGathered(query: Query, heap: Heap, table: ListBlockTable, gathered: GatheredRow, now: u32): void {
  const listBlock = listBlockAt(table, gathered.number);
  if (!isOpen(table, listBlock)) {
    noteMissing(table, gathered.number);
    return;
  }
  listBlock.block.lastUse = now;
  addRow(query, heap, table, gathered.number, gathered.row);
}
