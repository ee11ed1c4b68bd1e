/**
 * Turns words into terms by the rules of a language: Snowball's stems and stop words, then folded
 * accents.
 */

import { stemmers, stopWords } from "./snowball.js";
import type { AnalyzerDefinition } from "./text-options.js";

export const termLengthMax = 64;

/** The term of a word, or `""` for a stop word. */
export type Stemmer = (word: string) => string;

export function createStemmer({ language, stemming, stopWords: left }: AnalyzerDefinition): Stemmer {
  const isTurkish = language === "turkish";
  const own = language === "none" ? "" : (stopWords[language] ?? "");
  const stops = new Set<string>();
  for (const word of left === true ? own.split(" ") : left === false ? [] : left) {
    const lower = lowerCase(word, isTurkish);
    stops.add(lower);
    // `he'll` is a stop word, `hell` is not.
    if (!lower.includes("'")) stops.add(foldAccents(lower));
  }
  const stemmer = language === "none" || !stemming ? undefined : new stemmers[language]();
  return (word) => {
    const lower = cut(lowerCase(cut(word), isTurkish));
    if (stops.has(lower)) return "";
    const stem = stemmer === undefined || /[\p{N}_]/u.test(lower) ? lower : stemmer.stemWord(lower);
    return cut(foldAccents(stem)) || lower;
  };
}

/** Cuts to `termLengthMax` code units, without half a surrogate pair at the end. */
export function cut(term: string): string {
  if (term.length <= termLengthMax) return term;
  const isPair = (term.charCodeAt(termLengthMax - 1) & 0xfc00) === 0xd800;
  return term.slice(0, isPair ? termLengthMax - 1 : termLengthMax);
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
 * Accents; the vowel marks of Hebrew and Arabic, which most texts omit; the stroke that lengthens
 * Arabic words.
 */
const leftOut = /[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0640\u064b-\u0652\u0670']/g;

/**
 * Removes accents and apostrophes from a result of `lowerCase`. Marks that are letters of their
 * script stay.
 */
export function foldAccents(word: string): string {
  if (isAscii(word)) return word.includes("'") ? word.replaceAll("'", "") : word;
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
