/** The terms of an item: those of all its text fields together. */

import type { Analyzer } from "./analyzer.js";

export interface FieldText {
  readonly text: string;
  readonly weight: number;
}

/** What an index of words stores of an item. Term `i` stands at `positions[positionEnds[i - 1] .. positionEnds[i])`. */
export interface DocumentTerms {
  /** Distinct, in the order of first occurrence. */
  readonly terms: readonly string[];
  /** Occurrences of each term, each counted with its field's weight. */
  readonly frequencies: readonly number[];
  /** Ascending per term. Fields are 100 positions apart, so that no phrase spans two of them. */
  readonly positions: readonly number[];
  readonly positionEnds: readonly number[];
  /** Lengths of the fields, each times its weight: BM25's document length. */
  readonly length: number;
}

const fieldGap = 100;

/** Code units that are scanned, and positions that are put in order, between two pauses. */
const unitsTogether = 2 ** 14;
const positionsTogether = 2 ** 16;

/** Pauses in long texts. */
export function* documentTerms(
  analyzer: Analyzer,
  fields: readonly FieldText[],
): Generator<void, DocumentTerms, void> {
  const numbers = new Map<string, number>();
  const frequencies: number[] = [];
  const counts: number[] = [];
  /** Of each occurrence: the number of its term, and its position. */
  const occurrences: number[] = [];
  const places: number[] = [];
  let length = 0;
  let base = 0;
  for (const { text, weight } of fields) {
    const found = analyzer.begin(text, false);
    for (let i = 0, isEnd = false; !isEnd;) {
      isEnd = found.advance(unitsTogether);
      for (; i < found.terms.length; i++) {
        let number = numbers.get(found.terms[i]);
        if (number === undefined) {
          number = numbers.size;
          numbers.set(found.terms[i], number);
          frequencies.push(0);
          counts.push(0);
        }
        frequencies[number] += weight;
        counts[number]++;
        occurrences.push(number);
        places.push(base + found.positions[i]);
      }
      if (!isEnd) yield;
    }
    length += weight * found.length;
    base = (places.at(-1) ?? 0) + fieldGap;
  }

  const positionEnds: number[] = [];
  const free: number[] = [];
  let end = 0;
  for (const count of counts) {
    free.push(end);
    end += count;
    positionEnds.push(end);
  }
  const positions = places.slice();
  for (let i = 0; i < places.length; i++) {
    positions[free[occurrences[i]]++] = places[i];
    if (i % positionsTogether === positionsTogether - 1) yield;
  }
  return { terms: [...numbers.keys()], frequencies, positions, positionEnds, length };
}
