/** Walks the postings of one term by ascending row, without decoding the blocks that it skips. */

import type { BitReader } from "./bit-reader.js";
import {
  badPostings,
  blockPositionsEnd,
  blockRowsMax,
  chunkBytes,
  type PostingList,
  positionsMax,
} from "./postings.js";

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
  readonly list: CursorList;
  /** Rows of the segment. */
  readonly #rowsEnd: number;
  readonly #chunks: readonly BitReader[];
  #chunk = 0;
  #reader: BitReader | undefined;
  /** In the current chunk: the start of the block, and of the part behind it. */
  #at: number;
  #next: number;
  /** The last row of the block before. */
  #before = -1;
  #count = 0;
  #left: number;
  #i = 0;
  readonly #rows = new Uint32Array(blockRowsMax);
  readonly #frequencies = new Uint32Array(blockRowsMax);
  /** Whether each row of the block has the term once. */
  #isSingle = false;
  #hasPositions = false;
  /** The first bit behind the frequencies. */
  #positionsAt = 0;
  /** The positions of the block if they are decoded, and where those of each row end. */
  #positions: BlockPositions | undefined;

  /** `chunks`: of the stream, from the one with the list's start on. `rowsEnd`: all rows are below it. */
  constructor(list: CursorList, chunks: readonly BitReader[], rowsEnd: number) {
    this.list = list;
    this.#rowsEnd = rowsEnd;
    this.#chunks = chunks;
    this.#reader = chunks[0];
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
    if (this.#count < 1 || this.#count > Math.min(this.#left, blockRowsMax)) {
      throw badPostings(`a block of 1 to ${Math.min(this.#left, blockRowsMax)} rows, got ${this.#count}`);
    }
    this.row = this.#before + 1;
    this.isUndecoded = true;
  }

  #readHead(): void {
    // No row follows itself: a zero fills the rest of a chunk.
    if (!this.#openChunk().plaintext[this.#next]) {
      this.#reader = this.#chunks[++this.#chunk];
      this.#next = 0;
    }
    const { plaintext } = this.#openChunk();
    this.lastRow = this.#before + this.#varint(plaintext);
    this.#count = this.#varint(plaintext);
    this.frequencyMax = this.#varint(plaintext);
    this.lengthMin = this.#varint(plaintext);
    const bytes = this.#varint(plaintext);
    this.#at = this.#next;
    this.#next += bytes;
  }

  #openChunk(): BitReader {
    if (this.#reader === undefined) throw badPostings("a list to end in the chunks of its term");
    return this.#reader;
  }

  #varint(plaintext: Uint8Array): number {
    let byte = plaintext[this.#next++];
    let value = byte & 0x7f;
    for (let shift = 7; byte >= 0x80; shift += 7) {
      byte = plaintext[this.#next++];
      value |= (byte & 0x7f) << shift;
    }
    return value >>> 0;
  }

  /** Decodes the current block, and goes to its first row. */
  decode(): void {
    const reader = this.#openChunk();
    const rows = this.#rows;
    const count = this.#count;
    const start = 8 * this.#at;
    let row = this.#before;
    this.#positions = undefined;
    this.#isSingle = reader.bit(start) === 1;
    this.#hasPositions = reader.bit(start + 1) === 1;
    this.#positionsAt = reader.vector(start + 2, count, rows);
    for (let i = 0; i < count; i++) rows[i] = row += rows[i] + 1;
    if (row >= this.#rowsEnd || (this.list.hasHeads && row !== this.lastRow)) {
      throw badPostings(`a block to end with the row of its head, below ${this.#rowsEnd}; got ${row}`);
    }
    if (this.#isSingle) this.#frequencies.fill(1, 0, count);
    else {
      this.#positionsAt = reader.vector(this.#positionsAt, count, this.#frequencies);
      for (let i = 0; i < count; i++) this.#frequencies[i]++;
    }
    this.lastRow = row;
    this.isUndecoded = false;
    this.#i = 0;
    this.row = rows[0];
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
  positions(): Uint32Array {
    const { values, ends } = (this.#positions ??= this.#decodePositions());
    return values.subarray(this.#i === 0 ? 0 : ends[this.#i - 1], ends[this.#i]);
  }

  /** Reads how many positions each row of the block has. Returns how many that are, and the bit after it. */
  #readCounts(into: Uint32Array): { readonly at: number; readonly positions: number } {
    const count = this.#count;
    if (this.#isSingle) {
      into.fill(1, 0, count);
      return { at: this.#positionsAt, positions: count };
    }
    const at = this.#openChunk().vector(this.#positionsAt, count, into);
    let positions = 0;
    for (let i = 0; i < count; i++) {
      positions += into[i] = this.#frequencies[i] - into[i];
      if (into[i] > positionsMax || positions > blockPositionsEnd) {
        throw badPostings(`at most ${positionsMax} positions of a row and ${blockPositionsEnd} of a block`);
      }
    }
    return { at, positions };
  }

  #decodePositions(): BlockPositions {
    const count = this.#count;
    const ends = new Uint32Array(count);
    if (!this.#hasPositions) return { values: new Uint32Array(), ends };
    const { at, positions } = this.#readCounts(ends);
    let end = 0;
    for (let i = 0; i < count; i++) ends[i] = end += ends[i];
    const values = new Uint32Array(positions);
    this.#openChunk().vector(at, positions, values);
    if (this.#isSingle) return { values, ends };
    for (let i = 0, k = 0; i < count; i++) {
      for (let position = 0; k < ends[i]; k++) values[k] = position += values[k];
    }
    return { values, ends };
  }
}

/** The parts of a list that a cursor reads. */
export type CursorList = Omit<PostingList, "end">;

/** Those of row i of a block are `values[ends[i - 1] .. ends[i])`. */
interface BlockPositions {
  readonly values: Uint32Array;
  readonly ends: Uint32Array;
}
