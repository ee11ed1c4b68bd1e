/** What an index is, on the wire. */

import type { IndexType, Metric } from "../engine/config.js";
import type { IndexDescription, MemoryUse } from "../vector-index.js";
import { foreign } from "./results.js";

export interface DescriptionBody {
  readonly index_name: string;
  readonly index_type: IndexType;
  readonly is_trained: boolean;
  readonly embedding_model?: string;
  readonly index_config: {
    readonly type: IndexType;
    /** The same as `type`; clients differ in which of the two they read. */
    readonly index_type: IndexType;
    readonly metric: Metric;
    /** 0 until the first vector decides it. */
    readonly dimension: number;
    readonly n_lists: number;
    readonly pq_dim?: number;
    readonly pq_bits?: number;
  };
  readonly memory: MemoryBody;
  readonly training_failure?: string;
}

interface MemoryBody {
  readonly rss_bytes: number;
  readonly kernel_bytes: number;
  readonly cache_bytes: number;
  readonly cache_bytes_max: number;
}

function encodeMemory({ rssBytes, kernelBytes, cacheBytes, cacheBytesMax }: MemoryUse): MemoryBody {
  return {
    rss_bytes: rssBytes,
    kernel_bytes: kernelBytes,
    cache_bytes: cacheBytes,
    cache_bytes_max: cacheBytesMax,
  };
}

function decodeMemory({ rss_bytes, kernel_bytes, cache_bytes, cache_bytes_max }: MemoryBody): MemoryUse {
  return {
    rssBytes: rss_bytes,
    kernelBytes: kernel_bytes,
    cacheBytes: cache_bytes,
    cacheBytesMax: cache_bytes_max,
  };
}

export function encodeDescription(description: IndexDescription): DescriptionBody {
  const {
    indexName,
    type,
    metric,
    dimension = 0,
    nLists,
    pqDim,
    pqBits,
    trained,
    embeddingModel,
    memory,
    trainingFailure,
  } = description;
  return {
    index_name: indexName,
    index_type: type,
    is_trained: trained,
    embedding_model: embeddingModel,
    index_config: {
      type,
      index_type: type,
      metric,
      dimension,
      n_lists: nLists,
      pq_dim: pqDim,
      pq_bits: pqBits,
    },
    memory: encodeMemory(memory),
    training_failure: trainingFailure,
  };
}

export function decodeDescription(json: unknown): IndexDescription {
  const { index_name, is_trained, embedding_model, index_config, memory, training_failure } = (json ??
    {}) as DescriptionBody;
  const { type, metric, dimension, n_lists, pq_dim, pq_bits } = index_config ?? {};
  if (typeof index_name !== "string" || typeof type !== "string" || memory === undefined) throw foreign();
  return {
    indexName: index_name,
    type,
    metric,
    ...(dimension > 0 && { dimension }),
    nLists: n_lists,
    ...(pq_dim !== undefined && { pqDim: pq_dim, pqBits: pq_bits }),
    trained: is_trained,
    ...(embedding_model !== undefined && { embeddingModel: embedding_model }),
    memory: decodeMemory(memory),
    ...(training_failure !== undefined && { trainingFailure: training_failure }),
  };
}
