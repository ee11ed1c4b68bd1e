/** The terms that an analyzer has seen, by number, with cached results for runs and compounds. */

import { foldAccents, lowerCase } from "./fold.js";
import { RunCache } from "./run-cache.js";
import { noTerm, type Run, splitRun } from "./split-run.js";
import { createStemmer, cut, type Stemmer } from "./stem.js";
import { TermNumbers } from "./term-numbers.js";
import type { AnalyzerDefinition } from "./text-options.js";
import { WordTable } from "./word-table.js";

/** Compounds to cache before the cache is cleared. */
const keptMax = 20_000;
const keptLengthMax = 40;
/** Limit of the terms' code units, plus a constant per term. */
const unitsMax = 2 ** 23;
const termUnits = 16;
const elidingLanguages: readonly string[] = ["french", "italian"];
const initials = /^(?:\p{L}\.)+\p{L}$/u;
/** A word of ASCII letters that has no parts. */
const plainWord = /^[A-Za-z][a-z]*$/;

/** Marks a word that is not plain. */
export const notPlain = -2;

export class Vocabulary {
  /** Short words: the number of their term, `noTerm` for stop words, or `notPlain`. */
  readonly words = new WordTable();
  readonly #stem: Stemmer;
  readonly #splitsElisions: boolean;
  readonly #isTurkish: boolean;
  readonly #numbers = new TermNumbers();
  readonly #runs = new RunCache();
  readonly #wholes = new Map<string, number>();
  #units = 0;

  constructor(definition: AnalyzerDefinition) {
    this.#stem = createStemmer(definition);
    this.#splitsElisions = elidingLanguages.includes(definition.language);
    this.#isTurkish = definition.language === "turkish";
  }

  /** Whether the memory limit is reached, so that the analyzer starts a new vocabulary. */
  get isFull(): boolean {
    return this.#units >= unitsMax;
  }

  term(number: number): string {
    return this.#numbers.terms[number];
  }

  /** Adds a word to `words`; `a`, `b` and `c` are its letters. */
  addWord(word: string, a: number, b: number, c: number): number {
    // Other words may have parts.
    const value = plainWord.test(word) ? this.#termOf(word) : notPlain;
    this.words.set(a, b, c, value);
    return value;
  }

  /** The run of `text` from `start` to `end`. `hash` is that of its characters. */
  runOf(text: string, start: number, end: number, hash: number): Run {
    const kept = this.#runs.get(text, start, end, hash);
    if (kept !== undefined) return kept;
    const run = splitRun(text.slice(start, end), this.#termOf, this.#splitsElisions);
    this.#runs.set(hash, run);
    return run;
  }

  /**
   * The term of a whole compound of at most `termLengthMax` code units, or of adjacent characters
   * in an unspaced script.
   */
  wholeOf(text: string): number {
    let whole = this.#wholes.get(text);
    if (whole === undefined) {
      const lower = lowerCase(text.replaceAll(",", ""), this.#isTurkish);
      whole = this.#numberOf(cut(foldAccents(initials.test(lower) ? lower.replaceAll(".", "") : lower)));
      if (this.#wholes.size >= keptMax) this.#wholes.clear();
      if (text.length <= keptLengthMax) this.#wholes.set(text, whole);
    }
    return whole;
  }

  readonly #termOf = (word: string): number => {
    const term = this.#stem(word);
    return term === "" ? noTerm : this.#numberOf(term);
  };

  #numberOf(term: string): number {
    const known = this.#numbers.terms.length;
    const number = this.#numbers.numberOf(term);
    if (number === known) this.#units += term.length + termUnits;
    return number;
  }
}
