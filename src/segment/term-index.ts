/**
 * What a segment holds of the words of its rows: their lengths, the postings of all terms, the dictionary. docs/internals/format.md §4. Texts of
 * new rows are analyzed; rows of stored segments take what those hold of them. The bytes are the same either way.
 */

import { BitReader } from "../engine/bit-reader.js";
import { type PostingList, PostingStream } from "../engine/postings.js";
import type { Work } from "../engine/work.js";
import { gatherTerms, type GatheredTerms, type RowTexts } from "./gather-terms.js";
import type { TextSums } from "./footer-texts.js";
import { mergeTerms, type RowTerms } from "./merge-terms.js";
import { type Rows, rowsAt } from "./row.js";
import { encodeTerms } from "./term-dictionary.js";
import { noPlace, type TermSource } from "./term-source.js";

/** Where the words of rows are taken from. */
export interface WordSource {
  readonly texts: RowTexts;
  /** The words of some rows, at most one source of each; the texts of all others are analyzed. */
  readonly known: readonly TermSource[];
}

export interface EncodedTermIndex extends TextSums, Omit<RowTerms, "lengths"> {
  readonly lengths: readonly EncodedLengths[];
}

export interface EncodedLengths {
  readonly plaintext: Uint8Array;
  readonly firstRow: number;
  readonly rows: number;
}

/** Rows of a block of lengths. */
const rowsOfLengths = 2 ** 16;
/** Occurrences that are encoded between two pauses. */
const occurrencesTogether = 2 ** 14;

/** Undefined if no row has a term. */
export function* encodeTermIndex(
  rows: Rows,
  { texts, known }: WordSource,
): Work<EncodedTermIndex | undefined> {
  const { lengths, postings, dictionary } =
    known.length === 0 ? yield* analyzedTerms(rows, texts) : yield* joinedTerms(rows, texts, known);
  if (dictionary.length === 0) return undefined;
  return { ...encodeLengths(rows, lengths), postings, dictionary };
}

function* joinedTerms(rows: Rows, texts: RowTexts, known: readonly TermSource[]): Work<RowTerms> {
  const isKnown = new Uint8Array(rows.length);
  for (const { places } of known) for (const place of places) if (place !== noPlace) isKnown[place] = 1;
  const places = new Uint32Array(rows.length)
    .map((_, place) => place)
    .filter((place) => isKnown[place] === 0);
  if (places.length === 0) return yield* mergeTerms(known, rows.length);
  const { lengths, postings, dictionary } = yield* analyzedTerms(rowsAt(rows, places), texts);
  const analyzed = {
    lengths,
    places,
    postings: postings.map((chunk) => new BitReader(chunk)),
    dictionary: dictionary.map(({ plaintext }) => plaintext),
  };
  yield;
  return yield* mergeTerms([...known, analyzed], rows.length);
}

/** The words of rows by their texts. */
export function* analyzedTerms(rows: Rows, texts: RowTexts): Work<RowTerms> {
  const gathered = yield* gatherTerms(rows, texts);
  yield;
  const stream = new PostingStream();
  const lists: PostingList[] = [];
  let start = 0;
  let sincePause = 0;
  for (const end of gathered.ends) {
    for (let from = start; from < end;) {
      const next = Math.min(end, from + occurrencesTogether);
      addOccurrences(stream, gathered, start, from, next);
      sincePause += next - from;
      from = next;
      if (sincePause < occurrencesTogether) continue;
      sincePause = 0;
      yield;
    }
    lists.push(stream.endList());
    start = end;
  }
  const dictionary = yield* encodeTerms(gathered.terms, lists);
  return { lengths: gathered.lengths, postings: stream.finish(), dictionary };
}

/** Adds occurrences `from` to `end` to the present list of the stream, which begins with occurrence `start`. */
function addOccurrences(
  stream: PostingStream,
  { pairs, lengths }: GatheredTerms,
  start: number,
  from: number,
  end: number,
): void {
  for (let i = from; i < end; i++) {
    const row = pairs[2 * i] >>> 4;
    const isFirst = i === start || pairs[2 * i - 2] >>> 4 !== row;
    if (isFirst) stream.addRow(row, lengths[row]);
    stream.addOccurrence((pairs[2 * i] & 15) + 1, pairs[2 * i + 1]);
  }
}

/** Blocks of the lengths of some rows, then the first word of the fingerprint of each. */
function encodeLengths(rows: Rows, lengths: Uint32Array) {
  let texts = 0;
  let length = 0;
  let longest = 0;
  for (const own of lengths) {
    if (own > 0) texts++;
    length += own;
    longest = Math.max(longest, own);
  }
  const lengthBytes = longest < 2 ** 8 ? 1 : longest < 2 ** 16 ? 2 : 4;
  const blocks: EncodedLengths[] = [];
  for (let firstRow = 0; firstRow < rows.length; firstRow += rowsOfLengths) {
    const count = Math.min(rowsOfLengths, rows.length - firstRow);
    const plaintext = Buffer.alloc(count * (lengthBytes + 4));
    for (let i = 0; i < count; i++) {
      plaintext.writeUIntLE(lengths[firstRow + i], i * lengthBytes, lengthBytes);
      plaintext.set(rows.at(firstRow + i).fingerprint.subarray(0, 4), count * lengthBytes + 4 * i);
    }
    blocks.push({ plaintext, firstRow, rows: count });
  }
  return { texts, length, lengthBytes, lengths: blocks };
}
