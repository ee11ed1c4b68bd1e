/**
 * Searches of several queries among blocks of vectors, which share the open blocks and run in parallel: as scan-blocks.ts does for
 * one query, as a `Work`.
 */

import type { KernelCall } from "../kernels/kernels.js";
import { flatScanLayout } from "../kernels/kernels.wasm.js";
import { allocate, free, writeWords } from "../kernels/memory.js";
import type { QueryVector } from "../query-vector.js";
import { type ScanJob, writeJobs, rowsMax } from "./scanner.js";
import { type IdTable, writeIdTables } from "./scan-blocks.js";
import { type Candidate, TopK } from "../top-k.js";
import type { Work } from "../work.js";

/** Queries per call: a query takes a few dozen microseconds, and so does the overhead of a call. */
const queriesTogether = 8;

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
   * Compares each query with jobs of its own. `tables` are sorted id tables that may shadow rows, newest first. The blocks that jobs and
   * tables point to must not move until the work is done.
   */
  *scan(jobs: readonly (readonly ScanJob[])[], tables: readonly IdTable[]): Work<void> {
    const active = jobs.flatMap((own, i) => (own.length > 0 ? [i] : []));
    const held = writeIdTables(tables);
    const scans = allocate(flatScanLayout.bytes * active.length);
    const placed: number[] = [];
    try {
      active.forEach((i, place) => {
        const query = this.#queries[i];
        query.newerIdTables = held;
        query.reserve(rowsMax(jobs[i]));
        const at = writeJobs(jobs[i]);
        placed.push(at);
        const { heap } = this.#nearest[i];
        const scan = { query: query.address, heap, jobs: at, count: jobs[i].length };
        writeWords(scans + flatScanLayout.bytes * place, flatScanLayout, scan);
      });
      const calls: KernelCall[] = [];
      for (let first = 0; first < active.length; first += queriesTogether) {
        const count = Math.min(queriesTogether, active.length - first);
        const rows = active.slice(first, first + count).flatMap((i) => jobs[i].map(({ codes }) => codes.n));
        const cost = rows.reduce((sum, n) => sum + n, 0) * this.#queries[0].dimension;
        calls.push({ kernel: "scanFlatEach", args: [scans + flatScanLayout.bytes * first, count], cost });
      }
      yield calls;
    } finally {
      for (const at of placed) free(at);
      free(scans);
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
