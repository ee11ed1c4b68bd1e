/** Names of the store's options and of the properties of batch operations. */

import type {
  BaseStore,
  GetOperation,
  ListNamespacesOperation,
  PutOperation,
  SearchOperation,
} from "@langchain/langgraph-checkpoint";
import { optionNames } from "../option-names.js";

export type SearchOptions = NonNullable<Parameters<BaseStore["search"]>[1]>;
export type NamespaceOptions = NonNullable<Parameters<BaseStore["listNamespaces"]>[0]>;

const searchTable = { filter: true, limit: true, offset: true, query: true } as const;
const page = { maxDepth: true, limit: true, offset: true } as const;

export const searchOptions = optionNames<SearchOptions>("search", searchTable);
export const namespaceOptions = optionNames<NamespaceOptions>("listNamespaces", {
  prefix: true,
  suffix: true,
  ...page,
});

export const operationNames = {
  get: optionNames<GetOperation>("get operation", { namespace: true, key: true }),
  put: optionNames<PutOperation>("put operation", { namespace: true, key: true, value: true, index: true }),
  search: optionNames<SearchOperation>("search operation", { namespacePrefix: true, ...searchTable }),
  listNamespaces: optionNames<ListNamespacesOperation>("listNamespaces operation", {
    matchConditions: true,
    ...page,
  }),
};
