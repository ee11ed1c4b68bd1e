/**
 * What a query asks of words.
 *
 * `words` add to the score. `"a phrase"` and `+required` also have to be there, `-excluded` must not; `prefix*` stands for the terms
 * that begin so. Whatever else stands in a query is a word or nothing: no text is an error.
 */

/** Something that a text has or has not. */
export type Condition =
  | { readonly kind: "term"; readonly term: string }
  /** The terms, each at the position of the first one plus `offset`. */
  | { readonly kind: "phrase"; readonly terms: readonly { readonly term: string; readonly offset: number }[] }
  /** A term that begins so, or, if it is defined, `term`: the stem that the prefix would have as a word. */
  | { readonly kind: "prefix"; readonly prefix: string; readonly term?: string };

export interface ScoredTerm {
  readonly term: string;
  /** How often the query has it. */
  readonly weight: number;
}

/** At most 128 terms, 16 prefixes and 32 conditions; of a longer query the first ones. */
export interface TextQuery {
  /** Distinct. Those of phrases and required words are among them. */
  readonly terms: readonly ScoredTerm[];
  /** Each scores as one term whose occurrences are those of all terms that match: expand at most 128 of them. */
  readonly prefixes: readonly Extract<Condition, { kind: "prefix" }>[];
  readonly required: readonly Condition[];
  readonly excluded: readonly Condition[];
}
