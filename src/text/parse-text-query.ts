import type { Analyzer } from "./analyzer.js";
import type { TextQuery } from "./text-query.js";
export function parseTextQuery(text: string, analyzer: Analyzer): TextQuery {
  const counts = new Map<string, number>();
  for (const term of analyzer.analyze(text).terms) counts.set(term, (counts.get(term) ?? 0) + 1);
  return {
    terms: [...counts].map(([term, weight]) => ({ term, weight })),
    prefixes: [],
    required: [],
    excluded: [],
  };
}
