/**
 * The JSON of the HTTP interface, as pairs of functions: the server uses one half of each, the
 * client the other.
 *
 * Only this file, `wire/` and the server's schemas use snake_case. Defaults of the HTTP interface
 * are in the `decode` half of a request, the library's in its `encode` half. The server's schemas
 * check requests before they are decoded here; the library checks values. `encode` throws
 * `invalid_request` for values that JSON would lose (NaN, undefined, bigints). Uses no Node.js
 * modules.
 */

import { dimensionMax, type IndexType, type Metric, type Precision } from "../../engine/config.js";
import { invalid } from "../../checks/input.js";
import { checkSelection } from "../../api/check-selection.js";
import { type AddressBody, decodeAddress, encodeAddress, type Maybe } from "./address.js";
import { decodeFilter, encodeFilter, type FilterBody } from "./filters.js";
import type { NamespaceBody } from "./namespaces.js";
import { decodeTextIndex, encodeTextIndex, type TextIndexBody } from "./description.js";
import { decodeVector, encodeKey, encodeVectors, decodeInteger, checkRange } from "./values.js";
import type {
  CreateIndexOptions,
  IndexConfigInput,
  IndexKey,
  LoadIndexOptions,
  OpenIndexOptions,
  Selection,
  TrainOptions,
} from "../../api/vector-index.js";

export { checkFolderPath } from "../../checks/input.js";
export { dimensionMax };
export { topKMax } from "../../api/method-options.js";
export { responseText } from "../../checks/response-text.js";
export { binaryVectors, decodeBinaryItems, decodeBinaryVectors } from "./binary.js";
export { type AddressBody, addressIn, decodeAddress, encodeAddress } from "./address.js";
export {
  decodeQuery,
  decodeQueryOptions,
  encodeQuery,
  queriesMax,
  type Query,
  type QueryBody,
  queryBytesMax,
} from "./query.js";
export { queryForms, upsertForms, utf8Length } from "./requests.js";
export { statusOfCode } from "./errors.js";
export { base64Length, texts } from "./values.js";
export { decodeElement, decodeItem, decodeItems, encodeItem, type ItemBody } from "./items.js";
export {
  type DescriptionBody,
  decodeDescription,
  descriptionForm,
  encodeDescription,
} from "./description.js";
export { decodeError, encodeError, encodePlainError, type ErrorBody, mediaType } from "./errors.js";
export {
  decodeUpdate,
  decodeUpdateResult,
  decodeUpsertOptions,
  decodeUpsertResult,
  encodeUpdate,
  encodeUpsertOptions,
} from "./changes.js";
export {
  decodeCountOptions,
  decodeItemPage,
  decodeListIds,
  decodeListItems,
  encodeCount,
  encodeListIds,
  encodeListItems,
} from "./listing.js";
export { decodeMetadataQuery, decodeOrderedQuery } from "./order.js";
export {
  decodeErasure,
  decodeErasureReceipt,
  decodeNamespace,
  encodeErasure,
  encodeErasureReceipt,
  encodeNamespace,
  type NamespaceBody,
} from "./namespaces.js";
export { decodeWrap, decodeWraps, encodeWrap, encodeWraps, type WrapBody } from "./wraps.js";
export { decodeProfile, profileText, serverTiming, sumOfProfiles } from "./profile.js";
export {
  decodeAnchorBody,
  decodeCount,
  decodeNames,
  decodeResults,
  decodeStoredItems,
  foreign,
} from "./results.js";
export {
  entryTexts,
  idRowTexts,
  idTexts,
  itemTexts,
  matchTexts,
  nameTexts,
  pageTexts,
} from "./result-text.js";

/** The longest body of an upsert; the client splits larger ones. */
export const bodyBytesMax = 32 * 1024 * 1024;
/** The most items or ids in a request. */
export const itemsMax = 10_000;

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
  readonly precision?: Maybe<Precision>;
  readonly spilling?: Maybe<boolean>;
  readonly pq_dim?: Maybe<number>;
  readonly pq_bits?: Maybe<number>;
}

