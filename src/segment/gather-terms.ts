/** The terms of a segment's rows, turned around: which rows have each term. */

import type { PostingTable } from "../engine/postings.js";
import { Uint32List } from "../engine/uint32-list.js";
import type { Work } from "../engine/work.js";
import type { DocumentTerms } from "../text/document-terms.js";
import type { Row } from "./row.js";
import { sortedTexts } from "./sorted-texts.js";
import { TermNumbers } from "./term-numbers.js";

/** The terms of a row; undefined if it has no text. Pauses in long texts. */
export type TermsOf = (row: Row) => Generator<void, DocumentTerms | undefined, void>;

/** The postings of term i are those from `ends[i - 1]` to `ends[i]`. */
export interface GatheredTerms extends PostingTable {
  /** Sorted by their bytes in UTF-8. */
  readonly terms: readonly string[];
  readonly ends: Uint32Array;
  /** Of each row's text, 0 if it has none. */
  readonly lengths: Uint32Array;
}

/** Rows and their bytes that are analyzed, or postings that are sorted, in a piece of work of a few milliseconds. */
const rowsTogether = 64;
const bytesTogether = 2 ** 16;
const postingsTogether = 2 ** 14;

export function* gatherTerms(rows: readonly Row[], termsOf: TermsOf): Work<GatheredTerms> {
  const numbers = new TermNumbers();
  const lengths = new Uint32Array(rows.length);
  // Of each posting, by ascending row.
  const termOf = new Uint32List();
  const rowOf = new Uint32List();
  const frequencies = new Uint32List();
  const positions = new Uint32List();
  const positionEnds = new Uint32List();
  let bytes = 0;
  for (const [row, stored] of rows.entries()) {
    if (row % rowsTogether === rowsTogether - 1 || bytes >= bytesTogether) {
      yield;
      bytes = 0;
    }
    bytes += stored.record.length + (stored.contents?.length ?? 0);
    const text = yield* termsOf(stored);
    if (text === undefined) continue;
    lengths[row] = text.length;
    const firstPosition = positions.length;
    yield* inPieces(text.terms.length, (start, end) => {
      for (let i = start; i < end; i++) {
        termOf.push(numbers.numberOf(text.terms[i]));
        rowOf.push(row);
        frequencies.push(text.frequencies[i]);
        positionEnds.push(firstPosition + text.positionEnds[i]);
      }
    });
    yield* inPieces(text.positions.length, (start, end) => {
      for (let i = start; i < end; i++) positions.push(text.positions[i]);
    });
  }
  yield;
  const terms = yield* sortedTerms(numbers.terms);
  yield;
  // A counting sort, which keeps the order of rows.
  const ranks = new Uint32Array(terms.length);
  yield* inPieces(terms.length, (start, end) => {
    for (let rank = start; rank < end; rank++) ranks[numbers.numberOf(terms[rank])] = rank;
  });
  const count = termOf.length;
  const ofPosting = yield* termOf.joined();
  const ends = new Uint32Array(terms.length);
  yield* inPieces(count, (start, end) => {
    for (let i = start; i < end; i++) ends[ranks[ofPosting[i]]]++;
  });
  const next = new Uint32Array(terms.length);
  for (let rank = 1; rank < ends.length; rank++) {
    ends[rank] += ends[rank - 1];
    next[rank] = ends[rank - 1];
    if (isPieceEnd(rank)) yield;
  }
  const sorted = {
    rows: new Uint32Array(count),
    frequencies: new Uint32Array(count),
    positionStarts: new Uint32Array(count),
    positionEnds: new Uint32Array(count),
  };
  const unsorted = {
    rows: yield* rowOf.joined(),
    frequencies: yield* frequencies.joined(),
    ends: yield* positionEnds.joined(),
  };
  yield* inPieces(count, (start, end) => {
    for (let i = start; i < end; i++) {
      const at = next[ranks[ofPosting[i]]]++;
      sorted.rows[at] = unsorted.rows[i];
      sorted.frequencies[at] = unsorted.frequencies[i];
      sorted.positionStarts[at] = i === 0 ? 0 : unsorted.ends[i - 1];
      sorted.positionEnds[at] = unsorted.ends[i];
    }
  });
  return { terms, ends, lengths, ...sorted, positions: yield* positions.joined() };
}

/** Visits 0 to n - 1 with a pause between pieces. Loops of a function run faster than those of a generator. */
function* inPieces(n: number, visit: (start: number, end: number) => void): Work<void> {
  for (let start = 0; start < n; start += postingsTogether) {
    if (start > 0) yield;
    visit(start, Math.min(n, start + postingsTogether));
  }
}

function isPieceEnd(i: number): boolean {
  return i % postingsTogether === postingsTogether - 1;
}

/** JavaScript orders texts by UTF-16 units, which is another order than that of bytes only if there are surrogates. */
function* sortedTerms(terms: readonly string[]): Work<string[]> {
  let hasSurrogates = false;
  for (let i = 0; i < terms.length && !hasSurrogates; i++) {
    hasSurrogates = /[\ud800-\udfff]/.test(terms[i]);
    if (isPieceEnd(i)) yield;
  }
  return yield* sortedTexts(terms, hasSurrogates ? compareCharacters : undefined);
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
