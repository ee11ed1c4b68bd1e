/** The terms of a segment's rows, turned around: where each term occurs. */

import type { Work } from "../../../engine/work.js";
import type { Analyzer } from "../../../text/analyzer.js";
import { documentTerms, type FieldText, type TermSink } from "../../../text/document-terms.js";
import type { Row, Rows } from "../row.js";
import { sortedInPieces } from "../../../async/event-loop.js";

/** The texts of rows, and the analyzer that makes terms of them. */
export interface RowTexts {
  readonly analyzer: Analyzer;
  /** The texts of a row, none if it has none. */
  of(row: Row): readonly FieldText[];
}

export interface GatheredTerms extends SortedOccurrences {
  /** Sorted by their bytes in UTF-8. */
  readonly terms: readonly string[];
  /** Of each row's text, 0 if it has none. */
  readonly lengths: Uint32Array;
}

/** Rows and their bytes that are analyzed, or terms that are put in order, in a piece of work of a few milliseconds. */
const rowsTogether = 256;
const bytesTogether = 2 ** 16;
const termsTogether = 2 ** 14;

export function* gatherTerms(rows: Rows, { analyzer, of }: RowTexts): Work<GatheredTerms> {
  const { vocabulary } = analyzer;
  const lengths = new Uint32Array(rows.length);
  const occurrences = new Occurrences();
  let bytes = 0;
  for (let row = 0; row < rows.length; row++) {
    if (row % rowsTogether === rowsTogether - 1 || bytes >= bytesTogether) {
      yield;
      bytes = 0;
    }
    const stored = rows.at(row);
    bytes += stored.record.length + (stored.contents?.length ?? 0);
    const texts = of(stored);
    if (texts.length === 0) continue;
    occurrences.beginRow(row);
    lengths[row] = yield* documentTerms(analyzer, vocabulary, texts, occurrences);
  }
  yield;
  const seen: string[] = [];
  for (const number of occurrences.terms) {
    if (seen.push(vocabulary.text(number)) % termsTogether === 0) yield;
  }
  const order = yield* sortedTerms(seen);
  const terms: string[] = [];
  for (const place of order) if (terms.push(seen[place]) % termsTogether === 0) yield;
  yield;
  return { terms, lengths, ...(yield* occurrences.sorted(order)) };
}

// Occurrences of terms, gathered row by row and put in the order of terms.

/** The occurrences of all terms: those of one are side by side, by ascending row and position. */
interface SortedOccurrences {
  /** Of each occurrence 16 row + weight - 1, and its position, or `noPosition`. Layout (n, 2). */
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

// The order of terms by their bytes in UTF-8.

/** Characters of a term's beginning in each of the two words of its key. */
const keyLength = 3;
/** Of a character that is not ASCII, which ends a key: it comes after those that are. */
const notAscii = 0x80;
const digitBits = 12;
/** Terms between two pauses. */
const keysTogether = 2 ** 14;
/** Terms that begin alike and are sorted between two pauses. */
const alikeMax = 2 ** 12;

/**
 * Places of `terms`, which are distinct, in order: a radix sort by the first six characters, then comparisons among terms that begin
 * alike. To compare all of them takes ten times as long.
 */
function* sortedTerms(terms: readonly string[]): Work<Uint32Array> {
  const n = terms.length;
  const firsts = new Uint32Array(n);
  const seconds = new Uint32Array(n);
  let order: Uint32Array = new Uint32Array(n);
  for (let start = 0; start < n; start += keysTogether) {
    for (let i = start; i < Math.min(n, start + keysTogether); i++) {
      order[i] = i;
      firsts[i] = keyOf(terms[i], 0);
      seconds[i] = hasAsciiStart(firsts[i]) ? keyOf(terms[i], keyLength) : 0;
    }
    yield;
  }
  for (const keys of [seconds, firsts]) {
    for (const shift of [0, digitBits]) order = yield* sortedByDigit(order, keys, shift);
  }
  let sorted = 0;
  for (let start = 0, end = 0; start < n; start = end) {
    const [first, second] = [firsts[order[start]], seconds[order[start]]];
    for (end = start + 1; end < n && firsts[order[end]] === first && seconds[order[end]] === second;) end++;
    if (end - start > 1) yield* sortAlike(terms, order.subarray(start, end));
    sorted += end - start;
    if (sorted < alikeMax) continue;
    sorted = 0;
    yield;
  }
  return order;
}

/** The characters from `start` on. */
function keyOf(term: string, start: number): number {
  let key = 0;
  for (let i = start; i < start + keyLength; i++) {
    const unit = i < term.length ? term.charCodeAt(i) : 0;
    if (unit >= notAscii) return ((key << 8) | notAscii) << (8 * (start + keyLength - 1 - i));
    key = (key << 8) | unit;
  }
  return key;
}

function hasAsciiStart(key: number): boolean {
  return (key & 0x808080) === 0;
}

/** Keeps the order of terms with the same digit. */
function* sortedByDigit(order: Uint32Array, keys: Uint32Array, shift: number): Work<Uint32Array> {
  const n = order.length;
  const next = new Uint32Array(2 ** digitBits + 1);
  const mask = 2 ** digitBits - 1;
  for (let start = 0; start < n; start += keysTogether) {
    for (let i = start; i < Math.min(n, start + keysTogether); i++) next[((keys[i] >>> shift) & mask) + 1]++;
    yield;
  }
  for (let digit = 1; digit <= mask; digit++) next[digit] += next[digit - 1];
  const sorted = new Uint32Array(n);
  for (let start = 0; start < n; start += keysTogether) {
    for (let i = start; i < Math.min(n, start + keysTogether); i++) {
      sorted[next[(keys[order[i]] >>> shift) & mask]++] = order[i];
    }
    yield;
  }
  return sorted;
}

/** Sorts places of terms in place. */
function* sortAlike(terms: readonly string[], places: Uint32Array): Work<void> {
  let hasSurrogates = false;
  for (let i = 0; i < places.length && !hasSurrogates; i++) {
    hasSurrogates = /[\ud800-\udfff]/.test(terms[places[i]]);
    if (i % keysTogether === keysTogether - 1) yield;
  }
  // JavaScript orders texts by UTF-16 units, which is another order than that of bytes only if there are surrogates.
  const compare = hasSurrogates ? compareCharacters : compareUnits;
  const comparePlaces = (a: number, b: number) => compare(terms[a], terms[b]);
  if (places.length <= alikeMax) places.sort(comparePlaces);
  else places.set(yield* sortedInPieces([...places], comparePlaces));
}

function compareUnits(a: string, b: string): number {
  return a < b ? -1 : 1;
}

/** As the bytes of both in UTF-8 compare: surrogates, of which characters past U+FFFF are made, come after all other units. */
function compareCharacters(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const [x, y] = [a.charCodeAt(i), b.charCodeAt(i)];
    if (x !== y) return rankOfUnit(x) - rankOfUnit(y);
  }
  return a.length - b.length;
}

function rankOfUnit(unit: number): number {
  return unit < 0xd800 ? unit : unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}
