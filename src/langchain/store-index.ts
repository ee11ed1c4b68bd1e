/** The index of a store: opened by the first call that needs it, and created if there is none. */

import type { EmbeddingsInterface } from "@langchain/core/embeddings";
import { createClient } from "../core.js";
import type { Embedder } from "../embedding/embedder.js";
import { checkModel } from "../embedding/index-embedder.js";
import { isSameModel } from "../embedding/recipe.js";
import type { Metric } from "../engine/config.js";
import type { ErrorCode } from "../errors.js";
import { invalid } from "../check-input.js";
import type {
  Client,
  EmbeddedClientOptions,
  HttpClientOptions,
  IndexConfigInput,
  VectorIndex,
} from "../vector-index.js";
import type { EncryptedVectorStoreArgs, StoreOptions } from "./store-options.js";
import { isError } from "../value-kinds.js";

type PlaceOptions = EmbeddedClientOptions | HttpClientOptions;

export interface OpenedIndex {
  readonly index: VectorIndex;
  /** The index's own. */
  readonly metric: Metric;
}

export class StoreIndex {
  readonly #options: StoreOptions;
  readonly #client: Client;
  readonly #ownsClient: boolean;
  readonly #model: StoreModel | undefined;
  #opened: Promise<OpenedIndex> | undefined;
  #checked: Promise<OpenedIndex> | undefined;
  /** The model of an index that was created here is the store's. */
  #isCreated = false;

  /** `args`: as `takeStoreOptions` gives them. `model`: what embeds the store's documents; a new index remembers it if it has a name. */
  constructor(args: EncryptedVectorStoreArgs, model?: StoreModel) {
    this.#options = args;
    this.#model = model;
    this.#ownsClient = !("client" in args);
    this.#client = "client" in args ? args.client : createClient(placeOf(args));
  }

  get indexName(): string {
    return this.#options.indexName;
  }

  /** An attempt that failed is made again by the next call. */
  open(): Promise<OpenedIndex> {
    return this.#remember(() => this.#loadOrCreate());
  }

  /**
   * As `open`, for work with vectors of the store's model. Throws `dimension_mismatch` or `invalid_request` if the index was created
   * with another model, which a service tells by its name alone.
   */
  openForVectors(): Promise<OpenedIndex> {
    this.#checked ??= this.#openChecked().catch((error: unknown) => {
      this.#checked = undefined;
      throw error;
    });
    return this.#checked;
  }

  /** As `open`, but throws `not_found` if there is no index. */
  load(): Promise<OpenedIndex> {
    return this.#remember(() => this.#load());
  }

  /** Closes what was opened here; a client given by the caller stays open. */
  async close(): Promise<void> {
    if (this.#ownsClient) await this.#client.close();
  }

  #remember(open: () => Promise<OpenedIndex>): Promise<OpenedIndex> {
    this.#opened ??= open().catch((error: unknown) => {
      this.#opened = undefined;
      throw error;
    });
    return this.#opened;
  }

  async #openChecked(): Promise<OpenedIndex> {
    const opened = await this.open();
    if (!this.#isCreated) await this.#checkModel(opened.index);
    return opened;
  }

  async #loadOrCreate(): Promise<OpenedIndex> {
    const {
      indexName,
      indexKey,
      indexType = "ivfflat",
      indexConfigParams,
      metric = "cosine",
      textIndex,
    } = this.#options;
    try {
      return await this.#load();
    } catch (error) {
      if (!hasCode(error, "not_found")) throw error;
    }
    const indexConfig = { ...indexConfigParams, type: indexType } as IndexConfigInput;
    try {
      const index = await this.#client.createIndex({
        indexName,
        indexKey,
        indexConfig,
        metric,
        textIndex,
        ...(this.#client.kind === "embedded" && this.#model !== undefined && modelOptions(this.#model)),
      });
      this.#isCreated = true;
      return { index, metric };
    } catch (error) {
      // Another process created it between the two calls.
      if (!hasCode(error, "already_exists")) throw error;
      return this.#load();
    }
  }

  async #load(): Promise<OpenedIndex> {
    const { indexName, indexKey, metric: expected } = this.#options;
    const index = await this.#client.loadIndex({ indexName, indexKey });
    const { metric } = await index.describe();
    if (expected !== undefined && expected !== metric) {
      throw invalid(`metric: expected ${expected}, but index "${indexName}" was created with ${metric}`);
    }
    return { index, metric };
  }

  async #checkModel(index: VectorIndex): Promise<void> {
    if (this.#model === undefined) return;
    const { embeddings, name } = this.#model;
    const check = (index as Partial<ChecksModel>)[checkModel];
    if (check !== undefined) return check.call(index, embeddings as Embedder);
    if (name === undefined) return;
    const { embeddingModel } = await index.describe();
    if (embeddingModel === undefined || isSameModel(embeddingModel, name)) return;
    throw invalid(
      `embeddings: index "${this.indexName}" was created with ${embeddingModel}, this store embeds with ${name}`,
    );
  }
}

interface ChecksModel {
  [checkModel](embedder: Embedder): Promise<void>;
}

/** The embeddings of a store, and their model's name if it is known. */
export interface StoreModel {
  readonly embeddings: EmbeddingsInterface;
  readonly name: string | undefined;
}

/** A model of the caller's own is not remembered: it would be asked for a vector before anything needs one. */
function modelOptions({ embeddings, name }: StoreModel) {
  return name === undefined ? {} : { embedding: embeddings as Embedder, embeddingModel: name };
}

/** The options of the client, without those of the store. */
function placeOf(args: EncryptedVectorStoreArgs & PlaceOptions): PlaceOptions {
  if ("baseUrl" in args) {
    const { baseUrl, apiKey, timeoutMs, maxRetries } = args;
    return { baseUrl, apiKey, timeoutMs, maxRetries };
  }
  const { indexLocation, configLocation, anchorLocation, cacheBytesMax, maxStalenessMs } = args;
  const { storageTimeoutMs, automaticTraining, retentionMs, oblivious } = args;
  return {
    indexLocation,
    configLocation,
    anchorLocation,
    cacheBytesMax,
    maxStalenessMs,
    storageTimeoutMs,
    automaticTraining,
    retentionMs,
    oblivious,
  };
}

/** By code, not by class: a given client may come from the package's other build (ESM, CommonJS). */
function hasCode(error: unknown, code: ErrorCode): boolean {
  return isError(error) && error.code === code;
}
