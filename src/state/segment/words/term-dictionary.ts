/** The terms of a segment by their bytes, with where their postings are, as they are stored. docs/internals/format.md §4. */

import { ByteWriter } from "../../../engine/byte-writer.js";
import type { PostingList } from "../../../text/postings.js";
import type { Work } from "../../../engine/work.js";

export interface EncodedTerms {
  readonly plaintext: Uint8Array;
  readonly firstTerm: string;
}

/** Terms of a page from one that is written whole to the next: a page is searched by those. */
export const wholeEvery = 16;
/** Bytes in UTF-8. A term has at most 64 UTF-16 code units. */
export const termBytesMax = 192;
/** Greatest lengths that share one byte. */
export const shortMax = 15;
/** Entries of a page, in bytes. */
const pageBytes = 32 * 1024;
/** Terms between two pauses. */
const together = 4096;

/**
 * Pages: varint number of terms, varint start of the first list, varint end of the last one; for each term an entry: how many bytes it
 * shares with the one before and how many of its own follow, its own bytes, varint 4 rows + 2 if its list has heads + 1 if
 * the greatest frequency is more than one, varint start of its list after that of the one before, varint greatest frequency
 * if it is more than one, varint least length.
 */
export function* encodeTerms(terms: readonly string[], lists: readonly PostingList[]): Work<EncodedTerms[]> {
  const pages = new TermPages();
  const bytes = new Uint8Array(termBytesMax);
  for (let i = 0; i < terms.length; i++) {
    pages.add(bytes, writeUtf8(terms[i], bytes), lists[i]);
    if (i % together === together - 1) yield;
  }
  return pages.finish();
}

export class TermPages {
  readonly #pages: EncodedTerms[] = [];
  readonly #entries = new ByteWriter();
  #firstTerm = "";
  #count = 0;
  #firstStart = 0;
  #lastStart = 0;
  #lastEnd = 0;
  /** Bytes of the term before. */
  readonly #before = new Uint8Array(termBytesMax);
  #lengthBefore = 0;

  /** Adds a term, the first `length` bytes of `term`, after those before. */
  add(term: Uint8Array, length: number, list: PostingList): void {
    if (this.#entries.length > pageBytes - entryBytesMax) this.#flush();
    if (this.#count === 0) {
      this.#firstTerm = Buffer.from(term.buffer, term.byteOffset, length).toString("utf8");
      this.#firstStart = list.start;
      this.#lastStart = list.start;
    }
    const shared = this.#sharedBytes(term, length);
    this.#addBytes(term, length, this.#count % wholeEvery === 0 ? 0 : shared);
    const { rows, hasHeads, start, frequencyMax, lengthMin } = list;
    const entries = this.#entries;
    entries.varint(4 * rows + (hasHeads ? 2 : 0) + (frequencyMax > 1 ? 1 : 0));
    entries.varint(start - this.#lastStart);
    if (frequencyMax > 1) entries.varint(frequencyMax);
    entries.varint(lengthMin);
    this.#count++;
    this.#lastStart = start;
    this.#lastEnd = list.end;
    for (let i = shared; i < length; i++) this.#before[i] = term[i];
    this.#lengthBefore = length;
  }

  finish(): EncodedTerms[] {
    if (this.#count > 0) this.#flush();
    return this.#pages;
  }

  /** With the term before. */
  #sharedBytes(term: Uint8Array, length: number): number {
    const end = Math.min(length, this.#lengthBefore);
    let shared = 0;
    while (shared < end && term[shared] === this.#before[shared]) shared++;
    return shared;
  }

  /** A byte 16 shared + own if both are at most 15, else 0, shared and own, a byte each; then the bytes. */
  #addBytes(term: Uint8Array, length: number, shared: number): void {
    const own = length - shared;
    if (shared <= shortMax && own <= shortMax) this.#entries.byte(16 * shared + own);
    else for (const byte of [0, shared, own]) this.#entries.byte(byte);
    this.#entries.addRange(term, shared, length);
  }

  #flush(): void {
    const head = new ByteWriter();
    for (const value of [this.#count, this.#firstStart, this.#lastEnd]) head.varint(value);
    const plaintext = Buffer.concat([head.view(), this.#entries.view()]);
    this.#pages.push({ plaintext, firstTerm: this.#firstTerm });
    this.#entries.clear();
    this.#count = 0;
  }
}

/** Three lengths, a term, and four integers. */
const entryBytesMax = 3 + termBytesMax + 4 * 5;

/** Returns how many bytes the term takes. */
function writeUtf8(term: string, into: Uint8Array): number {
  for (let i = 0; i < term.length; i++) {
    const unit = term.charCodeAt(i);
    if (unit >= 0x80) return utf8.encodeInto(term, into).written;
    into[i] = unit;
  }
  return term.length;
}

const utf8 = new TextEncoder();
