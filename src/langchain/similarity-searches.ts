/** The searches of a store for documents near a vector, a text or an image, each with the recall and the namespace that it declares. */

import type { Document } from "@langchain/core/documents";
import { VectorStore } from "@langchain/core/vectorstores";
import { type Image, isImage, takeImage } from "../embedding/image.js";
import type { Metric } from "../engine/config.js";
import { type Filter, takeFilter } from "../filter.js";
import { optionNames, takeOptions } from "../option-names.js";
import type { ProbingOptions } from "../probing.js";
import type { Match, MatchField, NamespaceOption } from "../vector-index.js";
import { embedImage } from "./add-images.js";
import { toDocument } from "./documents.js";
import { scoreOf } from "./score.js";

/** Of one search. */
export interface SearchOptions extends NamespaceOption {
  /** The recall that it needs, in place of what the store was told; see `ProbingOptions`. */
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

export const searchOptions = optionNames<SearchOptions>("search", { recall: true, namespace: true });

/** The filter and the options of a search as they are now. */
function takeSearch(filter: Filter | undefined, options: SearchOptions = {}) {
  return { filter: filter && takeFilter(filter), options: takeOptions(options, searchOptions) };
}

const kDefault = 4;
const scored = ["distance", "metadata", "contents"] as const;

export abstract class SimilaritySearches extends VectorStore {
  declare FilterType: Filter;

  /** What is nearest to a vector, with these fields. */
  protected abstract nearest(search: NearestSearch, include: readonly MatchField[]): Promise<NearestMatches>;

  /** The `k` documents nearest to a text. Default 4; beyond the store's size, all. */
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

  /** As `similaritySearch`, with scores in [0, 1]: 1 is a perfect match. */
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

  /** The `k` documents nearest to a vector, with scores in [0, 1]: 1 is a perfect match. Default 4; beyond the store's size, all. */
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

  /** As `similaritySearchVectorWithScore`, with the distance under the index's metric, ascending. */
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

  /** As `similaritySearchWithScore`, with the distance under the index's metric, ascending. */
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

  /** The `k` documents nearest to an image, texts and images alike, with scores as of `similaritySearchWithScore`. */
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

  /** As `similaritySearchByImageWithScore`, without scores. */
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
