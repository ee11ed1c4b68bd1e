/** The description of an index on the wire. */

import type {
  IndexDescription,
  MeasuredPoint,
  MeasuredRecall,
  MemoryUse,
  RecallCurve,
  TextIndexOptions,
} from "../../api/vector-index.js";
import type { IndexType, Metric, Precision } from "../../engine/config.js";
import type { Maybe } from "./address.js";
import { foreign, ofService } from "./results.js";

/**
 * Newer clients read the top level; older clients read `index_config`, which also has our own
 * fields.
 */
export interface DescriptionBody {
  readonly index_name: string;
  readonly index_type: IndexType;
  readonly is_trained: boolean;
  readonly dimension: number;
  readonly metric: Metric;
  readonly n_lists: number;
  readonly metadata_schema: Readonly<Record<string, never>>;
  readonly bm25: null;
  readonly index_config: {
    readonly type: IndexType;
    /** Equal to `type`; clients read one of the two. */
    readonly index_type: IndexType;
    readonly metric: Metric;
    /** 0 until the first vector decides it. */
    readonly dimension: number;
    readonly n_lists: number;
    readonly precision?: Precision;
    readonly spilling?: boolean;
    readonly pq_dim?: number;
    readonly pq_bits?: number;
    readonly recall_curves?: RecallCurveBody[];
    readonly measured_recall?: MeasuredRecallBody[];
    /** Of a collection. */
    readonly shards?: number;
    readonly segments: number;
    readonly stored_bytes: number;
    readonly reclaimable_bytes: number;
    readonly embedding_model?: string;
    readonly text_index?: boolean;
    readonly memory: MemoryBody;
    readonly training_failure?: string;
  };
}

interface RecallCurveBody {
  readonly top_k: number;
  readonly points: { readonly recall: number; readonly n_probes: number }[];
}

interface MeasuredRecallBody {
  readonly top_k: number;
  readonly queries: number;
  readonly points: MeasuredPoint[];
}

interface MemoryBody {
  readonly rss_bytes: number;
  readonly kernel_bytes: number;
  readonly cache_bytes: number;
  readonly cache_bytes_max: number;
  readonly cache_lookups: number;
  readonly cache_misses: number;
}

function encodeMemory(memory: MemoryUse): MemoryBody {
  return {
    rss_bytes: memory.rssBytes,
    kernel_bytes: memory.kernelBytes,
    cache_bytes: memory.cacheBytes,
    cache_bytes_max: memory.cacheBytesMax,
    cache_lookups: memory.cacheLookups,
    cache_misses: memory.cacheMisses,
  };
}

function decodeMemory(memory: MemoryBody): MemoryUse {
  return {
    rssBytes: memory.rss_bytes,
    kernelBytes: memory.kernel_bytes,
    cacheBytes: memory.cache_bytes,
    cacheBytesMax: memory.cache_bytes_max,
    cacheLookups: memory.cache_lookups,
    cacheMisses: memory.cache_misses,
  };
}

function encodeCurve({ topK, points }: RecallCurve): RecallCurveBody {
  return { top_k: topK, points: points.map(({ recall, nProbes }) => ({ recall, n_probes: nProbes })) };
}

function decodeCurve({ top_k, points }: RecallCurveBody): RecallCurve {
  return { topK: top_k, points: points.map(({ recall, n_probes }) => ({ recall, nProbes: n_probes })) };
}

function encodeMeasured({ topK, queries, points }: MeasuredRecall): MeasuredRecallBody {
  return { top_k: topK, queries, points: [...points] };
}

function decodeMeasured({ top_k, queries, points }: MeasuredRecallBody): MeasuredRecall {
  return { topK: top_k, queries, points };
}

