/**
 * One query's search: jobs, each a block of rows to compare the query with, and the nearest rows found so far. Rows of
 * equal score are ordered by their fingerprints, so that the result does not depend on the order of jobs.
 */

import type { LoadedCodes, Scan } from "./codec.js";
import { allDoubles, allocate, allWords, free } from "./kernels/memory.js";
import type { QueryVector } from "./query-vector.js";
import { type Candidate, TopK } from "./top-k.js";

/** What a search compares its query with. */
export interface Job {
  /** A number by which candidates name the block. */
  readonly block: number;
  readonly codes: LoadedCodes;
  /** Where the rows' fingerprints lie in kernel memory, layout (n, 4) words. */
  readonly fingerprints: number;
  /** Distance of the query from the list's centroid, in list space; undefined: not to be pruned by it. */
  readonly distance: number | undefined;
  /** How many of the id tables given to `hideBy` hide rows of this block. */
  readonly newer: number;
  /** Where the bits lie of the rows that a filter accepts, and the bit of the first row; 0: all are accepted. */
  readonly accepted: number;
  readonly firstBit: number;
}

/** A sorted id table in kernel memory: where its entries of five words lie, and how many there are. */
export interface IdTable {
  readonly entries: number;
  readonly count: number;
}

// A job's record; assembly/search.ts has the same layout.
const jobBytes = 56;
const jobWords = jobBytes / 4;
const codesWord = 6;
const baseOffset = 48;

/** Holds kernel memory: call `free` when done. */
export class Search {
  readonly #query: QueryVector;
  readonly #nearest: TopK;
  #tables = 0;

  constructor(query: QueryVector, topK: number) {
    this.#query = query;
    this.#nearest = new TopK(topK);
  }

  /** No row with a greater score can still enter; Infinity while fewer than k rows were found. */
  get threshold(): number {
    return this.#nearest.threshold;
  }

  /** Sorted id tables that may hide rows, newest first; they stay where they are until the search is done. */
  hideBy(tables: readonly IdTable[]): void {
    if (this.#tables > 0) free(this.#tables);
    this.#tables = tables.length === 0 ? 0 : allocate(8 * tables.length);
    const words = allWords();
    tables.forEach(({ entries, count }, i) => words.set([entries, count], (this.#tables >>> 2) + 2 * i));
    this.#query.newer = this.#tables;
  }

  /** Compares the query with these blocks, whose codes all are scanned by `scan`. */
  scan(scan: Scan, jobs: readonly Job[]): void {
    let rowsMax = 0;
    for (const { codes } of jobs) rowsMax = Math.max(rowsMax, codes.n);
    this.#query.reserve(rowsMax);
    scanJobs(scan, this.#query.record, this.#nearest.heap, jobs);
  }

  /** The rows found, nearest first. Nothing can be scanned after it. */
  finish(): Candidate[] {
    return this.#nearest.finish();
  }

  free(): void {
    if (this.#tables > 0) free(this.#tables);
    this.#nearest.free();
  }
}

/** Scans jobs; the query has room for the largest. */
export function scanJobs(scan: Scan, query: number, heap: number, jobs: readonly Job[]): void {
  const at = allocate(jobBytes * jobs.length);
  const words = allWords();
  const doubles = allDoubles();
  for (let i = 0; i < jobs.length; i++) {
    const job = jobs[i];
    const word = (at >>> 2) + jobWords * i;
    words[word] = job.block;
    words[word + 1] = job.codes.n;
    words[word + 2] = job.fingerprints;
    words[word + 3] = job.newer;
    words[word + 4] = job.accepted;
    words[word + 5] = job.firstBit;
    job.codes.describe(words, word + codesWord);
    doubles[(at + jobBytes * i + baseOffset) >>> 3] = job.distance === undefined ? -1 : job.distance ** 2;
  }
  scan(query, heap, at, jobs.length);
  free(at);
}
