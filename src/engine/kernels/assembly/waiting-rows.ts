/**
 * Rows of any blocks that wait for their exact scores: four are scored at a time, so that the waits for memory overlap. Most lists have one or
 * two rows to score, whose vectors lie anywhere.
 */

import { Heap } from "./heap";
import { listBlockAt, ListBlockTable } from "./list-block-table";
import { scalarBytes } from "./scalar";
import { offerSum, scoreRows, sumsOfFour } from "./scan-flat";
import { offerIfNear, scalarProducts } from "./scan-scalar";
import { Block, Job, Query } from "./search";

const together: u32 = 4;

@unmanaged
class WaitingRow {
  /** The number of the block in the table. */
  number: u32;
  row: u32;
}

/** Adds a row of a block in memory, and scores those that wait if there are four. */
@inline
export function addWaiting(query: Query, heap: Heap, job: Job, table: ListBlockTable, number: u32, row: u32): void {
  const waiting = waitingAt(table, table.nWaiting);
  waiting.number = number;
  waiting.row = row;
  if (++table.nWaiting == together) scoreWaiting(query, heap, job, table);
}

/** Scores and offers the rows that wait. `job` is scratch for one struct. */
export function scoreWaiting(query: Query, heap: Heap, job: Job, table: ListBlockTable): void {
  const count = table.nWaiting;
  if (!count) return;
  table.nWaiting = 0;
  const precision = blockOf(table, waitingAt(table, 0)).precision;
  if (!areScoredTogether(table, count, precision)) {
    for (let i: u32 = 0; i < count; i++) {
      const waiting = waitingAt(table, i);
      scoreRows(query, jobOf(job, table, waiting), heap, changetype<usize>(waiting) + offsetof<WaitingRow>("row"), 1);
    }
    return;
  }
  const rowBytes = precision ? scalarBytes(query.dimension, precision) : <usize>query.dimension << 2;
  const last = count - 1;
  const row0 = waitingAt(table, 0);
  const row1 = waitingAt(table, min<u32>(1, last));
  const row2 = waitingAt(table, min<u32>(2, last));
  const row3 = waitingAt(table, last);
  const at0 = vectorAt(table, row0, rowBytes);
  const at1 = vectorAt(table, row1, rowBytes);
  const at2 = vectorAt(table, row2, rowBytes);
  const at3 = vectorAt(table, row3, rowBytes);
  const sums = precision ? scalarProducts(query, at0, at1, at2, at3, precision) : sumsOfFour(query, at0, at1, at2, at3);
  offerOne(query, heap, job, table, row0, precision, f32x4.extract_lane(sums, 0));
  if (last >= 1) offerOne(query, heap, job, table, row1, precision, f32x4.extract_lane(sums, 1));
  if (last >= 2) offerOne(query, heap, job, table, row2, precision, f32x4.extract_lane(sums, 2));
  if (last >= 3) offerOne(query, heap, job, table, row3, precision, f32x4.extract_lane(sums, 3));
}

@inline
function offerOne(
  query: Query,
  heap: Heap,
  job: Job,
  table: ListBlockTable,
  waiting: WaitingRow,
  precision: u32,
  sum: f32,
): void {
  jobOf(job, table, waiting);
  if (precision) offerIfNear(query, job, heap, waiting.row, sum);
  else offerSum(query, job, heap, waiting.row, sum);
}

@inline
function waitingAt(table: ListBlockTable, i: u32): WaitingRow {
  return changetype<WaitingRow>(table.waiting + <usize>i * offsetof<WaitingRow>());
}

@inline
function blockOf(table: ListBlockTable, waiting: WaitingRow): Block {
  return listBlockAt(table, waiting.number).block;
}

/** Whether the first `count` rows are of one precision, and if that is float32, numbers that float32 arithmetic suffices for. */
function areScoredTogether(table: ListBlockTable, count: u32, precision: u32): bool {
  for (let i: u32 = 0; i < count; i++) {
    const block = blockOf(table, waitingAt(table, i));
    if (block.precision != precision || (!precision && !block.fitsFloat32)) return false;
  }
  return true;
}

@inline
function vectorAt(table: ListBlockTable, waiting: WaitingRow, rowBytes: usize): usize {
  return blockOf(table, waiting).vectors + <usize>waiting.row * rowBytes;
}

/** `job`, as one of the block of a row. */
@inline
function jobOf(job: Job, table: ListBlockTable, waiting: WaitingRow): Job {
  const number = waiting.number;
  const listBlock = listBlockAt(table, number);
  job.number = number;
  job.block = listBlock.block;
  job.newerSegments = listBlock.newerSegments;
  return job;
}
