/**
 * Partitions the rows of a large index by ranges of lists. Rows are collected until memory is full; then those of the range that has most are
 * written, and collecting continues. So a list is in fewer segments than if all that was collected was written at once: of r ranges that are
 * written in turn, the largest holds 2 / (r + 1) of all. Of five it is a third, which has as many rows of each list as 5/3 of the memory would.
 */

import { yieldIfDue } from "../../async/event-loop.js";
import { sortByList } from "../../engine/rows.js";
import { pieceBytes, rowsOfPiece } from "../../engine/work.js";
import { encodePage, Page } from "../../state/segment/page.js";
import type { Row } from "../../state/segment/row.js";
import type { OpenIndex } from "../open/open-index.js";
import { type BatchLimits, limitsOf, type RewritePlan, type RowBatch } from "./live-row-batches.js";
import { LiveRows, type RowsOfBlock } from "./live-rows.js";
import { copyMoved, joinMoved, type MovedRows } from "./move-rows.js";

/** With more of them, each list is in fewer segments, but there are more. */
const rangeCount = 5;
/** Collected batches: more than one, since only a range of it is in memory twice. Short rows take little memory even so. */
const collectedBatches = { rows: 20 / 9, bytes: 1.5 };
/** Rows that are copied between two looks at the clock: a few milliseconds, however short they are. */
const rowsCopied = 1024;
/** Rows that are compared with centroids while the next ones are read. */
export const arrivingRows: BatchLimits = { rows: 2 ** 14, bytes: 16 * 1024 * 1024 };

/** Whether the rows have lists and are more than one batch. Those of an index of words stay together: their postings move with whole segments. */
export function isPartitioned({ words }: OpenIndex, plan: RewritePlan): boolean {
  if (plan.target.model === undefined || plan.order === "by list" || words !== undefined) return false;
  const { rows, bytes } = limitsOf(plan);
  const stored = (of: "rows" | "length") => plan.segments.reduce((sum, { ref }) => sum + ref[of], 0);
  return stored("rows") > rows || stored("length") > bytes;
}

/** The arguments of `partitionRows`. */
interface Partition {
  readonly dimension: number;
  readonly nLists: number;
  /** Of one write, about. */
  readonly limits: BatchLimits;
  /** The list of each row. */
  listsOf(arrived: RowBatch): Promise<Uint32Array>;
}

/** `arriving`: about as many rows at a time as `arrivingRows` says. */
export async function* partitionRows(
  arriving: AsyncIterable<RowBatch>,
  { dimension, nLists, limits, listsOf }: Partition,
): AsyncGenerator<RowBatch> {
  const ranges = Array.from({ length: rangeCount }, () => new ListRange(dimension));
  const rangeOf = (list: number) => Math.floor((list * rangeCount) / nLists);
  const rowsTogether = Math.min(rowsCopied, rowsOfPiece(4 * dimension));
  let deleted: readonly Uint8Array[] = [];
  const write = async (range: ListRange) => {
    const written = await range.take(deleted);
    deleted = [];
    return written;
  };
  const add = async ({ batch }: RowBatch, lists: Uint32Array) => {
    const order = sortByList(lists.map(rangeOf), rangeCount);
    for (let start = 0; start < order.length;) {
      const range = rangeOf(lists[order[start]]);
      const endMax = Math.min(order.length, start + rowsTogether);
      const rows: Row[] = [];
      let end = start;
      for (let bytes = 0; bytes < pieceBytes && end < endMax && rangeOf(lists[order[end]]) === range; end++) {
        const { fingerprint, record, contents } = batch.rows.at(order[end]);
        rows.push({ fingerprint, record, contents });
        bytes += record.length + (contents?.length ?? 0);
      }
      ranges[range].add(rows, batch.source, order.subarray(start, end), lists);
      start = end;
      await yieldIfDue();
    }
  };
  const isFull = () =>
    total(ranges, "rows") >= collectedBatches.rows * limits.rows ||
    total(ranges, "bytes") >= collectedBatches.bytes * limits.bytes ||
    ranges.some(({ rows, bytes }) => rows >= limits.rows || bytes >= limits.bytes);
  let assigning: Promise<void> = Promise.resolve();
  try {
    for await (const arrived of arriving) {
      deleted = [...deleted, ...arrived.batch.deleted];
      await assigning;
      while (isFull()) yield await write(largest(ranges));
      assigning = listsOf(arrived).then((lists) => add(arrived, lists));
      // It is awaited later; until then its rejection must not count as unhandled.
      assigning.catch(() => undefined);
    }
    await assigning;
  } finally {
    await assigning.catch(() => undefined);
  }
  // Neighboring ranges that fit in one batch are written together.
  let last = new ListRange(dimension);
  for (const range of ranges.splice(0)) {
    const fits = last.rows + range.rows <= limits.rows && last.bytes + range.bytes <= limits.bytes;
    if (last.rows > 0 && !fits) {
      yield await write(last);
      last = new ListRange(dimension);
    }
    last.append(range);
  }
  if (last.rows > 0 || deleted.length > 0) yield await write(last);
}

