/** The search of one query among its nearest lists, where everything that it needs is in kernel memory: one kernel call. */

import type { CoarseQuantizer } from "./coarse-quantizer.js";
import { searchLists as searchListsKernel } from "./kernels/kernels.js";
import { allocate, free } from "./kernels/memory.js";
import type { PartTable } from "./part-table.js";
import { QueryVector } from "./query-vector.js";
import type { Metric } from "./config.js";
import { jobBytes } from "./scanner.js";
import { type IdTable, placeTables } from "./search.js";
import { type Candidate, TopK } from "./top-k.js";

export interface ListSearch {
  readonly metric: Metric;
  readonly quantizer: CoarseQuantizer;
  readonly parts: PartTable;
  /** The segments' id tables that may hide rows, newest first. */
  readonly newer: readonly IdTable[];
  /** What blocks that are scanned are marked with, to know which were of use last. */
  readonly now: number;
}

/**
 * The `topK` nearest rows in the `nProbes` lists nearest to `vector`, and in the blocks of no list, nearest first; candidates
 * name the numbers of parts. Undefined where one of the blocks is not in memory.
 */
export function searchLists(
  { metric, quantizer, parts, newer, now }: ListSearch,
  vector: Float32Array,
  nProbes: number,
  topK: number,
): Candidate[] | undefined {
  const query = new QueryVector(metric, vector, quantizer.rotation);
  const probes = new TopK(nProbes);
  const nearest = new TopK(topK);
  const job = allocate(jobBytes);
  const tables = placeTables(newer);
  try {
    query.reserve(Math.max(quantizer.nLists, parts.rowsMax));
    query.newer = tables;
    const coded = quantizer.isCodedFor(nProbes) ? 1 : 0;
    const { record, listRecord } = query;
    const { heap } = nearest;
    const args = [
      record,
      listRecord,
      quantizer.record,
      coded,
      probes.heap,
      parts.record,
      heap,
      job,
      now,
    ] as const;
    return searchListsKernel(...args) === 1 ? nearest.read() : undefined;
  } finally {
    if (tables > 0) free(tables);
    free(job);
    nearest.free();
    probes.free();
    query.free();
  }
}
