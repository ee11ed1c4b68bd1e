/**
 * Rows of any blocks that wait for their exact scores: four are scored at a time, so that the waits for memory overlap. Most lists have one or
 * two rows to score, whose vectors lie anywhere.
 */

import { Heap } from "./heap";
import { listBlockAt, ListBlockTable } from "./list-block-table";
import { offerSum, scoreRows, sumsOfFour } from "./scan-flat";
import { Job, Query } from "./search";

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
  if (!areFloat32(table, count)) {
    for (let i: u32 = 0; i < count; i++) {
      const waiting = waitingAt(table, i);
      scoreRows(query, jobOf(job, table, waiting), heap, changetype<usize>(waiting) + offsetof<WaitingRow>("row"), 1);
    }
    return;
  }
  const last = count - 1;
  const row0 = waitingAt(table, 0);
  const row1 = waitingAt(table, min<u32>(1, last));
  const row2 = waitingAt(table, min<u32>(2, last));
  const row3 = waitingAt(table, last);
  const sums = sumsOfFour(query, vectorAt(query, table, row0), vectorAt(query, table, row1), vectorAt(query, table, row2), vectorAt(query, table, row3));
  offerSum(query, jobOf(job, table, row0), heap, row0.row, f32x4.extract_lane(sums, 0));
  if (last >= 1) offerSum(query, jobOf(job, table, row1), heap, row1.row, f32x4.extract_lane(sums, 1));
  if (last >= 2) offerSum(query, jobOf(job, table, row2), heap, row2.row, f32x4.extract_lane(sums, 2));
  if (last >= 3) offerSum(query, jobOf(job, table, row3), heap, row3.row, f32x4.extract_lane(sums, 3));
}

@inline
function waitingAt(table: ListBlockTable, i: u32): WaitingRow {
  return changetype<WaitingRow>(table.waiting + <usize>i * offsetof<WaitingRow>());
}

/** Whether the vectors of the first `count` rows are float32 numbers that float32 arithmetic suffices for. */
function areFloat32(table: ListBlockTable, count: u32): bool {
  for (let i: u32 = 0; i < count; i++) {
    const block = listBlockAt(table, waitingAt(table, i).number).block;
    if (block.precision || !block.fitsFloat32) return false;
  }
  return true;
}

@inline
function vectorAt(query: Query, table: ListBlockTable, waiting: WaitingRow): usize {
  const vectors = listBlockAt(table, waiting.number).block.vectors;
  return vectors + <usize>waiting.row * (<usize>query.dimension << 2);
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
