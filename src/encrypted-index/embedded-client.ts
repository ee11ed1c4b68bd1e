/** The embedded client: indexes in storage locations, opened in this process. */

import { inspect } from "node:util";
import { Calls } from "../calls.js";
import { parseIndexKey } from "../crypto/keys.js";
import { SealdexError } from "../errors.js";
import { BlockCache } from "../segment/block-cache.js";
import type { BlobStore } from "../storage/blob-store.js";
import { isBlobStore, openLocation } from "../storage/location.js";
import { storageTimeoutMsDefault } from "../storage/retrying.js";
import type {
  CallOptions,
  Client,
  CreateIndexOptions,
  EmbeddedClientOptions,
  OpenIndexOptions,
  VectorIndex,
} from "../vector-index.js";
import type { Place } from "./copy-objects.js";
import { checkInteger, defineIndex } from "./definition.js";
import { EncryptedIndex } from "./encrypted-index.js";
import { createRecord, openRecord } from "./index-record.js";
import {
  checkIndexName,
  indexNameOf,
  indexPrefix,
  manifestName,
  manifestPrefix,
  namesPrefix,
  recordName,
  recordPrefix,
} from "./names.js";
import { OpenIndex } from "./open-index.js";

const cacheBytesDefault = 512 * 1024 * 1024;
const storageTimeoutMsMax = 24 * 60 * 60 * 1000;

export class EmbeddedClient implements Client {
  readonly #indexStore: BlobStore;
  readonly #configStore: BlobStore;
  /** Stores that this client opened, and so closes. */
  readonly #owned: readonly BlobStore[];
  readonly #cache: BlockCache;
  readonly #calls = new Calls();
  #closing: Promise<void> | undefined;

  constructor({
    indexLocation,
    configLocation,
    cacheBytesMax = cacheBytesDefault,
    storageTimeoutMs = storageTimeoutMsDefault,
  }: EmbeddedClientOptions) {
    checkInteger(storageTimeoutMs, 1, storageTimeoutMsMax, "storageTimeoutMs");
    this.#indexStore = openLocation(indexLocation, storageTimeoutMs);
    this.#configStore =
      configLocation === undefined ? this.#indexStore : openLocation(configLocation, storageTimeoutMs);
    const owned = new Set<BlobStore>();
    if (!isBlobStore(indexLocation)) owned.add(this.#indexStore);
    if (configLocation !== undefined && !isBlobStore(configLocation)) owned.add(this.#configStore);
    this.#owned = [...owned];
    this.#cache = new BlockCache(cacheBytesMax);
  }

  async createIndex(options: CreateIndexOptions): Promise<VectorIndex> {
    return this.#calls.change(options.signal, () => this.#create(options));
  }

  async #create(options: CreateIndexOptions): Promise<VectorIndex> {
    const { indexName, signal } = options;
    checkIndexName(indexName);
    const indexKey = parseIndexKey(options.indexKey);
    const definition = defineIndex(options);
    const taken = () => new SealdexError("already_exists", `index "${indexName}": the name is taken`);
    if ((await this.#records(indexName)).length > 0) throw taken();

    const name = recordName(indexName, 1);
    const { bytes, opened } = createRecord(indexKey, name, definition);
    const index = this.#open(indexName, opened);
    // The record comes last: it is what makes the name taken, and by then the index is complete.
    signal?.throwIfAborted();
    await index.log.begin();
    if (signal?.aborted || !(await this.#configStore.create(name, bytes))) {
      await this.#configStore.delete([manifestName(opened.indexId, 1)]);
      signal?.throwIfAborted();
      throw taken();
    }
    return new EncryptedIndex(index, this.#calls);
  }

  async loadIndex(options: OpenIndexOptions): Promise<VectorIndex> {
    return this.#calls.look(options.signal, async () => {
      const index = await this.#load(options);
      await index.log.newest();
      return new EncryptedIndex(index, this.#calls);
    });
  }

  async listIndexes({ signal }: CallOptions = {}): Promise<string[]> {
    return this.#calls.look(signal, async () => {
      const keys = await this.#configStore.list(namesPrefix, { signal });
      return [...new Set(keys.map(indexNameOf))].sort();
    });
  }

  async deleteIndex(options: OpenIndexOptions): Promise<void> {
    await this.#calls.change(options.signal, () => this.#delete(options));
  }

  async #delete(options: OpenIndexOptions): Promise<void> {
    const index = await this.#load(options);
    options.signal?.throwIfAborted();
    // The record goes first: with it go the name and the keys, whatever happens to the rest.
    await this.#configStore.delete(await this.#records(options.indexName));
    const last = await index.log.commit((latest) => ({
      ...latest,
      dropped: true,
      segments: [],
      garbage: [],
    }));
    // The last manifest stays and tells other processes that the index was deleted.
    const kept = last && manifestName(index.indexId, last.version);
    const manifests = await this.#configStore.list(manifestPrefix(index.indexId));
    await this.#configStore.delete(manifests.filter((name) => name !== kept).reverse());
    const objects = await this.#indexStore.list(indexPrefix(index.indexId));
    await this.#indexStore.delete(objects.filter((name) => !name.startsWith(manifestPrefix(index.indexId))));
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#calls.close();
    this.#cache.clear();
    await Promise.all(this.#owned.map((store) => store.close()));
  }

  /** For work on the stores themselves. */
  get place(): Place {
    return { indexStore: this.#indexStore, configStore: this.#configStore };
  }

  /** Runs `work` as a call of this client. */
  during<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    return this.#calls.change(signal, work);
  }

  [inspect.custom](): string {
    return "EmbeddedClient";
  }

  async #load(options: OpenIndexOptions): Promise<OpenIndex> {
    return (await this.open(options)).index;
  }

  /** The index, and the record that opened it, as stored under `name`. */
  async open({
    indexName,
    indexKey,
  }: OpenIndexOptions): Promise<{ index: OpenIndex; record: Uint8Array; name: string }> {
    checkIndexName(indexName);
    const key = parseIndexKey(indexKey);
    // The first version is nearly always the only one: read while the list is asked for, it is there at once.
    const first = recordName(indexName, 1);
    const [[name], firstBytes] = await Promise.all([this.#records(indexName), this.#configStore.read(first)]);
    const bytes =
      name === undefined ? null : name === first ? firstBytes : await this.#configStore.read(name);
    if (bytes === null) throw new SealdexError("not_found", `index "${indexName}": there is no such index`);
    const index = this.#open(indexName, openRecord(key, name, indexName, bytes));
    return { index, record: bytes, name };
  }

  #open(indexName: string, record: ReturnType<typeof openRecord>): OpenIndex {
    return new OpenIndex(indexName, record, this.#indexStore, this.#configStore, this.#cache);
  }

  /** Keys of an index's records, newest first. */
  #records(indexName: string): Promise<string[]> {
    return this.#configStore.list(recordPrefix(indexName));
  }
}
