/// <reference lib="esnext.disposable" preserve="true" />
/**
 * The interfaces of clients and indexes, which the embedded index (`index/`) and the HTTP
 * client (`client/`) implement.
 */

import type { IndexType, Metric, Precision } from "../engine/config.js";
import type {
  CallOptions,
  ChangeOptions,
  CountOptions,
  ErasureReceipt,
  ItemChange,
  ItemPage,
  ItemsOptions,
  ListIdsOptions,
  ListIndexesOptions,
  ListItemsOptions,
  NamespaceOption,
  Namespaces,
  UpdateResult,
  UpdateSelection,
  UpsertOptions,
  UpsertResult,
} from "./call-options.js";
import type {
  CreateCollectionOptions,
  CreateIndexOptions,
  IndexKey,
  LoadIndexOptions,
  OpenIndexOptions,
  SplitShardsOptions,
} from "./client.js";
import type { Filter } from "./filter/compile.js";
import type {
  Item,
  ItemField,
  Match,
  MatchField,
  ScoredMatch,
  StoredItem,
  Vector,
  WordField,
} from "./items.js";
import type { AskingForProfile, ProfiledQuery, ProfiledResult } from "./profiled-query.js";
import type {
  BatchQuery,
  DefaultInclude,
  RankedMatch,
  RankedQuery,
  SingleQuery,
  TextQuery,
  WordQuery,
} from "./queries.js";
import type { Wraps } from "./wraps.js";

export type { Fusion } from "../text/fusion.js";
export type { Highlight } from "../text/highlights.js";
export type { AnalyzerOptions, TextIndexOptions } from "../text/text-options.js";
export type * from "./call-options.js";
export type * from "./client.js";
export type * from "./effort.js";
export type * from "./items.js";
export type * from "./profiled-query.js";
export type * from "./queries.js";
export type * from "./wraps.js";

/** Options of getting items by id. */
export interface GetOptions<I extends readonly ItemField[] = readonly ItemField[]>
  extends CallOptions, NamespaceOption {
  /** Default: all but `decoded`, and `vector` only if the index stores vectors. */
  readonly include?: I | undefined;
}

/**
 * Items to delete: those with these ids; those that match a filter, which must not match
 * everything; the ids that match when the deletion commits; or all items.
 */
export type Selection =
  | { readonly ids: readonly string[]; readonly filter?: Filter | undefined; readonly deleteAll?: never }
  | { readonly filter: Filter; readonly ids?: never; readonly deleteAll?: never }
  | { readonly deleteAll: true; readonly ids?: never; readonly filter?: never };

/**
 * Progress of a training. The phases run in this order; `done` grows to `total`, and both restart
 * with each phase.
 */
export interface TrainingProgress {
  /**
   * `sample` and `store` count items, `cluster` counts comparisons of two vectors, and may end
   * early.
   */
  readonly phase: "sample" | "cluster" | "store";
  readonly done: number;
  readonly total: number;
}

/**
 * Training samples only items outside namespaces, so that the model reveals nothing about erased
 * items.
 */
export interface TrainOptions extends CallOptions {
  /**
   * Inverted lists, at most one per sampled item (without zero vectors under `cosine`). Default:
   * the index's number, or fewer if there are few items.
   */
  readonly nLists?: number;
  /**
   * At most 1,000 example queries, from which this process learns how much to scan for a recall: as
   * from real queries, and at once. 100 or more have an effect. Not stored. `not_supported` with
   * `oblivious`.
   */
  readonly queries?: readonly Vector[];
  /** Called every few milliseconds. Embedded indexes only: `not_supported` over HTTP. */
  readonly onProgress?: (progress: TrainingProgress) => void;
}

/**
 * One open index. Every method rejects with a `SealdexError`; a rejected change leaves the index as it was. Besides the codes
 * that a method names, each rejects with `invalid_request` for an argument that cannot be right, an unknown option, or a client
 * that is closed; `not_found` if the index was deleted; `storage_unavailable` if the storage or the service does not respond;
 * `corrupt`, `missing_object` or `rollback_detected` if stored data was modified, is missing, or was rolled back; over HTTP
 * `unauthenticated` for a missing or unknown API key. Changes reject with `forbidden` if the key is a reader's, and every
 * method if its access has expired. An aborted `signal` rejects with its own reason.
 *
 * A call takes its arguments when it is made: arrays, buffers, keys and objects may be changed and used again once it has returned its
 * promise. So an array of items is taken whole, in one turn of the event loop: give large ones in several calls, or use `ingest`.
 */
