/** Option names of every method of clients and indexes, embedded and over HTTP. */

import { optionNames } from "../checks/option-names.js";
import type {
  BatchQuery,
  CallOptions,
  ChangeOptions,
  CountOptions,
  CreateIndexOptions,
  EmbeddedClientOptions,
  GetOptions,
  HttpClientOptions,
  IndexConfigInput,
  Item,
  ItemChange,
  ItemsOptions,
  ListIdsOptions,
  ListIndexesOptions,
  ListItemsOptions,
  LoadIndexOptions,
  OpenIndexOptions,
  RankedQuery,
  Selection,
  SingleQuery,
  TextQuery,
  TrainOptions,
  UpdateSelection,
  UpsertOptions,
  WordQuery,
  WrapOptions,
} from "./vector-index.js";

const signal = true;
const namespace = true;
const listing = { filter: true, include: true, after: true, namespace } as const;
const address = { indexName: true, indexKey: true, signal } as const;

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
  createIndex: optionNames<CreateIndexOptions>(
    "createIndex",
    {
      ...address,
      indexConfig: true,
      metric: true,
      embeddingModel: true,
      embedding: true,
      textIndex: true,
    },
    indexConfigOptions,
  ),
  loadIndex: optionNames<LoadIndexOptions>("loadIndex", { ...address, anchor: true, embedding: true }),
  listIndexes: optionNames<ListIndexesOptions>("listIndexes", { limit: true, after: true, signal }),
  deleteIndex: optionNames<OpenIndexOptions>("deleteIndex", address),
  upsert: optionNames<UpsertOptions>("upsert", {
    deleteFilter: true,
    within: true,
    skipUnchanged: true,
    namespace,
    signal,
  }),
  update: optionNames<ChangeOptions>("update", { namespace, signal }),
  query: optionNames<SingleQuery | TextQuery | RankedQuery | BatchQuery | WordQuery>("query", {
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
    nProbes: true,
    greedy: true,
    namespace,
    signal,
  }),
  get: optionNames<GetOptions>("get", { include: true, namespace, signal }),
  delete: optionNames<ChangeOptions>("delete", { namespace, signal }),
  listIds: optionNames<ListIdsOptions>("listIds", {
    limit: true,
    after: true,
    filter: true,
    namespace,
    signal,
  }),
  listItems: optionNames<ListItemsOptions>("listItems", {
    ...listing,
    limit: true,
    cursor: true,
    orderBy: true,
    signal,
  }),
  items: optionNames<ItemsOptions>("items", { ...listing, pageSize: true, signal }),
  count: optionNames<CountOptions>("count", { filter: true, namespace, signal }),
  listNamespaces: optionNames<CallOptions>("namespaces.list", { signal }),
  erase: optionNames<CallOptions>("erase", { signal }),
  readReceipt: optionNames<CallOptions>("namespaces.readReceipt", { signal }),
  train: optionNames<TrainOptions>("train", { nLists: true, queries: true, onProgress: true, signal }),
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

export const itemFields = optionNames<Item>("item", {
  id: true,
  vector: true,
  contents: true,
  keep: true,
  metadata: true,
  expiresAt: true,
});

export const embeddedClientOptions = optionNames<EmbeddedClientOptions>("createClient", {
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
});

export const httpClientOptions = optionNames<HttpClientOptions>("createClient", {
  baseUrl: true,
  apiKey: true,
  timeoutMs: true,
  maxRetries: true,
});
