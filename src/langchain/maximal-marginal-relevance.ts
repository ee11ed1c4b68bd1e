/**
 * Maximal marginal relevance: similar to the query, and different from earlier picks.
 *
 * Carbonell and Goldstein, "The use of MMR, diversity-based reranking", SIGIR 1998. Sums run in the
 * order of LangChain's `maximalMarginalRelevance`, so that similarities and ties are equal bit for
 * bit. Each pick compares the candidates with the newest pick only: O(k n d) instead of O(k² n d).
 */

import type { Document } from "@langchain/core/documents";
import type { EmbeddingsInterface } from "@langchain/core/embeddings";
import type { MaxMarginalRelevanceSearchOptions } from "@langchain/core/vectorstores";
import type { Filter } from "../api/filter/compile.js";
import type { Match, Vector } from "../api/vector-index.js";
import { invalid } from "../checks/input.js";
import { optionNames } from "../checks/option-names.js";
import { toDocument } from "./documents.js";
import type { SearchOptions } from "./similarity-searches.js";

/**
 * Positions of `min(k, n)` candidates in the order picked: first the most similar to the query,
 * then each time the greatest `lambda * similarity to the query - (1 - lambda) * greatest
 * similarity to a pick`, under cosine; ties by position. Candidates have the query's length.
 */
export function maximalMarginalRelevance(
  query: Vector,
  candidates: readonly Float32Array[],
  lambda: number,
  k: number,
): number[] {
  const n = candidates.length;
  const picks = Math.min(k, n);
  if (picks === 0) return [];
  const dimension = query.length;
  const rows = new Float32Array(n * dimension);
  candidates.forEach((candidate, i) => rows.set(candidate, i * dimension));
  const norms = candidates.map(norm);

  const toQuery = similarities(Float64Array.from(query), norm(query), rows, norms);
  const toPicked = new Float64Array(n).fill(-Infinity);
  const isPicked = new Uint8Array(n);
  const picked: number[] = [];
  let best = toQuery.indexOf(toQuery.reduce((a, b) => Math.max(a, b)));
  for (;;) {
    picked.push(best);
    isPicked[best] = 1;
    if (picked.length === picks) return picked;
    const newest = Float64Array.from(candidates[best]);
    const toNewest = similarities(newest, norms[best], rows, norms);
    let bestScore = -Infinity;
    for (let i = 0; i < n; i++) {
      toPicked[i] = Math.max(toPicked[i], toNewest[i]);
      const score = lambda * toQuery[i] - (1 - lambda) * toPicked[i];
      if (isPicked[i] === 0 && score > bestScore) {
        bestScore = score;
        best = i;
      }
    }
  }
}

/** Cosine similarities of a vector to rows, layout (n, dimension); 0 for zero vectors. */
function similarities(
  vector: Float64Array,
  vectorNorm: number,
  rows: Float32Array,
  norms: readonly number[],
): Float64Array {
  const n = norms.length;
  const dimension = vector.length;
  const products = new Float64Array(n);
  let row = 0;
  // Four rows at a time, whose sums are independent.
  for (; row + 4 <= n; row += 4) {
    const a = row * dimension;
    const b = a + dimension;
    const c = b + dimension;
    const d = c + dimension;
    let [pa, pb, pc, pd] = [0, 0, 0, 0];
    for (let i = 0; i < dimension; i++) {
      const component = vector[i];
      pa += component * rows[a + i];
      pb += component * rows[b + i];
      pc += component * rows[c + i];
      pd += component * rows[d + i];
    }
    products[row] = pa;
    products[row + 1] = pb;
    products[row + 2] = pc;
    products[row + 3] = pd;
  }
  for (; row < n; row++) {
    let product = 0;
    for (let i = 0; i < dimension; i++) product += vector[i] * rows[row * dimension + i];
    products[row] = product;
  }
  return products.map((product, i) => product / (vectorNorm * norms[i]) || 0);
}

function norm(vector: Vector): number {
  let sum = 0;
  for (let i = 0; i < vector.length; i++) sum += vector[i] * vector[i];
  return Math.sqrt(sum);
}

// Searches for documents that are similar to a query and different from each other.

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