export function encodeDescription(description: IndexDescription): DescriptionBody {
  const {
    indexName,
    type,
    metric,
    dimension = 0,
    nLists,
    precision,
    spilling,
    pqDim,
    pqBits,
    trained,
    recallCurves,
    measuredRecall,
    shards,
    segments,
    storedBytes,
    reclaimableBytes,
    embeddingModel,
    textIndex,
    memory,
    trainingFailure,
  } = description;
  return {
    index_name: indexName,
    index_type: type,
    is_trained: trained,
    dimension,
    metric,
    n_lists: nLists,
    metadata_schema: {},
    bm25: null,
    index_config: {
      type,
      index_type: type,
      metric,
      dimension,
      n_lists: nLists,
      precision,
      spilling,
      pq_dim: pqDim,
      pq_bits: pqBits,
      recall_curves: recallCurves?.map(encodeCurve),
      measured_recall: measuredRecall?.map(encodeMeasured),
      shards,
      segments,
      stored_bytes: storedBytes,
      reclaimable_bytes: reclaimableBytes,
      embedding_model: embeddingModel,
      text_index: textIndex,
      memory: encodeMemory(memory),
      training_failure: trainingFailure,
    },
  };
}

/**
 * One form only, for clients that refuse unknown fields: `flat` is the top level, `nested` the form
 * of older clients.
 */
export function descriptionForm(body: DescriptionBody, form: "flat" | "nested") {
  const { index_name, index_type, is_trained, index_config, ...others } = body;
  return form === "flat"
    ? { index_name, is_trained, ...others }
    : { index_name, index_type, is_trained, index_config };
}

export function decodeDescription(json: unknown): IndexDescription {
  return ofService(() => decodeFields(json));
}

function decodeFields(json: unknown): IndexDescription {
  const { index_name, is_trained, index_config } = (json ?? {}) as Partial<DescriptionBody>;
  if (typeof index_name !== "string" || typeof index_config?.type !== "string") throw foreign();
  const { type, metric, dimension, n_lists, pq_dim, pq_bits, segments, stored_bytes, reclaimable_bytes } =
    index_config;
  const { embedding_model, text_index, memory, training_failure, recall_curves, measured_recall } =
    index_config;
  const { precision, spilling, shards } = index_config;
  if (memory === undefined) throw foreign();
  return {
    indexName: index_name,
    type,
    metric,
    ...(dimension > 0 && { dimension }),
    nLists: n_lists,
    ...(precision !== undefined && { precision }),
    ...(spilling !== undefined && { spilling }),
    ...(pq_dim !== undefined && { pqDim: pq_dim, pqBits: pq_bits }),
    trained: is_trained === true,
    ...(recall_curves !== undefined && { recallCurves: recall_curves.map(decodeCurve) }),
    ...(measured_recall !== undefined && { measuredRecall: measured_recall.map(decodeMeasured) }),
    ...(shards !== undefined && { shards }),
    segments,
    storedBytes: stored_bytes,
    reclaimableBytes: reclaimable_bytes,
    ...(embedding_model !== undefined && { embeddingModel: embedding_model }),
    ...(text_index !== undefined && { textIndex: text_index }),
    memory: decodeMemory(memory),
    ...(training_failure !== undefined && { trainingFailure: training_failure }),
  };
}

// The JSON of `textIndex`.

export interface TextIndexBody {
  readonly analyzer?: Maybe<{
    readonly language?: Maybe<string>;
    readonly stemming?: Maybe<boolean>;
    readonly stop_words?: Maybe<boolean | readonly string[]>;
  }>;
  readonly text_fields?: Maybe<Readonly<Record<string, number>>>;
  readonly k1?: Maybe<number>;
  readonly b?: Maybe<number>;
}

export function encodeTextIndex(
  options: TextIndexOptions | boolean | undefined,
): TextIndexBody | boolean | undefined {
  if (typeof options !== "object") return options;
  const { analyzer, textFields, k1, b } = options;
  const { language, stemming, stopWords } = analyzer ?? {};
  return {
    analyzer: analyzer && { language, stemming, stop_words: stopWords },
    text_fields: textFields,
    k1,
    b,
  };
}

export function decodeTextIndex(
  body: TextIndexBody | boolean | undefined,
): TextIndexOptions | boolean | undefined {
  if (typeof body !== "object") return body;
  const { analyzer, text_fields, k1, b } = body;
  return defined({
    analyzer:
      analyzer &&
      defined({ language: analyzer.language, stemming: analyzer.stemming, stopWords: analyzer.stop_words }),
    textFields: text_fields,
    k1,
    b,
  }) as TextIndexOptions;
}

/** Drops undefined and null members, which mean the default. */
function defined(fields: Readonly<Record<string, unknown>>): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => (value ?? undefined) !== undefined));
}
