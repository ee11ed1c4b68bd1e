/**
 * Rows of any blocks that wait for their exact scores: four are scored at a time, so that the waits for memory overlap. Most lists have one or
 * two rows to score, whose vectors lie anywhere.
 */

import { Heap } from "./heap";
import { scalarBytes } from "./scalar";
import { offerSum, scoreRows, sumsOfFour } from "./scan-flat";
import { offerIfNear, scalarProducts } from "./scan-scalar";
import { Block, Job, Query } from "./search";

const together: u32 = 4;

/** The rows that wait. Room for four `WaitingRow` structs follows. */
@unmanaged
export class WaitingRows {
  count: u32;
}

/** A row, and the job of its block as far as a score needs it. */
@unmanaged
class WaitingRow extends Job {
  row: u32;
}

/** What the rows that wait take. */
export const waitingBytes = offsetof<WaitingRows>() + <usize>together * offsetof<WaitingRow>();

/** Adds a row of a block in memory, see `Job`, and scores those that wait if there are four. */
@inline
export function addWaiting(
  query: Query,
  heap: Heap,
  waiting: WaitingRows,
  number: u32,
  block: Block,
  newerSegments: u32,
  row: u32,
): void {
  const added = waitingAt(waiting, waiting.count);
  added.number = number;
  added.block = block;
  added.newerSegments = newerSegments;
  added.row = row;
  if (++waiting.count == together) scoreWaiting(query, heap, waiting);
}

/** Scores and offers the rows that wait. */
export function scoreWaiting(query: Query, heap: Heap, waiting: WaitingRows): void {
  const count = waiting.count;
  if (!count) return;
  waiting.count = 0;
  const row0 = waitingAt(waiting, 0);
  const precision = row0.block.precision;
  if (!areScoredTogether(waiting, count, precision)) {
    for (let i: u32 = 0; i < count; i++) {
      const one = waitingAt(waiting, i);
      scoreRows(query, one, heap, changetype<usize>(one) + offsetof<WaitingRow>("row"), 1);
    }
    return;
  }
  const rowBytes = precision ? scalarBytes(query.dimension, precision) : <usize>query.dimension << 2;
  const last = count - 1;
  const row1 = waitingAt(waiting, min<u32>(1, last));
  const row2 = waitingAt(waiting, min<u32>(2, last));
  const row3 = waitingAt(waiting, last);
  const at0 = vectorOf(row0, rowBytes);
  const at1 = vectorOf(row1, rowBytes);
  const at2 = vectorOf(row2, rowBytes);
  const at3 = vectorOf(row3, rowBytes);
  const sums = precision ? scalarProducts(query, at0, at1, at2, at3, precision) : sumsOfFour(query, at0, at1, at2, at3);
  offerOne(query, heap, row0, precision, f32x4.extract_lane(sums, 0));
  if (last >= 1) offerOne(query, heap, row1, precision, f32x4.extract_lane(sums, 1));
  if (last >= 2) offerOne(query, heap, row2, precision, f32x4.extract_lane(sums, 2));
  if (last >= 3) offerOne(query, heap, row3, precision, f32x4.extract_lane(sums, 3));
}

@inline
function offerOne(query: Query, heap: Heap, waiting: WaitingRow, precision: u32, sum: f32): void {
  if (precision) offerIfNear(query, waiting, heap, waiting.row, sum);
  else offerSum(query, waiting, heap, waiting.row, sum);
}

@inline
function waitingAt(waiting: WaitingRows, i: u32): WaitingRow {
  return changetype<WaitingRow>(changetype<usize>(waiting) + offsetof<WaitingRows>() + <usize>i * offsetof<WaitingRow>());
}

/** Whether the first `count` rows are of one precision, and if that is float32, numbers that float32 arithmetic suffices for. */
function areScoredTogether(waiting: WaitingRows, count: u32, precision: u32): bool {
  for (let i: u32 = 0; i < count; i++) {
    const block = waitingAt(waiting, i).block;
    if (block.precision != precision || (!precision && !block.fitsFloat32)) return false;
  }
  return true;
}

@inline
function vectorOf(waiting: WaitingRow, rowBytes: usize): usize {
  return waiting.block.vectors + <usize>waiting.row * rowBytes;
}
