/**
 * Splits texts into words, for indexing and for queries.
 *
 * A word is a run of letters, digits and marks; case and accents are ignored. The ranking compares
 * terms, which are words without endings; stop words have none. A compound is several runs with
 * joiners between them, for example `10.1016/j` or `sign-off`: each run is a word, and so is the
 * whole, without most hyphens, unless it is plain words joined by slashes. In scripts without
 * spaces, each pair of adjacent characters is a word, and so is the last character of each row.
 */

import { Scan } from "./tokenize.js";
import type { AnalyzerDefinition } from "./text-options.js";
import { Vocabulary } from "./vocabulary.js";

/** The words of a text, each a non-empty string of at most 64 UTF-16 code units. */
export interface TermOccurrences {
  /** By ascending position. */
  readonly words: readonly string[];
  /** The term of each word, `""` for a stop word. */
  readonly terms: readonly string[];
  /**
   * Position of each word, counted in words of the text. The parts of a
   * compound such as `getUserById` have consecutive positions; the whole has the position of its
   * first part.
   */
  readonly positions: readonly number[];
  /** Document length for BM25: words and parts of compounds that have terms, without wholes. */
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
  /** Number of each word in the vocabulary. */
  readonly numbers: readonly number[];
  /** Scans about this many more code units. Returns true at the end of the text. */
  advance(units: number): boolean;
}

/** Takes time linear in the length of a text. Not safe for use by several threads at once. */
export interface Analyzer {
  analyze(text: string): TermOccurrences;
  /** Like `analyze`, with offsets for highlights. */
  locate(text: string): LocatedOccurrences;
  /** Numbers of the words and terms seen so far. Hold the vocabulary while numbers must stay valid. */
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
  const { words, terms, positions, starts, ends, length } = scan;
  return { words, terms, positions, starts, ends, length };
}
