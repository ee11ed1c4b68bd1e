/** Names of the store's options and of the properties of batch operations. */

import type {
  BaseStore,
  GetOperation,
  ListNamespacesOperation,
  MatchCondition,
  PutOperation,
  SearchOperation,
} from "@langchain/langgraph-checkpoint";
import { optionNames } from "../../checks/option-names.js";
import type { QuerySyntax } from "../hybrid-search.js";

/** LangGraph's options, and how a store with a text index reads the words of `query`. */
export type StoreSearchOptions = NonNullable<Parameters<BaseStore["search"]>[1]> & QuerySyntax;
export type StoreSearchOperation = SearchOperation & QuerySyntax;
export type NamespaceOptions = NonNullable<Parameters<BaseStore["listNamespaces"]>[0]>;

const searchTable = { filter: true, limit: true, offset: true, query: true, syntax: true } as const;
const page = { maxDepth: true, limit: true, offset: true } as const;

export const storeSearchOptions = optionNames<StoreSearchOptions>("search", searchTable);
export const namespaceOptions = optionNames<NamespaceOptions>("listNamespaces", {
  prefix: true,
  suffix: true,
  ...page,
});

export const operationNames = {
  get: optionNames<GetOperation>("get operation", { namespace: true, key: true }),
  put: optionNames<PutOperation>("put operation", { namespace: true, key: true, value: true, index: true }),
  search: optionNames<StoreSearchOperation>("search operation", { namespacePrefix: true, ...searchTable }),
  listNamespaces: optionNames<ListNamespacesOperation>("listNamespaces operation", {
    matchConditions: true,
    ...page,
  }),
};

// Lists namespaces as LangGraph does.

/**
 * The distinct namespaces that match every condition, cut to `maxDepth` labels and sorted by label.
 */
export function namespacesOf(
  items: readonly { readonly namespace: string[] }[],
  { matchConditions = [], maxDepth, limit, offset }: ListNamespacesOperation,
): string[][] {
  const distinct = new Map<string, string[]>();
  for (const { namespace } of items) {
    if (!matchConditions.every((condition) => isMatch(namespace, condition))) continue;
    const labels = namespace.slice(0, maxDepth);
    distinct.set(JSON.stringify(labels), labels);
  }
  const from = offset ?? 0;
  return [...distinct.values()].sort(compareLabels).slice(from, from + (limit ?? distinct.size));
}

function isMatch(namespace: readonly string[], { matchType, path }: MatchCondition): boolean {
  const start = matchType === "prefix" ? 0 : namespace.length - path.length;
  if (start < 0 || path.length > namespace.length) return false;
  return path.every((label, i) => label === "*" || label === namespace[start + i]);
}

function compareLabels(a: readonly string[], b: readonly string[]): number {
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    if (a[i] !== b[i]) return a[i] < b[i] ? -1 : 1;
  }
  return a.length - b.length;
}
