/**
 * Turns words into terms by the rules of a language: folded accents, then Snowball's stems and stop
 * words.
 */

import { classOf, unspaced } from "./character-class.js";
import { stemmers, stopWords } from "./snowball.js";
import type { AnalyzerDefinition } from "./text-options.js";

export const termLengthMax = 64;

/** Ends the terms that are stems, which no word does. */
export const stemMark = "~";

export interface StemmedWord {
  /** The word itself, without case and accents: phrases and conditions compare it. */
  readonly word: string;
  /**
   * The ranking compares this: the word's stem with `stemMark`, or the word if words such as this
   * have no stems. `""` for a stop word.
   */
  readonly term: string;
}

/** The same word gives the same term, however it is written. */
export type Stemmer = (text: string) => StemmedWord;

export function createStemmer({ language, stemming, stopWords: left }: AnalyzerDefinition): Stemmer {
  const isTurkish = language === "turkish";
  const own = language === "none" ? "" : (stopWords[language] ?? "");
  const stops = new Set<string>();
  for (const word of left === true ? own.split(" ") : left === false ? [] : left) {
    const lower = lowerCase(word, isTurkish);
    stops.add(foldAccents(lower));
  }
  const stemmer = language === "none" || !stemming ? undefined : new stemmers[language]();
  return (text) => {
    const lower = cut(lowerCase(cut(text), isTurkish));
    const word = cut(foldAccents(lower)) || lower;
    if (stops.has(word)) return { word, term: "" };
    if (stemmer === undefined || !isPlainWord(word)) return { word, term: withoutApostrophes(word) };
    return { word, term: cut(withoutApostrophes(stemmer.stemWord(word)), termLengthMax - 1) + stemMark };
  };
}

/** Whether a word is letters alone, of a script with spaces between words. */
function isPlainWord(word: string): boolean {
  return /^[\p{L}\p{M}']+$/u.test(word) && classOf(word.codePointAt(0) ?? 0) !== unspaced;
}

function withoutApostrophes(word: string): string {
  return word.includes("'") ? word.replaceAll("'", "") || word : word;
}

/** Cuts to `max` code units, without half a surrogate pair at the end. */
export function cut(term: string, max = termLengthMax): string {
  if (term.length <= max) return term;
  const isPair = (term.charCodeAt(max - 1) & 0xfc00) === 0xd800;
  return term.slice(0, isPair ? max - 1 : max);
}

// Normalizes case and accents.

/**
 * Converts a word to lower case in NFKC, with straight apostrophes and without invisible
 * characters.
 */
export function lowerCase(word: string, isTurkish: boolean): string {
  if (isAscii(word)) return isTurkish ? word.replaceAll("I", "ı").toLowerCase() : word.toLowerCase();
  const plain = word.normalize("NFKC").replace(/[\u00ad\u200c\u200d]/g, "");
  const cased = isTurkish ? plain.replaceAll("İ", "i").replaceAll("I", "ı") : plain.replaceAll("İ", "i");
  // Some capitals have compatibility forms, and some lower-case letters decompose.
  return cased.toLowerCase().normalize("NFKC").replaceAll("\u2019", "'").replaceAll("ς", "σ");
}

const foldings: Readonly<Record<string, string>> = {
  ß: "ss",
  æ: "ae",
  œ: "oe",
  ø: "o",
  đ: "d",
  ð: "d",
  ħ: "h",
  ı: "i",
  ł: "l",
  þ: "th",
};

/**
 * Accents, other than that of \u0439; the vowel marks of Hebrew and Arabic, which most texts omit; the stroke that lengthens
 * Arabic words.
 */
const leftOut =
  /(?<!\u0438)\u0306|[\u0300-\u0305\u0307-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0640\u064b-\u0652\u0670]/g;

/** Removes accents from a result of `lowerCase`. Marks that are letters of their script stay. */
export function foldAccents(word: string): string {
  if (isAscii(word)) return word;
  return word
    .normalize("NFD")
    .replace(leftOut, "")
    .normalize("NFC")
    .replace(/[ßæœøđðħıłþ]/g, (character) => foldings[character]);
}

function isAscii(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 0x7f) return false;
  return true;
}
