/**
 * Searches for documents near a vector, a text or an image, with an optional recall and namespace.
 */

import type { Document } from "@langchain/core/documents";
import { VectorStore } from "@langchain/core/vectorstores";
import type { ProbingOptions } from "../api/effort.js";
import { type Filter, takeFilter } from "../api/filter/compile.js";
import type { Match, MatchField, NamespaceOption } from "../api/vector-index.js";
import { invalid, typeName } from "../checks/input.js";
import { optionNames, takeOptions } from "../checks/option-names.js";
import { renamePlace } from "../errors.js";
import { type Image, isImage, takeImage } from "../embedding/image.js";
import type { Metric } from "../engine/config.js";
import { embedImage } from "./add-images.js";
import { toDocument } from "./documents.js";

export interface SearchOptions extends NamespaceOption {
  /** Recall of this search; overrides the store's options. See `ProbingOptions`. */
  readonly recall?: ProbingOptions["recall"];
}

export interface NearestSearch extends SearchOptions {
  readonly vector: number[];
  readonly k: number;
  readonly filter?: Filter | undefined;
}

export interface NearestMatches {
  readonly matches: Match[];
  readonly metric: Metric;
}

const searchOptions = optionNames<SearchOptions>("search", { recall: true, namespace: true });

/** Throws `invalid_request` unless `k` is a number of documents. */
export function checkK(k: unknown): asserts k is number {
  if (typeof k === "number" && (Number.isInteger(k) || k === Infinity) && k >= 0) return;
  throw invalid(`k: expected a number of documents, got ${typeof k === "number" ? k : typeName(k)}`);
}

/** As the `topK` of a query. All documents are at most as many as are safe to count. */
export function topKOf(k: number): number {
  return Math.min(k, Number.MAX_SAFE_INTEGER);
}

/** A failed query, in the names of a search's arguments. */
export function searchFailed(error: unknown): never {
  throw renamePlace(renamePlace(error, /^(?:queryVector|queryText)/, "query"), /^topK/, "k");
}

/** Copies the filter and the options of a search. */
function takeSearch(filter: Filter | undefined, options: SearchOptions = {}) {
  return { filter: filter && takeFilter(filter), options: takeOptions(options, searchOptions) };
}

const kDefault = 4;
const scored = ["distance", "metadata", "contents"] as const;

export abstract class SimilaritySearches extends VectorStore {
  declare FilterType: Filter;

  /** The nearest matches with these fields. */
  protected abstract nearest(search: NearestSearch, include: readonly MatchField[]): Promise<NearestMatches>;

  /** The `k` documents nearest to a text, or all if there are fewer. Default 4. */
  override async similaritySearch(
    query: string,
    k?: number,
    filter?: Filter,
    callbacks?: unknown,
    options?: SearchOptions,
  ): Promise<Document[]> {
    const found = await this.similaritySearchWithScore(query, k, filter, callbacks, options);
    return found.map(([document]) => document);
  }

  /** Like `similaritySearch`, with scores in [0, 1]: 1 is a perfect match. */
  override async similaritySearchWithScore(
    query: string,
    k?: number,
    filter?: Filter,
    _callbacks?: unknown,
    options?: SearchOptions,
  ): Promise<[Document, number][]> {
    const own = takeSearch(filter, options);
    const vector = await this.embeddings.embedQuery(query);
    return this.similaritySearchVectorWithScore(vector, k, own.filter, own.options);
  }

  /**
   * The `k` documents nearest to a vector, or all if there are fewer, with scores in [0, 1]: 1 is a
   * perfect match. Default 4.
   */
  override async similaritySearchVectorWithScore(
    query: number[],
    k: number = kDefault,
    filter?: Filter,
    options: SearchOptions = {},
  ): Promise<[Document, number][]> {
    options = takeOptions(options, searchOptions);
    const { recall, namespace } = options;
    const { matches, metric } = await this.nearest({ vector: query, k, filter, recall, namespace }, scored);
    return matches.map((match) => [toDocument(match), scoreOf(metric, match.distance as number)]);
  }

  /** Like `similaritySearchVectorWithScore`, with the index's metric as ascending distance. */
  async similaritySearchVectorWithDistance(
    query: number[],
    k: number = kDefault,
    filter?: Filter,
    options: SearchOptions = {},
  ): Promise<[Document, number][]> {
    options = takeOptions(options, searchOptions);
    const { recall, namespace } = options;
    const { matches } = await this.nearest({ vector: query, k, filter, recall, namespace }, scored);
    return matches.map((match) => [toDocument(match), match.distance as number]);
  }

  /** Like `similaritySearchWithScore`, with the index's metric as ascending distance. */
  async similaritySearchWithDistance(
    query: string,
    k?: number,
    filter?: Filter,
    options?: SearchOptions,
  ): Promise<[Document, number][]> {
    const own = takeSearch(filter, options);
    const vector = await this.embeddings.embedQuery(query);
    return this.similaritySearchVectorWithDistance(vector, k, own.filter, own.options);
  }

  /**
   * The `k` documents nearest to an image, both texts and images, with scores as for
   * `similaritySearchWithScore`.
   */
  async similaritySearchByImageWithScore(
    image: Image,
    k?: number,
    filter?: Filter,
    options?: SearchOptions,
  ): Promise<[Document, number][]> {
    const own = takeSearch(filter, options);
    const taken = isImage(image) ? takeImage(image) : image;
    const { vector } = await embedImage(taken, false, this.embeddings, "image");
    return this.similaritySearchVectorWithScore(vector, k, own.filter, own.options);
  }

  /** Like `similaritySearchByImageWithScore`, without scores. */
  async similaritySearchByImage(
    image: Image,
    k?: number,
    filter?: Filter,
    options?: SearchOptions,
  ): Promise<Document[]> {
    const found = await this.similaritySearchByImageWithScore(image, k, filter, options);
    return found.map(([document]) => document);
  }
}

// Converts distances to LangChain's scores in [0, 1], with 1 for a perfect match.

/** cosine 1 - d/2, euclidean 1/(1+d), squared_euclidean 1/(1+sqrt(d)). */
function scoreOf(metric: Metric, distance: number): number {
  const score =
    metric === "cosine"
      ? 1 - distance / 2
      : 1 / (1 + (metric === "euclidean" ? distance : Math.sqrt(distance)));
  return Math.min(1, Math.max(0, score));
}