export interface VectorIndex {
  readonly indexName: string;
  /** Keys that open the index: the owner's, and those of people and services with access. */
  readonly wraps: Wraps;
  /** Parts of the index whose items can be erased permanently; see `erase`. */
  readonly namespaces: Namespaces;
  /**
   * Stores the items, replacing those with the same id; of equal ids in one call the last wins.
   * Throws `dimension_mismatch` for a vector of the wrong length, and over HTTP `too_large` for a
   * `deleteFilter` with more items than fit one request.
   */
  upsert(items: readonly Item[], options?: UpsertOptions): Promise<UpsertResult>;
  /**
   * Changes the metadata of items in one commit, without their vectors and contents. Unknown ids
   * are ignored. An item that is replaced or deleted concurrently is changed in its newest state or
   * not at all: nothing old comes back.
   */
  update(selection: UpdateSelection, change: ItemChange, options?: ChangeOptions): Promise<UpdateResult>;
  /**
   * The nearest items, ascending by distance: one list for one query, a list of lists for a batch.
   * With `queryText`, the items with the greatest score. Throws `dimension_mismatch` for a vector
   * of the wrong length, and `not_supported` if `include` names `vector` and the index stores only
   * codes. If `include` names `profile`, the result is `{ matches, profile }`.
   */
  query<const I extends readonly WordField[] = DefaultInclude>(
    query: WordQuery<I>,
  ): Promise<ScoredMatch<I>[]>;
  query<const I extends readonly MatchField[] = DefaultInclude>(
    query: RankedQuery<I>,
  ): Promise<RankedMatch<I>[]>;
  query<const I extends readonly MatchField[] = DefaultInclude>(
    query: SingleQuery<I> | TextQuery<I>,
  ): Promise<Match<I>[]>;
  query<const I extends readonly MatchField[] = DefaultInclude>(query: BatchQuery<I>): Promise<Match<I>[][]>;
  query<const Q extends ProfiledQuery>(query: AskingForProfile<Q>): Promise<ProfiledResult<Q>>;
  query<const I extends readonly MatchField[] = DefaultInclude>(
    query: SingleQuery<I> | TextQuery<I> | BatchQuery<I>,
  ): Promise<Match<I>[] | Match<I>[][]>;
  /**
   * The items with these ids, in this order; unknown ids are skipped. Throws `not_supported` if
   * `include` names `vector` and the index stores only codes.
   */
  get<const I extends readonly ItemField[] = readonly ItemField[]>(
    ids: readonly string[],
    options?: GetOptions<I>,
  ): Promise<StoredItem<I>[]>;
  /** Deletes by id (unknown ids are ignored), by filter, or everything. */
  delete(selection: Selection, options?: ChangeOptions): Promise<void>;
  /** Ids in string order, at most `limit` after `after`. Default: all. */
  listIds(options?: ListIdsOptions): Promise<string[]>;
  /**
   * A page of items in the order of their ids, or of `orderBy`, with the cursor of the next page.
   * All pages show one state of the index. Throws `not_found` if that state is no longer stored: at
   * least 15 minutes after it was replaced (with a shorter retention, after the last page, if that
   * is sooner); `not_supported` if `include` names `vector` and the index stores only codes.
   */
  listItems<const I extends readonly ItemField[] = readonly ItemField[]>(
    options?: ListItemsOptions<I>,
  ): Promise<ItemPage<I>>;
  /**
   * All items, or those that match, in the order of their ids: `for await (const item of
   * index.items())`. They show the state when the first item is requested. One page is in memory at
   * a time; leaving the loop frees it and the snapshot. Throws like `listItems`.
   */
  items<const I extends readonly ItemField[] = readonly ItemField[]>(
    options?: ItemsOptions<I>,
  ): AsyncGenerator<StoredItem<I>, void, undefined>;
  /** The number of items, or of those that match. */
  count(options?: CountOptions): Promise<number>;
  /**
   * Erases a namespace permanently, by destroying the random secret that its items need: neither
   * the storage nor retained old versions of its other objects can then be read, with any key. Two
   * small writes, whatever the size of the index. Copies and backups that contain the secret remain
   * readable. After `storage_unavailable`, repeat the call. Later writes start a new namespace.
   */
  erase(namespace: string, options?: CallOptions): Promise<ErasureReceipt>;
  /**
   * Clusters the items into inverted lists. Also happens automatically, see `automaticTraining`.
   * Throws `not_supported` for `onProgress` over HTTP, and for `queries` with `oblivious`;
   * `dimension_mismatch` for a query of another length than the index's vectors.
   */
  train(options?: TrainOptions): Promise<void>;
  /**
   * Merges segments as far as their size limit allows, and drops deleted and replaced items, so
   * that queries read less. Writers do this gradually; use it after a large ingest or deletion.
   */
  compact(options?: CallOptions): Promise<void>;
  /**
   * Loads the model, codes, ids and metadata into memory, within `cacheBytesMax`. Resolves to true
   * if everything fits; queries then only check storage for newer writes. The first filter reads
   * the columns that it needs. Embedded indexes only: `not_supported` over HTTP.
   */
  prefetch(options?: CallOptions): Promise<boolean>;
  /**
   * Changes the owner's key, and the data keys of later writes: a small record and a commit,
   * whatever the size of the index. The old key then opens nothing, and processes that opened the
   * index with it get `wrong_index_key` (after at most `maxStalenessMs`); this object and holders
   * of other wraps continue. An attacker with the old key and an old copy of the record can still
   * read earlier data until `reencrypt`.
   *
   * Throws `invalid_request` for an invalid `newKey`, `wrong_index_key` if the key was rotated
   * elsewhere, `forbidden` if the index was not opened with its owner's key, `already_exists` if a
   * wrap has the key. After `storage_unavailable` either key may be in force: repeat the call.
   */
  rotateKey(newKey: IndexKey, options?: CallOptions): Promise<void>;
  /**
   * Draws new data keys and seals all stored objects again under them, while the index is in use;
   * rows and training do not change. Reads and writes each object once. After an interruption,
   * repeat the call to resume. Replaced objects are deleted after 15 to 30 minutes. Throws
   * `forbidden` if the index was not opened with its owner's key.
   */
  reencrypt(options?: CallOptions): Promise<void>;
  /**
   * A token of about 90 characters that names the present state of the index. Not secret.
   * `loadIndex` with it refuses older states and other histories with `rollback_detected`: keep it
   * where the storage cannot change it.
   */
  anchor(options?: CallOptions): Promise<string>;
  /** Description and memory use of the index. */
  describe(options?: CallOptions): Promise<IndexDescription>;
}

