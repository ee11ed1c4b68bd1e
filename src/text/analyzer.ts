/**
 * Splits texts into terms, for indexing and for queries.
 *
 * A word is a run of letters, digits and marks; case, accents and endings are ignored, and stop
 * words dropped. A compound is several runs with joiners between them, for example `10.1016/j` or
 * `std::vector`: each run is a term, and so is the whole, unless it is plain words joined by
 * hyphens or slashes. In scripts without spaces, each pair of adjacent characters is a term, and so
 * is the last character of each row.
 */

import { Scan } from "./tokenize.js";
import type { AnalyzerDefinition } from "./text-options.js";
import { Vocabulary } from "./vocabulary.js";

/** The occurrences of terms in a text. A term is a non-empty string of at most 64 UTF-16 code units. */
export interface TermOccurrences {
  /** The term of each occurrence, by ascending position. */
  readonly terms: readonly string[];
  /**
   * Position of each occurrence, counted in words of the text, stop words included. The parts of a
   * compound such as `getUserById` have consecutive positions; the whole has the position of its
   * first part.
   */
  readonly positions: readonly number[];
  /** Document length for BM25: words and parts of compounds that are terms, without wholes. */
  readonly length: number;
}

/** Occurrences with their offsets in the text. */
export interface LocatedOccurrences extends TermOccurrences {
  /** Start of each occurrence, in UTF-16 code units. */
  readonly starts: readonly number[];
  /** End of each occurrence, exclusive. */
  readonly ends: readonly number[];
}

/** The occurrences found so far. */
export interface Scanning extends LocatedOccurrences {
  /** Number of each occurrence's term in the vocabulary. */
  readonly numbers: readonly number[];
  /** Scans about this many more code units. Returns true at the end of the text. */
  advance(units: number): boolean;
}

/** Takes time linear in the length of a text. Not safe for use by several threads at once. */
export interface Analyzer {
  analyze(text: string): TermOccurrences;
  /** Like `analyze`, with offsets for highlights. */
  locate(text: string): LocatedOccurrences;
  /** Numbers of the terms seen so far. Hold the vocabulary while numbers must stay valid. */
  readonly vocabulary: Vocabulary;
  /** Starts a scan in pieces. `vocabulary`: one of this analyzer's. */
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
