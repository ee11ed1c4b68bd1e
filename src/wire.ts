/**
 * The JSON of the HTTP interface, as pairs of functions: the server uses one half of each, the client the other.
 *
 * snake_case lives here and in the server's schemas. Defaults of the HTTP interface are in the `decode` half of a
 * request, the library's in its `encode` half. A request has passed the server's schemas before it is decoded here;
 * what its values mean is the library's to check. Where JSON would lose something (NaN, undefined, a bigint),
 * `encode` throws `invalid_request`. Nothing of Node.js is used.
 */

import { dimensionMax, type IndexType, type Metric } from "./engine/config.js";
import { SealdexError } from "./errors.js";
import { invalid, isArray, onlySubjectOf } from "./check-input.js";
import { checkSelection, filterOf } from "./selection.js";
import { type ContentsBody, decodeContents, encodeContents } from "./wire/contents.js";
import { decodeFilter, encodeFilter, type FilterBody } from "./wire/filters.js";
import { decodeVector, encodeKey, encodeVector, integer, within } from "./wire/values.js";
import type {
  BatchQuery,
  CreateIndexOptions,
  IndexConfigInput,
  IndexKey,
  MatchField,
  LoadIndexOptions,
  OpenIndexOptions,
  RankedQuery,
  Selection,
  SingleQuery,
  TextQuery,
} from "./vector-index.js";

export { dimensionMax };
export { decodeBinaryItems, decodeBinaryVectors } from "./wire/binary.js";
export { statusOfCode } from "./wire/errors.js";
export { decodeElement, decodeItem, decodeItems, encodeItem, type ItemBody } from "./wire/items.js";
export {
  type DescriptionBody,
  decodeDescription,
  descriptionForm,
  encodeDescription,
} from "./wire/description.js";
export { decodeError, encodeError, encodePlainError, type ErrorBody, mediaType } from "./wire/error-body.js";
export {
  decodeUpdate,
  decodeUpdateResult,
  decodeUpsertOptions,
  decodeUpsertResult,
  encodeUpdate,
  encodeUpsertOptions,
} from "./wire/changes.js";
export {
  decodeCountOptions,
  decodeItemPage,
  decodeListIds,
  decodeListItems,
  decodeMetadataQuery,
  encodeCount,
  encodeListIds,
  encodeListItems,
} from "./wire/listing.js";
export { decodeAnchor, decodeCount, decodeNames, decodeResults, decodeStoredItems } from "./wire/results.js";
export { idRowTexts, idTexts, itemTexts, matchTexts, nameTexts, pageTexts } from "./wire/result-text.js";

/** The longest body of an upsert, and of what else has vectors, filters or ids; the client splits what needs more. */
export const bodyBytesMax = 32 * 1024 * 1024;
export const queryBytesMax = 8 * 1024 * 1024;
/** The most items or ids in a request, and the most queries. */
export const itemsMax = 10_000;
export const queriesMax = 1000;
/** Neighbours that a query may ask for. */
export const topKMax = 10_000;

/** Null counts as left out: many JSON writers send it for fields that are not set. */
type Maybe<T> = T | null | undefined;

export interface AddressBody {
  readonly index_name: string;
  readonly index_key: string;
}

/** Where an index is, and the key to it. */
export function encodeAddress({ indexName, indexKey }: OpenIndexOptions): AddressBody {
  return { index_name: indexName, index_key: encodeKey(indexKey) };
}

export function decodeAddress(body: AddressBody): { indexName: string; indexKey: string } {
  return { indexName: body.index_name, indexKey: body.index_key };
}

