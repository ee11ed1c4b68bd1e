/** The words and terms of all text fields of an item. */

import type { Analyzer } from "./analyzer.js";
import { noTerm } from "./split-compound.js";
import type { TextField } from "./text-options.js";
import type { Vocabulary } from "./vocabulary.js";

export interface FieldText {
  readonly text: string;
  readonly weight: number;
}

/** Stands for the position of a stem: phrases compare words. */
export const noPosition = 0xffffffff;

/** Receives occurrences of words, and of the terms that the ranking compares. */
export interface TermSink {
  /**
   * `number`: of the word or term in the vocabulary; `weight`: of its field. Positions of one word
   * ascend.
   */
  add(number: number, position: number, weight: number): void;
}

/** Distance in positions between fields, so that no phrase spans two of them. */
const fieldGap = 100;

/** Code units per piece of a scan. */
const unitsTogether = 2 ** 14;

/**
 * Returns BM25's document length, the weighted sum of the fields' lengths; at least 1 if there are
 * words. Yields in long texts.
 */
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
      for (; i < numbers.length; i++) {
        const word = numbers[i];
        const term = vocabulary.termOf(word);
        sink.add(word, base + positions[i], weight);
        if (term !== word && term !== noTerm) sink.add(term, noPosition, weight);
      }
      if (!isEnd) yield;
    }
    length += weight * found.length;
    // Fields without terms take no positions.
    if (positions.length > 0) base += positions[positions.length - 1] + fieldGap;
  }
  return base > 0 ? Math.max(1, length) : length;
}

interface ItemTexts {
  /** Undefined without contents, or for an image. */
  readonly contents: string | undefined;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/**
 * Texts in the order of `fields`; an array of strings yields each string. Other values yield none.
 */
export function fieldTexts(item: ItemTexts, fields: readonly TextField[]): FieldText[] {
  return fields.flatMap(({ path, weight }) => {
    const value = path === "contents" ? item.contents : valueAt(item.metadata, path.split("."));
    return strings(value).map((text) => ({ text, weight }));
  });
}

function strings(value: unknown): string[] {
  const values: readonly unknown[] = Array.isArray(value) ? value : [value];
  return values.filter((each) => typeof each === "string");
}

function valueAt(value: unknown, [name, ...rest]: readonly string[]): unknown {
  if (name === undefined) return value;
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
  return valueAt((value as Readonly<Record<string, unknown>>)[name], rest);
}
