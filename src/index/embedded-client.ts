/** The embedded client: indexes in storage locations, opened in this process. */

import { totalmem } from "node:os";
import { inspect } from "node:util";
import { embeddedClientOptions, indexConfigOptions, methodOptions } from "../api/method-options.js";
import type {
  CreateIndexOptions,
  EmbeddedClientOptions,
  EmbeddedClient as EmbeddedClientType,
  ListIndexesOptions,
  LoadIndexOptions,
  MemoryUse,
  OpenIndexOptions,
  VectorIndex,
} from "../api/vector-index.js";
import { Calls } from "../async/calls.js";
import { isTurnOver, nextTurn } from "../async/event-loop.js";
import { checkInteger, invalid, typeName } from "../checks/input.js";
import { takeOptions } from "../checks/option-names.js";
import { modelName } from "../embedding/built-in.js";
import type { Embedder, EmbeddingInput } from "../embedding/embedder.js";
import { identify, IndexEmbedder } from "../embedding/index-embedder.js";
import { Models } from "../embedding/models.js";
import { useKernelThreads } from "../engine/threads/kernel-threads.js";
import { SealdexError } from "../errors.js";
import { type KeySource, parseKeySource } from "../keys/key-provider.js";
import { memoryUse } from "../query/searcher.js";
import { BlockCache } from "../state/cache/block-cache.js";
import { type Anchor, decodeAnchor } from "../state/commit/anchor.js";
import { type Clock, systemClock } from "../state/commit/clock.js";
import { createConfirmed } from "../state/commit/create-confirmed.js";
import { checkIndexName, manifestName, manifestPrefix, recordName } from "../state/commit/object-names.js";
import { historyMs } from "../state/commit/retention.js";
import type { BlobStore } from "../storage/blob-store.js";
import { isBlobStore, isPrivate, openLocation } from "../storage/location.js";
import { storageTimeoutMsDefault } from "../storage/retrying.js";
import { defineText } from "../text/define-text.js";
import type { TextDefinition } from "../text/text-options.js";
import { defineIndex } from "./define-index.js";
import { EncryptedIndex } from "./encrypted-index.js";
import { listNames } from "./list-indexes.js";
import { maintenanceJobs } from "./maintenance-jobs.js";
import { makeRoom } from "./maintenance/gc.js";
import { objectsOf, OrphanMark, OrphanSweeps } from "./maintenance/orphans.js";
import { createRecord, type OpenedRecord, openRecord } from "./open/index-record.js";
import { JobRunner } from "./open/job-runner.js";
import { Listings } from "./open/listings.js";
import { type ClientResources, type ClientStores, openIndex, type OpenIndex } from "./open/open-index.js";
import { listIndex, openListed } from "./open/open-newest.js";
import { findRecord, listRecords } from "./open/record-access.js";

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

/** Which index to open, and by what. */
interface OpenRequest {
  readonly indexName: string;
  readonly source: KeySource;
  readonly anchor?: Anchor | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Throws `invalid_request`. The key is read at once: its bytes are the caller's. */
export function openRequest({ indexName, indexKey, anchor, signal }: LoadIndexOptions): OpenRequest {
  checkIndexName(indexName);
  const source = parseKeySource(indexKey);
  return { indexName, source, anchor: anchor === undefined ? undefined : decodeAnchor(anchor), signal };
}

export class EmbeddedClient implements EmbeddedClientType {
  readonly kind = "embedded";
  readonly #indexStore: BlobStore;
  readonly #configStore: BlobStore;
  readonly #anchorStore: BlobStore | undefined;
  /** Stores that this client opened, and so closes. */
  readonly #owned: readonly BlobStore[];
  readonly #resources: ClientResources;
  readonly #sweeps: OrphanSweeps;
  readonly #releaseThreads: () => Promise<void>;
  readonly #models: Models;

  readonly #calls = new Calls({ isOver: isTurnOver, next: nextTurn });
  #closing: Promise<void> | undefined;

  constructor(options: EmbeddedClientOptions, clock: Clock = systemClock) {
    options = takeOptions(options, embeddedClientOptions);
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
    const runner = new JobRunner(clock);
    this.#resources = {
      cache: new BlockCache(cacheBytesMax),
      clock,
      listings: new Listings(clock),
      maxStalenessMs,
      retentionMs,
      oblivious,
      runner,
      jobsOf: (index) => maintenanceJobs(index, automaticTraining),
      makeRoom,
    };
    this.#sweeps = new OrphanSweeps(runner, clock);
    this.#releaseThreads = useKernelThreads();
    this.#models = new Models(models);
  }

  async createIndex(options: CreateIndexOptions): Promise<VectorIndex> {
    options = takeOptions(options, methodOptions.createIndex);
    return this.#calls.change(options.signal, () => this.#create(options));
  }