function largest(ranges: readonly ListRange[]): ListRange {
  return ranges.reduce((most, range) => (range.bytes > most.bytes ? range : most));
}

function total(ranges: readonly ListRange[], of: "rows" | "bytes"): number {
  return ranges.reduce((sum, range) => sum + range[of], 0);
}

// Rows of neighboring lists, collected to be written together.

class ListRange {
  readonly #dimension: number;
  #rows = new LiveRows();
  #sources: MovedRows[] = [];
  #bytes = 0;

  constructor(dimension: number) {
    this.#dimension = dimension;
  }

  get rows(): number {
    return this.#rows.length;
  }

  /** Of vectors and texts. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Copies rows, which are those at these positions of `source`. `lists`: of all rows of that. */
  add(rows: readonly Row[], source: MovedRows, positions: Uint32Array, lists: Uint32Array): void {
    const own = positions.map((position) => lists[position]);
    const moved = copyMoved(source, positions, own, this.#dimension);
    const copied = copyRows(rows);
    this.#sources.push(moved);
    this.#rows.add(copied);
    this.#bytes += moved.bytes + copied.bytes;
  }

  /** Adds the rows of another range. */
  append(range: ListRange): void {
    this.#rows.append(range.#rows);
    this.#sources.push(...range.#sources);
    this.#bytes += range.#bytes;
  }

  /** Takes all rows, with the tombstones of their segment. */
  async take(deleted: readonly Uint8Array[]): Promise<RowBatch> {
    const [rows, bytes] = [this.#rows, this.#bytes];
    const source = await joinMoved(this.#sources, this.#dimension);
    [this.#rows, this.#sources, this.#bytes] = [new LiveRows(), [], 0];
    return { batch: { dimension: this.#dimension, rows, source, deleted }, bytes };
  }
}

// Copies rows out of the blocks that they were read in, whose memory can then be used again.

/** As if they were the rows of a block, all of them live. */
interface CopiedRows extends RowsOfBlock {
  /** Of records and contents. */
  readonly bytes: number;
}

function copyRows(rows: readonly Row[]): CopiedRows {
  const fingerprints = new Uint8Array(16 * rows.length);
  rows.forEach(({ fingerprint }, i) => fingerprints.set(fingerprint, 16 * i));
  const records = pageOf(rows.map(({ record }) => record));
  const contents = pageOf(rows.map((row) => row.contents));
  return {
    firstRow: 0,
    kept: Array.from(rows.keys()),
    fingerprints: new Uint32Array(fingerprints.buffer),
    records,
    contents,
    bytes: records.plaintext.length + contents.plaintext.length,
  };
}

/** Rows were checked when the segment that they come from was opened. */
function pageOf(parts: readonly (Uint8Array | null)[]): Page {
  return new Page(encodePage(parts), parts.length, { name: "copied rows", mayBeAbsent: true, bytesMin: 0 });
}
