/**
 * The central nouns: what a caller can do with a client and with one index, wherever it runs. Two
 * implementations exist: the embedded index (`encrypted-index/`) and the one behind HTTP (`client/`).
 */

import type { IndexType, Metric } from "./engine/config.js";
import type { Filter } from "./filter.js";
import type { BlobStore } from "./storage/blob-store.js";
import type { StorageLocation } from "./storage/storage-location.js";

/**
 * A vector of `dimension` numbers, 1 to 8,192, each finite as float32. Unless the metric is `cosine`, its Euclidean norm is at
 * most 1e15. What goes beyond is refused with `invalid_request`, in items and in queries.
 */
export type Vector = readonly number[] | Float32Array;

/** JSON values under string keys, stored and returned verbatim. */
export type Metadata = Readonly<Record<string, unknown>>;

/** 64 hexadecimal characters or 32 bytes. Whoever holds it can read the index; nobody else can. */
export type IndexKey = string | Uint8Array;

/** What a caller stores. `vector` may be missing only where the index has an embedding model. */
export interface Item {
  /** 1 to 512 bytes of UTF-8. */
  readonly id: string;
  readonly vector?: Vector;
  readonly contents?: string;
  readonly metadata?: Metadata;
}

/** What `get` returns: the id and those of the fields that were asked for and that the item has. */
export interface StoredItem {
  readonly id: string;
  /** Bit-equal to the float32 values that were stored. */
  readonly vector?: Float32Array;
  /** What the index's codes say of the vector: `vector` itself where it is kept whole, else an approximation. */
  readonly decoded?: Float32Array;
  readonly contents?: string;
  readonly metadata?: Metadata;
}

export type ItemField = "vector" | "decoded" | "contents" | "metadata";
export type MatchField = "distance" | ItemField;

/** One neighbour. A field beside `id` is present when `include` names it and the item has it. */
export interface Match extends StoredItem {
  readonly distance?: number;
}

/** What every call can be given. */
export interface CallOptions {
  /**
   * Ends the call when it aborts: the call rejects with the signal's reason. A call that changes something has then
   * changed nothing; one whose change is already being made goes on, and settles as if nothing had happened.
   */
  readonly signal?: AbortSignal;
}

export interface QueryOptions extends CallOptions {
  /** Neighbours to return, 0 to 10,000. Default 100. */
  readonly topK?: number;
  /** Inverted lists to probe, at most: those that hardly hold a neighbour are passed over. 0 lets the index choose. Default 1. */
  readonly nProbes?: number;
  /** Goes on past `nProbes` while an unprobed list could still hold a closer item. Default false. */
  readonly greedy?: boolean;
  /** Only items whose metadata match are considered. */
  readonly filter?: Filter;
  /** The specification's name of `filter`. Giving both is an error. */
  readonly filters?: Filter;
  /** Fields of each match beside `id`. Default `["distance"]`. `vector`: `ivfflat` only, once trained; see `decoded`. */
  readonly include?: readonly MatchField[];
}

export interface SingleQuery extends QueryOptions {
  readonly queryVector: Vector;
}
export interface TextQuery extends QueryOptions {
  /** Embedded by the index's embedding model. */
  readonly queryContents: string;
}
export interface BatchQuery extends QueryOptions {
  /** At most 1,000 vectors. */
  readonly queryVectors: readonly Vector[];
}

export interface GetOptions extends CallOptions {
  /** Default: all fields. */
  readonly include?: readonly ItemField[];
}

/**
 * What to delete: the items with these ids; those whose metadata match a filter, which must not be one that matches
 * everything; or all items.
 */
export type Selection =
  | { readonly ids: readonly string[]; readonly filter?: never; readonly deleteAll?: never }
  | { readonly filter: Filter; readonly ids?: never; readonly deleteAll?: never }
  | { readonly deleteAll: true; readonly ids?: never; readonly filter?: never };

export interface ListIdsOptions extends CallOptions {
  readonly limit?: number;
  readonly after?: string;
}

export interface IndexDescription {
  readonly indexName: string;
  readonly type: IndexType;
  readonly metric: Metric;
  /** Undefined until the first vector decides it. */
  readonly dimension?: number;
  /** Inverted lists that exist now: 1 until trained. */
  readonly nLists: number;
  readonly pqDim?: number;
  readonly pqBits?: number;
  readonly trained: boolean;
  readonly embeddingModel?: string;
  /** Of the process that has the index open, all its indexes together. */
  readonly memory: MemoryUse;
  /** Why the last automatic training in that process failed. Absent where none has, or a later training succeeded. */
  readonly trainingFailure?: string;
}

/** In bytes. */
export interface MemoryUse {
  /** The process, as the system sees it. */
  readonly rssBytes: number;
  /** In use in the memory of the kernels: opened codes, models, and what runs. */
  readonly kernelBytes: number;
  /** Opened blocks of this client, and how much they may be. */
  readonly cacheBytes: number;
  readonly cacheBytesMax: number;
}

/** What a training has done. The phases come in this order; `done` grows to `total`, and both start anew with each phase. */
export interface TrainingProgress {
  /** `sample` and `store` count items, `cluster` comparisons of two vectors, of which there may be fewer than foreseen. */
  readonly phase: "sample" | "cluster" | "store";
  readonly done: number;
  readonly total: number;
}

export interface TrainOptions extends CallOptions {
  /** Inverted lists; must not exceed the item count. Default: the index's number, as far as the items support it. */
  readonly nLists?: number;
  /** Called now and then, at most every few milliseconds. Embedded indexes only: a service does not report progress. */
  readonly onProgress?: (progress: TrainingProgress) => void;
}

