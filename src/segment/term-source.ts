/** Rows that have their words from elsewhere, such as the segment that they come from, and the terms of these, one after the other. */

import type { BitReader } from "../engine/bit-reader.js";
import { type TermWalk, walkPage } from "./term-page.js";

/** Of a row that is left out. */
export const noPlace = 0xffffffff;

/** An index of terms as it is stored, and where its rows go. */
export interface TermSource {
  /** Of the texts of its rows, 0 if a row has none. */
  readonly lengths: Uint32Array;
  /** Pages of the dictionary. */
  readonly dictionary: readonly Uint8Array[];
  /** All chunks of the postings. */
  readonly postings: readonly BitReader[];
  /** The place of each of its rows among the rows to write, or `noPlace`. */
  readonly places: Uint32Array;
}

const keyBytes = 6;

/** Walks the terms of a source in their order. */
class SourceTerms {
  readonly source: TermSource;
  /** Among the sources. */
  readonly number: number;
  /** At the current term. */
  walk: TermWalk;
  /** Its first bytes as a number, zeros after its end: most terms differ in these. */
  key = 0;
  #page = 0;
  #left: number;

  /** At the first term. `first`: the first page. */
  constructor(source: TermSource, number: number, first: Uint8Array) {
    this.source = source;
    this.number = number;
    const { walk, count } = walkPage(first);
    this.walk = walk;
    this.#left = count;
    this.next();
  }

  /** Goes to the next term. Returns whether there is one. */
  next(): boolean {
    if (this.#left === 0) {
      if (++this.#page === this.source.dictionary.length) return false;
      const { walk, count } = walkPage(this.source.dictionary[this.#page]);
      this.walk = walk;
      this.#left = count;
    }
    this.#left--;
    const { walk } = this;
    walk.next();
    let key = 0;
    for (let i = 0; i < keyBytes; i++) key = key * 256 + (i < walk.length ? walk.term[i] : 0);
    this.key = key;
    return true;
  }
}

/** The terms of several sources in one order, by their bytes: a binary heap. A term that several have comes once per source, in their order. */
export class TermHeap {
  readonly #heap: SourceTerms[] = [];

  constructor(sources: readonly TermSource[]) {
    for (const [number, source] of sources.entries()) {
      const [first] = source.dictionary;
      if (first !== undefined) this.#heap.push(new SourceTerms(source, number, first));
    }
    for (let at = this.#heap.length >>> 1; at-- > 0;) this.#sink(at);
  }

  get isEmpty(): boolean {
    return this.#heap.length === 0;
  }

  /** The first term, with its list, and the source that it is from. Valid until `next`; there must be one. */
  get first(): { readonly walk: TermWalk; readonly source: TermSource } {
    return this.#heap[0];
  }

  /** Whether the first term is this one, of `length` bytes. */
  isAt(term: Uint8Array, length: number): boolean {
    return this.#heap.length > 0 && this.#heap[0].walk.compare(term, length) === 0;
  }

  /** Leaves the first term behind. */
  next(): void {
    if (!this.#heap[0].next()) {
      const last = this.#heap.pop();
      if (last === undefined || this.#heap.length === 0) return;
      this.#heap[0] = last;
    }
    this.#sink(0);
  }

  #sink(start: number): void {
    const heap = this.#heap;
    const sinking = heap[start];
    let at = start;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && comesBefore(heap[child + 1], heap[child])) child++;
      if (!comesBefore(heap[child], sinking)) break;
      heap[at] = heap[child];
      at = child;
    }
    heap[at] = sinking;
  }
}

function comesBefore(a: SourceTerms, b: SourceTerms): boolean {
  if (a.key !== b.key) return a.key < b.key;
  const order = a.walk.compare(b.walk.term, b.walk.length);
  return order < 0 || (order === 0 && a.number < b.number);
}
