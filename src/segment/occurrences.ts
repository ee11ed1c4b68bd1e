/** Occurrences of terms, gathered row by row and put in the order of terms. */

import type { Work } from "../engine/work.js";
import type { TermSink } from "../text/document-terms.js";

/** The occurrences of all terms: those of one are side by side, by ascending row and position. */
export interface SortedOccurrences {
  /** Of each occurrence 16 row + weight - 1, and its position. Layout (n, 2). */
  readonly pairs: Uint32Array;
  /** Of each term in its order, the end of its occurrences. */
  readonly ends: Uint32Array;
}

/** Numbers of the vocabulary on one page: most texts use few of all. */
const pageBits = 7;
const pageSize = 2 ** pageBits;
/** Words per occurrence: number of the term, then as in `pairs`. */
const words = 3;
const firstChunk = words * 2 ** 8;
/** Longer chunks would take long to allocate, and to sort. */
const chunkMax = words * 2 ** 14;
/** Terms between two pauses. */
const ranksTogether = 2 ** 14;

export class Occurrences implements TermSink {
  /** The terms that occur, by their numbers in the vocabulary, in the order of first occurrence. */
  readonly terms: number[] = [];
  /** By the number in the vocabulary, 1 + the place in `terms`, and how often the term occurs. Layout (pageSize, 2). */
  readonly #pages: (Uint32Array | undefined)[] = [];
  readonly #full: Uint32Array[] = [];
  #chunk = new Uint32Array(firstChunk);
  #used = 0;
  #rowWord = 0;

  /** Starts a row: occurrences that follow belong to it. Rows ascend. */
  beginRow(row: number): void {
    this.#rowWord = 16 * row - 1;
  }

  add(term: number, position: number, weight: number): void {
    const page = this.#pages[term >>> pageBits] ?? this.#addPage(term >>> pageBits);
    const entry = 2 * (term & (pageSize - 1));
    if (page[entry] === 0) page[entry] = this.terms.push(term);
    page[entry + 1]++;
    if (this.#used === this.#chunk.length) this.#addChunk();
    const chunk = this.#chunk;
    const at = this.#used;
    chunk[at] = page[entry] - 1;
    chunk[at + 1] = this.#rowWord + weight;
    chunk[at + 2] = position;
    this.#used = at + words;
  }

  /** `order`: places in `terms`. */
  *sorted(order: Uint32Array): Work<SortedOccurrences> {
    const ends = new Uint32Array(order.length);
    const next = new Uint32Array(order.length);
    let end = 0;
    for (let rank = 0; rank < order.length; rank++) {
      next[order[rank]] = end;
      ends[rank] = end += this.#countOf(this.terms[order[rank]]);
      if (rank % ranksTogether === ranksTogether - 1) yield;
    }
    const pairs = new Uint32Array(2 * end);
    for (const chunk of this.#full) {
      distribute(chunk, chunk.length, next, pairs);
      yield;
    }
    distribute(this.#chunk, this.#used, next, pairs);
    return { pairs, ends };
  }

  #countOf(term: number): number {
    return this.#pages[term >>> pageBits]?.[2 * (term & (pageSize - 1)) + 1] ?? 0;
  }

  #addPage(number: number): Uint32Array {
    return (this.#pages[number] = new Uint32Array(2 * pageSize));
  }

  #addChunk(): void {
    this.#full.push(this.#chunk);
    this.#chunk = new Uint32Array(Math.min(chunkMax, 2 * this.#chunk.length));
    this.#used = 0;
  }
}

/** A counting sort, which keeps the order of rows. `next`: where the next occurrence of each term goes. */
function distribute(chunk: Uint32Array, end: number, next: Uint32Array, pairs: Uint32Array): void {
  for (let i = 0; i < end; i += words) {
    const at = 2 * next[chunk[i]]++;
    pairs[at] = chunk[i + 1];
    pairs[at + 1] = chunk[i + 2];
  }
}
