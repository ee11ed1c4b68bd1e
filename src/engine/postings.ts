/**
 * Postings: which rows have a term, how often, and at which positions. FORMAT.md §4.
 *
 * The postings of all terms are one stream, cut into chunks of equal length. A list is one block, or several, each with a head that
 * bounds the scores of its rows. A block lies within one chunk.
 */

import { ByteWriter } from "./byte-writer.js";

/** Sealed, with the four bytes that end its padding, a chunk is not padded further. */
export const chunkBytes = 32 * 1024 - 4;
export const blockRowsMax = 128;
/** A block is closed once it is as long as this. */
const blockBytesMax = 8 * 1024;
/** Positions of one term in one row that are kept, the first ones. */
const positionsMax = 255;

/** Postings of several terms: those of one term are side by side, by ascending row. */
export interface PostingTable {
  readonly rows: Uint32Array;
  readonly frequencies: Uint32Array;
  /** Posting i has `positions[positionStarts[i] .. positionEnds[i])`. */
  readonly positionStarts: Uint32Array;
  readonly positionEnds: Uint32Array;
  readonly positions: Uint32Array;
}

/** Where the postings of a term are, and what bounds their scores. */
export interface PostingList {
  /** Rows that have the term. */
  readonly rows: number;
  /** From `start` to `end` of the stream, in bytes; `end` may be farther than the list reaches. */
  readonly start: number;
  readonly end: number;
  /** Whether its blocks have heads: a list of one block has none. */
  readonly hasHeads: boolean;
  readonly frequencyMax: number;
  /** Of the rows that have the term. */
  readonly lengthMin: number;
}

/** A block as it is encoded. */
interface Encoded {
  /** The posting after its last one. */
  readonly end: number;
  readonly rows: number;
  readonly lastRow: number;
  readonly frequencyMax: number;
  readonly lengthMin: number;
}

export class PostingStream {
  readonly #chunks: Uint8Array[] = [];
  #chunk = new Uint8Array(chunkBytes);
  #used = 0;
  readonly #head = new ByteWriter();
  readonly #rows = new ByteWriter();
  readonly #positions = new ByteWriter();

  /** Adds the postings `from` to `end` of a table, those of one term. `lengths`: of all rows. */
  add(table: PostingTable, lengths: Uint32Array, from: number, end: number): PostingList {
    let block = this.#encode(table, lengths, from, end, -1);
    const hasHeads = block.end < end;
    let { frequencyMax, lengthMin } = block;
    const start = this.#place(hasHeads, block, -1);
    while (block.end < end) {
      const { lastRow } = block;
      block = this.#encode(table, lengths, block.end, end, lastRow);
      this.#place(hasHeads, block, lastRow);
      frequencyMax = Math.max(frequencyMax, block.frequencyMax);
      lengthMin = Math.min(lengthMin, block.lengthMin);
    }
    return { rows: end - from, start, end: this.#length, hasHeads, frequencyMax, lengthMin };
  }

  /** The chunks. The last one is as long as what it holds. */
  finish(): readonly Uint8Array[] {
    const last = this.#chunk.subarray(0, this.#used);
    return this.#used === 0 ? this.#chunks : [...this.#chunks, last];
  }

  get #length(): number {
    return this.#chunks.length * chunkBytes + this.#used;
  }

  /** A posting is varint 2 (row - the row before) + 1 if the term is there once, else varint 2 (…), varint frequency. */
  #encode(table: PostingTable, lengths: Uint32Array, from: number, end: number, before: number): Encoded {
    this.#rows.clear();
    this.#positions.clear();
    let lastRow = before;
    let frequencyMax = 0;
    let lengthMin = 0xffffffff;
    let at = from;
    for (; at < end && at - from < blockRowsMax; at++) {
      const row = table.rows[at];
      const frequency = table.frequencies[at];
      const first = table.positionStarts[at];
      const count = Math.min(positionsMax, table.positionEnds[at] - first);
      const isSingle = frequency === 1 && count === 1;
      this.#rows.varint(2 * (row - lastRow) + (isSingle ? 1 : 0));
      if (!isSingle) {
        this.#rows.varint(frequency);
        this.#positions.varint(count);
      }
      for (let i = 0, position = 0; i < count; i++) {
        this.#positions.varint(table.positions[first + i] - position);
        position = table.positions[first + i];
      }
      lastRow = row;
      if (frequency > frequencyMax) frequencyMax = frequency;
      if (lengths[row] < lengthMin) lengthMin = lengths[row];
      if (this.#rows.length + this.#positions.length >= blockBytesMax) {
        at++;
        break;
      }
    }
    return { end: at, rows: at - from, lastRow, frequencyMax, lengthMin };
  }

  /** Adds the encoded block, and returns where it begins. */
  #place(hasHead: boolean, { rows, lastRow, frequencyMax, lengthMin }: Encoded, before: number): number {
    const head = this.#head;
    head.clear();
    if (hasHead) {
      for (const value of [
        lastRow - before,
        rows,
        frequencyMax,
        lengthMin,
        this.#rows.length,
        this.#positions.length,
      ]) {
        head.varint(value);
      }
    }
    const bytes = head.length + this.#rows.length + this.#positions.length;
    if (this.#used + bytes > chunkBytes) {
      this.#chunks.push(this.#chunk);
      this.#chunk = new Uint8Array(chunkBytes);
      this.#used = 0;
    }
    const start = this.#length;
    for (const part of [head, this.#rows, this.#positions]) {
      this.#chunk.set(part.view(), this.#used);
      this.#used += part.length;
    }
    return start;
  }
}