  async #create(options: CreateIndexOptions): Promise<VectorIndex> {
    const { indexName, indexConfig, signal } = options;
    checkIndexName(indexName);
    const source = parseKeySource(options.indexKey);
    const own = {
      ...options,
      ...(indexConfig && { indexConfig: takeOptions(indexConfig, indexConfigOptions) }),
    };
    const embedder = this.#chooseEmbedder(options.embedding ?? options.embeddingModel);
    const text = wordsOf(options);
    const known = embedder && (await identify(embedder, nameOf(options)));
    const definition = { ...defineIndex(own, known), ...(text && { text }) };
    const taken = () =>
      new SealdexError("already_exists", `index "${indexName}": the name is taken; open it with loadIndex`);
    if ((await listRecords(this.#configStore, indexName)).length > 0) throw taken();

    const name = recordName(indexName, 1);
    const { bytes, opened } = await createRecord(source, name, definition);
    const index = this.#open(indexName, opened);
    // The record comes last: it is what makes the name taken, and by then the index is complete.
    signal?.throwIfAborted();
    await index.log.createFirst();
    if (signal?.aborted || !(await createConfirmed(this.#configStore, name, bytes))) {
      await index.log.store.delete([manifestName(opened.indexId, 1)]);
      signal?.throwIfAborted();
      throw taken();
    }
    if (!(await index.log.exists())) {
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
    options = takeOptions(options, methodOptions.loadIndex);
    const { indexName, signal } = options;
    const request = openRequest(options);
    return this.#calls.look(signal, async () => {
      const listing = listIndex(this.stores, indexName, this.clock);
      const [index, listed] = await Promise.all([this.open(request), listing]);
      const manifest = await openListed(index, listed);
      if (index.access.isUnsettled(manifest))
        this.#resources.runner.start(() => index.access.completeChange());
      return this.#face(index, this.#chooseEmbedder(options.embedding ?? index.model?.name));
    });
  }

  #chooseEmbedder(input: EmbeddingInput | undefined): Embedder | undefined {
    return input === undefined ? undefined : this.#models.embedder(input, "embedding model");
  }

  #face(index: OpenIndex, embedder: Embedder | undefined): VectorIndex {
    const own = embedder && new IndexEmbedder(embedder, index.model, index.indexName);
    const texts = { models: this.#models, embedder: own };
    return new EncryptedIndex(index, this.#calls, texts);
  }

  async listIndexes(options: ListIndexesOptions = {}): Promise<string[]> {
    const own = takeOptions(options, methodOptions.listIndexes);
    return this.#calls.look(own.signal, () => listNames(this.#configStore, own));
  }

  async deleteIndex(options: OpenIndexOptions): Promise<void> {
    options = takeOptions(options, methodOptions.deleteIndex);
    await this.#calls.change(options.signal, () => this.#delete(options));
  }

  async #delete(options: OpenIndexOptions): Promise<void> {
    const index = await this.open(openRequest(options));
    index.keys.check("owner", options.indexName);
    options.signal?.throwIfAborted();
    // Those that the storage lists, and those that it may not list.
    const named = index.namespaces.objectNamesOf(await index.log.newest());
    const secrets = [...new Set([...named, ...(await index.namespaces.objectNames())])];
    const { indexId, indexName, store, log, record } = index;
    await new OrphanMark(this.stores, { indexName, indexId }, this.clock).renew();
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
    return memoryUse(this.#resources.cache);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#calls.close();
    await this.#resources.runner.close();
    await this.#resources.cache.close();
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
    return this.#resources.clock;
  }

  /** Runs `work` as a call of this client. */
  during<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    return this.#calls.change(signal, work);
  }

  [inspect.custom](): string {
    return "EmbeddedClient";
  }

  async open({ indexName, source, anchor, signal }: OpenRequest): Promise<OpenIndex> {
    const record = await findRecord(this.#configStore, indexName);
    if (record === undefined) throw new SealdexError("not_found", `index "${indexName}": no such index`);
    const opened = await openRecord(source, record, signal);
    opened.keys.checkUnexpired(indexName, this.clock.wall());
    return this.#open(indexName, opened, anchor);
  }

  #open(indexName: string, record: OpenedRecord, anchor?: Anchor): OpenIndex {
    return openIndex(indexName, record, this.stores, this.#resources, anchor);
  }
}

// How much of the machine's memory opened blocks may take by default.

/** Code blocks share the 4 GiB of the kernels' memory with models and with work in progress. */
const bytesMax = 2 * 1024 ** 3;
const share = 1 / 4;

/** A quarter of what this process may have: the machine's memory, or what its container allows. */
function cacheBytesDefault(): number {
  // Undefined or beyond the machine's memory if nothing is constrained. Not available before Node 20.12.
  const constrained =
    (process as { constrainedMemory?: () => number | undefined }).constrainedMemory?.() || Infinity;
  return Math.floor(Math.min(bytesMax, share * Math.min(totalmem(), constrained)));
}