export interface CreateIndexBody extends AddressBody {
  readonly index_config?: Maybe<IndexConfigBody>;
  /** Same as in `index_config`; some clients send it here. */
  readonly dimension?: Maybe<number>;
  readonly metric?: Maybe<Metric>;
  readonly embedding_model?: Maybe<string>;
  readonly text_index?: Maybe<TextIndexBody | boolean>;
  /** Of a collection. */
  readonly shards?: Maybe<number>;
}

export function encodeCreateIndex(options: CreateIndexOptions, shards?: number): CreateIndexBody {
  const { indexConfig, metric, embeddingModel, textIndex } = options;
  return {
    ...encodeAddress(options),
    index_config: indexConfig && encodeConfig(indexConfig),
    metric,
    embedding_model: embeddingModel,
    text_index: encodeTextIndex(textIndex),
    shards,
  };
}

export function decodeCreateIndex(body: CreateIndexBody): CreateIndexOptions {
  return {
    ...decodeAddress(body),
    indexConfig: decodeConfig(body),
    metric: body.metric ?? undefined,
    embeddingModel: body.embedding_model ?? undefined,
    textIndex: decodeTextIndex(body.text_index ?? undefined),
  };
}

/** Over HTTP, `pq_dim` and `pq_bits` of `ivfpq` have no default; the library's is 8. */
function encodeConfig(config: IndexConfigInput): IndexConfigBody {
  const { type, dimension, nLists, precision, spilling, pqDim, pqBits } = config;
  const pqDefault = type === "ivfpq" ? 8 : undefined;
  return {
    type,
    dimension: checkRange(dimension, [1, dimensionMax], "indexConfig.dimension"),
    n_lists: decodeInteger(nLists, "indexConfig.nLists"),
    precision,
    spilling,
    pq_dim: decodeInteger(pqDim ?? pqDefault, "indexConfig.pqDim"),
    pq_bits: decodeInteger(pqBits ?? pqDefault, "indexConfig.pqBits"),
  };
}

/**
 * A dimension of 0 means that of the first vector. `ivfsq` is stored as `ivfflat`, which is more
 * precise.
 */
function decodeConfig({ index_config, dimension }: CreateIndexBody): IndexConfigInput | undefined {
  const given = dimension || index_config?.dimension || undefined;
  if (dimension && index_config?.dimension && dimension !== index_config.dimension) {
    throw invalid(`dimension: expected that of index_config, ${index_config.dimension}, got ${dimension}`);
  }
  if (!index_config) return given === undefined ? undefined : { type: "ivfflat", dimension: given };
  const { type, n_lists, precision, spilling, pq_dim, pq_bits } = index_config;
  for (const [name, value] of Object.entries({ pq_dim, pq_bits })) {
    if (type === "ivfpq" && typeof value !== "number") {
      throw invalid(`index_config.${name}: required for type ivfpq`);
    }
  }
  return {
    type: type === "ivfsq" ? "ivfflat" : type,
    dimension: given,
    nLists: n_lists ?? undefined,
    precision: precision ?? undefined,
    spilling: spilling ?? undefined,
    pqDim: pq_dim ?? undefined,
    pqBits: pq_bits ?? undefined,
  } as IndexConfigInput;
}

/** Extensions: deletion by filter, and of all items. */
export interface SelectionBody extends AddressBody, FilterBody, NamespaceBody {
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
  readonly queries?: Maybe<readonly (readonly number[])[]>;
}

/** The options of a training that can be sent. */
type SentTraining = Omit<TrainOptions, "onProgress" | "signal">;

export function encodeTrain(address: OpenIndexOptions, options: SentTraining = {}): TrainBody {
  const { nLists, queries } = options;
  return {
    ...encodeAddress(address),
    n_lists: decodeInteger(nLists, "nLists"),
    queries: queries && encodeVectors(queries, "queries"),
  };
}

export function decodeTrain({ n_lists, queries }: TrainBody): SentTraining {
  return {
    nLists: n_lists ?? undefined,
    queries: queries?.map((row, i) => decodeVector(row, `queries[${i}]`)),
  };
}

export function encodeHealth(version: string) {
  return { status: "healthy", api_version: "v1", version } as const;
}
