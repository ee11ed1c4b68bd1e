/** Walks the postings of one term by ascending row, without decoding the blocks that it skips. */

import { ByteReader } from "./byte-reader.js";
import { blockRowsMax, chunkBytes, type PostingList } from "./postings.js";

/** The row of a cursor that has no more. */
export const endOfRows = 0xffffffff;

export class PostingCursor {
  /** The current row; `endOfRows` at the end. Only a lower bound while `isUndecoded`. */
  row = 0;
  frequency = 0;
  /** Whether the current block was entered and not decoded yet. */
  isUndecoded = true;
  /** Of the current block. */
  lastRow = -1;
  frequencyMax = 0;
  lengthMin = 0;
  readonly list: PostingList;
  readonly #chunks: readonly Uint8Array[];
  #chunk = 0;
  /** In the current chunk: where the block's rows begin, their positions, and what follows the block. */
  #at: number;
  #positionsAt = 0;
  #next: number;
  #bytes: Uint8Array;
  /** The last row of the block before. */
  #before = -1;
  #count = 0;
  #left: number;
  #i = 0;
  readonly #rows = new Uint32Array(blockRowsMax);
  readonly #frequencies = new Uint32Array(blockRowsMax);
  /** Whether a posting of the block has more than one occurrence. */
  readonly #isMultiple = new Uint8Array(blockRowsMax);

  /** `chunks`: of the stream, from the one with the list's start on. */
  constructor(list: PostingList, chunks: readonly Uint8Array[]) {
    this.list = list;
    this.#chunks = chunks;
    this.#bytes = chunks[0];
    this.#at = list.start % chunkBytes;
    this.#next = this.#at;
    this.#left = list.rows;
    this.skipBlock();
  }

  /** Goes to the beginning of the next block, without decoding it. */
  skipBlock(): void {
    this.#before = this.lastRow;
    this.#left -= this.#count;
    if (this.#left <= 0) {
      this.row = endOfRows;
      this.lastRow = endOfRows;
      this.isUndecoded = false;
      return;
    }
    const { list } = this;
    if (!list.hasHeads) {
      this.#count = list.rows;
      this.lastRow = endOfRows - 1;
      this.frequencyMax = list.frequencyMax;
      this.lengthMin = list.lengthMin;
    } else this.#readHead();
    this.row = this.#before + 1;
    this.isUndecoded = true;
  }

  #readHead(): void {
    // No row follows itself: a zero fills the rest of a chunk.
    if (this.#next >= this.#bytes.length || this.#bytes[this.#next] === 0) {
      this.#bytes = this.#chunks[++this.#chunk];
      this.#next = 0;
    }
    const reader = new ByteReader(this.#bytes, this.#next);
    this.lastRow = this.#before + reader.varint();
    this.#count = reader.varint();
    this.frequencyMax = reader.varint();
    this.lengthMin = reader.varint();
    const rowBytes = reader.varint();
    const positionBytes = reader.varint();
    this.#at = reader.at;
    this.#positionsAt = this.#at + rowBytes;
    this.#next = this.#positionsAt + positionBytes;
  }

  /** Decodes the current block, and goes to its first row. */
  decode(): void {
    const bytes = this.#bytes;
    const count = this.#count;
    let at = this.#at;
    let row = this.#before;
    for (let i = 0; i < count; i++) {
      let value = bytes[at++];
      if (value >= 0x80) {
        value &= 0x7f;
        for (let shift = 7; ; shift += 7) {
          const byte = bytes[at++];
          value |= (byte & 0x7f) << shift;
          if (byte < 0x80) break;
        }
      }
      row += value >>> 1;
      this.#rows[i] = row;
      if ((value & 1) === 1) {
        this.#frequencies[i] = 1;
        this.#isMultiple[i] = 0;
        continue;
      }
      this.#isMultiple[i] = 1;
      let frequency = bytes[at++];
      if (frequency >= 0x80) {
        frequency &= 0x7f;
        for (let shift = 7; ; shift += 7) {
          const byte = bytes[at++];
          frequency |= (byte & 0x7f) << shift;
          if (byte < 0x80) break;
        }
      }
      this.#frequencies[i] = frequency;
    }
    this.#positionsAt = at;
    this.lastRow = row;
    this.isUndecoded = false;
    this.#i = 0;
    this.row = this.#rows[0];
    this.frequency = this.#frequencies[0];
  }

  /** Goes to the next row; the first of a block that is not decoded yet may be still ahead. */
  next(): void {
    if (++this.#i < this.#count) {
      this.row = this.#rows[this.#i];
      this.frequency = this.#frequencies[this.#i];
    } else this.skipBlock();
  }

  /** Goes to the first row from `target` on. */
  advance(target: number): void {
    while (this.lastRow < target) this.skipBlock();
    if (this.isUndecoded) this.decode();
    while (this.row < target) {
      this.next();
      if (this.isUndecoded) this.decode();
    }
  }

  /** Positions of the term in the current row, as many as are kept. */
  positions(): number[] {
    const reader = new ByteReader(this.#bytes, this.#positionsAt);
    const countOf = (i: number) => (this.#isMultiple[i] === 1 ? reader.varint() : 1);
    for (let i = 0; i < this.#i; i++) for (let left = countOf(i); left > 0; left--) reader.varint();
    let position = 0;
    return Array.from({ length: countOf(this.#i) }, () => (position += reader.varint()));
  }
}
