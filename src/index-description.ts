/** What an index is, and how it is doing. */

import type { IndexType, Metric, Precision } from "./engine/config.js";

export interface IndexDescription {
  readonly indexName: string;
  readonly type: IndexType;
  readonly metric: Metric;
  /** Undefined until the first vector determines it. */
  readonly dimension?: number;
  /** Inverted lists that exist now: 1 until trained. */
  readonly nLists: number;
  /** Of the stored vectors of `ivfflat`. */
  readonly precision?: Precision;
  /** False if rows are never in second lists; else absent. */
  readonly spilling?: boolean;
  readonly pqDim?: number;
  readonly pqBits?: number;
  readonly trained: boolean;
  /** What training measured of recall; absent until trained. */
  readonly recallCurves?: readonly RecallCurve[];
  /** Segments that hold the items now; compaction merges them. */
  readonly segments: number;
  /** What segments and model take in storage, in bytes. */
  readonly storedBytes: number;
  /** What changes of this client replaced, in bytes, as long as it is stored for readers: see `retentionMs`. */
  readonly reclaimableBytes: number;
  readonly embeddingModel?: string;
  /** Of the process that has the index open, all its indexes together. */
  readonly memory: MemoryUse;
  /** Why the last automatic training in that process failed. Absent if none has, or if a later training succeeded. */
  readonly trainingFailure?: string;
}

/** What queries for `topK` items without a filter scan for a recall. */
export interface RecallCurve {
  readonly topK: number;
  /** Ascending. */
  readonly points: readonly RecallPoint[];
}

export interface RecallPoint {
  readonly recall: number;
  /** Lists that training measured it to take, at most: those that are unlikely to hold a neighbour are skipped. */
  readonly nProbes: number;
}

/** `…Bytes` are bytes; what is counted, is counted since the client was created. */
export interface MemoryUse {
  /** The process, as the system sees it. */
  readonly rssBytes: number;
  /** In use in the memory of the kernels: opened codes, models, and what runs. */
  readonly kernelBytes: number;
  /** Opened blocks of this client, and how much they may be. */
  readonly cacheBytes: number;
  readonly cacheBytesMax: number;
  /**
   * How often opened blocks were looked up, and how many of these lookups had to read from storage. A warm query may look none up.
   */
  readonly cacheLookups: number;
  readonly cacheMisses: number;
}
