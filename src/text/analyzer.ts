/**
 * Text to terms: what an index of words holds of a text, and what a query asks for.
 *
 * A word is a run of letters, digits and marks; capitals, accents and endings do not count; stop words are left out. A
 * compound is runs with a joiner between them, such as `10.1016/j` or `std::vector`: each of its runs is found, and, unless
 * it is plain words joined by hyphens or slashes, so is the whole. In scripts without spaces each two neighbouring
 * characters are a term, and the last one of each row of them.
 */

import { Scan } from "./scan.js";
import type { AnalyzerDefinition } from "./text-options.js";
import { Vocabulary } from "./vocabulary.js";

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

/** Occurrences, and the place of each in the text. */
export interface LocatedOccurrences extends Occurrences {
  /** Of each occurrence, in UTF-16 code units of the text. */
  readonly starts: readonly number[];
  /** The code unit after the last one of each occurrence. */
  readonly ends: readonly number[];
}

/** What was found of a text so far. */
export interface Scanning extends LocatedOccurrences {
  /** Of each occurrence, the number of its term in the vocabulary. */
  readonly numbers: readonly number[];
  /** Scans about so many more code units. Returns whether the text has ended. */
  advance(units: number): boolean;
}

/** Not to be used by two threads at once. Takes time that is linear in the length of a text. */
export interface Analyzer {
  analyze(text: string): Occurrences;
  /** As `analyze`, for highlights. */
  locate(text: string): LocatedOccurrences;
  /** The terms that it has seen, by number. Hold it for as long as numbers have to stay what they are. */
  readonly vocabulary: Vocabulary;
  /** Begins either of both, for texts that are scanned in pieces. `vocabulary`: one of this analyzer's. */
  begin(text: string, locates: boolean, vocabulary?: Vocabulary): Scanning;
}

export function createAnalyzer(definition: AnalyzerDefinition): Analyzer {
  let current = new Vocabulary(definition);
  const vocabularyOf = () => {
    if (current.isFull) current = new Vocabulary(definition);
    return current;
  };
  return {
    analyze: (text) => scanned(new Scan(text, vocabularyOf(), false)),
    locate: (text) => scanned(new Scan(text, vocabularyOf(), true)),
    get vocabulary() {
      return vocabularyOf();
    },
    begin: (text, locates, vocabulary = vocabularyOf()) => new Scan(text, vocabulary, locates),
  };
}

function scanned(scan: Scan): LocatedOccurrences {
  scan.advance(Infinity);
  const { terms, positions, starts, ends, length } = scan;
  return { terms, positions, starts, ends, length };
}
