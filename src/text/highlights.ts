/** Finds the matches of a query within a text. */

import type { Analyzer } from "./analyzer.js";
import { noTerm } from "./split-compound.js";
import type { ParsedText } from "./text-query.js";

/** A range of a text in UTF-16 code units; `end` is exclusive. */
export interface Highlight {
  readonly start: number;
  readonly end: number;
}

const highlightsMax = 1000;
/** Code units per piece of a scan. */
const unitsTogether = 2 ** 14;

/**
 * The words of `text` that match the query's terms, phrases and prefixes, in order and without
 * overlaps; at most 1,000. Words of phrases count wherever they are. Yields in long texts, and
 * stops reading early if possible.
 */
export function* highlights(
  text: string,
  query: ParsedText,
  analyzer: Analyzer,
): Generator<void, Highlight[], void> {
  const wanted = new Set(query.terms.map(({ term }) => term));
  const prefixes = query.prefixes.map(({ prefix }) => prefix);
  const { vocabulary } = analyzer;
  const isWanted = (number: number) => {
    const word = vocabulary.text(number);
    const term = vocabulary.termOf(number);
    if (wanted.has(word) || prefixes.some((prefix) => word.startsWith(prefix))) return true;
    return term !== noTerm && wanted.has(vocabulary.text(term));
  };
  const found = analyzer.begin(text, true, vocabulary);
  const { numbers, starts, ends } = found;
  const pieces: { start: number; end: number }[] = [];
  for (let i = 0, isEnd = false; !isEnd;) {
    isEnd = found.advance(unitsTogether);
    for (; i < numbers.length; i++) {
      if (!isWanted(numbers[i])) continue;
      const last = pieces.at(-1);
      if (last !== undefined && starts[i] < last.end) last.end = Math.max(last.end, ends[i]);
      else if (pieces.length === highlightsMax) return pieces;
      else pieces.push({ start: starts[i], end: ends[i] });
    }
    if (!isEnd) yield;
  }
  return pieces;
}
