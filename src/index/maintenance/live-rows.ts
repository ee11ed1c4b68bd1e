/** The live rows of blocks, one block after the other, in the pages that they were read in or copied to. */

import { firstIndex } from "../../state/segment/row-bits.js";
import type { Row, Rows } from "../../state/segment/row.js";
import type { RowPages } from "../../state/segment/row-pages.js";

/** By row of the segment. */
export type Entries = Pick<RowPages, "entry">;

/** Live rows of one block. */
export interface RowsOfBlock {
  /** Of the block, in its segment. */
  readonly firstRow: number;
  /** Positions of the live rows in the block. */
  readonly kept: readonly number[];
  /** Of all rows of the block, four words each, in a buffer of their own. */
  readonly fingerprints: Uint32Array;
  readonly records: Entries;
  readonly contents: Entries;
}

export class LiveRows implements Rows {
  readonly #blocks: RowsOfBlock[] = [];
  /** Where the rows of each block begin among all. */
  readonly #starts: number[] = [];
  #length = 0;

  get length(): number {
    return this.#length;
  }

  add(rows: RowsOfBlock): void {
    this.#blocks.push(rows);
    this.#starts.push(this.#length);
    this.#length += rows.kept.length;
  }

  append(rows: LiveRows): void {
    for (const block of rows.#blocks) this.add(block);
  }

  at(position: number): Row {
    const block = firstIndex(this.#starts.length, (i) => this.#starts[i] > position) - 1;
    return new LiveRow(this.#blocks[block], position - this.#starts[block]);
  }
}

class LiveRow implements Row {
  readonly #block: RowsOfBlock;
  /** In the block. */
  readonly #row: number;

  /** The live row `i` of a block. */
  constructor(block: RowsOfBlock, i: number) {
    this.#block = block;
    this.#row = block.kept[i];
  }

  get fingerprint(): Uint8Array {
    return new Uint8Array(this.#block.fingerprints.buffer, 16 * this.#row, 16);
  }

  get record(): Uint8Array {
    return this.#block.records.entry(this.#block.firstRow + this.#row) as Uint8Array;
  }

  get contents(): Uint8Array | null {
    return this.#block.contents.entry(this.#block.firstRow + this.#row);
  }
}
