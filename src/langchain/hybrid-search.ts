/** Keyword and hybrid searches of a store. */

import type { CallbackManagerForRetrieverRun } from "@langchain/core/callbacks/manager";
import type { Document, DocumentInterface } from "@langchain/core/documents";
import {
  type VectorStoreInterface,
  VectorStoreRetriever,
  type VectorStoreRetrieverInput,
} from "@langchain/core/vectorstores";
import { invalid } from "../checks/input.js";
import { type Filter, takeFilter } from "../api/filter/compile.js";
import { optionNames, takeOptions } from "../checks/option-names.js";
import { checkRecall, type ProbingOptions } from "../api/effort.js";
import type { Fusion, NamespaceOption, VectorIndex } from "../api/vector-index.js";
import { toDocument } from "./documents.js";
import { fieldNames } from "./retriever-options.js";
import { checkK, type SearchOptions } from "./similarity-searches.js";

const kDefault = 4;

export interface WordSearch extends ProbingOptions, NamespaceOption {
  readonly query: string;
  /** The query's vector. Default: none, which means keywords only. */
  readonly vector?: number[];
  readonly k: number | undefined;
  readonly filter: Filter | undefined;
  readonly fusion?: Fusion | undefined;
}

/** The best documents, with scores: larger is better. */
export async function searchByWords(
  index: VectorIndex,
  { query, vector, k = kDefault, ...options }: WordSearch,
): Promise<[Document, number][]> {
  checkK(k);
  const matches = await index.query({
    queryText: query,
    queryVector: vector,
    topK: k,
    ...options,
    include: ["metadata", "contents"],
  });
  return matches.map((match) => [toDocument(match), match.score]);
}

/** Fields of `asRetriever` for keyword and hybrid search. */
export interface WordRetrieverFields<V extends VectorStoreInterface> extends Omit<
  Partial<VectorStoreRetrieverInput<V>>,
  "searchType" | "searchKwargs"
> {
  /** `hybrid` combines keyword and vector search, `keyword` embeds nothing. */
  readonly searchType: "hybrid" | "keyword";
  /** Recall of the vector search of `hybrid`. */
  readonly recall?: SearchOptions["recall"];
  readonly namespace?: string | undefined;
  /** For `hybrid`. Default: automatic. */
  readonly searchKwargs?: { readonly fusion?: Fusion };
}

interface WordSearchingStore extends VectorStoreInterface {
  FilterType: Filter;
  hybridSearch(
    query: string,
    k: number,
    filter?: Filter,
    fusion?: Fusion,
    options?: SearchOptions,
  ): Promise<Document[]>;
  keywordSearch(query: string, k: number, filter?: Filter, options?: NamespaceOption): Promise<Document[]>;
}

/** A retriever by keywords, or keywords and vectors. */
export class WordRetriever<V extends WordSearchingStore> extends VectorStoreRetriever<V> {
  readonly #isHybrid: boolean;
  readonly #fusion: Fusion | undefined;
  readonly #options: SearchOptions;

  constructor(fields: WordRetrieverFields<V> & { readonly vectorStore: V }) {
    const { searchType, searchKwargs, recall, namespace, ...others } = fields;
    super(others);
    this.#isHybrid = searchType === "hybrid";
    this.#fusion = searchKwargs?.fusion;
    this.#options = { recall, namespace };
    if (!this.#isHybrid && this.#fusion !== undefined) {
      throw invalid('searchKwargs: expected searchType "hybrid" with a fusion');
    }
    if (!this.#isHybrid && recall !== undefined) {
      throw invalid('recall: expected none with searchType "keyword", which finds all words');
    }
    checkRecall({ recall });
  }

  static override lc_name(): string {
    return "SealdexWordRetriever";
  }

  override async _getRelevantDocuments(
    query: string,
    _runManager?: CallbackManagerForRetrieverRun,
  ): Promise<DocumentInterface[]> {
    return this.#isHybrid
      ? this.vectorStore.hybridSearch(query, this.k, this.filter, this.#fusion, this.#options)
      : this.vectorStore.keywordSearch(query, this.k, this.filter, { namespace: this.#options.namespace });
  }
}

const searchNames = optionNames<WordRetrieverFields<VectorStoreInterface>["searchKwargs"] & object>(
  "searchKwargs",
  { fusion: true },
);

/** Whether the fields ask for a keyword or hybrid retriever. */
export function isWordSearch<V extends VectorStoreInterface>(
  fields: number | Partial<VectorStoreRetrieverInput<V>> | WordRetrieverFields<V> | undefined,
): fields is WordRetrieverFields<V> {
  if (typeof fields !== "object" || fields === null) return false;
  return fields.searchType === "hybrid" || fields.searchType === "keyword";
}

/** Throws `invalid_request` for unknown fields. */
export function wordRetriever<V extends WordSearchingStore>(
  vectorStore: V,
  fields: WordRetrieverFields<V>,
): WordRetriever<V> {
  fields = takeOptions(fields, fieldNames);
  const { searchKwargs, filter } = fields;
  return new WordRetriever({
    ...fields,
    filter: filter && takeFilter(filter),
    searchKwargs: searchKwargs && takeOptions(searchKwargs, searchNames),
    vectorStore,
  });
}
