/**
 * Turns words into terms by the rules of a language: Snowball's stems and stop words, then folded
 * accents.
 */

import { foldAccents, lowerCase } from "./fold.js";
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
