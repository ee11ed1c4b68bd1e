/** Options of clients, and of creating and opening an index. */

import type { EmbeddingInput } from "../embedding/embedder.js";
import type { ModelOptions } from "../embedding/model-options.js";
import type { Metric, Precision } from "../engine/config.js";
import type { KeyProvider } from "../keys/key-provider.js";
import type { CallOptions } from "./call-options.js";
import type { BlobStore } from "../storage/blob-store.js";
import type { TextIndexOptions } from "../text/text-options.js";
import type { StorageLocation } from "../storage/storage-location.js";

/**
 * 64 hexadecimal characters, 32 bytes, or a key provider: a key management service, a passphrase, a
 * file. Without it, only wraps open the index. Key providers are for embedded indexes only.
 */
export type IndexKey = string | Uint8Array | KeyProvider;

interface ListsConfig {
  /** Dimension of vectors, 1 to 8,192. */
  readonly dimension?: number;
  /** Target number of inverted lists of a training, 1 to 65,536. Default 1024. */
  readonly nLists?: number;
}

/** An index of vectors. */
export interface FlatIndexConfig extends ListsConfig {
  readonly type: "ivfflat";
  /**
   * Stored precision. `float16` and `int8` have a scale per vector: a vector is rounded once, when
   * it is received, and all results refer to the rounded one. Default `float32`, which is exact.
   */
  readonly precision?: Precision;
  /**
   * Whether training may assign each row to a second list, if its measurements show that this saves
   * work: queries then read fewer lists. Costs 2 bytes per row in storage, and about dimension / 8
   * + 20 in memory. Default true.
   */
  readonly spilling?: boolean;
  readonly pqDim?: never;
  readonly pqBits?: never;
}

/** An index of codes of about one bit per dimension. */
export interface PlainIndexConfig extends ListsConfig {
  readonly type: "ivf";
  readonly precision?: never;
  readonly spilling?: never;
  readonly pqDim?: never;
  readonly pqBits?: never;
}

/** An index of product-quantized codes, `pqDim` × `pqBits` bits each. */
export interface PqIndexConfig extends ListsConfig {
  readonly type: "ivfpq";
  readonly precision?: never;
  readonly spilling?: never;
  /** Must divide the dimension. Default 8. */
  readonly pqDim?: number;
  /** 1 to 16. Default 8. */
  readonly pqBits?: number;
}

/** The type of a new index, and how it stores vectors. */
export type IndexConfigInput = FlatIndexConfig | PlainIndexConfig | PqIndexConfig;

/** Options of creating an index. */
export interface CreateIndexOptions extends CallOptions {
  /** 1 to 128 bytes of UTF-8 without control characters. Not secret. */
  readonly indexName: string;
  readonly indexKey: IndexKey;
  /** Default `{ type: "ivfflat" }`. Without `dimension`, the embedding model or the first vector decides. */
  readonly indexConfig?: IndexConfigInput;
  /** Default `euclidean`. */
  readonly metric?: Metric;
  /**
   * Name of the model that embeds contents and text queries: `default`, which is built in, or a
   * model for transformers.js, for example `all-MiniLM-L6-v2`. Default: none; the caller passes
   * vectors.
   */
  readonly embeddingModel?: string;
  /**
   * Enables keyword search, see `queryText`. `true` for English contents. Costs about a third of
   * the size of the texts, and the time to analyze them. Default: disabled.
   */
  readonly textIndex?: TextIndexOptions | boolean;
  /** Replaces the model of this name in this process. Embedded indexes only. */
  readonly embedding?: EmbeddingInput;
}

/** Options of creating a collection. */
export interface CreateCollectionOptions extends CreateIndexOptions {
  /** Indexes that have the items, 1 to 4,096, each about an equal share. `splitShards` makes them more. */
  readonly shards: number;
}

/** Options of splitting the shards of a collection. */
export interface SplitShardsOptions extends OpenIndexOptions {
  /** The number of shards afterwards, 1 to 4,096. */
  readonly shards: number;
}

/** Options of opening an index by its name and key. */
export interface OpenIndexOptions extends CallOptions {
  readonly indexName: string;
  readonly indexKey: IndexKey;
}

/** Options of loading an index. */
export interface LoadIndexOptions extends OpenIndexOptions {
  /**
   * A token of `VectorIndex.anchor`: older states of the index are refused. Default: any state is
   * accepted.
   */
  readonly anchor?: string | undefined;
  /**
   * Embeds contents and text queries. Default: the model whose name is stored in the index. The
   * first call that embeds refuses another model than the index's. Embedded indexes only.
   */
  readonly embedding?: EmbeddingInput;
}

/** Options of a client of storage locations. */
export interface EmbeddedClientOptions {
  /** Location of segments. */
  readonly indexLocation: StorageLocation | BlobStore;
  /** Location of names, sealed keys and manifests. Default: `indexLocation`. */
  readonly configLocation?: StorageLocation | BlobStore;
  /**
   * Location of the newest anchor of each index, by which all processes that share it detect
   * rollbacks. Use a location that whoever controls the others cannot write to. Costs a small
   * concurrent request per read, and two per commit. Default: none; a new process then accepts an
   * old state of the whole storage.
   */
  readonly anchorLocation?: StorageLocation | BlobStore;
  /**
   * Limit of decrypted data in memory, in bytes. Default: a quarter of the memory available to this
   * process, at most 2 GiB. All clients of a process together keep at most 3 GiB. Larger indexes
   * work too, but read blocks repeatedly.
   */
  readonly cacheBytesMax?: number;
  /**
   * Maximum staleness of reads, in milliseconds: writes by other processes may take this long to
   * appear. This client's own writes are always visible. Default 0: every read sees every change
   * acknowledged before it.
   */
  readonly maxStalenessMs?: number;
  /**
   * Time limit of one storage operation in milliseconds, including retries, plus one second per
   * MiB; then it fails with `storage_unavailable`. Default 60,000. Does not apply to a caller's own
   * `BlobStore` (use `withRetries`).
   */
  readonly storageTimeoutMs?: number;
  /**
   * Trains indexes in the background once they have 10,000 items, and again whenever they have
   * doubled; see docs/training.md. Default true.
   */
  readonly automaticTraining?: boolean;
  /**
   * How long objects that this client's changes replaced are kept for readers in other processes,
   * in milliseconds, 0 to 900,000 (the default). Readers of this client are always waited for,
   * cursors for 900,000. With less, cursors and loops of other processes may end early with
   * `not_found`; other reads restart. Use 0 if no other process reads; it is the default of the
   * location `memory`.
   */
  readonly retentionMs?: number;
  /**
   * Hides from storage which items are read: each segment is read as a whole when the index is
   * opened, or after writes, and its ciphertext is kept in memory. It counts towards
   * `cacheBytesMax`; a larger index is `too_large`. Default false.
   */
  readonly oblivious?: boolean;
  /** Options for models that are loaded by name. */
  readonly models?: ModelOptions;
}

/** Options of a client of a service. */
export interface HttpClientOptions {
  /** For example `http://127.0.0.1:8000`. */
  readonly baseUrl: string;
  /** Sent as `X-API-Key`. */
  readonly apiKey?: string | undefined;
  /**
   * Time limit of one request in milliseconds, including retries; then it fails with
   * `storage_unavailable`. Training responds only when it is done. Default: the platform's limit.
   */
  readonly timeoutMs?: number;
  /**
   * Retries of one request after temporary failures: reads, plain upserts and deletions by id if
   * the service did not respond; any request that the service certainly did not start. 0 to 100,
   * default 5.
   */
  readonly maxRetries?: number;
}
