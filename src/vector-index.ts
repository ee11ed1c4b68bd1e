/// <reference lib="esnext.disposable" preserve="true" />
/**
 * The central nouns: what a caller can do with a client and with one index, wherever it runs. Two
 * implementations exist: the embedded index (`encrypted-index/`) and the one behind HTTP (`client/`).
 */

import type { CreateIndexOptions, IndexKey, LoadIndexOptions, OpenIndexOptions } from "./client-options.js";
import type { Image } from "./embedding/image.js";
import type { RerankInput } from "./embedding/reranker.js";
import type { Filter } from "./filter.js";
import type { IndexDescription, MemoryUse } from "./index-description.js";
import type { Fusion } from "./text/fusion.js";
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
import type {
  CountOptions,
  ItemPage,
  ItemsOptions,
  ListIdsOptions,
  ListIndexesOptions,
  ListItemsOptions,
} from "./listing-options.js";
import type { ProbingOptions } from "./probing.js";
import type { ErasureReceipt, NamespaceOption, Namespaces } from "./namespace-options.js";
import type { CallOptions } from "./result-options.js";
import type { Wraps } from "./wraps.js";
import type {
  ChangeOptions,
  ItemChange,
  UpdateResult,
  UpdateSelection,
  UpsertOptions,
  UpsertResult,
} from "./write-options.js";

export type { Fusion } from "./text/fusion.js";
export type { Highlight } from "./text/highlights.js";
export type { AnalyzerOptions, TextIndexOptions } from "./text/text-options.js";
export type * from "./client-options.js";
export type * from "./index-description.js";
export type * from "./namespace-options.js";
export type * from "./items.js";
export type * from "./listing-options.js";
export type * from "./probing.js";
export type * from "./result-options.js";
export type * from "./wraps.js";
export type * from "./write-options.js";

/** `I`: the fields of a match, inferred from `include`. */
export interface QueryOptions<I extends readonly MatchField[] = readonly MatchField[]>
  extends CallOptions, ProbingOptions, NamespaceOption {
  /** Neighbours to return, 0 to 10,000. Default 100. */
  readonly topK?: number;
  /** Only items whose metadata match are considered. */
  readonly filter?: Filter | undefined;
  /** The specification's name of `filter`. Giving both is an error. */
  readonly filters?: Filter | undefined;
  /**
   * Fields of each match besides `id`. Default `["distance"]`; `[]` gives ids alone. `vector` is `not_supported` by a trained
   * `ivf` or `ivfpq`, which keep codes: ask for `decoded`.
   */
  readonly include?: I;
}

export interface SingleQuery<
  I extends readonly MatchField[] = readonly MatchField[],
> extends QueryOptions<I> {
  readonly queryVector: Vector;
  readonly queryContents?: never;
  readonly queryVectors?: never;
  readonly queryText?: never;
}
export interface TextQuery<I extends readonly MatchField[] = readonly MatchField[]> extends QueryOptions<I> {
  /** A text, or an image if the index's embedding model knows images. */
  readonly queryContents: string | Image;
  readonly queryVector?: never;
  readonly queryVectors?: never;
  readonly queryText?: never;
}
/** Embedded indexes only. */
export interface RankedQuery<I extends readonly MatchField[] = readonly MatchField[]> extends TextQuery<I> {
  readonly queryContents: string;
  /**
   * Scores the contents of the nearest items, 4 * `topK` of them. Matches are ordered by score; items without
   * contents are left out.
   */
  readonly rerank: RerankInput;
}

/** A search by words, or by words and meaning if a vector or contents are given too. Only of an index with a `textIndex`. */
export interface WordQuery<I extends readonly WordField[] = readonly WordField[]> extends Omit<
  QueryOptions,
  "include"
> {
  /**
   * Words, of which an item has one at least, ranked by BM25. `"a phrase"` and `+required` must be there, `-excluded` must not,
   * and `prefix*` stands for all words that begin so. No text is an error.
   */
  readonly queryText: string;
  readonly queryVector?: Vector;
  readonly queryContents?: string | Image;
  readonly queryVectors?: never;
  /** How what words found and what vectors found become one list. Default `{ method: "automatic" }`. */
  readonly fusion?: Fusion;
  /** Fields of each match besides `id` and `score`. Default `["distance"]`, of those that the vector found. */
  readonly include?: I;
}

/** A match and its score, larger is better; that of a cross-encoder is from 0 to 1. */
export type RankedMatch<I extends readonly MatchField[] = readonly MatchField[]> = Match<I> & {
  readonly score: number;
};

export interface BatchQuery<I extends readonly MatchField[] = readonly MatchField[]> extends QueryOptions<I> {
  /** At most 1,000 vectors. */
  readonly queryVectors: readonly Vector[];
  readonly queryVector?: never;
  readonly queryContents?: never;
  readonly queryText?: never;
}

