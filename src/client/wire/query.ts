/** The JSON of queries. */

import { invalid, isVector, onlySubjectOf } from "../../checks/input.js";
import { SealdexError } from "../../errors.js";
import { checkRecall, type DeclaredRecall, type ProbingOptions, storeProbing } from "../../api/effort.js";
import { filterOf } from "../../api/check-selection.js";
import type {
  BatchQuery,
  Fusion,
  MatchField,
  OpenIndexOptions,
  RankedQuery,
  SingleQuery,
  TextQuery,
  WordField,
  WordQuery,
} from "../../api/vector-index.js";
import { type AddressBody, encodeAddress, type Maybe } from "./address.js";
import { type ContentsBody, decodeContentsBody, encodeContents } from "./items.js";
import { decodeFilter, encodeFilter, type FilterBody } from "./filters.js";
import type { OrderedQueryBody } from "./order.js";
import { decodeNamespace, encodeNamespace, type NamespaceBody } from "./namespaces.js";
import { decodeVector, encodeVector, encodeVectors, decodeInteger, checkRange, texts } from "./values.js";

/** The longest body of requests with vectors, filters or ids. */
export const queryBytesMax = 8 * 1024 * 1024;
export const queriesMax = 1000;

export interface QueryBody
  extends AddressBody, FilterBody, NamespaceBody, Pick<OrderedQueryBody, "order_by" | "cursor"> {
  readonly query_vectors?: Maybe<readonly number[] | readonly (readonly number[])[]>;
  readonly query_contents?: Maybe<ContentsBody>;
  readonly top_k?: Maybe<number>;
  /** Replaces the next two fields. */
  readonly recall?: Maybe<DeclaredRecall>;
  readonly n_probes?: Maybe<number>;
  readonly greedy?: Maybe<boolean>;
  readonly allow_partial_after_ms?: Maybe<number>;
  readonly include?: Maybe<readonly (WordField | "profile")[]>;
  /** The name of a cross-encoder. */
  readonly rerank?: Maybe<string>;
  readonly query_text?: Maybe<string>;
  readonly fusion?: Maybe<Fusion>;
  /**
   * Newer published clients send `text` for `query_text`, with the weight of vectors and `k` of
   * reciprocal rank fusion.
   */
  readonly text?: Maybe<string>;
  readonly alpha?: Maybe<number>;
  readonly rrf_k?: Maybe<number>;
}

export type Query = SingleQuery | TextQuery | RankedQuery | BatchQuery | WordQuery;

/** Matches of a reranked query: a cross-encoder reads four texts for each. */
const rankedMax = 100;

export function encodeQuery(address: OpenIndexOptions, query: Query): QueryBody {
  const { queryVector, queryVectors, queryContents } = query as Partial<SingleQuery & TextQuery & BatchQuery>;
  const { queryText, fusion } = query as Partial<WordQuery>;
  const subjects = { queryVector, queryVectors, queryContents };
  const subject = queryText === undefined ? onlySubjectOf(subjects) : checkWithWords(subjects);
  const { topK = 100, include = ["distance"] } = query;
  const { rerank } = query as Partial<RankedQuery>;
  if (rerank !== undefined && typeof rerank !== "string") {
    throw new SealdexError(
      "not_supported",
      "rerank: expected the name of a cross-encoder; apply other rerankers to the results, for example SealdexReranker",
    );
  }
  return {
    ...encodeAddress(address),
    query_vectors: queryVectors
      ? encodeVectors(queryVectors, "queryVectors")
      : queryVector && encodeVector(queryVector, subject),
    query_contents: encodeContents(queryContents, "queryContents"),
    top_k: checkRange(topK, [0, Number.MAX_SAFE_INTEGER], "topK"),
    ...encodeProbing(query),
    allow_partial_after_ms: query.allowPartialAfterMs,
    filters: encodeFilter(filterOf(query, "query")),
    include: texts(include, "include"),
    rerank,
    query_text: queryText,
    fusion: fusion && { ...fusion },
    ...encodeNamespace(query),
  };
}

