/** Where a text has what a query asks for. */

import type { Analyzer } from "./analyzer.js";
import type { TextQuery } from "./text-query.js";

/** A piece of a text, from the UTF-16 code unit `start` to the one before `end`. */
export interface Highlight {
  readonly start: number;
  readonly end: number;
}

const highlightsMax = 1000;
/** Code units that are scanned between two pauses. */
const unitsTogether = 2 ** 14;

/**
 * The words of `text` that the query's terms, phrases and prefixes match, in the order of the text, without overlaps; at most
 * 1,000. Words of phrases count wherever they stand. Pauses in long texts, and reads no more of them than it needs.
 */
export function* highlights(
  text: string,
  query: TextQuery,
  analyzer: Analyzer,
): Generator<void, Highlight[], void> {
  const wanted = new Set(query.terms.map(({ term }) => term));
  for (const { term } of query.prefixes) if (term !== undefined) wanted.add(term);
  const prefixes = query.prefixes.map(({ prefix }) => prefix);
  const isWanted = (term: string) => wanted.has(term) || prefixes.some((prefix) => term.startsWith(prefix));

  const { vocabulary } = analyzer;
  const found = analyzer.begin(text, true, vocabulary);
  const { numbers, starts, ends } = found;
  const pieces: { start: number; end: number }[] = [];
  for (let i = 0, isEnd = false; !isEnd;) {
    isEnd = found.advance(unitsTogether);
    for (; i < numbers.length; i++) {
      if (!isWanted(vocabulary.term(numbers[i]))) continue;
      const last = pieces.at(-1);
      if (last !== undefined && starts[i] < last.end) last.end = Math.max(last.end, ends[i]);
      else if (pieces.length === highlightsMax) return pieces;
      else pieces.push({ start: starts[i], end: ends[i] });
    }
    if (!isEnd) yield;
  }
  return pieces;
}