/** What `query` includes unless told otherwise. */
export type DefaultInclude = readonly ["distance"];

export interface GetOptions<I extends readonly ItemField[] = readonly ItemField[]>
  extends CallOptions, NamespaceOption {
  /** Default: all but `decoded`, and `vector` only if the index keeps vectors. */
  readonly include?: I | undefined;
}

/**
 * What to delete: the items with these ids; those whose metadata match a filter, which must not be one that matches
 * everything; those of the ids that match as of the moment of the deletion; or all items.
 */
export type Selection =
  | { readonly ids: readonly string[]; readonly filter?: Filter | undefined; readonly deleteAll?: never }
  | { readonly filter: Filter; readonly ids?: never; readonly deleteAll?: never }
  | { readonly deleteAll: true; readonly ids?: never; readonly filter?: never };

/** What a training has done. The phases run in this order; `done` grows to `total`, and both restart with each phase. */
export interface TrainingProgress {
  /** `sample` and `store` count items, `cluster` comparisons of two vectors, of which there may be fewer than foreseen. */
  readonly phase: "sample" | "cluster" | "store";
  readonly done: number;
  readonly total: number;
}

/** A training learns from the items that are in no namespace, so that what it learned says nothing of what is erased later. */
export interface TrainOptions extends CallOptions {
  /**
   * Inverted lists, at most one per item of the sample, of which zero vectors under `cosine` are no part. Default: the index's
   * number, as far as the items support it.
   */
  readonly nLists?: number;
  /** Called now and then, at most every few milliseconds. Embedded indexes only: `not_supported` over HTTP. */
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
  /** The keys that open the index: of its owner, and of people and services that the owner gives access. */
  readonly wraps: Wraps;
  /** Parts of the index whose items can be erased together, for good; see `erase`. */
  readonly namespaces: Namespaces;
  /**
   * Stores the items, replacing those with the same id; of equal ids in one call the last wins. Throws
   * `dimension_mismatch` for a vector of another length than the index's, over HTTP `too_large` for a `deleteFilter` with more
   * items than one request holds.
   */
  upsert(items: readonly Item[], options?: UpsertOptions): Promise<UpsertResult>;
  /**
   * Changes the metadata of items, in one commit; their vectors and contents stay. Unknown ids are ignored. An item that
   * somebody else replaces or deletes meanwhile stays as that left it, or is changed as it is then: nothing old comes back.
   */
  update(selection: UpdateSelection, change: ItemChange, options?: ChangeOptions): Promise<UpdateResult>;
  /**
   * The nearest items, ascending by distance: one list for one query, a list of lists for a batch. With `queryText`, the items
   * of greatest score. Throws
   * `dimension_mismatch` for a vector of another length than the index's, `not_supported` if `include` names `vector` and
   * the index keeps codes alone.
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
  query<const I extends readonly MatchField[] = DefaultInclude>(
    query: SingleQuery<I> | TextQuery<I> | BatchQuery<I>,
  ): Promise<Match<I>[] | Match<I>[][]>;
  /**
   * The items with these ids, in the order asked for; unknown ids are left out. Throws `not_supported` if `include` names
   * `vector` and the index keeps codes alone.
   */
  get<const I extends readonly ItemField[] = readonly ItemField[]>(
    ids: readonly string[],
    options?: GetOptions<I>,
  ): Promise<StoredItem<I>[]>;
  /** Deletes by id (unknown ids are fine), by filter, or everything. */
  delete(selection: Selection, options?: ChangeOptions): Promise<void>;
  /** Live ids in the order of string comparison, at most `limit` of those after `after`. Default: all. */
  listIds(options?: ListIdsOptions): Promise<string[]>;
  /**
   * A page of items in the order of their ids, or by `orderBy` of their metadata, and the cursor of the next page. All pages show the index as it was for the
   * first one, whatever is written meanwhile. Throws `not_found` if that state was replaced so long ago, 15 minutes at
   * least, or with less retention 15 minutes after the last page, if that is sooner, that it is no longer stored; `not_supported` if
   * `include` names `vector` and the index keeps codes alone.
   */
  listItems<const I extends readonly ItemField[] = readonly ItemField[]>(
    options?: ListItemsOptions<I>,
  ): Promise<ItemPage<I>>;
  /**
   * All items, or those that match, in the order of their ids: `for await (const item of index.items())`. They show the index
   * as it is when the first one is asked for. One page is in memory at a time; leaving the loop lets go of it and of the
   * snapshot. Throws as `listItems`.
   */
  items<const I extends readonly ItemField[] = readonly ItemField[]>(
    options?: ItemsOptions<I>,
  ): AsyncGenerator<StoredItem<I>, void, undefined>;
  /** The number of items, or of those that match. */
  count(options?: CountOptions): Promise<number>;
  /**
   * Erases a namespace for good: destroys the random secret without which nobody reads its items, neither from the storage as it is nor
   * from retained old versions of everything else in it, whoever has the index key. Two small writes, whatever the size of the index. Copies
   * and backups that hold the secret keep theirs. After `storage_unavailable` repeat the call. What is written into the
   * namespace afterwards is new.
   */
  erase(namespace: string, options?: CallOptions): Promise<ErasureReceipt>;
  /**
   * Clusters the items into inverted lists. Happens by itself too, see `automaticTraining`. Throws `not_supported` for
   * `onProgress` over HTTP.
   */
  train(options?: TrainOptions): Promise<void>;
  /**
   * Merges the segments into as few as their size allows, without what was deleted or replaced, so that queries read
   * less. Writers do the same bit by bit; after a large ingest or deletion this does all of it.
   */
  compact(options?: CallOptions): Promise<void>;
  /**
   * Reads what queries need into memory: the model, codes, ids and metadata, as far as the cache has room (`cacheBytesMax`). Resolves to
   * whether all of it is there; then queries wait for storage once, to see whether anything was written. Columns that filters need
   * are read by the first filter. Embedded indexes only: `not_supported` over HTTP.
   */
  prefetch(options?: CallOptions): Promise<boolean>;
  /**
   * Changes the owner's key, and the data keys of everything that is written from then on: a small record and a commit, whatever
   * the size of the index. The old key opens nothing any more, and processes that opened the index with it get `wrong_index_key`
   * (after `maxStalenessMs` at most); this object and holders of other wraps continue. An attacker who kept both the old key and an old
   * copy of the record can still read what was stored before, until `reencrypt`.
   *
   * Throws `invalid_request` if `newKey` is not a key, `wrong_index_key` if the key was rotated elsewhere, `forbidden` if the
   * index was not opened with its owner's key, `already_exists` if a wrap has the key. After `storage_unavailable` either key may
   * be the right one: repeat the call.
   */
  rotateKey(newKey: IndexKey, options?: CallOptions): Promise<void>;
  /**
   * Draws new data keys and seals everything that is stored again under them, while the index is in use; training and rows stay as
   * they are. Reads and writes each object once. After an interruption the next call goes on with the rest. The old objects are
   * deleted after 15 to 30 minutes, as all that is replaced. Throws `forbidden` if the index was not opened with its owner's key.
   */
  reencrypt(options?: CallOptions): Promise<void>;
  /**
   * A token of about 90 characters that names the present state of the index, and is not secret. `loadIndex` with it refuses
   * every older state, and every other history, with `rollback_detected`: keep it where the storage cannot change it.
   */
  anchor(options?: CallOptions): Promise<string>;
  /** What the index is, and what it uses. */
  describe(options?: CallOptions): Promise<IndexDescription>;
}

