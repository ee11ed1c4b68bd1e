/**
 * Options of every method of clients and indexes, embedded and over HTTP, with the checks that hold
 * for both. Limits that a service may set otherwise are checked by the embedded index alone.
 */

import { checkIdText, checkInteger, checkText, invalid, isArray, typeName } from "../checks/input.js";
import { nListsMax } from "../engine/config.js";
import { type OptionCheck, optionNames } from "../checks/option-names.js";
import type {
  BatchQuery,
  CallOptions,
  ChangeOptions,
  CountOptions,
  CreateCollectionOptions,
  CreateIndexOptions,
  EmbeddedClientOptions,
  GetOptions,
  HttpClientOptions,
  IndexConfigInput,
  Item,
  ItemChange,
  ItemField,
  ItemsOptions,
  ListIdsOptions,
  ListIndexesOptions,
  ListItemsOptions,
  LoadIndexOptions,
  OpenIndexOptions,
  RankedQuery,
  Selection,
  SingleQuery,
  SplitShardsOptions,
  TextQuery,
  TrainOptions,
  UpdateSelection,
  UpsertOptions,
  WordQuery,
  WrapOptions,
} from "./vector-index.js";

/** Fields of items that calls may return. */
export const itemFieldNames: readonly ItemField[] = ["vector", "contents", "metadata", "decoded"];
/** Queries for more results take memory for each. */
export const topKMax = 10_000;
const pageItemsMax = 10_000;

const integer =
  (min: number, max: number): OptionCheck =>
  (value, name) =>
    checkInteger(value, min, max, name);
const count = integer(0, Number.MAX_SAFE_INTEGER);
const pageSize = integer(1, pageItemsMax);
const boolean: OptionCheck = (value, name) => {
  if (typeof value !== "boolean") throw invalid(`${name}: expected a boolean, got ${typeName(value)}`);
};
const callback: OptionCheck = (value, name) => {
  if (typeof value !== "function") throw invalid(`${name}: expected a function, got ${typeName(value)}`);
};
const itemFieldList: OptionCheck = (value) => checkInclude(value, itemFieldNames);

/** Throws `invalid_request` for anything but an array of allowed fields. */
export function checkInclude(include: unknown, allowed: readonly string[]): void {
  if (!isArray(include)) throw invalid("include: expected an array");
  for (const field of include as readonly unknown[]) {
    if (typeof field === "string" && allowed.includes(field)) continue;
    const received = typeof field === "string" ? JSON.stringify(field.slice(0, 100)) : typeName(field);
    throw invalid(`include: expected ${allowed.join(", ")}, got ${received}`);
  }
}

// Checked when the call begins.
const signal = true;
const namespace = checkIdText;
const listing = { filter: true, include: itemFieldList, after: checkIdText, namespace } as const;
const address = { indexName: true, indexKey: true, signal } as const;

const definition = {
  ...address,
  indexConfig: true,
  metric: true,
  embeddingModel: true,
  embedding: true,
  textIndex: true,
} as const;

export const indexConfigOptions = optionNames<IndexConfigInput>("indexConfig", {
  type: true,
  dimension: true,
  nLists: true,
  precision: true,
  spilling: true,
  pqDim: true,
  pqBits: true,
});

