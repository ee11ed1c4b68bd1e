/** The arguments of `asRetriever`, some of which LangChain would ignore. */

import type { Callbacks } from "@langchain/core/callbacks/manager";
import type {
  VectorStore,
  VectorStoreInterface,
  VectorStoreRetrieverInput,
  VectorStoreRetrieverMMRSearchKwargs,
} from "@langchain/core/vectorstores";
import { invalid } from "../check-input.js";
import { checkOptions, optionNames } from "../option-names.js";
import type { SearchOptions } from "./similarity-searches.js";

/** What `asRetriever` of a store `V` takes as an object. */
type RetrieverFields<V extends VectorStoreInterface> = Partial<VectorStoreRetrieverInput<V>> & SearchOptions;

/** Those of `asRetriever` of a store `V`. */
export type RetrieverArguments<V extends VectorStoreInterface> = [
  kOrFields?: number | RetrieverFields<V>,
  filter?: V["FilterType"],
  callbacks?: Callbacks,
  tags?: string[],
  metadata?: Record<string, unknown>,
  verbose?: boolean,
];

export const fieldNames = optionNames<VectorStoreRetrieverInput<VectorStore> & SearchOptions>("asRetriever", {
  vectorStore: true,
  k: true,
  filter: true,
  searchType: true,
  searchKwargs: true,
  recall: true,
  namespace: true,
  callbacks: true,
  tags: true,
  metadata: true,
  verbose: true,
});

const searchNames = optionNames<VectorStoreRetrieverMMRSearchKwargs>("searchKwargs", {
  fetchK: true,
  lambda: true,
});

/**
 * The same arguments as one object, of which LangChain uses every one: it ignores a filter in second place if no `k` is in
 * first. Throws `invalid_request` for fields that it would not look at.
 */
export function checkRetrieverArguments<V extends VectorStoreInterface>(
  args: RetrieverArguments<V>,
): RetrieverFields<V> {
  const [first = {}, filter, callbacks, tags, metadata, verbose] = args;
  if (typeof first === "number")
    return { k: first, ...defined({ filter, callbacks, tags, metadata, verbose }) };
  checkOptions(first, fieldNames);
  const { searchKwargs, searchType } = first as { searchKwargs?: unknown; searchType?: unknown };
  if (searchKwargs !== undefined) {
    checkOptions(searchKwargs, searchNames);
    if (searchType !== "mmr") throw invalid('searchKwargs: expected searchType "mmr" with them');
  }
  if ((first.filter ?? undefined) !== undefined && (filter ?? undefined) !== undefined) {
    throw invalid("asRetriever: expected one filter, got two");
  }
  return { ...first, ...defined({ filter, callbacks, tags, metadata, verbose }) };
}

function defined<T extends object>(fields: T): Partial<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Partial<T>;
}
