/** The terms of a segment by their bytes, with where their postings are. FORMAT.md §4. */

import { ByteReader } from "../engine/byte-reader.js";
import { ByteWriter } from "../engine/byte-writer.js";
import type { PostingList } from "../engine/postings.js";
import type { Work } from "../engine/work.js";
import type { CachedValue } from "./cache-group.js";

export interface EncodedTerms {
  readonly plaintext: Uint8Array;
  readonly firstTerm: string;
}

/** Entries of a page, in bytes. */
const pageBytes = 32 * 1024;
/** Terms between two pauses. */
const together = 4096;

/**
 * Pages: varint number of terms, varint start of the first list, varint end of the last one; for each term varint length, its bytes
 * in UTF-8, varint 2 rows + 1 if its list has heads, varint start of its list after that of the one before, varint greatest
 * frequency, varint least length.
 */
export function* encodeTerms(terms: readonly string[], lists: readonly PostingList[]): Work<EncodedTerms[]> {
  const pages: EncodedTerms[] = [];
  const entries = new ByteWriter();
  const entry = new ByteWriter();
  let first = 0;
  const flush = (end: number) => {
    const head = new ByteWriter();
    for (const value of [end - first, lists[first].start, lists[end - 1].end]) head.varint(value);
    const plaintext = Buffer.concat([head.view(), entries.view()]);
    pages.push({ plaintext, firstTerm: terms[first] });
    entries.clear();
    first = end;
  };
  const encode = (i: number) => {
    const { rows, hasHeads, start, frequencyMax, lengthMin } = lists[i];
    const bytes = Buffer.from(terms[i], "utf8");
    entry.clear();
    entry.varint(bytes.length);
    entry.add(bytes);
    entry.varint(2 * rows + (hasHeads ? 1 : 0));
    entry.varint(i === first ? 0 : start - lists[i - 1].start);
    entry.varint(frequencyMax);
    entry.varint(lengthMin);
  };
  for (let i = 0; i < terms.length; i++) {
    encode(i);
    if (entries.length > 0 && entries.length + entry.length > pageBytes) {
      flush(i);
      encode(i);
    }
    entries.add(entry.view());
    if (i % together === together - 1) yield;
  }
  if (lists.length > 0) flush(lists.length);
  return pages;
}

/** A page of the dictionary, opened. */
export class TermPage implements CachedValue {
  readonly bytes: number;
  readonly count: number;
  readonly #page: Uint8Array;
  /** Where each term's entry begins in the page. */
  readonly #entries: Uint16Array;
  /** Where each term's list begins; then where the last one ends. */
  readonly #starts: Uint32Array;

  /** Keeps `page`. */
  constructor(page: Uint8Array) {
    this.#page = new Uint8Array(page.buffer, page.byteOffset, page.length);
    const reader = new ByteReader(this.#page);
    // An entry takes at least five bytes.
    this.count = Math.min(reader.varint(), page.length);
    this.#entries = new Uint16Array(this.count);
    this.#starts = new Uint32Array(this.count + 1);
    let start = reader.varint();
    this.#starts[this.count] = reader.varint();
    for (let i = 0; i < this.count; i++) {
      this.#entries[i] = reader.at;
      reader.take(reader.varint());
      reader.varint();
      this.#starts[i] = start += reader.varint();
      reader.varint();
      reader.varint();
    }
    this.bytes = page.buffer.byteLength + this.#entries.byteLength + this.#starts.byteLength;
  }

  /** The list of a term, given in UTF-8; undefined if the page does not have it. */
  find(term: Uint8Array): PostingList | undefined {
    const i = this.placeOf(term);
    return i < this.count && this.#compare(i, term) === 0 ? this.list(i) : undefined;
  }

  /** The number of terms before `term`. */
  placeOf(term: Uint8Array): number {
    let low = 0;
    let high = this.count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#compare(middle, term) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The bytes of term i. */
  term(i: number): Uint8Array {
    const reader = new ByteReader(this.#page, this.#entries[i]);
    return reader.take(reader.varint());
  }

  list(i: number): PostingList {
    const reader = new ByteReader(this.#page, this.#entries[i]);
    reader.take(reader.varint());
    const rows = reader.varint();
    reader.varint();
    const frequencyMax = reader.varint();
    return {
      rows: rows >>> 1,
      hasHeads: (rows & 1) === 1,
      start: this.#starts[i],
      end: this.#starts[i + 1],
      frequencyMax,
      lengthMin: reader.varint(),
    };
  }

  /** Negative if term i comes before `term`, 0 if they are equal. */
  #compare(i: number, term: Uint8Array): number {
    const page = this.#page;
    // A term has at most 192 bytes, so its length may take two.
    let at = this.#entries[i];
    let length = page[at++];
    if (length >= 0x80) length = (length & 0x7f) | (page[at++] << 7);
    const common = Math.min(length, term.length);
    for (let k = 0; k < common; k++) {
      const difference = page[at + k] - term[k];
      if (difference !== 0) return difference;
    }
    return length - term.length;
  }
}