export const methodOptions = {
  createIndex: optionNames<CreateIndexOptions>("createIndex", definition, indexConfigOptions),
  createCollection: optionNames<CreateCollectionOptions>(
    "createCollection",
    { ...definition, shards: true },
    indexConfigOptions,
  ),
  loadCollection: optionNames<LoadIndexOptions>("loadCollection", {
    ...address,
    anchor: true,
    embedding: true,
  }),
  deleteCollection: optionNames<OpenIndexOptions>("deleteCollection", address),
  splitShards: optionNames<SplitShardsOptions>("splitShards", { ...address, shards: true }),
  loadIndex: optionNames<LoadIndexOptions>("loadIndex", { ...address, anchor: true, embedding: true }),
  listIndexes: optionNames<ListIndexesOptions>("listIndexes", { limit: count, after: checkText, signal }),
  deleteIndex: optionNames<OpenIndexOptions>("deleteIndex", address),
  upsert: optionNames<UpsertOptions>("upsert", {
    deleteFilter: true,
    within: true,
    skipUnchanged: boolean,
    namespace,
    signal,
  }),
  update: optionNames<ChangeOptions>("update", { namespace, signal }),
  query: optionNames<SingleQuery | TextQuery | RankedQuery | BatchQuery | WordQuery>(
    "query",
    {
      topK: true,
      filter: true,
      filters: true,
      include: true,
      queryText: true,
      fusion: true,
      queryVector: true,
      queryVectors: true,
      queryContents: true,
      rerank: true,
      recall: true,
      nProbes: count,
      greedy: boolean,
      allowPartialAfterMs: integer(1, 2 ** 31 - 1),
      namespace,
      signal,
    },
    undefined,
    { k: '"topK"', limit: '"topK"', nResults: '"topK"', where: '"filter"' },
  ),
  get: optionNames<GetOptions>("get", { include: itemFieldList, namespace, signal }),
  delete: optionNames<ChangeOptions>("delete", { namespace, signal }),
  listIds: optionNames<ListIdsOptions>("listIds", {
    limit: count,
    after: checkIdText,
    filter: true,
    namespace,
    signal,
  }),
  listItems: optionNames<ListItemsOptions>("listItems", {
    ...listing,
    limit: pageSize,
    cursor: true,
    orderBy: true,
    signal,
  }),
  items: optionNames<ItemsOptions>("items", { ...listing, pageSize, signal }),
  count: optionNames<CountOptions>("count", { filter: true, namespace, signal }),
  listNamespaces: optionNames<CallOptions>("namespaces.list", { signal }),
  erase: optionNames<CallOptions>("erase", { signal }),
  readReceipt: optionNames<CallOptions>("namespaces.readReceipt", { signal }),
  train: optionNames<TrainOptions>("train", {
    nLists: integer(1, nListsMax),
    queries: true,
    onProgress: callback,
    signal,
  }),
  compact: optionNames<CallOptions>("compact", { signal }),
  rotateKey: optionNames<CallOptions>("rotateKey", { signal }),
  reencrypt: optionNames<CallOptions>("reencrypt", { signal }),
  addWrap: optionNames<WrapOptions>("wraps.add", {
    name: true,
    key: true,
    access: true,
    expiresAt: true,
    signal,
  }),
  listWraps: optionNames<CallOptions>("wraps.list", { signal }),
  revokeWrap: optionNames<CallOptions>("wraps.revoke", { signal }),
  prefetch: optionNames<CallOptions>("prefetch", { signal }),
  anchor: optionNames<CallOptions>("anchor", { signal }),
  describe: optionNames<CallOptions>("describe", { signal }),
};

/** Arguments of methods besides options. */
export const selectionOptions = optionNames<Selection>("delete", {
  ids: true,
  filter: true,
  deleteAll: true,
});

export const updateSelectionOptions = optionNames<UpdateSelection>("update", {
  ids: true,
  filter: true,
  updateAll: true,
});

export const itemChangeOptions = optionNames<ItemChange>("change", {
  metadata: true,
  unset: true,
  replace: true,
});

export const itemFields = optionNames<Item>(
  "item",
  { id: true, vector: true, contents: true, keep: true, metadata: true, expiresAt: true },
  undefined,
  {
    embedding: '"vector"',
    values: '"vector"',
    document: '"contents"',
    pageContent: '"contents"',
    text: '"contents"',
  },
);

export const embeddedClientNames = {
  indexLocation: true,
  configLocation: true,
  anchorLocation: true,
  cacheBytesMax: true,
  maxStalenessMs: true,
  storageTimeoutMs: true,
  automaticTraining: true,
  retentionMs: true,
  oblivious: true,
  models: true,
} as const;

export const embeddedClientOptions = optionNames<EmbeddedClientOptions>("createClient", embeddedClientNames);

export const httpClientNames = { baseUrl: true, apiKey: true, timeoutMs: true, maxRetries: true } as const;

export const httpClientOptions = optionNames<HttpClientOptions>("createClient", httpClientNames);
