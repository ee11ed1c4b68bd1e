/**
 * The search of one query: it compares the query with the blocks of jobs and keeps the nearest rows. Rows of equal score are
 * ordered by their fingerprints, so that the result does not depend on the order of jobs.
 */

import { idTableLayout } from "../kernels/kernels.wasm.js";
import { allocate, freeScratch, writeWords } from "../kernels/memory.js";
import type { QueryVector } from "../query-vector.js";
import type { ScanJob, Scanner } from "./scanner.js";
import { type Candidate, TopK } from "../top-k.js";

/** A sorted id table in kernel memory: the address and the number of its entries of five words. */
export interface IdTable {
  readonly entries: number;
  readonly count: number;
}

/** Writes the structs of tables to newly allocated kernel memory, which the caller frees; 0 if there are none. */
export function writeIdTables(tables: readonly IdTable[]): number {
  if (tables.length === 0) return 0;
  const at = allocate(idTableLayout.bytes * tables.length);
  tables.forEach(({ entries, count }, i) =>
    writeWords(at + idTableLayout.bytes * i, idTableLayout, { entries, count }),
  );
  return at;
}

/** Holds kernel memory: call `free` when done. */
export class Search {
  readonly #query: QueryVector;
  readonly #scanner: Scanner;
  readonly #nearest: TopK;
  #tables = 0;

  /** Takes over `scanner`; `query` stays the caller's. */
  constructor(query: QueryVector, scanner: Scanner, topK: number) {
    this.#query = query;
    this.#scanner = scanner;
    this.#nearest = new TopK(topK);
  }

  /** No row with a greater score can still enter; Infinity while fewer than k rows are found. */
  get threshold(): number {
    return this.#nearest.threshold;
  }

  /** Sorted id tables that may shadow rows, newest first. They must not move until the search is done. */
  shadowBy(tables: readonly IdTable[]): void {
    if (this.#tables > 0) freeScratch(this.#tables);
    this.#tables = writeIdTables(tables);
    this.#query.newerIdTables = this.#tables;
  }

  /** Compares the query with these blocks. */
  scan(jobs: readonly ScanJob[]): void {
    this.#scanner.scan(jobs, this.#nearest.heap);
  }

  /** The rows found, nearest first. Ends the search: nothing can be scanned afterwards. */
  finish(): Candidate[] {
    return this.#nearest.finish();
  }

  free(): void {
    if (this.#tables > 0) freeScratch(this.#tables);
    this.#nearest.free();
    this.#scanner.free();
  }
}
