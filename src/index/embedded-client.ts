/** The embedded client: indexes in storage locations, opened in this process. */

import { inspect } from "node:util";
import { methodOptions } from "../api/method-options.js";
import type {
  CreateCollectionOptions,
  CreateIndexOptions,
  EmbeddedClient as EmbeddedClientType,
  EmbeddedClientOptions,
  ListIndexesOptions,
  LoadIndexOptions,
  MemoryUse,
  OpenIndexOptions,
  SplitShardsOptions,
  VectorIndex,
} from "../api/vector-index.js";
import { Calls } from "../async/calls.js";
import { isTurnOver, nextTurn } from "../async/event-loop.js";
import { takeOptions } from "../checks/option-names.js";
import type { Embedder, EmbeddingInput } from "../embedding/embedder.js";
import { IndexEmbedder } from "../embedding/index-embedder.js";
import { type Clock, systemClock } from "../state/commit/clock.js";
import { type ClientParts, openParts } from "./client-parts.js";
import { CollectionIndex } from "./collection/collection-index.js";
import { collectionOf, createCollection, deleteWithShards } from "./collection/open-collection.js";
import { splitShards } from "./collection/split-shards.js";
import { createIndex, createRequest } from "./create-index.js";
import { EncryptedIndex } from "./encrypted-index.js";
import { listNames } from "./list-indexes.js";
import type { ClientResources, ClientStores } from "./open/client-resources.js";
import { findIndex, findNewest, type OpenRequest, openRequest } from "./open/find-index.js";
import type { OpenIndex } from "./open/open-index.js";

export class EmbeddedClient implements EmbeddedClientType {
  readonly kind = "embedded";
  readonly #parts: ClientParts;
  readonly #calls = new Calls({ isOver: isTurnOver, next: nextTurn });
  #closing: Promise<void> | undefined;

  constructor(options: EmbeddedClientOptions, clock = systemClock, parts = openParts(options, clock)) {
    this.#parts = parts;
  }

  async createIndex(options: CreateIndexOptions): Promise<VectorIndex> {
    options = takeOptions(options, methodOptions.createIndex);
    return this.#calls.write(options.signal, async () => {
      const { stores, resources } = this.#parts;
      const request = createRequest(options);
      const embedder = this.#chooseEmbedder(options.embedding ?? options.embeddingModel);
      const index = await createIndex(request, embedder, stores, resources);
      return new EncryptedIndex(index, this.#calls, this.#texts(index, embedder));
    });
  }

  async loadIndex(options: LoadIndexOptions): Promise<VectorIndex> {
    return this.#load(takeOptions(options, methodOptions.loadIndex), undefined);
  }

  async createCollection(options: CreateCollectionOptions): Promise<VectorIndex> {
    options = takeOptions(options, methodOptions.createCollection);
    return this.#calls.write(options.signal, async () => {
      const { stores, resources } = this.#parts;
      const request = createRequest(options);
      const embedder = this.#chooseEmbedder(options.embedding ?? options.embeddingModel);
      const created = await createCollection(request, options.shards, embedder, stores, resources);
      return new CollectionIndex(created, this.#calls, this.#texts(created.index, embedder));
    });
  }

  async loadCollection(options: LoadIndexOptions): Promise<VectorIndex> {
    return this.#load(takeOptions(options, methodOptions.loadCollection), true);
  }

  async deleteCollection(options: OpenIndexOptions): Promise<void> {
    return this.#delete(takeOptions(options, methodOptions.deleteCollection), true);
  }

  /** `isCollection`: undefined for either kind. */
  #load(options: LoadIndexOptions, isCollection: boolean | undefined): Promise<VectorIndex> {
    const request = openRequest(options);
    return this.#calls.read(options.signal, async () => {
      const { stores, resources } = this.#parts;
      const { index, manifest } = await findNewest(request, stores, resources, isCollection);
      const embedder = this.#chooseEmbedder(options.embedding ?? index.model?.name);
      const texts = this.#texts(index, embedder);
      return manifest.shards === undefined
        ? new EncryptedIndex(index, this.#calls, texts)
        : new CollectionIndex(collectionOf(index, stores, resources), this.#calls, texts);
    });
  }

  #delete(options: OpenIndexOptions, isCollection: boolean | undefined): Promise<void> {
    const { signal } = options;
    const request = openRequest(options);
    return this.#calls.write(signal, async () => {
      const { stores, resources } = this.#parts;
      const index = await this.open(request, isCollection);
      await deleteWithShards(index, stores, resources, signal);
      this.#parts.sweeps.begin(stores);
    });
  }

  async splitShards(options: SplitShardsOptions): Promise<void> {
    options = takeOptions(options, methodOptions.splitShards);
    const { shards: count, signal } = options;
    const request = openRequest(options);
    await this.#calls.write(signal, async () => {
      const { stores, resources } = this.#parts;
      const head = await this.open(request, true);
      await splitShards(collectionOf(head, stores, resources), { count, stores, resources, signal });
    });
  }

  #texts(index: OpenIndex, embedder: Embedder | undefined) {
    const own = embedder && new IndexEmbedder(embedder, index.model, index.indexName);
    return { models: this.#parts.models, embedder: own };
  }

  #chooseEmbedder(input: EmbeddingInput | undefined): Embedder | undefined {
    return input === undefined ? undefined : this.#parts.models.embedder(input, "embedding model");
  }

  async listIndexes(options: ListIndexesOptions = {}): Promise<string[]> {
    const own = takeOptions(options, methodOptions.listIndexes);
    return this.#calls.read(own.signal, () => listNames(this.stores.configStore, own));
  }

  async deleteIndex(options: OpenIndexOptions): Promise<void> {
    return this.#delete(takeOptions(options, methodOptions.deleteIndex), undefined);
  }

  memory(): MemoryUse {
    return this.#parts.resources.cache.memory();
  }

  close(): Promise<void> {
    this.#closing ??= this.#calls.close().then(() => this.#parts.close());
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** For work on the stores themselves. */
  get stores(): ClientStores {
    return this.#parts.stores;
  }

  get resources(): ClientResources {
    return this.#parts.resources;
  }

  get clock(): Clock {
    return this.resources.clock;
  }

  /** Runs `work` as a call of this client. */
  during<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    return this.#calls.write(signal, work);
  }

  [inspect.custom](): string {
    return "EmbeddedClient";
  }

  /** `isCollection`: undefined for either kind. */
  open(request: OpenRequest, isCollection: boolean | undefined): Promise<OpenIndex> {
    return findIndex(request, this.#parts.stores, this.#parts.resources, isCollection);
  }
}