/** The fields that identify the index, in the body of every request. */
export function addressIn(body: unknown): { indexName: string | undefined; indexKey: string | undefined } {
  const { index_name: indexName, index_key: indexKey } = (body ?? {}) as Partial<
    Record<keyof AddressBody, unknown>
  >;
  return { indexName: textOf(indexName), indexKey: textOf(indexKey) };
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

export interface RotateKeyBody extends AddressBody {
  readonly new_index_key: string;
}

export function encodeRotateKey(address: OpenIndexOptions, newKey: IndexKey): RotateKeyBody {
  return { ...encodeAddress(address), new_index_key: encodeKey(newKey) };
}

export function decodeRotateKey(body: RotateKeyBody): { newKey: string } {
  return { newKey: body.new_index_key };
}

export interface AnchorBody extends AddressBody {
  readonly anchor?: Maybe<string>;
}

export function encodeAnchorCheck(options: LoadIndexOptions): AnchorBody {
  return { ...encodeAddress(options), anchor: options.anchor };
}

export function decodeAnchorCheck(body: AnchorBody): { anchor: string | undefined } {
  return { anchor: body.anchor ?? undefined };
}

interface IndexConfigBody {
  readonly type: IndexType | "ivfsq";
  readonly dimension?: Maybe<number>;
  readonly n_lists?: Maybe<number>;
  readonly pq_dim?: Maybe<number>;
  readonly pq_bits?: Maybe<number>;
}

export interface CreateIndexBody extends AddressBody {
  readonly index_config?: Maybe<IndexConfigBody>;
  /** The same as in `index_config`; some clients send it here. */
  readonly dimension?: Maybe<number>;
  readonly metric?: Maybe<Metric>;
  readonly embedding_model?: Maybe<string>;
}

export function encodeCreateIndex(options: CreateIndexOptions): CreateIndexBody {
  const { indexConfig, metric, embeddingModel } = options;
  return {
    ...encodeAddress(options),
    index_config: indexConfig && encodeConfig(indexConfig),
    metric,
    embedding_model: embeddingModel,
  };
}

export function decodeCreateIndex(body: CreateIndexBody): CreateIndexOptions {
  return {
    ...decodeAddress(body),
    indexConfig: decodeConfig(body),
    metric: body.metric ?? undefined,
    embeddingModel: body.embedding_model ?? undefined,
  };
}

/** Over HTTP, `pq_dim` and `pq_bits` of `ivfpq` have no default; the library's is 8. */
function encodeConfig({ type, dimension, nLists, pqDim, pqBits }: IndexConfigInput): IndexConfigBody {
  const pqDefault = type === "ivfpq" ? 8 : undefined;
  return {
    type,
    dimension: within(dimension, [1, dimensionMax], "indexConfig.dimension"),
    n_lists: integer(nLists, "indexConfig.nLists"),
    pq_dim: integer(pqDim ?? pqDefault, "indexConfig.pqDim"),
    pq_bits: integer(pqBits ?? pqDefault, "indexConfig.pqBits"),
  };
}

/** A dimension of 0 means the first vector's. `ivfsq` is stored as `ivfflat`: more precise than asked for. */
function decodeConfig({ index_config, dimension }: CreateIndexBody): IndexConfigInput | undefined {
  const given = dimension || index_config?.dimension || undefined;
  if (dimension && index_config?.dimension && dimension !== index_config.dimension) {
    throw invalid(`dimension: expected that of index_config, ${index_config.dimension}, got ${dimension}`);
  }
  if (!index_config) return given === undefined ? undefined : { type: "ivfflat", dimension: given };
  const { type, n_lists, pq_dim, pq_bits } = index_config;
  for (const [name, value] of Object.entries({ pq_dim, pq_bits })) {
    if (type === "ivfpq" && typeof value !== "number") {
      throw invalid(`index_config.${name}: expected an integer, since the type is ivfpq, got none`);
    }
  }
  return {
    type: type === "ivfsq" ? "ivfflat" : type,
    dimension: given,
    nLists: n_lists ?? undefined,
    pqDim: pq_dim ?? undefined,
    pqBits: pq_bits ?? undefined,
  } as IndexConfigInput;
}

export interface QueryBody extends AddressBody, FilterBody {
  readonly query_vectors?: Maybe<readonly number[] | readonly (readonly number[])[]>;
  readonly query_contents?: Maybe<ContentsBody>;
  readonly top_k?: Maybe<number>;
  readonly n_probes?: Maybe<number>;
  readonly greedy?: Maybe<boolean>;
  readonly include?: Maybe<readonly MatchField[]>;
  /** The name of a cross-encoder. */
  readonly rerank?: Maybe<string>;
}

type Query = SingleQuery | TextQuery | RankedQuery | BatchQuery;

/** Matches of a reranked query: a cross-encoder reads four texts for each. */
const rankedMax = 100;

/** `query.include` may hold what the HTTP interface can include: `distance` and `metadata`. */
export function encodeQuery(address: OpenIndexOptions, query: Query): QueryBody {
  const { queryVector, queryVectors, queryContents } = query as Partial<SingleQuery & TextQuery & BatchQuery>;
  const subject = onlySubjectOf({ queryVector, queryVectors, queryContents });
  const { topK = 100, nProbes = 1, greedy = false, include = ["distance"] } = query;
  const { rerank } = query as Partial<RankedQuery>;
  if (rerank !== undefined && typeof rerank !== "string") {
    throw new SealdexError(
      "not_supported",
      "rerank: a service takes the name of a cross-encoder; use SealdexReranker on what it finds",
    );
  }
  return {
    ...encodeAddress(address),
    query_vectors: queryVectors
      ? encodeBatch(queryVectors)
      : queryVector && encodeVector(queryVector, subject),
    query_contents: encodeContents(queryContents, "queryContents"),
    top_k: within(topK, [0, topKMax], "topK"),
    n_probes: integer(nProbes, "nProbes"),
    greedy,
    filters: encodeFilter(filterOf(query, "query")),
    include,
    rerank,
  };
}

/** The longest JSON text of a float32, with its comma. */
const numberBytesMax = 26;

/**
 * The vectors of a batch, how many of them certainly fit into one request, and the body of a request for some of them.
 * Throws `invalid_request` for more than a batch may have.
 */
export function cutQuery({ query_vectors, ...others }: QueryBody) {
  const vectors = query_vectors as readonly (readonly number[])[];
  if (vectors.length > queriesMax) {
    throw invalid(`queryVectors: expected at most ${queriesMax} vectors, got ${vectors.length}`);
  }
  const bodyOf = (part: readonly (readonly number[])[]): QueryBody => ({ ...others, query_vectors: part });
  const room = queryBytesMax - new TextEncoder().encode(JSON.stringify(bodyOf([]))).length;
  const dimension = Math.max(1, ...vectors.map((vector) => vector.length));
  return { vectors, together: Math.max(1, Math.floor(room / (numberBytesMax * dimension))), bodyOf };
}

function encodeBatch(vectors: BatchQuery["queryVectors"]): number[][] {
  if (!isArray(vectors)) throw invalid("queryVectors: expected an array of vectors");
  return Array.from(vectors, (vector, i) => encodeVector(vector, `queryVectors[${i}]`));
}

/** Without what it is compared with. */
export function decodeQueryOptions(body: Omit<QueryBody, "query_vectors" | "query_contents">) {
  return {
    topK: body.top_k ?? 100,
    nProbes: body.n_probes ?? 0,
    greedy: body.greedy ?? false,
    filter: decodeFilter(body, "query"),
    include: body.include ?? (["distance", "metadata"] as const),
  };
}

export function decodeQuery(body: QueryBody): Query {
  const options = decodeQueryOptions(body);
  // Some clients send `query_vectors: []` along with a text.
  const vectors: readonly unknown[] = body.query_vectors ?? [];
  const queryContents = decodeContents(body.query_contents);
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

function isVector(value: unknown): boolean {
  return Array.isArray(value) || value instanceof Float32Array;
}

/** Extensions: deletion by filter, and of everything. */
export interface SelectionBody extends AddressBody, FilterBody {
  readonly ids?: Maybe<readonly string[]>;
  readonly delete_all?: Maybe<boolean>;
}

export function encodeSelection(
  address: OpenIndexOptions,
  { ids, filter, deleteAll }: Selection,
): SelectionBody {
  return { ...encodeAddress(address), ids, filters: encodeFilter(filter), delete_all: deleteAll };
}

export function decodeSelection(body: SelectionBody): Selection {
  const { ids, delete_all } = body;
  const selection = {
    ids: ids ?? undefined,
    filter: decodeFilter(body, "delete"),
    deleteAll: delete_all ?? undefined,
  };
  return checkSelection(selection as Selection);
}

export interface TrainBody extends AddressBody {
  readonly n_lists?: Maybe<number>;
}

export function encodeTrain(address: OpenIndexOptions, options?: { readonly nLists?: number }): TrainBody {
  return { ...encodeAddress(address), n_lists: integer(options?.nLists, "nLists") };
}

export function decodeTrain(body: TrainBody): { readonly nLists?: number } {
  return { nLists: body.n_lists ?? undefined };
}

export function encodeHealth(version: string) {
  return { status: "healthy", api_version: "v1", version } as const;
}
