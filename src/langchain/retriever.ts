/** Retrievers with a recall or a namespace. */

import type { CallbackManagerForRetrieverRun } from "@langchain/core/callbacks/manager";
import type { DocumentInterface } from "@langchain/core/documents";
import {
  type MaxMarginalRelevanceSearchOptions,
  type VectorStoreInterface,
  VectorStoreRetriever,
  type VectorStoreRetrieverInput,
} from "@langchain/core/vectorstores";
import type { Filter } from "../api/filter/compile.js";
import { checkRecall } from "../api/effort.js";
import type { AddOptions } from "./add-documents.js";
import type { SearchOptions } from "./similarity-searches.js";
import { own } from "../checks/value-kinds.js";

export interface SearchedStore extends VectorStoreInterface {
  FilterType: Filter;
  similaritySearch(
    query: string,
    k?: number,
    filter?: Filter,
    callbacks?: unknown,
    options?: SearchOptions,
  ): Promise<DocumentInterface[]>;
  maxMarginalRelevanceSearch(
    query: string,
    options: MaxMarginalRelevanceSearchOptions<Filter> & SearchOptions,
  ): Promise<DocumentInterface[]>;
}

/** LangChain's retriever cannot pass options to the store. */
export class SealdexRetriever<V extends SearchedStore> extends VectorStoreRetriever<V> {
  readonly #options: SearchOptions;

  constructor(options: VectorStoreRetrieverInput<V> & SearchOptions) {
    const { recall, namespace, ...fields } = own(options);
    super(own(fields) as VectorStoreRetrieverInput<V>);
    checkRecall({ recall, nProbes: undefined, greedy: undefined });
    this.#options = { recall, namespace };
  }

  static override lc_name(): string {
    return "SealdexRetriever";
  }

  /** Stores the documents in the retriever's namespace, where it finds them. */
  override async addDocuments(documents: DocumentInterface[], options?: AddOptions) {
    const namespace = options?.namespace ?? this.#options.namespace;
    return this.vectorStore.addDocuments(documents, { ...options, namespace });
  }

  override async _getRelevantDocuments(
    query: string,
    runManager?: CallbackManagerForRetrieverRun,
  ): Promise<DocumentInterface[]> {
    const { k, filter, vectorStore } = this;
    if (this.searchType !== "mmr") {
      const callbacks = runManager?.getChild("vectorstore");
      return vectorStore.similaritySearch(query, k, filter, callbacks, this.#options);
    }
    const options = { k, filter, ...this.searchKwargs, ...this.#options };
    return vectorStore.maxMarginalRelevanceSearch(query, options);
  }
}
