/** The terms of an item: those of all its text fields together. */

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
