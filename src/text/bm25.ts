/** BM25 (Robertson and Zaragoza, 2009), with an inverse document frequency that is never negative, as in Lucene. */

export interface Bm25Parameters {
  /** How soon more occurrences stop to count. */
  readonly k1: number;
  /** How much the length of a text counts, 0 to 1. */
  readonly b: number;
}

/** Of the rows that have a text. */
export interface Corpus {
  readonly rows: number;
  /** Sum of their lengths. */
  readonly length: number;
}

/** A score is weight * frequency / (frequency + base + perLength * length). */
export interface LengthNorm {
  readonly base: number;
  readonly perLength: number;
}

export function lengthNorm({ k1, b }: Bm25Parameters, { rows, length }: Corpus): LengthNorm {
  return { base: k1 * (1 - b), perLength: length === 0 ? 0 : (k1 * b * rows) / length };
}

/** `withTerm`: how many of the rows have the term. */
export function inverseDocumentFrequency({ rows }: Corpus, withTerm: number): number {
  return Math.log(1 + (rows - withTerm + 0.5) / (withTerm + 0.5));
}
