/** Checks the arguments of `asRetriever`, some of which LangChain would ignore. */

import type { Callbacks } from "@langchain/core/callbacks/manager";
import type {
  VectorStore,
  VectorStoreInterface,
  VectorStoreRetrieverInput,
  VectorStoreRetrieverMMRSearchKwargs,
} from "@langchain/core/vectorstores";
import { invalid } from "../check-input.js";
import { type Filter, takeFilter } from "../filter.js";
import { optionNames, takeOptions } from "../option-names.js";
import type { SearchOptions } from "./similarity-searches.js";

type RetrieverFields<V extends VectorStoreInterface> = Partial<VectorStoreRetrieverInput<V>> & SearchOptions;

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
 * Merges the arguments into one object, of which LangChain uses every field: it ignores a filter as
 * second argument if there is no `k`. Throws `invalid_request` for fields that LangChain would
 * ignore.
 */
export function checkRetrieverArguments<V extends VectorStoreInterface>(
  args: RetrieverArguments<V>,
): RetrieverFields<V> {
  const [first = {}, given, callbacks, tags, metadata, verbose] = args;
  const filter = own(given);
  if (typeof first === "number")
    return { k: first, ...defined({ filter, callbacks, tags, metadata, verbose }) };
  const fields = defined(takeOptions(first, fieldNames));
  const { searchKwargs, searchType } = fields as { searchKwargs?: object; searchType?: unknown };
  if (searchKwargs !== undefined) {
    takeOptions(searchKwargs, searchNames);
    if (searchType !== "mmr") throw invalid('searchKwargs: expected searchType "mmr" with them');
  }
  if ((fields.filter ?? undefined) !== undefined && (filter ?? undefined) !== undefined) {
    throw invalid("asRetriever: expected one filter, got two");
  }
  return {
    ...fields,
    ...defined({ filter: filter ?? own(fields.filter), callbacks, tags, metadata, verbose }),
  };
}

/** LangChain's type covers filters of all stores; this store accepts those of an index. */
function own<F>(filter: F | undefined): F | undefined {
  return filter && (takeFilter(filter as Filter) as F);
}

function defined<T extends object>(fields: T): Partial<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Partial<T>;
}
