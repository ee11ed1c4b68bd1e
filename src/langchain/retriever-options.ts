/** Checks the arguments of `asRetriever`, some of which LangChain would ignore. */

import type { Callbacks } from "@langchain/core/callbacks/manager";
import type {
  VectorStore,
  VectorStoreInterface,
  VectorStoreRetrieverInput,
  VectorStoreRetrieverMMRSearchKwargs,
} from "@langchain/core/vectorstores";
import { invalid, typeName } from "../checks/input.js";
import { type Filter, takeFilter } from "../api/filter/compile.js";
import { optionNames, takeOptions } from "../checks/option-names.js";
import type { SearchOptions } from "./similarity-searches.js";
import { own as ownMembers } from "../checks/value-kinds.js";

type RetrieverFields<V extends VectorStoreInterface> = Partial<VectorStoreRetrieverInput<V>> & SearchOptions;

export type RetrieverArguments<V extends VectorStoreInterface> = [
  kOrFields?: number | RetrieverFields<V>,
  filter?: V["FilterType"],
  callbacks?: Callbacks,
  tags?: string[],
  metadata?: Record<string, unknown>,
  verbose?: boolean,
];

export const fieldNames = optionNames<VectorStoreRetrieverInput<VectorStore> & SearchOptions>(
  "asRetriever",
  {
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
  },
  undefined,
  { scoreThreshold: "ScoreThresholdRetriever of @langchain/classic" },
);

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
    return ownMembers({ k: first, filter, ...defined({ callbacks, tags, metadata, verbose }) });
  const fields = defined(takeOptions(first, fieldNames));
  const { searchKwargs, searchType } = fields as { searchKwargs?: object; searchType?: unknown };
  if (searchType !== undefined && searchType !== "similarity" && searchType !== "mmr") {
    throw invalid(
      `searchType: expected "similarity", "mmr", "hybrid" or "keyword", got ${shown(searchType)}`,
    );
  }
  if (searchKwargs !== undefined) {
    takeOptions(searchKwargs, searchNames);
    if (searchType !== "mmr") throw invalid('searchKwargs: expected searchType "mmr" with them');
  }
  if ((fields.filter ?? undefined) !== undefined && (filter ?? undefined) !== undefined) {
    throw invalid("asRetriever: expected one filter, got two");
  }
  return ownMembers({
    ...fields,
    filter: filter ?? own(fields.filter),
    ...defined({ callbacks, tags, metadata, verbose }),
  });
}

/** LangChain's type covers filters of all stores; this store accepts those of an index. */
function own<F>(filter: F | undefined): F | undefined {
  return filter && (takeFilter(filter as Filter) as F);
}

function shown(searchType: unknown): string {
  if (typeof searchType !== "string") return typeName(searchType);
  const advice =
    searchType === "similarity_score_threshold" ? ": use ScoreThresholdRetriever of @langchain/classic" : "";
  return JSON.stringify(searchType.slice(0, 40)) + advice;
}

function defined<T extends object>(fields: T): Partial<T> {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined);
  return ownMembers(Object.fromEntries(entries)) as Partial<T>;
}
