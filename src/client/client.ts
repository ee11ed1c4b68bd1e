/**
 * Indexes on a Sealdex service. Needs `fetch` and nothing else, so it runs in browsers too.
 *
 * @module sealdex/client
 */

import { checkInteger, invalid } from "../checks/input.js";
import { shardsMax } from "../engine/config.js";
import { SealdexError } from "../errors.js";
import { httpClientOptions, indexConfigOptions, methodOptions } from "../api/method-options.js";
import { takeOptions } from "../checks/option-names.js";
import { defineText } from "../text/define-text.js";
import type {
  Client,
  CreateCollectionOptions,
  CreateIndexOptions,
  HttpClientOptions,
  ListIndexesOptions,
  LoadIndexOptions,
  OpenIndexOptions,
  SplitShardsOptions,
  VectorIndex,
} from "../api/vector-index.js";
import { decodeNames, encodeAddress, encodeCreateIndex } from "./wire/wire.js";
import { Connection } from "./connection.js";
import { isTooLarge } from "./send.js";
import { RemoteIndex } from "./remote-index.js";

export type { IndexType, Metric } from "../engine/config.js";
export { type ErrorCode, SealdexError } from "../errors.js";
export type { Filter } from "../api/filter/compile.js";
export type {
  BatchQuery,
  CallOptions,
  Client,
  CountOptions,
  CreateCollectionOptions,
  CreateIndexOptions,
  DefaultInclude,
  GetOptions,
  HttpClientOptions,
  IndexConfigInput,
  IndexDescription,
  IndexKey,
  Item,
  ItemChange,
  ItemField,
  ItemPage,
  ItemsOptions,
  ListIdsOptions,
  ListIndexesOptions,
  ListItemsOptions,
  LoadIndexOptions,
  Match,
  MatchField,
  Metadata,
  MetadataInput,
  OpenIndexOptions,
  QueryOptions,
  Selection,
  SingleQuery,
  SplitShardsOptions,
  StoredItem,
  TextQuery,
  TrainOptions,
  UpdateResult,
  UpdateSelection,
  UpsertOptions,
  UpsertResult,
  Vector,
  VectorIndex,
} from "../api/vector-index.js";

/**
 * A client of the service at `baseUrl`. Throws the same errors as the embedded library, plus
 * `unauthenticated` for a missing or unknown API key and `storage_unavailable` if the service does
 * not respond. Connects at the first call.
 */
export function createClient(options: HttpClientOptions): Client {
  options = takeOptions(options, httpClientOptions);
  return new RemoteClient(new Connection(options));
}

/** Names per page: at 128 bytes each, they fit into one response. */
const namesPerPage = 10_000;

class RemoteClient implements Client {
  readonly kind = "http";
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  async createIndex(options: CreateIndexOptions): Promise<VectorIndex> {
    return this.#create(takeOptions(options, methodOptions.createIndex), undefined);
  }

  async loadIndex(options: LoadIndexOptions): Promise<VectorIndex> {
    return this.#load(takeOptions(options, methodOptions.loadIndex), false);
  }

  async createCollection(options: CreateCollectionOptions): Promise<VectorIndex> {
    options = takeOptions(options, methodOptions.createCollection);
    const { shards } = options;
    checkInteger(shards, 1, shardsMax, "shards");
    return this.#create(options, shards);
  }

  async loadCollection(options: LoadIndexOptions): Promise<VectorIndex> {
    return this.#load(takeOptions(options, methodOptions.loadCollection), true);
  }

  async #create(options: CreateIndexOptions, shards: number | undefined): Promise<VectorIndex> {
    checkNoEmbedding(options);
    if (options.indexConfig !== undefined) takeOptions(options.indexConfig, indexConfigOptions);
    if (typeof options.textIndex === "object") defineText(options.textIndex);
    const { calls } = this.#connection;
    const index = new RemoteIndex(this.#connection, options);
    await calls.write(options.signal, () =>
      this.#connection.post("/v1/indexes/create", encodeCreateIndex(options, shards), {
        signal: options.signal,
      }),
    );
    return index;
  }

  /** `isCollection`: whether an index is refused. */
  async #load(options: LoadIndexOptions, isCollection: boolean): Promise<VectorIndex> {
    checkNoEmbedding(options);
    const { anchor, signal } = options;
    if (anchor !== undefined && typeof anchor !== "string") {
      throw invalid("anchor: expected a token that anchor() returned");
    }
    const index = new RemoteIndex(this.#connection, options);
    if (anchor !== undefined) await index.checkAnchor(anchor, { signal });
    if (anchor !== undefined && !isCollection) return index;
    const { indexName, shards } = await index.describe({ signal });
    if (!isCollection || shards !== undefined) return index;
    throw invalid(
      `index "${indexName}": expected a collection, it is an index; use loadIndex and deleteIndex`,
    );
  }

  async listIndexes(options: ListIndexesOptions = {}): Promise<string[]> {
    const own = takeOptions(options, methodOptions.listIndexes);
    return this.#connection.calls.write(own.signal, () => this.#listIndexes(own));
  }

  /**
   * Lists all names in one response, or in pages if there is a limit or one response is too small.
   */
  async #listIndexes({ limit = Infinity, after = "", signal }: ListIndexesOptions): Promise<string[]> {
    const list = async (page: string) =>
      decodeNames(await this.#connection.get(`/v1/indexes/list${page}`, signal), "indexes");
    if (limit === Infinity) {
      try {
        return await list(after === "" ? "" : `?after=${encodeURIComponent(after)}`);
      } catch (error) {
        if (!isTooLarge(error)) throw error;
      }
    }
    const names: string[] = [];
    for (let last = after; names.length < limit; last = names.at(-1) ?? "") {
      const wanted = Math.min(limit - names.length, namesPerPage);
      const page = await list(`?limit=${wanted}&after=${encodeURIComponent(last)}`);
      for (const name of page) names.push(name);
      if (page.length < wanted) break;
    }
    return names;
  }

  async deleteIndex(options: OpenIndexOptions): Promise<void> {
    return this.#delete(takeOptions(options, methodOptions.deleteIndex), {});
  }

  async deleteCollection(options: OpenIndexOptions): Promise<void> {
    return this.#delete(takeOptions(options, methodOptions.deleteCollection), { collection: true });
  }

  async splitShards(options: SplitShardsOptions): Promise<void> {
    options = takeOptions(options, methodOptions.splitShards);
    const { shards, signal } = options;
    checkInteger(shards, 1, shardsMax, "shards");
    const body = { ...encodeAddress(options), shards };
    await this.#connection.calls.write(signal, () =>
      this.#connection.post("/v1/indexes/split", body, { signal }),
    );
  }

  async #delete(options: OpenIndexOptions, condition: { readonly collection?: true }): Promise<void> {
    const { signal } = options;
    const body = { ...encodeAddress(options), ...condition };
    await this.#connection.calls.write(signal, () =>
      this.#connection.post("/v1/indexes/delete", body, { signal }),
    );
  }

  /** Implements the interface; no connection stays open. */
  close(): Promise<void> {
    return this.#connection.calls.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** The service embeds texts with the model of the index. */
function checkNoEmbedding({ embedding }: LoadIndexOptions): void {
  if (embedding === undefined) return;
  throw new SealdexError(
    "not_supported",
    "embedding: not supported over HTTP; pass embeddingModel to createIndex, or vectors with items and queries",
  );
}