function encodeProbing(query: ProbingOptions): Pick<QueryBody, "recall" | "n_probes" | "greedy"> {
  checkRecall(query);
  const { recall, nProbes = 1, greedy = false } = query;
  return recall === undefined ? { n_probes: decodeInteger(nProbes, "nProbes"), greedy } : { recall };
}

/** A text may be combined with one vector or contents. */
function checkWithWords(subjects: Record<"queryVector" | "queryVectors" | "queryContents", unknown>) {
  if (subjects.queryVectors !== undefined) throw invalid("queryText: cannot be combined with queryVectors");
  const { queryVector, queryContents } = subjects;
  return queryVector === undefined ? "queryContents" : onlySubjectOf({ queryVector, queryContents });
}

/** Decodes everything but the vectors. */
export function decodeQueryOptions(body: Omit<QueryBody, "query_vectors" | "query_contents">) {
  return {
    topK: body.top_k ?? 100,
    ...storeProbing({
      recall: body.recall ?? undefined,
      nProbes: body.n_probes ?? undefined,
      greedy: body.greedy ?? undefined,
    }),
    allowPartialAfterMs: body.allow_partial_after_ms ?? undefined,
    filter: decodeFilter(body, "query"),
    ...decodeNamespace(body),
    // The library refuses fields that only keyword queries return.
    include: (body.include ?? ["distance", "metadata"]) as readonly MatchField[],
  };
}

export function decodeQuery(body: QueryBody): Query {
  const options = decodeQueryOptions(body);
  // Some clients send `query_vectors: []` together with a text.
  const vectors: readonly unknown[] = body.query_vectors ?? [];
  const queryContents = decodeContentsBody(body.query_contents);
  const words = decodeWords(body);
  if (words !== undefined) {
    if (vectors.length > 0 && queryContents !== undefined) {
      throw invalid("query: query_text can be combined with query_vectors or query_contents, not both");
    }
    if ((body.rerank ?? undefined) !== undefined) throw invalid("rerank: cannot be combined with query_text");
    if (queryContents !== undefined) return { ...options, ...words, queryContents };
    if (vectors.length === 0) return { ...options, ...words };
    return { ...options, ...words, queryVector: decodeVector(onlyVector(vectors), "query_vectors") };
  }
  if (vectors.length > 0 === (queryContents !== undefined)) {
    const received = vectors.length > 0 ? "both" : "neither";
    throw invalid(`query: expected one of query_vectors, not empty, and query_contents, got ${received}`);
  }
  const { rerank } = body;
  if ((rerank ?? undefined) !== undefined) {
    if (typeof queryContents !== "string") throw invalid("rerank: expected query_contents that are a text");
    if (options.topK > rankedMax) {
      throw invalid(`top_k: expected at most ${rankedMax} with rerank, got ${options.topK}`);
    }
    return { ...options, queryContents, rerank: rerank as string };
  }
  if (queryContents !== undefined) return { ...options, queryContents };
  if (!isVector(vectors[0])) return { ...options, queryVector: decodeVector(vectors, "query_vectors") };
  return { ...options, queryVectors: vectors.map((row, i) => decodeVector(row, `query_vectors[${i}]`)) };
}

/** One vector, or a batch of one. */
function onlyVector(vectors: readonly unknown[]): unknown {
  if (!isVector(vectors[0])) return vectors;
  if (vectors.length === 1) return vectors[0];
  throw invalid(`query_vectors: expected one vector beside query_text, got ${vectors.length}`);
}

function decodeWords(body: QueryBody): Pick<WordQuery, "queryText" | "fusion"> | undefined {
  const queryText = body.query_text ?? body.text ?? undefined;
  const { fusion, alpha, rrf_k: k } = body;
  if (queryText === undefined) {
    if ((fusion ?? undefined) !== undefined) throw invalid("fusion: requires query_text");
    return undefined;
  }
  if ((body.query_text ?? undefined) !== undefined && (body.text ?? undefined) !== undefined) {
    throw invalid("query: query_text and text cannot be combined");
  }
  if ((fusion ?? undefined) !== undefined) return { queryText, fusion: fusion as Fusion };
  if ((alpha ?? k ?? undefined) === undefined) return { queryText };
  return { queryText, fusion: { method: "rank", alpha: alpha ?? undefined, k: k ?? undefined } };
}
