/**
 * Where the blocks of a section lie that may have tens of thousands: codes, records, contents. A query needs a few of them: each
 * becomes an object when it is first asked for.
 */

import type { ByteWriter } from "../../engine/byte-writer.js";
import type { RowBlock } from "./block.js";
import { corruptFooter } from "./footer-texts.js";

/** Of any such block: sealed length, first row, rows. */
export const rowWords = 3;

/** Further fields of a block, from the words that describe it. */
export interface BlockWords<B extends RowBlock> {
  /** Words per block, `rowWords` of them of any block. */
  readonly count: number;
  /** The block whose words begin at `at`. */
  readonly make: (block: RowBlock, words: Uint32Array, at: number) => B;
}

export class BlockTable<B extends RowBlock> implements Iterable<B> {
  readonly length: number;
  /** Where the section ends in the object, in bytes. */
  readonly end: number;
  /** Number of the first block. */
  readonly #firstNumber: number;
  readonly #offsets: Float64Array;
  /** Layout (length, layout.count). */
  readonly #words: Uint32Array;
  readonly #layout: BlockWords<B>;
  /** The same object for a block each time: the cache knows blocks by theirs. */
  readonly #made = new Map<number, B>();

  /** `words`: layout (length, layout.count), kept. `number`, `offset`: of the first block. */
  constructor(words: Uint32Array, layout: BlockWords<B>, number: number, offset: number) {
    this.length = words.length / layout.count;
    this.#words = words;
    this.#layout = layout;
    this.#firstNumber = number;
    this.#offsets = new Float64Array(this.length);
    let end = offset;
    for (let i = 0; i < this.length; i++) {
      this.#offsets[i] = end;
      end += words[layout.count * i];
    }
    this.end = end;
  }

  /** Memory held, in bytes, without blocks that were asked for. */
  get bytes(): number {
    return this.#words.byteLength + this.#offsets.byteLength;
  }

  /** Block `i`, which must be one. */
  at(i: number): B {
    const known = this.#made.get(i);
    if (known !== undefined) return known;
    const { count, make } = this.#layout;
    const words = this.#words;
    const at = count * i;
    const block = {
      number: this.#firstNumber + i,
      offset: this.#offsets[i],
      length: words[at],
      firstRow: words[at + 1],
      rows: words[at + 2],
    };
    const made = make(block, words, at);
    this.#made.set(i, made);
    return made;
  }

  /** The block that holds `row`: blocks are ascending and without gaps. */
  ofRow(row: number): B {
    const { count } = this.#layout;
    let low = 0;
    let high = this.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if (this.#words[count * middle + 1] <= row) low = middle;
      else high = middle - 1;
    }
    return this.at(low);
  }

  /** Blocks from `first` on. */
  *from(first: number): Generator<B> {
    for (let i = first; i < this.length; i++) yield this.at(i);
  }

  [Symbol.iterator](): Generator<B> {
    return this.from(0);
  }
}

// The entries of a section that may have tens of thousands of blocks: codes, records, contents. A process reads it before its
// first query, so an entry has few bytes. First rows are sums. A sealed length is stored once for as many rows: all blocks of codes
// with as many rows are equally long. docs/internals/format.md §4.

/** `addOwn` adds the further fields of a block. */
export function writeEntries<D extends Pick<RowBlock, "length" | "rows">>(
  entries: ByteWriter,
  blocks: readonly D[],
  addOwn?: (block: D) => void,
): void {
  const lengths = new Map<number, number>();
  for (const block of blocks) {
    const { rows, length } = block;
    entries.varint(rows);
    entries.varint(lengths.get(rows) === length ? 0 : length);
    lengths.set(rows, length);
    addOwn?.(block);
  }
}

export class EntryReader {
  /** Where the next entry begins. */
  at: number;
  readonly #bytes: Uint8Array;

  constructor(bytes: Uint8Array, at: number) {
    this.#bytes = bytes;
    this.at = at;
  }

  /** The words of `count` blocks, with `rows` rows together, as `BlockTable` keeps them: `each` per block, of which `readOwn` reads the rest. */
  words(
    { count, rows: rowsInAll, each = rowWords }: { count: number; rows: number; each?: number },
    readOwn?: (words: Uint32Array, at: number) => void,
  ): Uint32Array {
    // An entry has two bytes or more.
    if (2 * count > this.#bytes.length - this.at) throw corruptFooter();
    const words = new Uint32Array(each * count);
    const lengths = new Map<number, number>();
    let firstRow = 0;
    for (let at = 0; at < words.length; at += each) {
      const rows = this.varint();
      const length = this.varint() || lengths.get(rows);
      if (length === undefined || rows === 0) throw corruptFooter();
      lengths.set(rows, length);
      words.set([length, firstRow, rows], at);
      firstRow += rows;
      readOwn?.(words, at);
    }
    if (firstRow !== rowsInAll) throw corruptFooter();
    return words;
  }

  varint(): number {
    let value = 0;
    for (let unit = 1; unit <= 2 ** 28; unit *= 2 ** 7) {
      const byte = this.byte();
      value += (byte & 0x7f) * unit;
      if (byte < 0x80 && value < 2 ** 32) return value;
    }
    throw corruptFooter();
  }

  byte(): number {
    if (this.at >= this.#bytes.length) throw corruptFooter();
    return this.#bytes[this.at++];
  }
}
