/**
 * Searches of several queries among blocks of vectors, which share the open blocks and run in parallel: as scan-blocks.ts does for
 * one query, as a `Work`.
 */

import type { KernelCall } from "../kernels/kernels.js";
import { free } from "../kernels/memory.js";
import type { QueryVector } from "../query-vector.js";
import { type ScanJob, writeJobs, rowsMax } from "./scanner.js";
import { type IdTable, writeIdTables } from "./scan-blocks.js";
import { type Candidate, TopK } from "../top-k.js";
import type { Work } from "../work.js";

/** Holds kernel memory: call `free` when done. */
export class BatchSearch {
  readonly #queries: readonly QueryVector[];
  readonly #nearest: readonly TopK[];

  /** The queries stay the caller's. */
  constructor(queries: readonly QueryVector[], topK: number) {
    this.#queries = queries;
    this.#nearest = queries.map(() => new TopK(topK));
  }

  /**
   * Compares each query with these blocks. `tables` are sorted id tables that may shadow rows, newest first. The blocks that jobs and tables
   * point to must not move until the work is done.
   */
  *scan(jobs: readonly ScanJob[], tables: readonly IdTable[]): Work<void> {
    if (jobs.length === 0) return;
    const held = writeIdTables(tables);
    const at = writeJobs(jobs);
    const rows = jobs.reduce((sum, { codes }) => sum + codes.n, 0);
    try {
      const calls = this.#queries.map((query, i): KernelCall => {
        query.newerIdTables = held;
        query.reserve(rowsMax(jobs));
        const args = [query.address, this.#nearest[i].heap, at, jobs.length] as const;
        return { kernel: "scanFlat", args, cost: rows * query.dimension };
      });
      yield calls;
    } finally {
      free(at);
      if (held > 0) free(held);
    }
  }

  /** The rows found for each query, nearest first. Ends the search: nothing can be scanned afterwards. */
  finish(): Candidate[][] {
    return this.#nearest.map((nearest) => nearest.finish());
  }

  free(): void {
    for (const nearest of this.#nearest) nearest.free();
  }
}
