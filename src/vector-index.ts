/**
 * The central nouns: what a caller can do with a client and with one index, wherever it runs. Two
 * implementations exist: the embedded index (`encrypted-index/`) and the one behind HTTP (`client/`).
 */

import type { IndexType, Metric } from "./engine/config.js";
import type { Filter } from "./filter.js";
import type { BlobStore } from "./storage/blob-store.js";
import type { StorageLocation } from "./storage/location.js";

/** A vector of `dimension` numbers, each finite as float32. */
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
  readonly contents?: string;
  readonly metadata?: Metadata;
}

export type ItemField = "vector" | "contents" | "metadata";
export type MatchField = "distance" | ItemField;

/** One neighbour. A field beside `id` is present when `include` names it and the item has it. */
export interface Match extends StoredItem {
  readonly distance?: number;
}

export interface QueryOptions {
  /** Neighbours to return, 0 to 10,000. Default 100. */
  readonly topK?: number;
  /** Inverted lists to probe; 0 lets the index choose. Default 1. */
  readonly nProbes?: number;
  /** Goes on past `nProbes` while an unprobed list could still hold a closer item. Default false. */
  readonly greedy?: boolean;
  /** Only items whose metadata match are considered. */
  readonly filters?: Filter;
  /** Fields of each match beside `id`. Default `["distance"]`. `vector`: `ivfflat` only, once trained. */
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

export interface TrainOptions {
  /** Inverted lists; must not exceed the item count. Default: the index's number, as far as the items support it. */
  readonly nLists?: number;
  /** Called now and then, at most every few milliseconds. Embedded indexes only: a service does not report progress. */
  readonly onProgress?: (progress: TrainingProgress) => void;
  /** Ends the training, which rejects with the signal's reason and changes nothing. A service may go on. */
  readonly signal?: AbortSignal;
}

/**
 * One open index. Every method rejects with a `SealdexError`; a rejected change leaves the index as it was.
 */
export interface VectorIndex {
  readonly indexName: string;
  /** Stores the items, replacing those with the same id; of equal ids in one call the last wins. */
  upsert(items: readonly Item[]): Promise<void>;
  /** The nearest items, ascending by distance: one list for one query, a list of lists for a batch. */
  query(query: SingleQuery | TextQuery): Promise<Match[]>;
  query(query: BatchQuery): Promise<Match[][]>;
  /** The items with these ids, in the order asked for; unknown ids are left out. Default: all fields. */
  get(ids: readonly string[], options?: { readonly include?: readonly ItemField[] }): Promise<StoredItem[]>;
  /** Deletes by id (unknown ids are fine) or by filter. */
  delete(selection: { readonly ids: readonly string[] } | { readonly filter: Filter }): Promise<void>;
  /** Live ids in the order of string comparison, at most `limit` of those after `after`. Default: all. */
  listIds(options?: { readonly limit?: number; readonly after?: string }): Promise<string[]>;
  count(): Promise<number>;
  /** Clusters the items into inverted lists. Happens by itself too, see `automaticTraining`. */
  train(options?: TrainOptions): Promise<void>;
  describe(): Promise<IndexDescription>;
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

export interface CreateIndexOptions {
  /** 1 to 128 bytes of UTF-8 without control characters. Not secret. */
  readonly indexName: string;
  readonly indexKey: IndexKey;
  /** Default `{ type: "ivfflat" }`. Without `dimension`, the embedding model or the first vector decides. */
  readonly indexConfig?: IndexConfigInput;
  /** Default `euclidean`. */
  readonly metric?: Metric;
  /** A model the library knows by name, such as `sealdex/lexical-512`. */
  readonly embeddingModel?: string;
}

export interface OpenIndexOptions {
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
  listIndexes(): Promise<string[]>;
  /** Deletes the index and everything in it. Throws as `loadIndex`. */
  deleteIndex(options: OpenIndexOptions): Promise<void>;
  /** Releases what the client opened. */
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
}