/**
 * A client of storage locations or of a service. Besides the codes of each method, calls reject
 * with `invalid_request`, `storage_unavailable` and over HTTP `unauthenticated`, like the methods
 * of an index.
 */
export interface Client extends AsyncDisposable {
  /** Whether the client opens storage locations itself, or calls a service. */
  readonly kind: "embedded" | "http";
  /**
   * Throws `already_exists` if the name is taken, `dimension_mismatch` if the dimension is not the
   * embedding model's or no multiple of `pqDim`, `not_supported` if an optional package is missing.
   */
  createIndex(options: CreateIndexOptions): Promise<VectorIndex>;
  /**
   * Opens an index or a collection. Throws `not_found` if there is no such index, `wrong_index_key` for another
   * key; `corrupt`, `missing_object` or `rollback_detected` if stored data was modified, is missing, or was
   * rolled back; `not_supported` for a collection with `oblivious`.
   */
  loadIndex(options: LoadIndexOptions): Promise<VectorIndex>;
  /** Names of indexes and collections in code point order. Throws `invalid_request`. */
  listIndexes(options?: ListIndexesOptions): Promise<string[]>;
  /**
   * Deletes an index or a collection, and all its data. After an interruption, repeat the call. Throws like
   * `loadIndex`.
   */
  deleteIndex(options: OpenIndexOptions): Promise<void>;
  /**
   * Creates a collection: many indexes, its shards, with the interface of one; see docs/scale.md. Throws
   * like `createIndex`, and `not_supported` with `oblivious`.
   */
  createCollection(options: CreateCollectionOptions): Promise<VectorIndex>;
  /** Like `loadIndex`, but throws `invalid_request` for an index. */
  loadCollection(options: LoadIndexOptions): Promise<VectorIndex>;
  /** Like `deleteIndex`, but throws `invalid_request` for an index. */
  deleteCollection(options: OpenIndexOptions): Promise<void>;
  /**
   * Splits shards of a collection in two, the one with most items first, until it has `shards`; if it has as many, nothing is done.
   * Others read and write meanwhile. After an interruption, repeat the call. Throws like `loadCollection`, and `storage_unavailable`
   * if another process splits the shards, too. A service finishes the split even if the call is aborted.
   */
  splitShards(options: SplitShardsOptions): Promise<void>;
  /**
   * Waits for running calls and releases all resources that the client opened; the caller's own
   * stores and database clients stay open. Later calls reject with `invalid_request`. `await using`
   * also closes a client.
   */
  close(): Promise<void>;
}

