/** The terms of an item: those of all its text fields together. */

import type { Analyzer } from "./analyzer.js";
import type { Vocabulary } from "./vocabulary.js";

export interface FieldText {
  readonly text: string;
  readonly weight: number;
}

/** Where the occurrences of terms go. */
export interface TermSink {
  /** `term`: its number in the vocabulary. `weight`: of its field. Positions of one term ascend. */
  add(term: number, position: number, weight: number): void;
}

/** Fields are so many positions apart, so that no phrase spans two of them. */
const fieldGap = 100;

/** Code units that are scanned between two pauses. */
const unitsTogether = 2 ** 14;

/** Returns BM25's document length: the lengths of the fields, each times its weight. Pauses in long texts. */
export function* documentTerms(
  analyzer: Analyzer,
  vocabulary: Vocabulary,
  fields: readonly FieldText[],
  sink: TermSink,
): Generator<void, number, void> {
  let length = 0;
  let base = 0;
  for (const { text, weight } of fields) {
    const found = analyzer.begin(text, false, vocabulary);
    const { numbers, positions } = found;
    for (let i = 0, isEnd = false; !isEnd;) {
      isEnd = found.advance(unitsTogether);
      for (; i < numbers.length; i++) sink.add(numbers[i], base + positions[i], weight);
      if (!isEnd) yield;
    }
    length += weight * found.length;
    // Fields without a term take no positions.
    if (positions.length > 0) base += positions[positions.length - 1] + fieldGap;
  }
  return length;
}
