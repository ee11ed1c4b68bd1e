/**
 * Where the pages of records, or of contents, lie. A segment of a million rows has tens of thousands, and a query needs a few: each
 * becomes an object when it is first asked for.
 */

import type { PageBlock } from "./block.js";

/** Of a page in the footer: u32 sealed length, first row, rows. */
export const pageWords = 3;

export class PageTable implements Iterable<PageBlock> {
  readonly length: number;
  /** Where the section ends in the object, in bytes. */
  readonly end: number;
  /** Number and offset of the first page. */
  readonly #firstNumber: number;
  readonly #offsets: Float64Array;
  /** Layout (length, pageWords). */
  readonly #words: Uint32Array;
  /** The same object for a page each time: the cache knows pages by theirs. */
  readonly #made = new Map<number, PageBlock>();

  /** `words`: layout (length, pageWords), kept. `number`, `offset`: of the first page. */
  constructor(words: Uint32Array, number: number, offset: number) {
    this.length = words.length / pageWords;
    this.#words = words;
    this.#firstNumber = number;
    this.#offsets = new Float64Array(this.length);
    let end = offset;
    for (let i = 0; i < this.length; i++) {
      this.#offsets[i] = end;
      end += words[pageWords * i];
    }
    this.end = end;
  }

  /** What it takes in memory, in bytes, without pages that were asked for. */
  get bytes(): number {
    return this.#words.byteLength + this.#offsets.byteLength;
  }

  /** Page `i`, which must be one. */
  at(i: number): PageBlock {
    const known = this.#made.get(i);
    if (known !== undefined) return known;
    const [length, firstRow, rows] = this.#words.subarray(pageWords * i, pageWords * (i + 1));
    const made = { number: this.#firstNumber + i, offset: this.#offsets[i], length, firstRow, rows };
    this.#made.set(i, made);
    return made;
  }

  /** The page that holds `row`: pages are ascending and without gaps. */
  ofRow(row: number): PageBlock {
    let low = 0;
    let high = this.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if (this.#words[pageWords * middle + 1] <= row) low = middle;
      else high = middle - 1;
    }
    return this.at(low);
  }

  /** Pages from `first` on. */
  *from(first: number): Generator<PageBlock> {
    for (let i = first; i < this.length; i++) yield this.at(i);
  }

  [Symbol.iterator](): Generator<PageBlock> {
    return this.from(0);
  }
}