/**
 * One open index. Every method rejects with a `SealdexError`; a rejected change leaves the index as it was. An option that
 * a method does not take is `invalid_request`.
 */
export interface VectorIndex {
  readonly indexName: string;
  /** Stores the items, replacing those with the same id; of equal ids in one call the last wins. */
  upsert(items: readonly Item[], options?: CallOptions): Promise<void>;
  /** The nearest items, ascending by distance: one list for one query, a list of lists for a batch. */
  query(query: SingleQuery | TextQuery): Promise<Match[]>;
  query(query: BatchQuery): Promise<Match[][]>;
  /** The items with these ids, in the order asked for; unknown ids are left out. Default: all but `decoded`. */
  get(ids: readonly string[], options?: GetOptions): Promise<StoredItem[]>;
  /** Deletes by id (unknown ids are fine), by filter, or everything. */
  delete(selection: Selection, options?: CallOptions): Promise<void>;
  /** Live ids in the order of string comparison, at most `limit` of those after `after`. Default: all. */
  listIds(options?: ListIdsOptions): Promise<string[]>;
  count(options?: CallOptions): Promise<number>;
  /** Clusters the items into inverted lists. Happens by itself too, see `automaticTraining`. */
  train(options?: TrainOptions): Promise<void>;
  /**
   * Merges the segments into as few as their size allows, without what was deleted or replaced, so that queries read
   * less. Writers do the same bit by bit; after a large ingest or deletion this does all of it.
   */
  compact(options?: CallOptions): Promise<void>;
  /**
   * Changes the index key: a small record and a commit, whatever the size of the index. From then on the old key opens
   * nothing, and processes that opened the index with it get `wrong_index_key` (after `maxStalenessMs` at most); this object
   * goes on. Whoever kept both the old key and an old copy of the record can still derive the data keys: docs/operations.md.
   *
   * Throws `invalid_request` if `newKey` is not a key, `wrong_index_key` if the key was rotated elsewhere. After
   * `storage_unavailable` either key may be the right one: repeat the call.
   */
  rotateKey(newKey: IndexKey, options?: CallOptions): Promise<void>;
  describe(options?: CallOptions): Promise<IndexDescription>;
}

export interface IndexConfigInput {
  readonly type: IndexType;
  readonly dimension?: number;
  /** Default 1024. */
  readonly nLists?: number;
  /** `ivfpq` only. Default 8. */
  readonly pqDim?: number;
  /** `ivfpq` only. Default 8. */
  readonly pqBits?: number;
}

export interface CreateIndexOptions extends CallOptions {
  /** 1 to 128 bytes of UTF-8 without control characters. Not secret. */
  readonly indexName: string;
  readonly indexKey: IndexKey;
  /** Default `{ type: "ivfflat" }`. Without `dimension`, the embedding model or the first vector decides. */
  readonly indexConfig?: IndexConfigInput;
  /** Default `euclidean`. */
  readonly metric?: Metric;
  /** Name of the model that embeds contents and text queries, such as `default`. Default: none, vectors are given. */
  readonly embeddingModel?: string;
}

export interface OpenIndexOptions extends CallOptions {
  readonly indexName: string;
  readonly indexKey: IndexKey;
}

/** A place that holds indexes. */
export interface Client {
  /** Throws `already_exists` when the name is taken. */
  createIndex(options: CreateIndexOptions): Promise<VectorIndex>;
  /** Throws `not_found`, or `wrong_index_key`. */
  loadIndex(options: OpenIndexOptions): Promise<VectorIndex>;
  /** Names of all indexes, in the order of string comparison. */
  listIndexes(options?: CallOptions): Promise<string[]>;
  /** Deletes the index and everything in it. Throws as `loadIndex`. */
  deleteIndex(options: OpenIndexOptions): Promise<void>;
  /**
   * Waits for the calls under way and releases what the client opened; what the caller gave it, a store or a database
   * client, stays open. Calls that come later reject.
   */
  close(): Promise<void>;
}

export interface EmbeddedClientOptions {
  /** Where segments are kept. */
  readonly indexLocation: StorageLocation | BlobStore;
  /** Where names, sealed keys, manifests are kept. Default: `indexLocation`. */
  readonly configLocation?: StorageLocation | BlobStore;
  /**
   * Limit of decrypted blocks kept in memory, in bytes. Default: a quarter of the memory that this process may have, at most
   * 2 GiB. An index that is larger works all the same, and reads what it needs again and again.
   */
  readonly cacheBytesMax?: number;
  /**
   * How old, in milliseconds, what is read may be: within that time of the last look, no read asks whether others have
   * written. What this client itself wrote is always seen. Default 0: every read sees every change acknowledged before it.
   */
  readonly maxStalenessMs?: number;
  /**
   * How long one read or write of storage may take, with its retries, before it is reported as
   * `storage_unavailable`; large ones have a second more for each MiB. Default 60,000. For locations; a `BlobStore` of
   * the caller's own is used as it is (`withRetries` gives it the same).
   */
  readonly storageTimeoutMs?: number;
  /**
   * Whether an index is trained without being asked, in the background, once it has 10,000 items and whenever it has four
   * times as many as when it was last trained. Default true.
   */
  readonly automaticTraining?: boolean;
}

export interface HttpClientOptions {
  /** For example `http://127.0.0.1:8000`. */
  readonly baseUrl: string;
  /** Sent as `X-API-Key`. */
  readonly apiKey?: string;
  /**
   * How long one request may take before it is reported as `storage_unavailable`. Mind that training answers when it is
   * done. Default: no limit but the platform's.
   */
  readonly timeoutMs?: number;
}
