/**
 * `EncryptedVectorStore`: Sealdex as a LangChain.js vector store.
 *
 * A document's text is the item's contents, its metadata the item's metadata, verbatim and with no key added. The
 * index is opened by the first call that needs it, and created if there is none.
 */

import { randomUUID } from "node:crypto";
import { inspect } from "node:util";
import { Document, type DocumentInterface } from "@langchain/core/documents";
import type { EmbeddingsInterface } from "@langchain/core/embeddings";
import { VectorStore } from "@langchain/core/vectorstores";
import { createClient } from "../core.js";
import { embedderByName } from "../embedder.js";
import type { IndexType, Metric } from "../engine/config.js";
import type { ErrorCode } from "../errors.js";
import type { Filter } from "../filter.js";
import { invalid } from "../given-values.js";
import type {
  Client,
  EmbeddedClientOptions,
  HttpClientOptions,
  IndexConfigInput,
  IndexKey,
  Match,
  Metadata,
  VectorIndex,
} from "../vector-index.js";
import { scoreOf } from "./score.js";

/** Documents embedded and stored at a time: each batch is stored whole or not at all. */
const batchDocuments = 500;

interface StoreOptions {
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
  /** ANDed with the filter of every search: no call can drop it. */
  readonly filter?: Filter;
  /** Inverted lists to probe. Default: as many as the index chooses. */
  readonly nProbes?: number;
  /** Probes on while an unprobed list could still hold a closer document. Default false. */
  readonly greedy?: boolean;
}

/** Where the index is: storage locations, a Sealdex service, or a client that the caller has and closes. */
export type EncryptedVectorStoreArgs = StoreOptions &
  (EmbeddedClientOptions | HttpClientOptions | { readonly client: Client });

/** Arguments of the factories: the store's, and ids for the documents. */
export type EncryptedVectorStoreFactoryArgs = EncryptedVectorStoreArgs & { readonly ids?: readonly string[] };

export interface AddOptions {
  /** One id per document. Default: the document's own id, else a random UUID. */
  readonly ids?: readonly string[];
}

/** What to delete: documents by id, by filter, or all of them. */
export type DeleteParams =
  | { readonly ids: readonly string[] }
  | { readonly filter: Filter }
  | { readonly deleteAll: true };

export class EncryptedVectorStore extends VectorStore {
  declare FilterType: Filter;
  readonly #options: StoreOptions;
  readonly #client: Client;
  readonly #ownsClient: boolean;
  #opened: Promise<{ index: VectorIndex; metric: Metric }> | undefined;

  /** `embeddings`: an Embeddings object or the name of a model, such as `sealdex/lexical-512`. */
  constructor(embeddings: EmbeddingsInterface | string, args: EncryptedVectorStoreArgs) {
    // LangChain keeps what super() is given in a public field: the key must not be in it.
    super(typeof embeddings === "string" ? embedderByName(embeddings) : embeddings, {
      indexName: args.indexName,
    });
    this.#options = args;
    this.#ownsClient = !("client" in args);
    this.#client = "client" in args ? args.client : createClient(args);
  }

  static override lc_name(): string {
    return "EncryptedVectorStore";
  }

  override _vectorstoreType(): string {
    return "sealdex";
  }

  /** Embeds and stores the documents, in batches. Returns their ids, in order. */
  override async addDocuments(documents: DocumentInterface[], options?: AddOptions): Promise<string[]> {
    const ids = chooseIds(documents, options?.ids);
    const { index } = await this.#open();
    for (let start = 0; start < documents.length; start += batchDocuments) {
      const batch = documents.slice(start, start + batchDocuments);
      const vectors = await this.embeddings.embedDocuments(batch.map(({ pageContent }) => pageContent));
      await index.upsert(toItems(vectors, batch, ids.slice(start, start + batchDocuments)));
    }
    return ids;
  }

  /** Stores documents under vectors that the caller has. Returns their ids, in order. */
  override async addVectors(
    vectors: number[][],
    documents: DocumentInterface[],
    options?: AddOptions,
  ): Promise<string[]> {
    if (vectors.length !== documents.length) {
      throw invalid(
        `vectors: expected one for each of the ${documents.length} documents, got ${vectors.length}`,
      );
    }
    const ids = chooseIds(documents, options?.ids);
    const { index } = await this.#open();
    for (let start = 0; start < documents.length; start += batchDocuments) {
      const end = start + batchDocuments;
      await index.upsert(
        toItems(vectors.slice(start, end), documents.slice(start, end), ids.slice(start, end)),
      );
    }
    return ids;
  }

  /** Embeds and stores texts. `metadatas`: one for each text, or one for all. Returns their ids, in order. */
  async addTexts(texts: string[], metadatas?: object[] | object, options?: AddOptions): Promise<string[]> {
    return this.addDocuments(toDocuments(texts, metadatas ?? {}), options);
  }

  /** The `k` nearest documents with scores in [0, 1]: 1 is a perfect match. */
  override async similaritySearchVectorWithScore(
    query: number[],
    k: number,
    filter?: Filter,
  ): Promise<[Document, number][]> {
    const { index, metric } = await this.#open();
    const { nProbes = 0, greedy = false } = this.#options;
    const matches = await index.query({
      queryVector: query,
      topK: k,
      nProbes,
      greedy,
      filters: this.#both(filter),
      include: ["distance", "metadata", "contents"],
    });
    return matches.map((match) => [toDocument(match), scoreOf(metric, match.distance as number)]);
  }

