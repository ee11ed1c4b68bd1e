/** Searches for documents that are similar to a query and different from each other. */

import type { Document } from "@langchain/core/documents";
import type { EmbeddingsInterface } from "@langchain/core/embeddings";
import type { MaxMarginalRelevanceSearchOptions } from "@langchain/core/vectorstores";
import { invalid } from "../check-input.js";
import type { Filter } from "../filter.js";
import { optionNames } from "../option-names.js";
import type { Match } from "../vector-index.js";
import { toDocument } from "./documents.js";
import { maximalMarginalRelevance } from "./maximal-marginal-relevance.js";
import type { SearchOptions } from "./similarity-searches.js";

const kDefault = 4;
const fetchKDefault = 20;

export type DiverseSearchOptions = MaxMarginalRelevanceSearchOptions<Filter> & SearchOptions;

export const mmrOptions = optionNames<DiverseSearchOptions>("maxMarginalRelevanceSearch", {
  k: true,
  fetchK: true,
  lambda: true,
  filter: true,
  recall: true,
  namespace: true,
});

/** `nearest` returns a number of nearest matches with their `decoded` vectors. */
export async function searchDiverse(
  query: string,
  options: DiverseSearchOptions,
  embeddings: EmbeddingsInterface,
  nearest: (vector: number[], count: number) => Promise<Match[]>,
): Promise<Document[]> {
  const { k = kDefault, fetchK = fetchKDefault, lambda = 0.5 } = options;
  checkCount(k, "k");
  checkCount(fetchK, "fetchK");
  if (!(lambda >= 0 && lambda <= 1)) throw invalid("lambda: expected a number from 0 to 1");
  const vector = await embeddings.embedQuery(query);
  const matches = await nearest(vector, k === 0 ? 0 : Math.max(k, fetchK));
  const vectors = matches.map(({ decoded }) => decoded as Float32Array);
  return maximalMarginalRelevance(vector, vectors, lambda, k).map((i) => toDocument(matches[i]));
}

function checkCount(value: number, where: string): void {
  if (value >= 0 && (Number.isInteger(value) || value === Infinity)) return;
  throw invalid(
    `${where}: expected an integer from 0, got ${typeof value === "number" ? value : typeof value}`,
  );
}