/** A client of storage locations. */
export interface EmbeddedClient extends Client {
  readonly kind: "embedded";
  /** Memory of the process and of this client's cache. */
  memory(): MemoryUse;
}

// Description and state of an index.

/** The definition of an index and its present size. */
export interface IndexDescription {
  readonly indexName: string;
  readonly type: IndexType;
  readonly metric: Metric;
  /** Undefined until the first vector determines it. */
  readonly dimension?: number;
  /** Present number of inverted lists: 1 until trained. */
  readonly nLists: number;
  /** Precision of the stored vectors of `ivfflat`. */
  readonly precision?: Precision;
  /** False if rows are never assigned to second lists; otherwise absent. */
  readonly spilling?: boolean;
  readonly pqDim?: number;
  readonly pqBits?: number;
  /** Of a collection: whether all shards that have items are. */
  readonly trained: boolean;
  /** Recall measured by training; absent until trained. */
  readonly recallCurves?: readonly RecallCurve[];
  /**
   * Recall of the queries that the process was asked, without a namespace; absent until it has
   * compared 100 of them with exact answers, and with `oblivious`.
   */
  readonly measuredRecall?: readonly MeasuredRecall[];
  /** Number of shards of a collection; then counts and bytes are sums over them. Absent for an index. */
  readonly shards?: number;
  /** Number of segments; compaction merges them. */
  readonly segments: number;
  /** Stored bytes of segments and model. */
  readonly storedBytes: number;
  /**
   * Bytes of replaced objects of this client that are still stored for readers: see `retentionMs`.
   */
  readonly reclaimableBytes: number;
  readonly embeddingModel?: string;
  /** True if the index has a `textIndex`; otherwise absent. */
  readonly textIndex?: boolean;
  /** Memory of the process that has the index open, for all its indexes. */
  readonly memory: MemoryUse;
  /**
   * Reason why the last automatic training of that process failed. Absent if none has, or if a
   * later training succeeded.
   */
  readonly trainingFailure?: string;
}

/** The cost of recall for queries for `topK` items without a filter. */
export interface RecallCurve {
  readonly topK: number;
  /** Ascending. */
  readonly points: readonly RecallPoint[];
}

export interface RecallPoint {
  readonly recall: number;
  /** Most lists that a query scans for this recall; unlikely lists are skipped. */
  readonly nProbes: number;
}

/** The recall of real queries for `topK` items. */
export interface MeasuredRecall {
  readonly topK: number;
  /** Number of queries that were compared. */
  readonly queries: number;
  /** Ascending by `recall`. */
  readonly points: readonly MeasuredPoint[];
}

/** The mean share found by queries that declare `recall`. */
export interface MeasuredPoint {
  readonly recall: number;
  readonly found: number;
  /** The 95 % confidence interval of `found`. */
  readonly low: number;
  readonly high: number;
}

/** `…Bytes` are bytes; counts start with the client. */
export interface MemoryUse {
  /** Resident memory of the process. */
  readonly rssBytes: number;
  /** Kernel memory in use: opened codes, models, running calls. */
  readonly kernelBytes: number;
  /** Decrypted data in this client's cache, and its limit. */
  readonly cacheBytes: number;
  readonly cacheBytesMax: number;
  /** Cache lookups, and how many of them had to read from storage. A warm query may need none. */
  readonly cacheLookups: number;
  readonly cacheMisses: number;
}
