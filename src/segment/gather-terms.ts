/** The terms of a segment's rows, turned around: which rows have each term. */

import type { PostingTable } from "../engine/postings.js";
import { Uint32List } from "../engine/uint32-list.js";
import type { Work } from "../engine/work.js";
import type { DocumentTerms } from "../text/document-terms.js";
import type { Row } from "./row.js";
import { sortedTexts } from "./sorted-texts.js";

/** The terms of a row; undefined if it has no text. */
export type TermsOf = (row: Row) => DocumentTerms | undefined;

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
const postingsTogether = 2 ** 17;

export function* gatherTerms(rows: readonly Row[], termsOf: TermsOf): Work<GatheredTerms> {
  const numbers = new Map<string, number>();
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
    const text = termsOf(stored);
    if (text === undefined) continue;
    lengths[row] = text.length;
    const firstPosition = positions.length;
    for (let i = 0; i < text.terms.length; i++) {
      const term = text.terms[i];
      let number = numbers.get(term);
      if (number === undefined) numbers.set(term, (number = numbers.size));
      termOf.push(number);
      rowOf.push(row);
      frequencies.push(text.frequencies[i]);
      positionEnds.push(firstPosition + text.positionEnds[i]);
    }
    for (const position of text.positions) positions.push(position);
  }
  yield;
  const terms = yield* sortedTerms([...numbers.keys()]);
  yield;
  // A counting sort, which keeps the order of rows.
  const ranks = new Uint32Array(terms.length);
  terms.forEach((term, rank) => (ranks[numbers.get(term) as number] = rank));
  const ends = new Uint32Array(terms.length);
  const count = termOf.length;
  const ofPosting = termOf.view();
  for (let i = 0; i < count; i++) ends[ranks[ofPosting[i]]]++;
  for (let rank = 1; rank < ends.length; rank++) ends[rank] += ends[rank - 1];
  yield;
  const next = new Uint32Array(terms.length);
  next.set(ends.subarray(0, Math.max(0, terms.length - 1)), Math.min(1, terms.length));
  const sorted = {
    rows: new Uint32Array(count),
    frequencies: new Uint32Array(count),
    positionStarts: new Uint32Array(count),
    positionEnds: new Uint32Array(count),
  };
  const unsorted = { rows: rowOf.view(), frequencies: frequencies.view(), ends: positionEnds.view() };
  for (let i = 0; i < count; i++) {
    const at = next[ranks[ofPosting[i]]]++;
    sorted.rows[at] = unsorted.rows[i];
    sorted.frequencies[at] = unsorted.frequencies[i];
    sorted.positionStarts[at] = i === 0 ? 0 : unsorted.ends[i - 1];
    sorted.positionEnds[at] = unsorted.ends[i];
    if (i % postingsTogether === postingsTogether - 1) yield;
  }
  return { terms, ends, lengths, ...sorted, positions: positions.view() };
}

/** JavaScript orders texts by UTF-16 units, which is another order than that of bytes only if there are surrogates. */
function* sortedTerms(terms: readonly string[]): Work<string[]> {
  const sorted = yield* sortedTexts(terms);
  if (!sorted.some((term) => /[\ud800-\udfff]/.test(term))) return sorted;
  const bytes = new Map(sorted.map((term) => [term, Buffer.from(term, "utf8")]));
  return sorted.sort((a, b) => Buffer.compare(bytes.get(a) as Buffer, bytes.get(b) as Buffer));
}
