/** What a footer says as JSON: texts, and lengths of sections that most segments do not have. FORMAT.md §4. */

import { SealdexError } from "../errors.js";

export interface TextSums {
  /** Rows that have a term. */
  readonly texts: number;
  /** Sum of their lengths. */
  readonly length: number;
  /** Bytes of one length as stored. */
  readonly lengthBytes: number;
}

/** What is said of terms: present if there are any. */
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

/** The paths of each of `columns` blocks, and the first ids of `sorted` ones. */
export function decodeTexts(tail: Uint8Array, columns: number, sorted: number): Texts {
  let texts: unknown;
  try {
    texts = JSON.parse(Buffer.from(tail).toString("utf8"));
  } catch {
    // Without the cause, whose message quotes the text.
    throw misfit();
  }
  const { paths, firstIds, spilled, terms, expiries } = (texts ?? {}) as Readonly<Record<string, unknown>>;
  const isText = (id: unknown): id is string => typeof id === "string";
  const isPath = (path: unknown): path is string | null => path === null || isText(path);
  const isBlock = (block: unknown): block is (string | null)[] => Array.isArray(block) && block.every(isPath);
  if (!Array.isArray(paths) || paths.length !== columns || !paths.every(isBlock)) throw misfit();
  if (!Array.isArray(firstIds) || firstIds.length !== sorted || !firstIds.every(isText)) throw misfit();
  if (spilled !== undefined && !isLengths(spilled)) throw misfit();
  if (terms !== undefined && !isTermsText(terms)) throw misfit();
  if (expiries !== undefined && !isExpiriesText(expiries)) throw misfit();
  return {
    paths,
    firstIds,
    ...(spilled && { spilled }),
    ...(terms && { terms }),
    ...(expiries && { expiries }),
  };
}

function isExpiriesText(expiries: unknown): expiries is (readonly [number, number])[] {
  const isBlock = (block: unknown) =>
    Array.isArray(block) && block.length === 2 && isCount(block[0]) && Number.isFinite(block[1]);
  return Array.isArray(expiries) && expiries.every(isBlock);
}

function isLengths(lengths: unknown): lengths is readonly number[] {
  return Array.isArray(lengths) && lengths.every(isCount);
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isTermsText(terms: unknown): terms is TermsText {
  const { texts, length, lengthBytes, lengths, postings, dictionary } = (terms ?? {}) as Record<
    string,
    unknown
  >;
  const isBlock = (block: unknown): block is unknown[] => Array.isArray(block);
  return (
    [texts, length, lengthBytes].every(isCount) &&
    isBlock(lengths) &&
    lengths.every((block) => isBlock(block) && block.length === 3 && block.every(isCount)) &&
    isBlock(postings) &&
    postings.every(isCount) &&
    isBlock(dictionary) &&
    dictionary.every((block) => isBlock(block) && isCount(block[0]) && typeof block[1] === "string")
  );
}

/** Of a footer that is not one. */
export function misfit(): SealdexError {
  return new SealdexError("corrupt", "segment footer: its length does not fit its counts");
}
