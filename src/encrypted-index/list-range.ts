/** Rows of neighbouring lists, collected to be written together. */

import type { Row } from "../segment/row.js";
import { copyRows } from "./copy-rows.js";
import type { RowBatch } from "./live-row-batches.js";
import { LiveRows } from "./live-rows.js";
import { copyMoved, joinMoved, type MovedRows } from "./move-rows.js";

export class ListRange {
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

  /** All rows, with what else their segment deletes; then there are none. */
  async take(deleted: readonly Uint8Array[]): Promise<RowBatch> {
    const [rows, bytes] = [this.#rows, this.#bytes];
    const source = await joinMoved(this.#sources, this.#dimension);
    [this.#rows, this.#sources, this.#bytes] = [new LiveRows(), [], 0];
    return { batch: { dimension: this.#dimension, rows, source, deleted }, bytes };
  }
}
