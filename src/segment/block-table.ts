/**
 * Where the blocks of a section lie that may have tens of thousands: codes, records, contents. A query needs a few of them: each
 * becomes an object when it is first asked for.
 */

import type { RowBlock } from "./block.js";

/** Of any such block: sealed length, first row, rows. */
export const rowWords = 3;

/** What more a block has, from the words that describe it. */
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
