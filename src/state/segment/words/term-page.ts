/** A page of the dictionary of terms, opened: `term-dictionary.ts` describes its content. */

import { blockRowsMax, type PostingList } from "../../../text/postings.js";
import { SealdexError } from "../../../errors.js";
import { expectStored } from "../../../checks/stored-json.js";
import type { CachedValue } from "../../cache/cache-group.js";
import { termBytesMax, wholeEvery } from "./term-dictionary.js";

/** Lengths, a byte, and three integers. */
const entryBytesMin = 5;

export class TermPage implements CachedValue {
  readonly bytes: number;
  readonly #plaintext: Uint8Array;
  readonly #count: number;
  /** Where the last list ends. */
  readonly #end: number;
  /** Of each term that is written whole, where its entry begins in the page, and where its list does. */
  readonly #entries: Uint16Array;
  readonly #starts: Uint32Array;

  /** Keeps `page`. Throws `corrupt` unless it is the page that begins with `firstTerm`, of a segment with these numbers of rows and bytes of postings. */
  constructor(page: Uint8Array, { firstTerm, rows, streamBytes }: PageOf) {
    this.#plaintext = new Uint8Array(page.buffer, page.byteOffset, page.length);
    const { walk, count, end } = walkPage(this.#plaintext);
    expectStored(
      count > 0 && entryBytesMin * count <= page.length,
      "dictionary",
      "as many terms as it has bytes for",
    );
    expectStored(end <= streamBytes, "dictionary", "lists within the postings");
    this.#count = count;
    this.#end = end;
    const groups = Math.ceil(this.#count / wholeEvery);
    this.#entries = new Uint16Array(groups);
    this.#starts = new Uint32Array(groups);
    for (let i = 0; i < this.#count; i++) {
      const entry = walk.at;
      walk.next();
      const isRows = walk.rows > 0 && walk.rows <= (walk.hasHeads ? rows : Math.min(rows, blockRowsMax));
      if (!isRows || walk.start >= end || walk.frequencyMax === 0)
        throw misfit("lists of rows of the segment");
      const isTerm = walk.length > 0 && walk.length <= termBytesMax && walk.at <= page.length;
      const isWhole = i % wholeEvery > 0 || walk.shared === 0;
      if (!isTerm || !isWhole || !walk.isAscending) throw misfit("ascending terms");
      if (i % wholeEvery > 0) continue;
      this.#entries[i / wholeEvery] = entry;
      this.#starts[i / wholeEvery] = walk.start;
    }
    expectStored(walk.at === page.length, "dictionary", "nothing after its last term");
    const first = Buffer.from(firstTerm, "utf8");
    const isFirst = this.#walkFrom(0).compare(first) === 0;
    expectStored(isFirst, "dictionary", "a page that begins as the footer says");
    this.bytes = page.buffer.byteLength + this.#entries.byteLength + this.#starts.byteLength;
  }

  /** The list of a term, given in UTF-8; undefined if the page does not have it. */
  find(term: Uint8Array): PostingList | undefined {
    const { walk, i } = this.#walkTo(term);
    if (i === this.#count || walk.compare(term) !== 0) return undefined;
    const { rows, hasHeads, start, frequencyMax, lengthMin } = walk;
    if (i + 1 < this.#count) walk.next();
    const end = i + 1 < this.#count ? walk.start : this.#end;
    return { rows, hasHeads, start, end, frequencyMax, lengthMin };
  }

  /** The terms from `term` on, given in UTF-8. */
  *termsFrom(term: Uint8Array): Generator<Uint8Array, void, void> {
    const { walk, i } = this.#walkTo(term);
    for (let left = this.#count - i; left > 0; left--) {
      yield walk.term.slice(0, walk.length);
      if (left > 1) walk.next();
    }
  }

  /** At the first term that is not before `term`, and its number; the number of terms if there is none. */
  #walkTo(term: Uint8Array): { readonly walk: TermWalk; readonly i: number } {
    let low = 0;
    for (let high = this.#entries.length; high - low > 1;) {
      const middle = (low + high) >>> 1;
      if (this.#walkFrom(middle).compare(term) <= 0) low = middle;
      else high = middle;
    }
    const walk = this.#walkFrom(low);
    let i = wholeEvery * low;
    for (; walk.compare(term) < 0; walk.next()) if (++i === this.#count) break;
    return { walk, i };
  }

  /** At the first term of a group. */
  #walkFrom(group: number): TermWalk {
    const walk = new TermWalk(this.#plaintext, this.#entries[group], this.#starts[group]);
    walk.next();
    walk.start = this.#starts[group];
    return walk;
  }
}

/** A page as the footer describes it. */
interface PageOf {
  readonly firstTerm: string;
  readonly rows: number;
  readonly streamBytes: number;
}

function misfit(expected: string): SealdexError {
  return new SealdexError("corrupt", `dictionary: expected ${expected}`);
}

/** Before the first entry of a page; how many it has, and where the last list ends. */
function walkPage(page: Uint8Array): {
  readonly walk: TermWalk;
  readonly count: number;
  readonly end: number;
} {
  const walk = new TermWalk(page, 0, 0);
  const count = walk.varint();
  walk.start = walk.varint();
  return { walk, count, end: walk.varint() };
}

/** Reads entries one after the other. */
class TermWalk {
  at: number;
  readonly term = new Uint8Array(termBytesMax);
  length = 0;
  /** Bytes that it shares with the term before. */
  shared = 0;
  /** Whether it comes after the term before. */
  isAscending = true;
  /** Of the term's list, as in `PostingList`. */
  start: number;
  rows = 0;
  hasHeads = false;
  frequencyMax = 0;
  lengthMin = 0;
  readonly #page: Uint8Array;

  constructor(page: Uint8Array, at: number, start: number) {
    this.#page = page;
    this.at = at;
    this.start = start;
  }

  next(): void {
    const page = this.#page;
    const lengths = page[this.at++];
    let shared = lengths >>> 4;
    let own = lengths & 15;
    if (own === 0) {
      shared = page[this.at++];
      own = page[this.at++];
    }
    const before = this.length;
    this.shared = shared;
    this.length = shared + own;
    let order = 0;
    for (let i = shared; i < this.length; i++) {
      const byte = page[this.at++];
      if (order === 0 && i < before) order = byte - this.term[i];
      this.term[i] = byte;
    }
    this.isAscending = shared <= before && (order > 0 || (order === 0 && this.length > before));
    const rows = this.varint();
    this.rows = rows >>> 2;
    this.hasHeads = (rows & 2) !== 0;
    this.start += this.varint();
    this.frequencyMax = (rows & 1) !== 0 ? this.varint() : 1;
    this.lengthMin = this.varint();
  }

  varint(): number {
    let byte = this.#page[this.at++];
    let value = byte & 0x7f;
    for (let shift = 7; byte >= 0x80; shift += 7) {
      byte = this.#page[this.at++];
      value |= (byte & 0x7f) << shift;
    }
    return value >>> 0;
  }

  /** Negative if the present term comes before `term`, 0 if they are equal. */
  compare(term: Uint8Array): number {
    const common = Math.min(this.length, term.length);
    for (let k = 0; k < common; k++) {
      const difference = this.term[k] - term[k];
      if (difference !== 0) return difference;
    }
    return this.length - term.length;
  }
}
