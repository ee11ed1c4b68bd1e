/** The index of a store. The first call that needs it opens it, and creates it if there is none. */

import type { EmbeddingsInterface } from "@langchain/core/embeddings";
import { createClient } from "../core.js";
import type { Embedder } from "../embedding/embedder.js";
import { checkModel } from "../embedding/index-embedder.js";
import { isSameModel } from "../embedding/recipe.js";
import type { Metric } from "../engine/config.js";
import { type ErrorCode, SealdexError } from "../errors.js";
import { invalid } from "../checks/input.js";
import { embeddedClientOptions, httpClientOptions } from "../api/method-options.js";
import { pickOptions } from "../checks/option-names.js";
import type {
  Client,
  EmbeddedClientOptions,
  HttpClientOptions,
  IndexConfigInput,
  IndexDescription,
  VectorIndex,
} from "../api/vector-index.js";
import type { EncryptedVectorStoreArgs, StoreOptions } from "./store-options.js";
import { isError } from "../checks/value-kinds.js";

type PlaceOptions = EmbeddedClientOptions | HttpClientOptions;

export interface OpenedIndex {
  readonly index: VectorIndex;
  /** The metric of the index. */
  readonly metric: Metric;
  /** Of an index that was not created here. */
  readonly found?: IndexDescription;
}

export class StoreIndex {
  readonly #options: StoreOptions;
  readonly #client: Client;
  readonly #ownsClient: boolean;
  readonly #model: StoreModel | undefined;
  #opened: Promise<OpenedIndex> | undefined;
  #checked: Promise<OpenedIndex> | undefined;
  /** Until the index that was opened is deleted. */
  #mayCreate = true;

  /**
   * `args`: a result of `takeStoreOptions`. `model`: embeds the store's documents; a new index
   * stores its name, if any.
   */
  constructor(args: EncryptedVectorStoreArgs, model?: StoreModel) {
    this.#options = args;
    this.#model = model;
    this.#ownsClient = !("client" in args);
    this.#client = "client" in args ? args.client : createClient(placeOf(args));
  }

  get indexName(): string {
    return this.#options.indexName;
  }

  /** The next call repeats a failed attempt. */
  open(): Promise<OpenedIndex> {
    return this.#remember(() => this.#loadOrCreate());
  }

  /**
   * Like `open`, for work with vectors of the store's model. Throws `dimension_mismatch` or
   * `invalid_request` if the index was created with another model. A service is checked by the
   * model's name only.
   */
  openForVectors(): Promise<OpenedIndex> {
    this.#checked ??= this.#openChecked().catch((error: unknown) => {
      this.#checked = undefined;
      throw error;
    });
    return this.#checked;
  }

  /**
   * Runs `work` on the index. If another process deleted it, `work` changed nothing: it runs again on the index that was made in its
   * place; throws `not_found` if there is none.
   */
  use<T>(work: (opened: OpenedIndex) => Promise<T>): Promise<T> {
    return this.#use(() => this.open(), work);
  }

  /** Like `use`, with an index from `openForVectors`. */
  useForVectors<T>(work: (opened: OpenedIndex) => Promise<T>): Promise<T> {
    return this.#use(() => this.openForVectors(), work);
  }

  /** Like `open`, but throws `not_found` if there is no index. */
  load(): Promise<OpenedIndex> {
    return this.#remember(() => this.#load());
  }

  /** Closes the client unless the caller passed it. */
  async close(): Promise<void> {
    if (this.#ownsClient) await this.#client.close();
  }

  async #use<T>(open: () => Promise<OpenedIndex>, work: (opened: OpenedIndex) => Promise<T>): Promise<T> {
    const opening = open();
    const used = this.#opened;
    const opened = await opening;
    try {
      return await work(opened);
    } catch (error) {
      if (!hasCode(error, "not_found")) throw error;
    }
    // Unless another call has opened the new one.
    if (this.#opened === used) {
      this.#opened = this.#checked = undefined;
      this.#mayCreate = false;
    }
    return work(await open());
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
    // One created here has the store's model.
    if (opened.found !== undefined) await this.#checkModel(opened.index);
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
      shards,
    } = this.#options;
    try {
      return await this.#load();
    } catch (error) {
      if (!this.#mayCreate || !hasCode(error, "not_found")) throw error;
    }
    const definition = {
      indexName,
      indexKey,
      indexConfig: { ...indexConfigParams, type: indexType } as IndexConfigInput,
      metric,
      textIndex,
      ...(this.#client.kind === "embedded" && this.#model !== undefined && modelOptions(this.#model)),
    };
    try {
      const index = await (shards === undefined
        ? this.#client.createIndex(definition)
        : this.#client.createCollection({ ...definition, shards }));
      return { index, metric };
    } catch (error) {
      // Another process created it in between.
      if (!hasCode(error, "already_exists")) throw error;
      return this.#load();
    }
  }

  async #load(): Promise<OpenedIndex> {
    const { indexName, indexKey, indexType, indexConfigParams, metric, textIndex, shards } = this.#options;
    const index = await this.#client.loadIndex({ indexName, indexKey });
    const found = await index.describe();
    // Stores without embeddings rely on commits of several items, which a collection does not make.
    if (found.shards !== undefined && this.#model === undefined) {
      throw new SealdexError(
        "not_supported",
        `index "${indexName}": it is a collection, which only vector stores use`,
      );
    }
    const wanted = {
      metric: [metric, found.metric],
      indexType: [indexType, found.type],
      precision: [indexConfigParams?.precision, found.precision],
      textIndex: [textIndex && true, found.textIndex ?? false],
      shards: [shards, found.shards],
    };
    for (const [name, [expected, received]] of Object.entries(wanted)) {
      if (expected === undefined || expected === received) continue;
      throw invalid(
        `${name}: expected ${expected}, but index "${indexName}" was created with ${received ?? "none"}; leave ${name} out to use the index as it is`,
      );
    }
    return { index, metric: found.metric, found };
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

/** The embeddings of a store, and the model's name if known. */
export interface StoreModel {
  readonly embeddings: EmbeddingsInterface;
  readonly name: string | undefined;
}

/** A caller's own model is not identified: that would embed a text before anything is needed. */
function modelOptions({ embeddings, name }: StoreModel) {
  return name === undefined ? {} : { embedding: embeddings as Embedder, embeddingModel: name };
}

/** The client's options, without those of the store, of which `models` is one. */
function placeOf(args: EncryptedVectorStoreArgs & PlaceOptions): PlaceOptions {
  const { models: _models, ...given } = args as EmbeddedClientOptions;
  return pickOptions(given, "baseUrl" in args ? httpClientOptions : embeddedClientOptions);
}

/** By code, not by class: a caller's client may come from the other build (ESM, CommonJS). */
function hasCode(error: unknown, code: ErrorCode): boolean {
  return isError(error) && error.code === code;
}
