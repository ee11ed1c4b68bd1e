/** The terms that an analyzer has seen, by number, and what it made of runs and compounds so far: they repeat. */

import { foldAccents, lowerCase } from "./fold.js";
import { RunCache } from "./run-cache.js";
import { noTerm, type Run, splitRun } from "./split-run.js";
import { createStemmer, cut, type Stemmer } from "./stem.js";
import { TermNumbers } from "./term-numbers.js";
import type { AnalyzerDefinition } from "./text-options.js";
import { WordTable } from "./word-table.js";

/** What is kept of compounds: this many, and then they are forgotten. */
const keptMax = 20_000;
const keptLengthMax = 40;
/** Of all terms: their code units, and so many more for each. */
const unitsMax = 2 ** 23;
const termUnits = 16;
const elidingLanguages: readonly string[] = ["french", "italian"];
const initials = /^(?:\p{L}\.)+\p{L}$/u;
/** A word of ASCII letters in which no part begins. */
const plainWord = /^[A-Za-z][a-z]*$/;

/** Of a word that is not plain, in place of the number of its term. */
export const notPlain = -2;

export class Vocabulary {
  /** Short words: the number of their term, `noTerm` of stop words, or `notPlain`. */
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

  /** Whether its memory is used up: time for a new one. */
  get isFull(): boolean {
    return this.#units >= unitsMax;
  }

  term(number: number): string {
    return this.#numbers.terms[number];
  }

  /** What `words` has of this word from now on; `a`, `b` and `c` are its letters. */
  addWord(word: string, a: number, b: number, c: number): number {
    // Others may have parts.
    const value = plainWord.test(word) ? this.#termOf(word) : notPlain;
    this.words.set(a, b, c, value);
    return value;
  }

  /** The run of `text` from `start` to `end`. `hash`: of its characters. */
  runOf(text: string, start: number, end: number, hash: number): Run {
    const kept = this.#runs.get(text, start, end, hash);
    if (kept !== undefined) return kept;
    const run = splitRun(text.slice(start, end), this.#termOf, this.#splitsElisions);
    this.#runs.set(hash, run);
    return run;
  }

  /** The term of a whole compound, of at most `termLengthMax` code units, or of neighbours in an unspaced script. */
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

  /** The number of a word's term. */
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
