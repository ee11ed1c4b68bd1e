/** The terms that an analyzer has seen, by number, with cached results for runs and compounds. */

import { noTerm, type Run, splitRun } from "./split-compound.js";
import { createStemmer, type Stemmer } from "./stem.js";
import type { AnalyzerDefinition } from "./text-options.js";

/** Compounds to cache before the cache is cleared. */
const keptMax = 20_000;
const keptLengthMax = 40;
/** Limit of the terms' code units, plus a constant per term. */
const unitsMax = 2 ** 23;
const termUnits = 16;
const elidingLanguages: readonly string[] = ["french", "italian"];
const initials = /^(?:\p{L}\p{M}*\.)+\p{L}\p{M}*$/u;
/** Hyphens but those between two digits: `RULE-A002` and `RULEA002` are one word. */
const hyphens = /(?<!\p{N})-|-(?!\p{N})/gu;
/** A word of ASCII letters that has no parts. */
const plainWord = /^[A-Za-z][a-z]*$/;

/** Marks a word that is not plain. */
export const notPlain = -2;

export class Vocabulary {
  /** Short words: their number, or `notPlain`. */
  readonly words = new WordTable();
  readonly #stem: Stemmer;
  readonly #splitsElisions: boolean;
  /** The numbers of words' terms, by the number of the word. */
  readonly #termsOfWords: (number | undefined)[] = [];
  readonly #numbers = new TermNumbers();
  readonly #runs = new RunCache();
  readonly #wholes = new Map<string, number>();
  #units = 0;

  constructor(definition: AnalyzerDefinition) {
    this.#stem = createStemmer(definition);
    this.#splitsElisions = elidingLanguages.includes(definition.language);
  }

  /** Whether the memory limit is reached, so that the analyzer starts a new vocabulary. */
  get isFull(): boolean {
    return this.#units >= unitsMax;
  }

  /** A word or a term. */
  text(number: number): string {
    return this.#numbers.terms[number];
  }

  /** The number of the term that a word is ranked by; `noTerm` for a stop word. */
  termOf(word: number): number {
    return this.#termsOfWords[word] ?? noTerm;
  }

  /** Adds a word to `words`; `a`, `b` and `c` are its letters. */
  addWord(word: string, a: number, b: number, c: number): number {
    // Other words may have parts.
    const value = plainWord.test(word) ? this.#wordOf(word) : notPlain;
    this.words.set(a, b, c, value);
    return value;
  }

  /** The run of `text` from `start` to `end`. `hash` is that of its characters. */
  runOf(text: string, start: number, end: number, hash: number): Run {
    const kept = this.#runs.get(text, start, end, hash);
    if (kept !== undefined) return kept;
    const run = splitRun(text.slice(start, end), this.#wordOf, this.#splitsElisions);
    this.#runs.set(hash, run);
    return run;
  }

  /**
   * The word of a whole compound of at most `termLengthMax` code units, or of adjacent characters
   * in an unspaced script.
   */
  wholeOf(text: string): number {
    let whole = this.#wholes.get(text);
    if (whole === undefined) {
      const plain = text.replaceAll(",", "").replace(hyphens, "");
      whole = this.#wordOf(initials.test(plain) ? plain.replaceAll(".", "") : plain);
      if (this.#wholes.size >= keptMax) this.#wholes.clear();
      if (text.length <= keptLengthMax) this.#wholes.set(text, whole);
    }
    return whole;
  }

  readonly #wordOf = (text: string): number => {
    const { word, term } = this.#stem(text);
    const number = this.#numberOf(word);
    this.#termsOfWords[number] ??= term === "" ? noTerm : this.#numberOf(term);
    return number;
  };

  #numberOf(term: string): number {
    const known = this.#numbers.terms.length;
    const number = this.#numbers.numberOf(term);
    if (number === known) this.#units += term.length + termUnits;
    return number;
  }
}

// Caches the terms of runs by their characters, since texts repeat most words. A lookup does not
// slice the word out of its text, which would be most of the time of analysis. Hostile texts cause
// evictions, not slow lookups.

const runsMin = 1 << 10;
const runsMax = 1 << 16;
/** Slots where an entry may be. */
const ways = 4;
/** Longer runs are rare. */
const lengthMax = 40;

class RunCache {
  #slots: (Run | undefined)[] = Array.from({ length: runsMin });
  #hashes = new Int32Array(runsMin);
  #stored = 0;

  /** Looks up the run of `text` from `start` to `end`. */
  get(text: string, start: number, end: number, hash: number): Run | undefined {
    const hashes = this.#hashes;
    const mask = hashes.length - 1;
    for (let way = 0; way < ways; way++) {
      const slot = (hash + way) & mask;
      if (hashes[slot] !== hash) continue;
      const run = this.#slots[slot];
      if (run !== undefined && run.text.length === end - start && text.startsWith(run.text, start))
        return run;
    }
    return undefined;
  }

