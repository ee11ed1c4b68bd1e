/** What a segment holds of the words of its rows: their lengths, the postings of all terms, the dictionary. FORMAT.md §4. */

import { PostingStream } from "../engine/postings.js";
import type { Work } from "../engine/work.js";
import { gatherTerms, type GatheredTerms, type TermsOf } from "./gather-terms.js";
import type { TextSums } from "./footer.js";
import type { Row } from "./row.js";
import { type EncodedTerms, encodeTerms } from "./term-dictionary.js";

export interface EncodedTermIndex extends TextSums {
  readonly lengths: readonly EncodedLengths[];
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
/** Lists between two pauses. */
const listsTogether = 1024;

/** Undefined if no row has a term. */
export function* encodeTermIndex(rows: readonly Row[], termsOf: TermsOf): Work<EncodedTermIndex | undefined> {
  const gathered = yield* gatherTerms(rows, termsOf);
  if (gathered.terms.length === 0) return undefined;
  yield;
  const stream = new PostingStream();
  const lists = [];
  for (const [i, end] of gathered.ends.entries()) {
    lists.push(stream.add(gathered, gathered.lengths, i === 0 ? 0 : gathered.ends[i - 1], end));
    if (i % listsTogether === listsTogether - 1) yield;
  }
  const dictionary = yield* encodeTerms(gathered.terms, lists);
  return {
    ...encodeLengths(rows, gathered),
    postings: stream.finish(),
    dictionary,
  };
}

/** Blocks of the lengths of some rows, then the first word of the fingerprint of each. */
function encodeLengths(rows: readonly Row[], { lengths }: GatheredTerms) {
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
      plaintext.set(rows[firstRow + i].fingerprint.subarray(0, 4), count * lengthBytes + 4 * i);
    }
    blocks.push({ plaintext, firstRow, rows: count });
  }
  return { texts, length, lengthBytes, lengths: blocks };
}