  /** Deletes documents; unknown ids are fine. The store's own filter also limits what can be deleted by filter. */
  override async delete(params?: DeleteParams): Promise<void> {
    const { ids, filter, deleteAll } = (params ?? {}) as {
      ids?: string[];
      filter?: Filter;
      deleteAll?: true;
    };
    const given = [ids, filter, deleteAll === true || undefined].filter((value) => value !== undefined);
    if (given.length !== 1) {
      throw invalid("delete: expected one of { ids }, { filter } and { deleteAll: true }");
    }
    const { index } = await this.#open();
    await index.delete(ids === undefined ? { filter: this.#both(filter) ?? {} } : { ids });
  }

  /** Closes what the store opened; a client given by the caller stays open. */
  async close(): Promise<void> {
    if (this.#ownsClient) await this.#client.close();
  }

  /** A store with these texts in it. `metadatas`: one for each text, or one for all. */
  static override async fromTexts(
    texts: string[],
    metadatas: object[] | object,
    embeddings: EmbeddingsInterface | string,
    args: EncryptedVectorStoreFactoryArgs,
  ): Promise<EncryptedVectorStore> {
    return this.fromDocuments(toDocuments(texts, metadatas), embeddings, args);
  }

  /** A store with these documents in it. */
  static override async fromDocuments(
    documents: DocumentInterface[],
    embeddings: EmbeddingsInterface | string,
    args: EncryptedVectorStoreFactoryArgs,
  ): Promise<EncryptedVectorStore> {
    const { ids, ...storeArgs } = args;
    const store = new this(embeddings, storeArgs);
    await store.addDocuments(documents, { ...(ids && { ids }) });
    return store;
  }

  /** The store of an index that exists. Throws `not_found` or `wrong_index_key`. */
  static async fromExistingIndex(
    embeddings: EmbeddingsInterface | string,
    args: EncryptedVectorStoreArgs,
  ): Promise<EncryptedVectorStore> {
    const store = new this(embeddings, args);
    store.#opened = store.#describe(await store.#client.loadIndex(store.#options));
    await store.#opened;
    return store;
  }

  [inspect.custom](): string {
    return `EncryptedVectorStore(${JSON.stringify(this.#options.indexName)})`;
  }

  #open(): Promise<{ index: VectorIndex; metric: Metric }> {
    this.#opened ??= this.#loadOrCreate().catch((error: unknown) => {
      this.#opened = undefined;
      throw error;
    });
    return this.#opened;
  }

  async #loadOrCreate(): Promise<{ index: VectorIndex; metric: Metric }> {
    const {
      indexName,
      indexKey,
      indexType = "ivfflat",
      indexConfigParams,
      metric = "cosine",
    } = this.#options;
    try {
      return await this.#describe(await this.#client.loadIndex({ indexName, indexKey }));
    } catch (error) {
      if (!hasCode(error, "not_found")) throw error;
    }
    const indexConfig = { ...indexConfigParams, type: indexType };
    try {
      return { index: await this.#client.createIndex({ indexName, indexKey, indexConfig, metric }), metric };
    } catch (error) {
      // Another process created it between the two calls.
      if (!hasCode(error, "already_exists")) throw error;
      return this.#describe(await this.#client.loadIndex({ indexName, indexKey }));
    }
  }

  async #describe(index: VectorIndex): Promise<{ index: VectorIndex; metric: Metric }> {
    const { metric } = await index.describe();
    if (this.#options.metric !== undefined && this.#options.metric !== metric) {
      const { indexName, metric: expected } = this.#options;
      throw invalid(`metric: expected ${expected}, but index "${indexName}" was created with ${metric}`);
    }
    return { index, metric };
  }

  /** The store's filter and the call's, both required. */
  #both(filter: Filter | undefined): Filter | undefined {
    const own = this.#options.filter;
    if (own === undefined || filter === undefined) return own ?? filter;
    return { $and: [own, filter] };
  }
}

/** By code, not by class: a given client may come from the package's other build (ESM, CommonJS). */
function hasCode(error: unknown, code: ErrorCode): boolean {
  return error instanceof Error && (error as { code?: unknown }).code === code;
}

function chooseIds(documents: readonly DocumentInterface[], ids: readonly string[] | undefined): string[] {
  if (ids !== undefined && ids.length !== documents.length) {
    throw invalid(`ids: expected one for each of the ${documents.length} documents, got ${ids.length}`);
  }
  return documents.map((document, i) => ids?.[i] ?? document.id ?? randomUUID());
}

function toItems(vectors: number[][], documents: readonly DocumentInterface[], ids: readonly string[]) {
  return documents.map(({ pageContent, metadata }, i) => ({
    id: ids[i],
    vector: vectors[i],
    contents: pageContent,
    // Plain objects without metadata are accepted wherever LangChain accepts documents.
    metadata: (metadata as Metadata | undefined) ?? {},
  }));
}

function toDocuments(texts: readonly string[], metadatas: object[] | object): Document[] {
  if (Array.isArray(metadatas) && metadatas.length !== texts.length) {
    throw invalid(`metadatas: expected one for each of the ${texts.length} texts, got ${metadatas.length}`);
  }
  return texts.map((pageContent, i) => {
    const metadata = (Array.isArray(metadatas) ? metadatas[i] : metadatas) as Metadata;
    return new Document({ pageContent, metadata });
  });
}

function toDocument({ id, contents = "", metadata = {} }: Match): Document {
  return new Document({ id, pageContent: contents, metadata });
}
