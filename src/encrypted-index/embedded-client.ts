/** The embedded client: indexes in storage locations, opened in this process. */

import { inspect } from "node:util";
import { Calls } from "../calls.js";
import { parseKeySource } from "../keys/key-provider.js";
import type { Embedder, EmbeddingInput } from "../embedding/embedder.js";
import { identify, IndexEmbedder } from "../embedding/index-embedder.js";
import { Models } from "../embedding/models.js";
import { modelName } from "../embedding/built-in.js";
import { SealdexError } from "../errors.js";
import { invalid, typeName } from "../check-input.js";
import { checkNameListing } from "../check-name-listing.js";
import { embeddedClientOptions, methodOptions } from "../method-options.js";
import { checkOptions } from "../option-names.js";
import { memoryUse } from "../search/memory-use.js";
import { BlockCache } from "../segment/block-cache.js";
import type { BlobStore } from "../storage/blob-store.js";
import { isBlobStore, isPrivate, openLocation } from "../storage/location.js";
import { storageTimeoutMsDefault } from "../storage/retrying.js";
import { useKernelThreads } from "../threads/kernel-threads.js";
import type {
  CreateIndexOptions,
  EmbeddedClient as EmbeddedClientType,
  EmbeddedClientOptions,
  ListIndexesOptions,
  LoadIndexOptions,
  MemoryUse,
  OpenIndexOptions,
  VectorIndex,
} from "../vector-index.js";
import { objectsOf, OrphanMark } from "./orphans.js";
import { AutomaticTraining } from "./automatic-training.js";
import { Background } from "./background.js";
import { cacheBytesDefault } from "./cache-limit.js";
import { type Anchor, decodeAnchor } from "../commit/anchor.js";
import { type Clock, systemClock } from "../commit/clock.js";
import { historyMs } from "../commit/retention.js";
import { createConfirmed } from "../commit/create-confirmed.js";
import { defineText } from "../text/define-text.js";
import type { TextDefinition } from "../text/text-options.js";
import { checkInteger, defineIndex } from "./definition.js";
import { EncryptedIndex } from "./encrypted-index.js";
import { createRecord, type OpenedRecord, openRecord } from "./index-record.js";
import { checkIndexName, manifestName, manifestPrefix, recordName } from "../commit/object-names.js";
import { readObject } from "../commit/read-object.js";
import { isTurnOver, nextTurn } from "../threads/yield-to-event-loop.js";
import { listNames } from "./list-names.js";
import { Listings } from "./listings.js";
import { listIndex, openListed } from "./open-listed.js";
import { makeRoom } from "./gc.js";
import { openIndex, type OpenIndex, type ClientStores } from "./open-index.js";
import { OrphanSweeps } from "./orphan-sweeps.js";
import { listRecords } from "./record-access.js";

const storageTimeoutMsMax = 24 * 60 * 60 * 1000;

/** The name that a new index remembers its model by. */
function nameOf({ embeddingModel, embedding }: CreateIndexOptions): string | undefined {
  const name = embeddingModel ?? (typeof embedding === "string" ? embedding : undefined);
  return name && modelName(name);
}

/** How the texts of a new index are searched by words. */
function wordsOf({ textIndex = false }: CreateIndexOptions): TextDefinition | undefined {
  if (textIndex === false) return undefined;
  return defineText(textIndex === true ? {} : textIndex);
}

export class EmbeddedClient implements EmbeddedClientType {
  readonly kind = "embedded";
  readonly #indexStore: BlobStore;
  readonly #configStore: BlobStore;
  readonly #anchorStore: BlobStore | undefined;
  /** Stores that this client opened, and so closes. */
  readonly #owned: readonly BlobStore[];
  readonly #cache: BlockCache;
  readonly #maxStalenessMs: number;
  readonly #retentionMs: number;
  readonly #oblivious: boolean;
  readonly #clock: Clock;
  readonly #listings: Listings;
  readonly #background = new Background();
  readonly #sweeps: OrphanSweeps;
  readonly #training: AutomaticTraining;
  readonly #releaseThreads: () => Promise<void>;
  readonly #models: Models;

  readonly #calls = new Calls({ isOver: isTurnOver, next: nextTurn });
  #closing: Promise<void> | undefined;

