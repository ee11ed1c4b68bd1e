/** Text to terms: what an index of words holds of a text, and what a query asks for. */

/** The occurrences of terms in a text. A term is a non-empty string of at most 64 UTF-16 code units. */
export interface Occurrences {
  /** The term of each occurrence, by ascending position. */
  readonly terms: readonly string[];
  /**
   * Of each occurrence, counted in words of the text, stop words included. A compound such as `getUserById` has its parts at
   * positions of their own and itself, whole, at the position of its first part.
   */
  readonly positions: readonly number[];
  /** The text's length as BM25 counts it: words and parts of compounds that are terms; wholes do not count. */
  readonly length: number;
}

/** Occurrences, and where in the text each stands. */
export interface LocatedOccurrences extends Occurrences {
  /** Of each occurrence, in UTF-16 code units of the text. */
  readonly starts: readonly number[];
  /** The code unit after the last one of each occurrence. */
  readonly ends: readonly number[];
}

export interface Analyzer {
  analyze(text: string): Occurrences;
  /** As `analyze`, for highlights. */
  locate(text: string): LocatedOccurrences;
}
