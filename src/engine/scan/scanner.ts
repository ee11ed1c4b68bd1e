/** Jobs, each a block of rows to compare a query with, and the scan of them. */

import type { LoadedCodes } from "../codes/codec.js";
import { kernels } from "../kernels/kernels.js";
import { jobLayout } from "../kernels/kernels.wasm.js";
import { allDoubles, allocate, allWords, freeScratch } from "../kernels/memory.js";
import type { QueryVector } from "../query-vector.js";

export interface ScanJob {
  /** Identifies the block in candidates. */
  readonly block: number;
  readonly codes: LoadedCodes;
  /** From the query to the centroid of the rows' list, in list space; undefined if the rows are not in the query's lists. */
  readonly distance: number | undefined;
  /** Whether rows may be pruned by their codes; needs the distance. */
  readonly pruned: boolean;
  /** How many of the search's id tables may shadow rows of this block. */
  readonly newerSegments: number;
  /** Address of the bits of rows that a filter accepts, the first row at bit `firstBit`; 0: all are accepted. */
  readonly accepted: number;
  readonly firstBit: number;
}

/** Compares one query with blocks of codes. Holds kernel memory: call `free` when done. */
export interface Scanner {
  /** Offers the rows of these blocks to a heap (see top-k.ts). */
  scan(jobs: readonly ScanJob[], heap: number): void;
  free(): void;
}

/** Writes the structs of jobs to newly allocated kernel memory, which the caller frees. */
export function writeJobs(jobs: readonly ScanJob[]): number {
  const at = allocate(jobLayout.bytes * jobs.length);
  const words = allWords();
  const doubles = allDoubles();
  for (let i = 0; i < jobs.length; i++) {
    const job = jobs[i];
    const address = at + jobLayout.bytes * i;
    words[(address + jobLayout.number) >>> 2] = job.block;
    words[(address + jobLayout.block) >>> 2] = job.codes.address;
    words[(address + jobLayout.newerSegments) >>> 2] = job.newerSegments;
    words[(address + jobLayout.accepted) >>> 2] = job.accepted;
    words[(address + jobLayout.firstBit) >>> 2] = job.firstBit;
    // Codes without vectors are scored by it.
    const needsBase = job.pruned || job.codes.kind === "codes";
    doubles[(address + jobLayout.base) >>> 3] =
      needsBase && job.distance !== undefined ? job.distance ** 2 : -1;
  }
  return at;
}

/** Scans blocks of vectors, all in one call. `query` stays the caller's. */
export function flatScanner(query: QueryVector): Scanner {
  return {
    scan(jobs, heap) {
      query.reserve(rowsMax(jobs));
      const at = writeJobs(jobs);
      kernels().scanFlat(query.address, heap, at, jobs.length);
      freeScratch(at);
    },
    free() {},
  };
}

export function rowsMax(jobs: readonly ScanJob[]): number {
  let most = 0;
  for (const { codes } of jobs) most = Math.max(most, codes.n);
  return most;
}
