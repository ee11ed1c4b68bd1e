/**
 * `EncryptedVectorStore`: Sealdex as a LangChain.js vector store.
 *
 * A document's text is the item's contents, its metadata the item's metadata, unchanged. The first
 * call that needs the index opens it, and creates it if there is none.
 */

import { inspect } from "node:util";
import type { Document, DocumentInterface } from "@langchain/core/documents";
import type { VectorStoreRetriever } from "@langchain/core/vectorstores";
import { checkSelection, takeIds } from "../api/check-selection.js";
import { type ProbingOptions, storeProbing } from "../api/effort.js";
import { type Filter, takeFilter } from "../api/filter/compile.js";
import type { CountOptions, Fusion, MatchField, NamespaceOption, Selection } from "../api/vector-index.js";
import { invalid, isArray, isVector, typeName } from "../checks/input.js";
import { optionNames, takeOptions } from "../checks/option-names.js";
import { own as ownMembers } from "../checks/value-kinds.js";
import { renamePlace } from "../errors.js";
import type { Image } from "../embedding/image.js";
import { Models } from "../embedding/models.js";
import { addInBatches, type AddOptions, embedWith, takeAddition } from "./add-documents.js";
import { addImages, type AddImagesOptions, takeImages } from "./add-images.js";
import { chooseEmbeddings, type EmbeddingsInput, nameOfModel } from "./choose-embeddings.js";
import {
  type DocumentPage,
  documentsOf,
  type DocumentsOptions,
  type ListDocumentsOptions,
  pageOfDocuments,
  toDocument,
  toDocuments,
} from "./documents.js";
import {
  hybridOptions,
  type HybridSearchOptions,
  isWordSearch,
  keywordOptions,
  type KeywordSearchOptions,
  searchByWords,
  takeQueryText,
  wordRetriever,
  type WordRetrieverFields,
} from "./hybrid-search.js";
import { type DiverseSearchOptions, mmrOptions, searchDiverse } from "./maximal-marginal-relevance.js";
import { checkRetrieverArguments, type RetrieverArguments } from "./retriever-options.js";
import { SealdexRetriever } from "./retriever.js";
import {
  checkK,
  type NearestMatches,
  type NearestSearch,
  searchFailed,
  type SearchOptions,
  SimilaritySearches,
  topKOf,
} from "./similarity-searches.js";
import { StoreIndex } from "./store-index.js";
import { StoreLimits } from "./store-limits.js";
import {
  type EncryptedVectorStoreArgs,
  type EncryptedVectorStoreFactoryArgs,
  type EncryptedVectorStoreFields,
  splitFields,
  takeStoreOptions,
  withoutSelectorOptions,
} from "./store-options.js";

const getOptions = optionNames<NamespaceOption>("getByIds", { namespace: true });

/** Deletes documents by id, by a filter that does not match everything, or all of them. */
export type DeleteParams = Selection & NamespaceOption;

/** A LangChain.js vector store whose vectors, texts, ids and metadata are encrypted. */
export class EncryptedVectorStore extends SimilaritySearches {
  readonly #index: StoreIndex;
  readonly #models: Models;
  readonly #limits: StoreLimits;
  readonly #probing: ProbingOptions;

  /**
   * `embeddings`: an Embeddings object, the name of a model, for example `default`, a pipeline or a
   * function.
   */
  constructor(embeddings: EmbeddingsInput, args: EncryptedVectorStoreArgs);
  constructor(fields: EncryptedVectorStoreFields);
  constructor(first: EmbeddingsInput | EncryptedVectorStoreFields, second?: EncryptedVectorStoreArgs) {
    const { embeddings, args: given } =
      second === undefined
        ? splitFields(first as EncryptedVectorStoreFields)
        : { embeddings: first as EmbeddingsInput, args: second };
    const args = takeStoreOptions(given);
    // LangChain stores the arguments of super() in a public field, so they must not contain the
    // key.
    const models = new Models(args.models);
    const chosen = chooseEmbeddings(embeddings, models);
    const index = new StoreIndex(args, { embeddings: chosen, name: nameOfModel(embeddings) });
    super(chosen, { indexName: args.indexName });
    this.#models = models;
    this.#limits = new StoreLimits(args);
    this.#probing = storeProbing(args);
    this.#index = index;
  }

  static override lc_name(): string {
    return "EncryptedVectorStore";
  }

  override _vectorstoreType(): string {
    return "sealdex";
  }