  constructor(options: EmbeddedClientOptions, clock: Clock = systemClock) {
    checkOptions(options, embeddedClientOptions);
    const { indexLocation, configLocation, anchorLocation, cacheBytesMax = cacheBytesDefault() } = options;
    const {
      maxStalenessMs = 0,
      storageTimeoutMs = storageTimeoutMsDefault,
      automaticTraining = true,
      retentionMs = isPrivate(indexLocation) ? 0 : historyMs,
      oblivious = false,
      models,
    } = options;
    checkInteger(cacheBytesMax, 0, Number.MAX_SAFE_INTEGER, "cacheBytesMax");
    checkInteger(storageTimeoutMs, 1, storageTimeoutMsMax, "storageTimeoutMs");
    checkInteger(maxStalenessMs, 0, Number.MAX_SAFE_INTEGER, "maxStalenessMs");
    checkInteger(retentionMs, 0, historyMs, "retentionMs");
    for (const [name, value] of Object.entries({ automaticTraining, oblivious })) {
      if (typeof value !== "boolean") throw invalid(`${name}: expected a boolean, got ${typeName(value)}`);
    }
    this.#indexStore = openLocation(indexLocation, storageTimeoutMs);
    this.#configStore =
      configLocation === undefined ? this.#indexStore : openLocation(configLocation, storageTimeoutMs);
    this.#anchorStore =
      anchorLocation === undefined ? undefined : openLocation(anchorLocation, storageTimeoutMs);
    const owned = new Set<BlobStore>();
    if (!isBlobStore(indexLocation)) owned.add(this.#indexStore);
    if (configLocation !== undefined && !isBlobStore(configLocation)) owned.add(this.#configStore);
    if (this.#anchorStore && !isBlobStore(anchorLocation)) owned.add(this.#anchorStore);
    this.#owned = [...owned];
    this.#cache = new BlockCache(cacheBytesMax);
    this.#maxStalenessMs = maxStalenessMs;
    this.#retentionMs = retentionMs;
    this.#oblivious = oblivious;
    this.#clock = clock;
    this.#listings = new Listings(clock);
    this.#sweeps = new OrphanSweeps(this.#background, clock);
    this.#training = new AutomaticTraining(automaticTraining);
    this.#releaseThreads = useKernelThreads();
    this.#models = new Models(models);
  }

  async createIndex(options: CreateIndexOptions): Promise<VectorIndex> {
    checkOptions(options, methodOptions.createIndex);
    return this.#calls.change(options.signal, () => this.#create(options));
  }

  async #create(options: CreateIndexOptions): Promise<VectorIndex> {
    const { indexName, signal } = options;
    checkIndexName(indexName);
    const source = parseKeySource(options.indexKey);
    const embedder = this.#chooseEmbedder(options.embedding ?? options.embeddingModel);
    const text = wordsOf(options);
    const known = embedder && (await identify(embedder, nameOf(options)));
    const definition = { ...defineIndex(options, known), ...(text && { text }) };
    const taken = () => new SealdexError("already_exists", `index "${indexName}": the name is taken`);
    if ((await listRecords(this.#configStore, indexName)).length > 0) throw taken();

    const name = recordName(indexName, 1);
    const { bytes, opened } = await createRecord(source, name, definition);
    const index = this.#open(indexName, opened);
    // The record comes last: it is what makes the name taken, and by then the index is complete.
    signal?.throwIfAborted();
    await index.log.begin();
    if (signal?.aborted || !(await createConfirmed(this.#configStore, name, bytes))) {
      await index.log.store.delete([manifestName(opened.indexId, 1)]);
      signal?.throwIfAborted();
      throw taken();
    }
    if (!(await index.log.hasBegun())) {
      await this.#configStore.delete([name]);
      throw new SealdexError(
        "storage_unavailable",
        `index "${indexName}": its creation was delayed for too long`,
      );
    }
    await index.log.anchorBeginning();
    return this.#face(index, embedder);
  }

  async loadIndex(options: LoadIndexOptions): Promise<VectorIndex> {
    checkOptions(options, methodOptions.loadIndex);
    return this.#calls.look(options.signal, async () => {
      checkIndexName(options.indexName);
      const listing = listIndex(this.stores, options.indexName, this.#clock);
      const [index, listed] = await Promise.all([this.open(options), listing]);
      const manifest = await openListed(index, listed);
      if (index.access.isOlderThanKeys(manifest) && index.keys.access !== "read-only")
        this.#background.start(() => index.access.finishRotation());
      return this.#face(index, this.#chooseEmbedder(options.embedding ?? index.model?.name));
    });
  }

  #chooseEmbedder(input: EmbeddingInput | undefined): Embedder | undefined {
    return input === undefined ? undefined : this.#models.embedder(input, "embedding model");
  }

  #face(index: OpenIndex, embedder: Embedder | undefined): VectorIndex {
    const own = embedder && new IndexEmbedder(embedder, index.model, index.indexName);
    const texts = { models: this.#models, embedder: own };
    return new EncryptedIndex(index, this.#calls, this.#background, this.#training, texts);
  }

  async listIndexes(options: ListIndexesOptions = {}): Promise<string[]> {
    checkNameListing(options);
    return this.#calls.look(options.signal, () => listNames(this.#configStore, options));
  }

  async deleteIndex(options: OpenIndexOptions): Promise<void> {
    checkOptions(options, methodOptions.deleteIndex);
    await this.#calls.change(options.signal, () => this.#delete(options));
  }

  async #delete(options: OpenIndexOptions): Promise<void> {
    const index = await this.open(options);
    index.keys.check("owner", options.indexName);
    options.signal?.throwIfAborted();
    const secrets = await index.namespaces.objectNames();
    const { indexId, indexName, store, log, record } = index;
    await new OrphanMark(this.stores, { indexName, indexId }, this.#clock).renew();
    // The record goes first: with it go the name and the keys, whatever happens to the rest.
    await record.deleteAll();
    if (secrets.length > 0) await log.store.delete(secrets);
    const last = await log.commit((latest) => ({ ...latest, dropped: true, segments: [] }));
    // A change of keys that began before may have stored another.
    await record.deleteAll();
    // Its newest manifests stay with the mark for a day and tell other processes that the index was deleted.
    await log.end();
    await store.delete(await objectsOf(store, indexId));
    const floor = manifestName(indexId, last?.history.floor ?? 1);
    const old = await log.store.list(manifestPrefix(indexId), { after: floor });
    await log.store.delete(old.reverse());
    this.#sweeps.begin(this.stores);
  }

  memory(): MemoryUse {
    return memoryUse(this.#cache);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#calls.close();
    await this.#training.close();
    await this.#background.stop();
    await this.#cache.close();
    await Promise.all([
      this.#releaseThreads(),
      this.#models.close(),
      ...this.#owned.map((store) => store.close()),
    ]);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** For work on the stores themselves. */
  get stores(): ClientStores {
    return {
      indexStore: this.#indexStore,
      configStore: this.#configStore,
      anchorStore: this.#anchorStore,
    };
  }

  get clock(): Clock {
    return this.#clock;
  }

  /** Runs `work` as a call of this client. */
  during<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    return this.#calls.change(signal, work);
  }

  [inspect.custom](): string {
    return "EmbeddedClient";
  }

  async open({ indexName, indexKey, anchor }: LoadIndexOptions): Promise<OpenIndex> {
    checkIndexName(indexName);
    const source = parseKeySource(indexKey);
    const expected = anchor === undefined ? undefined : decodeAnchor(anchor);
    // The first version is nearly always the only one: it is read in parallel with the list.
    const first = recordName(indexName, 1);
    const [[name], firstBytes] = await Promise.all([
      listRecords(this.#configStore, indexName),
      readObject(this.#configStore, "record", first),
    ]);
    const bytes =
      name === undefined
        ? null
        : name === first
          ? firstBytes
          : await readObject(this.#configStore, "record", name);
    if (bytes === null) throw new SealdexError("not_found", `index "${indexName}": there is no such index`);
    const opened = await openRecord(source, { indexName, name, bytes });
    opened.keys.checkUnexpired(indexName, this.#clock.wall());
    return this.#open(indexName, opened, expected);
  }

  #open(indexName: string, record: OpenedRecord, anchor?: Anchor): OpenIndex {
    const resources = {
      cache: this.#cache,
      clock: this.#clock,
      listings: this.#listings,
      maxStalenessMs: this.#maxStalenessMs,
      retentionMs: this.#retentionMs,
      oblivious: this.#oblivious,
      background: this.#background,
      makeRoom,
    };
    return openIndex(indexName, record, this.stores, resources, anchor);
  }
}
