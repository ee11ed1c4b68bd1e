/**
 * Rows of any blocks that wait for their exact scores: eight are scored at a time, so that the waits for memory overlap. Most lists have one or
 * two rows to score, whose vectors lie anywhere.
 */

import { Heap } from "./heap";
import { groupSum, rowsOfGroup, setGroupRow, sumGroup, vectorBytes } from "./row-group";
import { offerSum, scoreRows } from "./scan-flat";
import { Block, Job, Query } from "./search";

/** The rows that wait. Room for `rowsOfGroup` `WaitingRow` structs follows. */
@unmanaged
export class WaitingRows {
  count: u32;
}

/** A row, and the job of its block as far as a score needs it. */
@unmanaged
class WaitingRow extends Job {
  row: u32;
}

/** What the rows that wait take, in bytes. */
export const waitingBytes = offsetof<WaitingRows>() + <usize>rowsOfGroup * offsetof<WaitingRow>();

/** Adds a row of a block in memory, see `Job`, and scores those that wait if there are `rowsOfGroup`. */
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
  if (++waiting.count == rowsOfGroup) scoreWaiting(query, heap, waiting);
}

/** Scores and offers the rows that wait. */
export function scoreWaiting(query: Query, heap: Heap, waiting: WaitingRows): void {
  const count = waiting.count;
  if (!count) return;
  waiting.count = 0;
  const precision = waitingAt(waiting, 0).block.precision;
  const rowBytes = vectorBytes(query, precision);
  for (let i: u32 = 0; i < count; i++) {
    const one = waitingAt(waiting, i);
    const block = one.block;
    // Float32 arithmetic has to suffice for the numbers of all of them.
    if (block.precision != precision || (!precision && !block.fitsFloat32)) {
      scoreEach(query, heap, waiting, count);
      return;
    }
    setGroupRow(query, i, block.vectors + <usize>one.row * rowBytes);
  }
  sumGroup(query, precision, count);
  for (let i: u32 = 0; i < count; i++) {
    const one = waitingAt(waiting, i);
    offerSum(query, one, heap, one.row, precision, groupSum(query, i));
  }
}

function scoreEach(query: Query, heap: Heap, waiting: WaitingRows, count: u32): void {
  for (let i: u32 = 0; i < count; i++) {
    const one = waitingAt(waiting, i);
    scoreRows(query, one, heap, changetype<usize>(one) + offsetof<WaitingRow>("row"), 1);
  }
}

@inline
function waitingAt(waiting: WaitingRows, i: u32): WaitingRow {
  return changetype<WaitingRow>(changetype<usize>(waiting) + offsetof<WaitingRows>() + <usize>i * offsetof<WaitingRow>());
}