  /**
   * Embeds and stores documents in batches of at most 500. Returns their ids in order. Replaces
   * documents with the same ids.
   */
  override async addDocuments(documents: DocumentInterface[], options?: AddOptions): Promise<string[]> {
    const addition = takeAddition(documents, options, this.#limits);
    return addInBatches(this.#index, addition, embedWith(this.embeddings));
  }

  /** Stores documents under the given vectors. Returns their ids in order. */
  override async addVectors(
    vectors: number[][],
    documents: DocumentInterface[],
    options?: AddOptions,
  ): Promise<string[]> {
    const addition = takeAddition(documents, options, this.#limits);
    if (!isArray(vectors)) throw invalid(`vectors: expected an array, got ${typeName(vectors)}`);
    if (vectors.length !== documents.length) {
      throw invalid(
        `vectors: expected one for each of the ${documents.length} documents, got ${vectors.length}`,
      );
    }
    const own = vectors.map((vector) => (isVector(vector) ? vector.slice() : vector));
    const vectorsOf = async (batch: readonly unknown[], start: number) =>
      own.slice(start, start + batch.length);
    return addInBatches(this.#index, addition, vectorsOf).catch((error: unknown) => {
      throw renamePlace(error, /^documents(\[\d+\])\.vector/, "vectors$1");
    });
  }

  /**
   * Embeds and stores texts. `metadatas`: one per text, or one for all. Returns their ids in order.
   */
  async addTexts(texts: string[], metadatas?: object[] | object, options?: AddOptions): Promise<string[]> {
    return this.addDocuments(toDocuments(texts, metadatas ?? {}), options);
  }

  /**
   * Embeds and stores images, if the embeddings support images: a model such as CLIP by name, or
   * LangChain's multimodal embeddings. Returns their ids in order.
   */
  async addImages(images: readonly Image[], options?: AddImagesOptions): Promise<string[]> {
    const addition = takeImages(images, options, this.#limits);
    return addImages(this.#index, addition, this.embeddings);
  }

  /**
   * Selects `k` diverse documents among the `fetchK` nearest to the query. Default `k` 4, `fetchK`
   * 20 (at least `k`), `lambda` 0.5, from 0 (diversity only) to 1 (similarity only). Embeds only
   * the query; the documents' vectors come from the index (decoded from codes for a trained `ivf`
   * or `ivfpq`).
   */
  override async maxMarginalRelevanceSearch(
    query: string,
    options: DiverseSearchOptions,
  ): Promise<Document[]> {
    const { filter, recall, namespace, ...diverse } = takeOptions(options, mmrOptions);
    const own = { filter: filter && takeFilter(filter), recall, namespace };
    return searchDiverse(query, diverse, this.embeddings, async (vector, k) => {
      const search = { vector, k, ...own };
      return (await this.nearest(search, ["decoded", "metadata", "contents"])).matches;
    });
  }

  /**
   * The `k` best documents of keyword and vector search combined, with scores: larger is better.
   * Needs a store with a `textIndex`. Default 4.
   */
  async hybridSearchWithScore(
    query: string,
    k?: number,
    filter?: Filter,
    fusion?: Fusion,
    options: HybridSearchOptions = {},
  ): Promise<[Document, number][]> {
    const { syntax, ...effort } = takeOptions(options, hybridOptions);
    const queryText = takeQueryText(query, { syntax });
    const limits = this.#limits.of({ ...effort, filter });
    const own = { queryText, k, fusion: fusion && { ...fusion }, ...limits, ...this.#probingOf(effort) };
    await this.#index.openForVectors();
    const search = { ...own, vector: await this.embeddings.embedQuery(query) };
    return this.#index.useForVectors(({ index }) => searchByWords(index, search));
  }

  /** Like `hybridSearchWithScore`, without scores. */
  async hybridSearch(
    query: string,
    k?: number,
    filter?: Filter,
    fusion?: Fusion,
    options?: HybridSearchOptions,
  ): Promise<Document[]> {
    const found = await this.hybridSearchWithScore(query, k, filter, fusion, options);
    return found.map(([document]) => document);
  }

  /**
   * The `k` best documents by BM25, with scores. Embeds nothing. Needs a store with a `textIndex`.
   * Default 4.
   */
  async keywordSearchWithScore(
    query: string,
    k?: number,
    filter?: Filter,
    options: KeywordSearchOptions = {},
  ): Promise<[Document, number][]> {
    const { syntax, namespace } = takeOptions(options, keywordOptions);
    const queryText = takeQueryText(query, { syntax });
    const search = { queryText, k, ...this.#limits.of({ namespace, filter }) };
    return this.#index.use(({ index }) => searchByWords(index, search));
  }

  /** Like `keywordSearchWithScore`, without scores. */
  async keywordSearch(
    query: string,
    k?: number,
    filter?: Filter,
    options?: KeywordSearchOptions,
  ): Promise<Document[]> {
    const found = await this.keywordSearchWithScore(query, k, filter, options);
    return found.map(([document]) => document);
  }

  /** The documents with these ids, in this order; unknown ids are skipped. */
  async getByIds(ids: readonly string[], options: NamespaceOption = {}): Promise<Document[]> {
    options = takeOptions(options, getOptions);
    const namespace = this.#limits.namespaceOf(options);
    const own = takeIds(ids);
    const include = ["contents", "metadata"] as const;
    const items = await this.#index.use(({ index }) => index.get(own, { include, namespace }));
    return items.filter(({ metadata = {} }) => this.#limits.matches(metadata)).map(toDocument);
  }

  /** The number of documents, or of those that match, within the store's own filter. */
  async count(options: CountOptions = {}): Promise<number> {
    const own = { ...options, ...this.#limits.of(options) };
    return this.#index.use(({ index }) => index.count(own));
  }

  /**
   * All documents, or those that match, in the order of their ids: `for await (const document of
   * store.documents())`. They show one state of the index, see `VectorIndex.items`.
   */
  documents(options: DocumentsOptions = {}): AsyncGenerator<Document, void, undefined> {
    return documentsOf(this.#index, options, this.#limits);
  }

  /** A page of documents with the cursor of the next one; see `VectorIndex.listItems`. */
  listDocuments(options: ListDocumentsOptions = {}): Promise<DocumentPage> {
    return pageOfDocuments(this.#index, options, this.#limits);
  }

  /**
   * Deletes documents; unknown ids are ignored. Only documents that match the store's filter are
   * deleted, by id too.
   */
  override async delete(params?: DeleteParams): Promise<void> {
    const { namespace: wanted, ...selection } = ownMembers(params ?? ({} as DeleteParams));
    const { ids, filter: own } = checkSelection(selection as Selection);
    const { filter, namespace } = this.#limits.of({ filter: own, namespace: wanted });
    const all = filter === undefined ? ({ deleteAll: true } as const) : { filter };
    // The index checks the filter when it commits; documents read earlier may be replaced by then.
    await this.#index.use(({ index }) =>
      index.delete(ids === undefined ? all : { ids, filter }, { namespace }),
    );
  }

  /**
   * Like any vector store's, with `recall`, `namespace`, and `{ searchType: "hybrid" | "keyword" }`
   * for keyword search. Throws `invalid_request` for unknown fields.
   */
  override asRetriever(...args: RetrieverArguments<this>): VectorStoreRetriever<this>;
  override asRetriever(fields: WordRetrieverFields<this>): VectorStoreRetriever<this>;
  override asRetriever(
    ...args: RetrieverArguments<this> | [WordRetrieverFields<this>]
  ): VectorStoreRetriever<this> {
    const [fields] = args;
    if (isWordSearch<this>(fields)) return wordRetriever(this, fields);
    const { recall, namespace, ...checked } = checkRetrieverArguments<this>(args as RetrieverArguments<this>);
    this.#limits.namespaceOf({ namespace });
    const retriever = super.asRetriever(checked);
    if ((recall ?? namespace) === undefined) return retriever;
    const { tags } = retriever;
    return new SealdexRetriever<this>({ ...checked, vectorStore: this, tags, recall, namespace });
  }

  /** Closes the client unless the caller passed it. */
  async close(): Promise<void> {
    await Promise.all([this.#index.close(), this.#models.close()]);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Creates a store with these texts. `metadatas`: one per text, or one for all. */
  static override async fromTexts(
    texts: string[],
    metadatas: object[] | object,
    embeddings: EmbeddingsInput,
    args: EncryptedVectorStoreFactoryArgs,
  ): Promise<EncryptedVectorStore> {
    return this.fromDocuments(toDocuments(texts, metadatas), embeddings, args);
  }

  /** Creates a store with these documents. */
  static override async fromDocuments(
    documents: DocumentInterface[],
    embeddings: EmbeddingsInput,
    args: EncryptedVectorStoreFactoryArgs,
  ): Promise<EncryptedVectorStore> {
    const { ids, ...storeArgs } = withoutSelectorOptions(args);
    const store = new this(embeddings, storeArgs);
    return store.#orClose(store.addDocuments(documents, { ids }));
  }

  /** Opens the store of an existing index. Throws `not_found` or `wrong_index_key`. */
  static async fromExistingIndex(
    embeddings: EmbeddingsInput,
    args: EncryptedVectorStoreArgs,
  ): Promise<EncryptedVectorStore> {
    const store = new this(embeddings, args);
    return store.#orClose(store.#index.load());
  }

  [inspect.custom](): string {
    return `EncryptedVectorStore(${JSON.stringify(this.#index.indexName)})`;
  }

  /** Returns this store once `opening` resolves. Closes it on failure, since the caller cannot. */
  async #orClose(opening: Promise<unknown>): Promise<this> {
    try {
      await opening;
    } catch (error) {
      await this.close();
      throw error;
    }
    return this;
  }

  protected override async nearest(
    { vector, k, recall, filter: wanted, namespace: within }: NearestSearch,
    include: readonly MatchField[],
  ): Promise<NearestMatches> {
    checkK(k);
    if (!isVector(vector)) {
      throw invalid(`query: expected an array of numbers or a Float32Array, got ${typeName(vector)}`);
    }
    const { filter, namespace } = this.#limits.of({ filter: wanted, namespace: within });
    const search = {
      ...this.#probingOf({ recall }),
      queryVector: vector.slice(),
      filter,
      namespace,
      include,
    };
    return this.#index.useForVectors(async ({ index, metric }) => {
      const matches = await index.query({ ...search, topK: topKOf(k) }).catch(searchFailed);
      return { matches, metric };
    });
  }

  /** The recall of a search overrides the store's options. */
  #probingOf({ recall }: SearchOptions = {}): ProbingOptions {
    return recall === undefined ? this.#probing : { recall };
  }
}
