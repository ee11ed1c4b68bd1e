/** Options of clients, and of creating and opening an index. */

import type { EmbeddingInput } from "./embedding/embedder.js";
import type { ModelOptions } from "./embedding/model-options.js";
import type { Metric, Precision } from "./engine/config.js";
import type { KeyProvider } from "./keys/key-provider.js";
import type { CallOptions } from "./result-options.js";
import type { BlobStore } from "./storage/blob-store.js";
import type { TextIndexOptions } from "./text/text-options.js";
import type { StorageLocation } from "./storage/storage-location.js";

/**
 * 64 hexadecimal characters, 32 bytes, or what keeps the key: a key management service, a passphrase, a file. It alone opens the
 * index, unless wraps were added. Key providers are for embedded indexes only.
 */
export type IndexKey = string | Uint8Array | KeyProvider;

interface ListsConfig {
  /** Components of a vector, 1 to 8,192. */
  readonly dimension?: number;
  /** Inverted lists that training aims at, 1 to 65,536. Default 1024. */
  readonly nLists?: number;
}

/** An index of vectors. */
export interface FlatIndexConfig extends ListsConfig {
  readonly type: "ivfflat";
  /**
   * How vectors are stored. `float16` and `int8` numbers have a scale per vector: a vector is rounded once, when it is stored, and
   * every result is of the rounded one. Default `float32`, which keeps vectors bit for bit.
   */
  readonly precision?: Precision;
  /**
   * Whether each row is found in a second list, too, once training finds that it pays: queries then read fewer lists. Costs
   * 2 bytes per row in storage, and about dimension / 8 + 20 in memory. Default true.
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
  /** A divisor of the dimension. Default 8. */
  readonly pqDim?: number;
  /** 1 to 16. Default 8. */
  readonly pqBits?: number;
}

export type IndexConfigInput = FlatIndexConfig | PlainIndexConfig | PqIndexConfig;

export interface CreateIndexOptions extends CallOptions {
  /** 1 to 128 bytes of UTF-8 without control characters. Not secret. */
  readonly indexName: string;
  readonly indexKey: IndexKey;
  /** Default `{ type: "ivfflat" }`. Without `dimension`, the embedding model or the first vector decides. */
  readonly indexConfig?: IndexConfigInput;
  /** Default `euclidean`. */
  readonly metric?: Metric;
  /**
   * Name of the model that embeds contents and text queries: `default`, which is built in, or one that transformers.js
   * runs, such as `all-MiniLM-L6-v2`. Default: none, vectors are given.
   */
  readonly embeddingModel?: string;
  /**
   * Makes the texts of items searchable by words, see `queryText`. `true` for English contents. Costs about a third of the
   * size of the texts, and the time to analyze them. Default: none.
   */
  readonly textIndex?: TextIndexOptions | boolean;
  /** What embeds in this process, if not the model of that name. Embedded indexes only. */
  readonly embedding?: EmbeddingInput;
}

export interface OpenIndexOptions extends CallOptions {
  readonly indexName: string;
  readonly indexKey: IndexKey;
}

export interface LoadIndexOptions extends OpenIndexOptions {
  /** A token that `VectorIndex.anchor` returned: older states of the index are refused. Default: any state is accepted. */
  readonly anchor?: string | undefined;
  /**
   * What embeds contents and text queries. Default: the model whose name the index remembers. Another model than the one
   * that the index was created with is refused by the first call that embeds. Embedded indexes only.
   */
  readonly embedding?: EmbeddingInput;
}

export interface EmbeddedClientOptions {
  /** Where segments are kept. */
  readonly indexLocation: StorageLocation | BlobStore;
  /** Where names, sealed keys, manifests are kept. Default: `indexLocation`. */
  readonly configLocation?: StorageLocation | BlobStore;
  /**
   * Where the newest anchor of each index is kept, by which every process that shares this location detects a rollback:
   * a location that an attacker who controls the others does not control. Costs a small request per read, next to the others, and
   * two per commit. Default: none, and a new process accepts an old state of the whole storage.
   */
  readonly anchorLocation?: StorageLocation | BlobStore;
  /**
   * Limit of decrypted blocks kept in memory, in bytes. Default: a quarter of the memory that this process may have, at most
   * 2 GiB. All clients of a process keep at most 3 GiB together, whatever their limits are. An index that is larger works all the same, and reads
   * what it needs again and again.
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
   * Whether an index is trained without being asked, in the background, once it has 10,000 items, and again whenever it has doubled:
   * docs/training.md. Default true.
   */
  readonly automaticTraining?: boolean;
  /**
   * How long, in milliseconds, objects that changes of this client replaced are kept for readers in other processes, 0 to
   * 900,000. Readers of this client are known and are waited for, a cursor for 900,000. With less than the default, 900,000,
   * cursors and loops of other processes end earlier with `not_found`; other reads start again. 0 if no other process reads, as
   * is the default of the location `memory`.
   */
  readonly retentionMs?: number;
  /**
   * Whether storage is kept from seeing which items are looked for: each segment of an index is then read as a whole when the
   * index is opened, or when somebody has written, and its ciphertext is kept in memory. It counts as part of `cacheBytesMax`; an
   * index with more stored bytes is `too_large`. Default false.
   */
  readonly oblivious?: boolean;
  /** How embedding models are found by name. */
  readonly models?: ModelOptions;
}

export interface HttpClientOptions {
  /** For example `http://127.0.0.1:8000`. */
  readonly baseUrl: string;
  /** Sent as `X-API-Key`. */
  readonly apiKey?: string | undefined;
  /**
   * How long one request may take, with its retries, before it is reported as `storage_unavailable`. Mind that training
   * answers when it is done. Default: no limit but the platform's.
   */
  readonly timeoutMs?: number;
  /**
   * How often one request is sent again after a failure that may pass: reads, upserts without conditions and deletions by id
   * whenever the service did not answer; anything that the service certainly did not begin. 0 to 100, default 5.
   */
  readonly maxRetries?: number;
}
