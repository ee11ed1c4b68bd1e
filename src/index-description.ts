/** Description and state of an index. */

import type { IndexType, Metric, Precision } from "./engine/config.js";

export interface IndexDescription {
  readonly indexName: string;
  readonly type: IndexType;
  readonly metric: Metric;
  /** Undefined until the first vector determines it. */
  readonly dimension?: number;
  /** Present number of inverted lists: 1 until trained. */
  readonly nLists: number;
  /** Precision of the stored vectors of `ivfflat`. */
  readonly precision?: Precision;
  /** False if rows are never assigned to second lists; otherwise absent. */
  readonly spilling?: boolean;
  readonly pqDim?: number;
  readonly pqBits?: number;
  readonly trained: boolean;
  /** Recall measured by training; absent until trained. */
  readonly recallCurves?: readonly RecallCurve[];
  /**
   * Recall of the queries that the process was asked, without a namespace; absent until it has
   * compared 100 of them with exact answers, and with `oblivious`.
   */
  readonly measuredRecall?: readonly MeasuredRecall[];
  /** Number of segments; compaction merges them. */
  readonly segments: number;
  /** Stored bytes of segments and model. */
  readonly storedBytes: number;
  /**
   * Bytes of replaced objects of this client that are still stored for readers: see `retentionMs`.
   */
  readonly reclaimableBytes: number;
  readonly embeddingModel?: string;
  /** Memory of the process that has the index open, for all its indexes. */
  readonly memory: MemoryUse;
  /**
   * Reason why the last automatic training of that process failed. Absent if none has, or if a
   * later training succeeded.
   */
  readonly trainingFailure?: string;
}

/** The cost of recall for queries for `topK` items without a filter. */
export interface RecallCurve {
  readonly topK: number;
  /** Ascending. */
  readonly points: readonly RecallPoint[];
}

export interface RecallPoint {
  readonly recall: number;
  /** Most lists that a query scans for this recall; unlikely lists are skipped. */
  readonly nProbes: number;
}

/** The recall of real queries for `topK` items. */
export interface MeasuredRecall {
  readonly topK: number;
  /** Number of queries that were compared. */
  readonly queries: number;
  /** Ascending: the mean share found by queries that declare `recall`. */
  readonly points: readonly { readonly recall: number; readonly found: number }[];
}

/** `…Bytes` are bytes; counts start with the client. */
export interface MemoryUse {
  /** Resident memory of the process. */
  readonly rssBytes: number;
  /** Kernel memory in use: opened codes, models, running calls. */
  readonly kernelBytes: number;
  /** Decrypted data in this client's cache, and its limit. */
  readonly cacheBytes: number;
  readonly cacheBytesMax: number;
  /** Cache lookups, and how many of them had to read from storage. A warm query may need none. */
  readonly cacheLookups: number;
  readonly cacheMisses: number;
}
