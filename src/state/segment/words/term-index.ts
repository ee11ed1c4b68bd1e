/**
 * Encodes the words of a segment's rows: lengths of their texts, postings of all terms, dictionary. docs/internals/format.md §4. A function of the rows
 * alone, so that a merge analyzes texts again and no term of a deleted row outlives it.
 */

import { noPosition } from "../../../text/document-terms.js";
import { type PostingList, PostingStream } from "../../../text/postings.js";
import type { Work } from "../../../engine/work.js";
import { gatherTerms, type GatheredTerms, type RowTexts } from "./gather-terms.js";
import type { TextSums } from "../footer-texts.js";
import type { Rows } from "../row.js";
import { encodeTerms, type EncodedTerms } from "./term-dictionary.js";

export interface EncodedTermIndex extends TextSums {
  readonly lengths: readonly EncodedLengths[];
  /** Chunks of the stream. */
  readonly postings: readonly Uint8Array[];
  readonly dictionary: readonly EncodedTerms[];
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
export function* encodeTermIndex(rows: Rows, texts: RowTexts): Work<EncodedTermIndex | undefined> {
  const gathered = yield* gatherTerms(rows, texts);
  if (gathered.terms.length === 0) return undefined;
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
  return { ...encodeLengths(rows, gathered.lengths), postings: stream.finish(), dictionary };
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
    const weight = (pairs[2 * i] & 15) + 1;
    const position = pairs[2 * i + 1];
    if (position === noPosition) stream.addFrequency(weight);
    else stream.addOccurrence(weight, position);
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