/**
 * A place that holds indexes. Besides the codes that a method names, each rejects with `invalid_request`,
 * `storage_unavailable` and over HTTP `unauthenticated`, as the methods of an index do.
 */
export interface Client extends AsyncDisposable {
  /** Whether it opens storage locations itself, or asks a service. */
  readonly kind: "embedded" | "http";
  /**
   * Throws `already_exists` if the name is taken, `dimension_mismatch` if the dimension is not the embedding model's or no
   * multiple of `pqDim`, `not_supported` if a package that the location or the model needs is not installed.
   */
  createIndex(options: CreateIndexOptions): Promise<VectorIndex>;
  /**
   * Throws `not_found` if there is no such index, `wrong_index_key` if the key is another; `corrupt`, `missing_object` or
   * `rollback_detected` if stored data was modified, is missing, or was rolled back.
   */
  loadIndex(options: LoadIndexOptions): Promise<VectorIndex>;
  /** Names of indexes, in the order of code points. Throws `invalid_request`. */
  listIndexes(options?: ListIndexesOptions): Promise<string[]>;
  /** Deletes the index and everything in it. Throws as `loadIndex`. */
  deleteIndex(options: OpenIndexOptions): Promise<void>;
  /**
   * Waits for the calls in progress and releases what the client opened; what the caller passed in, a store or a database
   * client, stays open. Later calls reject with `invalid_request`. `await using` closes a client too.
   */
  close(): Promise<void>;
}

/** A client of storage locations. */
export interface EmbeddedClient extends Client {
  readonly kind: "embedded";
  /** Memory of the process, and of the blocks that this client has opened. */
  memory(): MemoryUse;
}
