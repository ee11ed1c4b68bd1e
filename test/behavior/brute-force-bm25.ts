/** BM25 by definition, over all items at once: the reference for an index of words. */

export interface ScoredId {
  readonly id: string;
  readonly score: number;
}

/** `texts`: the terms of each item. Items without a term of the query are left out; best first. */
export function bruteForceBm25(
  texts: ReadonlyMap<string, readonly string[]>,
  query: readonly string[],
  { k1, b }: { readonly k1: number; readonly b: number } = { k1: 1.5, b: 0.75 },
): ScoredId[] {
  const documents = [...texts].filter(([, terms]) => terms.length > 0);
  const average = documents.reduce((sum, [, terms]) => sum + terms.length, 0) / documents.length;
  const countIn = (terms: readonly string[], term: string) => terms.filter((each) => each === term).length;
  const withTerm = (term: string) => documents.filter(([, terms]) => terms.includes(term)).length;
  const idf = new Map(
    query.map((term) => {
      const n = withTerm(term);
      return [term, Math.log(1 + (documents.length - n + 0.5) / (n + 0.5))];
    }),
  );
  const scored = documents.map(([id, terms]) => {
    const score = query.reduce((sum, term) => {
      const frequency = countIn(terms, term);
      const norm = k1 * (1 - b + (b * terms.length) / average);
      return sum + ((idf.get(term) ?? 0) * frequency) / (frequency + norm);
    }, 0);
    return { id, score };
  });
  return scored.filter(({ score }) => score > 0).sort((x, y) => y.score - x.score);
}
