/** The JSON part of a footer: texts, and lengths of sections that most segments do not have. docs/internals/format.md §4. */

import { tagBytes } from "../../crypto/sealed-object.js";
import { SealdexError } from "../../errors.js";
import {
  either,
  integer,
  listOf,
  oneOf,
  optional,
  parseStored,
  real,
  record,
  textUpTo,
  timeMax,
  tuple,
} from "../../checks/stored-json.js";

export interface TextSums {
  /** Rows that have a term. */
  readonly texts: number;
  /** Sum of their lengths. */
  readonly length: number;
  /** Bytes of one length as stored. */
  readonly lengthBytes: number;
}

/** Term statistics; absent if the segment has no terms. */
export interface TermsText extends TextSums {
  /** Sealed length, first row, rows. */
  readonly lengths: readonly (readonly [number, number, number])[];
  /** Sealed lengths. */
  readonly postings: readonly number[];
  /** Sealed length, first term. */
  readonly dictionary: readonly (readonly [number, string])[];
}

export interface Texts {
  readonly paths: readonly (readonly (string | null)[])[];
  readonly firstIds: readonly string[];
  /** Sealed lengths. */
  readonly spilled?: readonly number[];
  readonly terms?: TermsText;
  /** Sealed length, first time. */
  readonly expiries?: readonly (readonly [number, number])[];
}

const length = integer(tagBytes, 2 ** 32 - 1);
const row = integer(0, 2 ** 32 - 1);

/** Term statistics of a footer with these numbers of blocks of columns and of sorted ids. */
export function decodeTexts(tail: Uint8Array, columns: number, sorted: number): Texts {
  const shape = record<Texts>({
    paths: listOf(listOf(either(oneOf(null), textUpTo())), columns, columns),
    firstIds: listOf(textUpTo(), sorted, sorted),
    spilled: optional(listOf(length, 1)),
    terms: optional(
      record<TermsText>({
        texts: integer(1),
        length: integer(1),
        lengthBytes: oneOf(1, 2, 4),
        lengths: listOf(tuple<readonly [number, number, number]>(length, row, row), 1),
        postings: listOf(length, 1),
        dictionary: listOf(tuple<readonly [number, string]>(length, textUpTo()), 1),
      }),
    ),
    expiries: optional(listOf(tuple<readonly [number, number]>(length, real(0, timeMax)), 1)),
  });
  return parseStored(tail, "segment footer", shape);
}

/** Of a footer that is not one. */
export function corruptFooter(): SealdexError {
  return new SealdexError("corrupt", "segment footer: its length does not fit its counts");
}
