/** What an `EncryptedVectorStore` is made with. */

import type { EmbeddingsInterface } from "@langchain/core/embeddings";
import { embedderByName } from "../embedding/built-in.js";
import type { IndexType, Metric } from "../engine/config.js";
import type { Filter } from "../filter.js";
import { invalid, typeName } from "../check-input.js";
import type {
  Client,
  EmbeddedClientOptions,
  HttpClientOptions,
  IndexConfigInput,
  IndexKey,
} from "../vector-index.js";

export interface StoreOptions {
  /** 1 to 128 bytes of UTF-8. Not secret. */
  readonly indexName: string;
  /** 64 hexadecimal characters or 32 bytes. Needed again to open the index; there is no other way in. */
  readonly indexKey: IndexKey;
  /** Of a new index. Default `ivfflat`. */
  readonly indexType?: IndexType;
  /** Of a new index; `pqDim` and `pqBits` count for `ivfpq` only. */
  readonly indexConfigParams?: Pick<IndexConfigInput, "nLists" | "pqDim" | "pqBits">;
  /** Of a new index. Default `cosine`. An existing index of another metric is refused. */
  readonly metric?: Metric;
  /**
   * ANDed with the filter of every call: documents that it does not match are neither found, nor got, nor deleted. It
   * does not limit what is added. Later changes of the object change nothing.
   */
  readonly filter?: Filter;
  /** Inverted lists to probe. Default: as many as the index chooses. */
  readonly nProbes?: number;
  /** Probes on while an unprobed list could still hold a closer document. Default false. */
  readonly greedy?: boolean;
}

/** Where the index is: storage locations, a Sealdex service, or a client that the caller has and closes. */
export type EncryptedVectorStoreArgs = StoreOptions &
  (EmbeddedClientOptions | HttpClientOptions | { readonly client: Client });

/** An Embeddings object, or the name of a model that Sealdex knows, such as `default`. */
export type EmbeddingsInput = EmbeddingsInterface | string;

/** Everything in one object. */
export type EncryptedVectorStoreFields = EncryptedVectorStoreArgs & { readonly embeddings: EmbeddingsInput };

/** Arguments of the factories: the store's, and ids for the documents. */
export type EncryptedVectorStoreFactoryArgs = EncryptedVectorStoreArgs & { readonly ids?: readonly string[] };

/**
 * The Embeddings object that is meant. Known by what it can do, not by its class: it may come from another copy of
 * LangChain. Throws `invalid_request` for anything else.
 */
export function chooseEmbeddings(given: EmbeddingsInput): EmbeddingsInterface {
  if (typeof given === "string") return embedderByName(given);
  const { embedDocuments, embedQuery } = (given ?? {}) as Partial<EmbeddingsInterface>;
  if (typeof embedDocuments === "function" && typeof embedQuery === "function") return given;
  const came = typeof given === "object" && given !== null ? "another object" : typeName(given);
  throw invalid(`embeddings: expected an Embeddings object or the name of a model, got ${came}`);
}
