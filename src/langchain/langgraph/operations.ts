/** Options of the store and operations of a batch: their names, copies and checks. */

import type {
  BaseStore,
  GetOperation,
  ListNamespacesOperation,
  MatchCondition,
  PutOperation,
  SearchOperation,
} from "@langchain/langgraph-checkpoint";
import { type Filter, takeFilter } from "../../api/filter/compile.js";
import { checkInteger, invalid, typeName } from "../../checks/input.js";
import { optionNames, takeOptions } from "../../checks/option-names.js";
import { type QuerySyntax, takeQueryText } from "../hybrid-search.js";
import { takeValue, type ValueWithBytes } from "./value-with-bytes.js";

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

export interface Put extends Omit<PutOperation, "value"> {
  readonly value: ValueWithBytes | null;
}

/** Copies the operation. Throws `invalid_request` for a value that JSON would change. */
export function takePut(operation: PutOperation): Put {
  const { namespace, key, value, index } = takeOptions(operation, operationNames.put);
  checkAddress({ namespace, key });
  return {
    namespace: [...namespace],
    key,
    value: value === null ? null : takeValue(value),
    ...(index !== undefined && { index: index === false ? index : takePaths(index, "index") }),
  };
}

/** Copies paths of a value. A text is refused: its characters would be paths that no value has. */
export function takePaths(paths: unknown, where: string): string[] {
  if (Array.isArray(paths) && paths.every((path) => typeof path === "string")) return [...paths];
  throw invalid(`${where}: expected an array of paths, got ${typeName(paths)}`);
}

export interface StoreSearch extends SearchOperation {
  /** The words of `query`; without one, none. */
  readonly queryText: string;
}

/** Copies the operation. Throws `invalid_request` for an invalid filter. */
export function takeSearch(operation: StoreSearchOperation): StoreSearch {
  const { namespacePrefix, filter, syntax, ...others } = takeOptions(operation, operationNames.search);
  if (!namespacePrefix.every(isLabel)) throw invalid("namespacePrefix: expected no empty label");
  checkPage(others);
  const queryText = others.query === undefined ? "" : takeQueryText(others.query, { syntax });
  const own = filter && (takeFilter(filter as Filter) as SearchOperation["filter"]);
  return { ...others, queryText, namespacePrefix: [...namespacePrefix], ...(own && { filter: own }) };
}

/** Copies the operation. */
export function takeListing(operation: ListNamespacesOperation): ListNamespacesOperation {
  const listing = structuredClone(takeOptions(operation, operationNames.listNamespaces));
  checkPage(listing);
  return listing;
}

function checkPage(operation: Pick<SearchOperation, "limit" | "offset">): void {
  for (const name of ["limit", "offset"] as const) {
    if (operation[name] !== undefined) checkInteger(operation[name], 0, Number.MAX_SAFE_INTEGER, name);
  }
}

function isLabel(label: unknown): boolean {
  return typeof label === "string" && label !== "";
}

/** Repeats the checks of LangGraph's `put`, which callers of `batch` bypass. */
function checkAddress({ namespace, key }: Pick<PutOperation, "namespace" | "key">): void {
  if (namespace.length === 0 || !namespace.every(isLabel)) {
    throw invalid("namespace: expected at least one label, and no empty ones");
  }
  if (typeof key !== "string") throw invalid(`key: expected a string, got ${typeof key}`);
}

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