  set(hash: number, run: Run): void {
    if (run.text.length > lengthMax) return;
    if (2 * this.#stored >= this.#slots.length && this.#slots.length < runsMax) this.#grow();
    this.#place(hash, run);
  }

  /** Stores into the first free slot, or replaces an entry. */
  #place(hash: number, run: Run): void {
    const mask = this.#slots.length - 1;
    let way = 0;
    while (way < ways - 1 && this.#slots[(hash + way) & mask] !== undefined) way++;
    const slot = (hash + way) & mask;
    if (this.#slots[slot] === undefined) this.#stored++;
    this.#slots[slot] = run;
    this.#hashes[slot] = hash;
  }

  #grow(): void {
    const runs = this.#slots;
    const hashes = this.#hashes;
    this.#slots = Array.from({ length: 2 * runs.length });
    this.#hashes = new Int32Array(2 * runs.length);
    this.#stored = 0;
    for (const [slot, run] of runs.entries()) if (run !== undefined) this.#place(hashes[slot], run);
  }
}

// Numbers terms in the order of their first occurrence.

/**
 * A growing map is copied as a whole. Beyond this many terms, many maps share them and are copied
 * one at a time.
 */
const firstMax = 2 ** 16;
const mapCount = 64;

class TermNumbers {
  /** Indexed by number. */
  readonly terms: string[] = [];
  /** The first terms, which most texts repeat. */
  readonly #first = new Map<string, number>();
  readonly #others = Array.from({ length: mapCount }, () => new Map<string, number>());

  numberOf(term: string): number {
    const first = this.#first.get(term);
    if (first !== undefined) return first;
    if (this.#first.size < firstMax) return this.#add(this.#first, term);
    const map = this.#others[mapOf(term)];
    return map.get(term) ?? this.#add(map, term);
  }

  #add(map: Map<string, number>, term: string): number {
    const number = this.terms.push(term) - 1;
    map.set(term, number);
    return number;
  }
}

function mapOf(term: string): number {
  const { length } = term;
  return (
    (term.charCodeAt(0) + 7 * term.charCodeAt(length - 1) + 31 * term.charCodeAt(length >> 1)) % mapCount
  );
}

// Maps ASCII words of at most 12 letters, which most words are, to numbers. A lookup neither slices
// the word out of its text nor follows a pointer. Hostile texts cause evictions, not slow lookups.

const wordsMin = 1 << 10;
const wordsMax = 1 << 19;
/** Slots where a word may be. */
const probes = 8;
/** 32-bit words per slot: the letters, four in each, and the value. */
const slotWords = 4;

class WordTable {
  #slots = new Int32Array(slotWords * wordsMin);
  #stored = 0;

  /**
   * The value of a word, or undefined. `a`, `b` and `c` are its letters 1 to 4, 5 to 8 and 9 to 12,
   * one byte each, the last one lowest.
   */
  get(a: number, b: number, c: number): number | undefined {
    const slots = this.#slots;
    const mask = slots.length - 1;
    let at = hashOf(a, b, c) & mask;
    for (let probe = 0; probe < probes; probe++) {
      if (slots[at] === a && slots[at + 1] === b && slots[at + 2] === c) return slots[at + 3];
      if (slots[at] === 0) return undefined;
      at = (at + slotWords) & mask;
    }
    return undefined;
  }

  /** Adds a new word. */
  set(a: number, b: number, c: number, value: number): void {
    const size = this.#slots.length / slotWords;
    if (2 * this.#stored >= size && size < wordsMax) this.#grow();
    this.#place(a, b, c, value);
  }

  /** Stores into the first free slot, or replaces a word. */
  #place(a: number, b: number, c: number, value: number): void {
    const slots = this.#slots;
    const mask = slots.length - 1;
    let at = hashOf(a, b, c) & mask;
    for (let probe = 1; probe < probes && slots[at] !== 0; probe++) at = (at + slotWords) & mask;
    if (slots[at] === 0) this.#stored++;
    slots[at] = a;
    slots[at + 1] = b;
    slots[at + 2] = c;
    slots[at + 3] = value;
  }

  #grow(): void {
    const slots = this.#slots;
    this.#slots = new Int32Array(2 * slots.length);
    this.#stored = 0;
    for (let at = 0; at < slots.length; at += slotWords) {
      if (slots[at] !== 0) this.#place(slots[at], slots[at + 1], slots[at + 2], slots[at + 3]);
    }
  }
}

function hashOf(a: number, b: number, c: number): number {
  let hash = Math.imul(a, 0x9e3779b1) ^ Math.imul(b, 0x85ebca6b) ^ Math.imul(c, 0xc2b2ae35);
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  // Index of a slot's first 32-bit word.
  return (hash ^ (hash >>> 13)) << 2;
}
