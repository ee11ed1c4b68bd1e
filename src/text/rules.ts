/** The rules of an analyzer, and what it made of runs and compounds so far: they repeat. */

import { foldAccents, lowerCase } from "./fold.js";
import { RunCache } from "./run-cache.js";
import { type Run, splitRun } from "./split-run.js";
import { createStemmer, cut, type Stemmer } from "./stem.js";
import type { AnalyzerDefinition } from "./text-options.js";

/** What is kept of compounds: this many, and then they are forgotten. */
const keptMax = 20_000;
const keptLengthMax = 40;
const elidingLanguages: readonly string[] = ["french", "italian"];
const initials = /^(?:\p{L}\.)+\p{L}$/u;

export class Rules {
  readonly #stem: Stemmer;
  readonly #splitsElisions: boolean;
  readonly #isTurkish: boolean;
  readonly #runs = new RunCache();
  readonly #wholes = new Map<string, string>();

  constructor(definition: AnalyzerDefinition) {
    this.#stem = createStemmer(definition);
    this.#splitsElisions = elidingLanguages.includes(definition.language);
    this.#isTurkish = definition.language === "turkish";
  }

  /** The run of `text` from `start` to `end`. `hash`: of its characters. */
  runOf(text: string, start: number, end: number, hash: number): Run {
    const kept = this.#runs.get(text, start, end, hash);
    if (kept !== undefined) return kept;
    const own = text.slice(start, end);
    const run = splitRun(own, this.#stem, this.#splitsElisions);
    this.#runs.set(hash, run);
    return run;
  }

  /** The term of a whole compound, of at most `termLengthMax` code units, or of neighbours in an unspaced script. */
  wholeOf(text: string): string {
    let whole = this.#wholes.get(text);
    if (whole === undefined) {
      const lower = lowerCase(text.replaceAll(",", ""), this.#isTurkish);
      whole = cut(foldAccents(initials.test(lower) ? lower.replaceAll(".", "") : lower));
      if (this.#wholes.size >= keptMax) this.#wholes.clear();
      if (text.length <= keptLengthMax) this.#wholes.set(text, whole);
    }
    return whole;
  }
}
