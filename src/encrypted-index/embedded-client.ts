/** The embedded client: indexes in storage locations, opened in this process. */

import { inspect } from "node:util";
import { parseIndexKey } from "../crypto/keys.js";
import { SealdexError } from "../errors.js";
import { invalid, typeName } from "../given-values.js";
import { BlockCache } from "../segment/block-cache.js";
import type { BlobStore } from "../storage/blob-store.js";
import { isBlobStore, openLocation } from "../storage/location.js";
import { useKernelThreads } from "../threads/kernel-threads.js";
import type {
  Client,
  CreateIndexOptions,
  EmbeddedClientOptions,
  OpenIndexOptions,
  VectorIndex,
} from "../vector-index.js";
import { AutomaticTraining } from "./automatic-training.js";
import { cacheBytesDefault } from "./cache-limit.js";
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

export class EmbeddedClient implements Client {
  readonly #indexStore: BlobStore;
  readonly #configStore: BlobStore;
  /** Stores that this client opened, and so closes. */
  readonly #owned: readonly BlobStore[];
  readonly #cache: BlockCache;
  readonly #training: AutomaticTraining;
  #closed: Promise<void> | undefined;
  readonly #releaseThreads: () => Promise<void>;

  constructor({
    indexLocation,
    configLocation,
    cacheBytesMax = cacheBytesDefault(),
    automaticTraining = true,
  }: EmbeddedClientOptions) {
    checkInteger(cacheBytesMax, 0, Number.MAX_SAFE_INTEGER, "cacheBytesMax");
    if (typeof automaticTraining !== "boolean") {
      throw invalid(`automaticTraining: expected a boolean, got ${typeName(automaticTraining)}`);
    }
    this.#indexStore = openLocation(indexLocation);
    this.#configStore = configLocation === undefined ? this.#indexStore : openLocation(configLocation);
    const owned = new Set<BlobStore>();
    if (!isBlobStore(indexLocation)) owned.add(this.#indexStore);
    if (configLocation !== undefined && !isBlobStore(configLocation)) owned.add(this.#configStore);
    this.#owned = [...owned];
    this.#cache = new BlockCache(cacheBytesMax);
    this.#training = new AutomaticTraining(automaticTraining);
    this.#releaseThreads = useKernelThreads();
  }

  async createIndex(options: CreateIndexOptions): Promise<VectorIndex> {
    const { indexName } = options;
    checkIndexName(indexName);
    const indexKey = parseIndexKey(options.indexKey);
    const definition = defineIndex(options);
    const taken = () => new SealdexError("already_exists", `index "${indexName}": the name is taken`);
    if ((await this.#records(indexName)).length > 0) throw taken();

    const name = recordName(indexName, 1);
    const { bytes, opened } = createRecord(indexKey, name, definition);
    const index = this.#open(indexName, opened);
    // The record comes last: it is what makes the name taken, and by then the index is complete.
    await index.log.begin();
    if (!(await this.#configStore.create(name, bytes))) {
      await this.#configStore.delete([manifestName(opened.indexId, 1)]);
      throw taken();
    }
    return new EncryptedIndex(index, this.#training);
  }

  async loadIndex(options: OpenIndexOptions): Promise<VectorIndex> {
    const index = await this.#load(options);
    await index.log.newest();
    return new EncryptedIndex(index, this.#training);
  }

  async listIndexes(): Promise<string[]> {
    const keys = await this.#configStore.list(namesPrefix);
    return [...new Set(keys.map(indexNameOf))].sort();
  }

  async deleteIndex(options: OpenIndexOptions): Promise<void> {
    const index = await this.#load(options);
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
    return (this.#closed ??= this.#close());
  }

  async #close(): Promise<void> {
    await this.#training.close();
    this.#cache.clear();
    await Promise.all([this.#releaseThreads(), ...this.#owned.map((store) => store.close())]);
  }

  [inspect.custom](): string {
    return "EmbeddedClient";
  }

  async #load({ indexName, indexKey }: OpenIndexOptions): Promise<OpenIndex> {
    checkIndexName(indexName);
    const key = parseIndexKey(indexKey);
    const [name] = await this.#records(indexName);
    const bytes = name === undefined ? null : await this.#configStore.read(name);
    if (bytes === null) throw new SealdexError("not_found", `index "${indexName}": there is no such index`);
    return this.#open(indexName, openRecord(key, name, indexName, bytes));
  }

  #open(indexName: string, record: ReturnType<typeof openRecord>): OpenIndex {
    return new OpenIndex(indexName, record, this.#indexStore, this.#configStore, this.#cache);
  }

  /** Keys of an index's records, newest first. */
  #records(indexName: string): Promise<string[]> {
    return this.#configStore.list(recordPrefix(indexName));
  }
}
