/** `sealdex/client`: indexes on a Sealdex service. Needs `fetch` and nothing else, so it runs in browsers too. */

import type {
  Client,
  CreateIndexOptions,
  HttpClientOptions,
  OpenIndexOptions,
  VectorIndex,
} from "../vector-index.js";
import { decodeNames, encodeAddress, encodeCreateIndex } from "../wire.js";
import { Connection } from "./connection.js";
import { RemoteIndex } from "./remote-index.js";

export type { IndexType, Metric } from "../engine/config.js";
export { type ErrorCode, SealdexError } from "../errors.js";
export type { Filter } from "../filter.js";
export type {
  BatchQuery,
  Client,
  CreateIndexOptions,
  HttpClientOptions,
  IndexConfigInput,
  IndexDescription,
  IndexKey,
  Item,
  ItemField,
  Match,
  MatchField,
  Metadata,
  OpenIndexOptions,
  QueryOptions,
  SingleQuery,
  StoredItem,
  TextQuery,
  Vector,
  VectorIndex,
} from "../vector-index.js";

/**
 * A client of the service at `baseUrl`. Errors are those that the embedded library throws; beside them,
 * `unauthenticated` for a missing or unknown API key and `storage_unavailable` where the service does not answer.
 * Nothing is connected to before the first call.
 */
export function createClient(options: HttpClientOptions): Client {
  return new RemoteClient(new Connection(options));
}

class RemoteClient implements Client {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  async createIndex(options: CreateIndexOptions): Promise<VectorIndex> {
    await this.#connection.post("/v1/indexes/create", encodeCreateIndex(options));
    return new RemoteIndex(this.#connection, options);
  }

  async loadIndex(options: OpenIndexOptions): Promise<VectorIndex> {
    const index = new RemoteIndex(this.#connection, options);
    await index.describe();
    return index;
  }

  async listIndexes(): Promise<string[]> {
    return decodeNames(await this.#connection.get("/v1/indexes/list"), "indexes");
  }

  async deleteIndex(options: OpenIndexOptions): Promise<void> {
    await this.#connection.post("/v1/indexes/delete", encodeAddress(options));
  }

  /** Does nothing: no connection is held open. */
  async close(): Promise<void> {}
}
