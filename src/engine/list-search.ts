/** The search of one query among its nearest lists, where everything that it needs is in kernel memory: one kernel call. */

import type { CoarseQuantizer } from "./coarse-quantizer.js";
import { kernels } from "./kernels/kernels.js";
import { jobLayout } from "./kernels/kernels.wasm.js";
import { allocate, free } from "./kernels/memory.js";
import type { ListBlockTable } from "./list-block-table.js";
import { QueryVector } from "./query-vector.js";
import type { Metric } from "./config.js";
import { type IdTable, writeIdTables } from "./search.js";
import { type Candidate, TopK } from "./top-k.js";

export interface ListSearch {
  readonly metric: Metric;
  readonly quantizer: CoarseQuantizer;
  readonly parts: ListBlockTable;
  /** The segments' id tables that may hide rows, newest first. */
  readonly newer: readonly IdTable[];
  /** What blocks that are scanned are marked with, to know which were of use last. */
  readonly now: number;
}

/** How a query asks. */
export interface ListQuery {
  readonly vector: Float32Array;
  readonly nProbes: number;
  /** See probe-limits.ts. */
  readonly limit: number;
  readonly topK: number;
}

/** What was found, nearest first; candidates name the numbers of parts. */
export interface ListsSearched {
  readonly candidates: readonly Candidate[];
  /** How many of the lists were within the limit. */
  readonly lists: number;
}

/**
 * The nearest rows in those of the lists nearest to the query that are within the limit, and in the blocks of no list. Undefined
 * where one of the blocks is not in memory.
 */
export function searchLists(
  { metric, quantizer, parts, newer, now }: ListSearch,
  { vector, nProbes, limit, topK }: ListQuery,
): ListsSearched | undefined {
  const query = new QueryVector(metric, vector, quantizer.rotation);
  const probes = new TopK(nProbes);
  const nearest = new TopK(topK);
  const job = allocate(jobLayout.bytes);
  const tables = writeIdTables(newer);
  try {
    query.reserve(Math.max(quantizer.nLists, parts.rowsMax));
    query.newerIdTables = tables;
    const lists = kernels().searchLists(
      query.record,
      query.listRecord,
      quantizer.record,
      quantizer.isCodedFor(nProbes) ? 1 : 0,
      probes.heap,
      limit,
      parts.record,
      nearest.heap,
      job,
      now,
    );
    return lists === 0 ? undefined : { candidates: nearest.read(), lists };
  } finally {
    if (tables > 0) free(tables);
    free(job);
    nearest.free();
    probes.free();
    query.free();
  }
}
