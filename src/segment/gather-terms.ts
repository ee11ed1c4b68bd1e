/** The terms of a segment's rows, turned around: where each term occurs. */

import type { Work } from "../engine/work.js";
import type { Analyzer } from "../text/analyzer.js";
import { documentTerms, type FieldText } from "../text/document-terms.js";
import { Occurrences, type SortedOccurrences } from "./occurrences.js";
import type { Row, Rows } from "./row.js";
import { sortedTerms } from "./sorted-terms.js";

/** The texts of rows, and the analyzer that makes terms of them. */
export interface RowTexts {
  readonly analyzer: Analyzer;
  /** The texts of a row, none if it has none. */
  of(row: Row): readonly FieldText[];
}

export interface GatheredTerms extends SortedOccurrences {
  /** Sorted by their bytes in UTF-8. */
  readonly terms: readonly string[];
  /** Of each row's text, 0 if it has none. */
  readonly lengths: Uint32Array;
}

/** Rows and their bytes that are analyzed, or terms that are put in order, in a piece of work of a few milliseconds. */
const rowsTogether = 256;
const bytesTogether = 2 ** 16;
const termsTogether = 2 ** 14;

export function* gatherTerms(rows: Rows, { analyzer, of }: RowTexts): Work<GatheredTerms> {
  const { vocabulary } = analyzer;
  const lengths = new Uint32Array(rows.length);
  const occurrences = new Occurrences();
  let bytes = 0;
  for (let row = 0; row < rows.length; row++) {
    if (row % rowsTogether === rowsTogether - 1 || bytes >= bytesTogether) {
      yield;
      bytes = 0;
    }
    const stored = rows.at(row);
    bytes += stored.record.length + (stored.contents?.length ?? 0);
    const texts = of(stored);
    if (texts.length === 0) continue;
    occurrences.beginRow(row);
    lengths[row] = yield* documentTerms(analyzer, vocabulary, texts, occurrences);
  }
  yield;
  const seen: string[] = [];
  for (const number of occurrences.terms) {
    if (seen.push(vocabulary.term(number)) % termsTogether === 0) yield;
  }
  const order = yield* sortedTerms(seen);
  const terms: string[] = [];
  for (const place of order) if (terms.push(seen[place]) % termsTogether === 0) yield;
  yield;
  return { terms, lengths, ...(yield* occurrences.sorted(order)) };
}
