/** Keyword and hybrid searches of a store. */

import type { CallbackManagerForRetrieverRun } from "@langchain/core/callbacks/manager";
import type { Document, DocumentInterface } from "@langchain/core/documents";
import type { VectorStoreInterface, VectorStoreRetrieverInput } from "@langchain/core/vectorstores";
import { invalid, typeName } from "../checks/input.js";
import { type Filter, takeFilter } from "../api/filter/compile.js";
import { optionNames, takeOptions } from "../checks/option-names.js";
import type { ProbingOptions } from "../api/effort.js";
import type { Fusion, NamespaceOption, VectorIndex } from "../api/vector-index.js";
import { toDocument } from "./documents.js";
import { type SearchedStore, SealdexRetriever } from "./retriever.js";
import { fieldNames } from "./retriever-options.js";
import { checkK, searchFailed, type SearchOptions, topKOf } from "./similarity-searches.js";

const kDefault = 4;

/** How a keyword search reads its query. */
export interface QuerySyntax {
  /**
   * `words`: every sign, quote and asterisk is punctuation, as in a question. `query`: they are the
   * operators of docs/hybrid.md. Default `words`.
   */
  readonly syntax?: "words" | "query" | undefined;
}

/** Options of `keywordSearch`. */
export interface KeywordSearchOptions extends QuerySyntax, NamespaceOption {}

/** Options of `hybridSearch`. */
export interface HybridSearchOptions extends QuerySyntax, SearchOptions {}

export const keywordOptions = optionNames<KeywordSearchOptions>("keywordSearch", {
  namespace: true,
  syntax: true,
});
export const hybridOptions = optionNames<HybridSearchOptions>("hybridSearch", {
  recall: true,
  namespace: true,
  syntax: true,
});

/** A `queryText` without operators that has the words of `text`. */
export function plainWords(text: string): string {
  // Asterisks and quotes separate words, and signs before a word are not part of it.
  return text.replace(/[*"\u201c-\u201e]/g, " ").replace(/(^|\s)[+-]+/g, "$1");
}

/** Throws `invalid_request` for anything but a text in a known syntax. */
export function takeQueryText(query: unknown, { syntax = "words" }: QuerySyntax): string {
  if (typeof query !== "string") throw invalid(`query: expected a string, got ${typeName(query)}`);
  if (syntax === "query") return query;
  if (syntax === "words") return plainWords(query);
  throw invalid('syntax: expected "words" or "query"');
}

export interface WordSearch extends ProbingOptions, NamespaceOption {
  readonly queryText: string;
  /** The query's vector. Default: none, which means keywords only. */
  readonly vector?: number[];
  readonly k: number | undefined;
  readonly filter: Filter | undefined;
  readonly fusion?: Fusion | undefined;
}

/** The best documents, with scores: larger is better. */
export async function searchByWords(
  index: VectorIndex,
  { vector, k = kDefault, ...options }: WordSearch,
): Promise<[Document, number][]> {
  checkK(k);
  const query = { ...options, queryVector: vector, topK: topKOf(k) };
  const matches = await index.query({ ...query, include: ["metadata", "contents"] }).catch(searchFailed);
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
  /** `fusion`: for `hybrid`. Default: automatic. */
  readonly searchKwargs?: QuerySyntax & { readonly fusion?: Fusion };
}

interface WordSearchingStore extends SearchedStore {
  hybridSearch(
    query: string,
    k: number,
    filter?: Filter,
    fusion?: Fusion,
    options?: HybridSearchOptions,
  ): Promise<Document[]>;
  keywordSearch(
    query: string,
    k: number,
    filter?: Filter,
    options?: KeywordSearchOptions,
  ): Promise<Document[]>;
}

/** A retriever by keywords, or keywords and vectors. */
export class WordRetriever<V extends WordSearchingStore> extends SealdexRetriever<V> {
  readonly #isHybrid: boolean;
  readonly #fusion: Fusion | undefined;
  readonly #options: HybridSearchOptions;

  constructor(fields: WordRetrieverFields<V> & { readonly vectorStore: V }) {
    const { searchType, searchKwargs, ...others } = fields;
    super(others);
    const { recall, namespace } = fields;
    this.#isHybrid = searchType === "hybrid";
    this.#fusion = searchKwargs?.fusion;
    this.#options = { recall, namespace, syntax: searchKwargs?.syntax };
    takeQueryText("", this.#options);
    if (!this.#isHybrid && this.#fusion !== undefined) {
      throw invalid('searchKwargs: expected searchType "hybrid" with a fusion');
    }
    if (!this.#isHybrid && recall !== undefined) {
      throw invalid('recall: expected none with searchType "keyword", which finds all words');
    }
  }

  static override lc_name(): string {
    return "SealdexWordRetriever";
  }

  override async _getRelevantDocuments(
    query: string,
    _runManager?: CallbackManagerForRetrieverRun,
  ): Promise<DocumentInterface[]> {
    const { namespace, syntax } = this.#options;
    return this.#isHybrid
      ? this.vectorStore.hybridSearch(query, this.k, this.filter, this.#fusion, this.#options)
      : this.vectorStore.keywordSearch(query, this.k, this.filter, { namespace, syntax });
  }
}

const searchNames = optionNames<WordRetrieverFields<VectorStoreInterface>["searchKwargs"] & object>(
  "searchKwargs",
  { fusion: true, syntax: true },
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
