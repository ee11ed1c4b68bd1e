/**
 * The search of one query among the lists of a trained index. Kernels scan the blocks that are in memory, in one call; the others are scanned as
 * jobs, into the same heap, once they have been read.
 */

import type { IndexConfig } from "../config.js";
import { kernels } from "../kernels/kernels.js";
import { heapLayout, jobLayout } from "../kernels/kernels.wasm.js";
import { freeScratch, wordAt } from "../kernels/memory.js";
import { QueryVector, scratchBytes } from "../query-vector.js";
import type { Reach } from "../recall-curves.js";
import { type Candidate, heapBytes, initHeap, readHeap } from "../top-k.js";
import { chooseScanner, type Trained } from "./choose-codec.js";
import type { ListBlockTable } from "./list-block-table.js";
import type { MatchTable } from "./match-table.js";
import { type IdTable, writeIdTables } from "./scan-blocks.js";
import type { ScanJob, Scanner } from "./scanner.js";

/** How many of the lists, within a limit of their own, are enough for rows that are in two lists. */
export interface SpilledProbes {
  readonly probes: number;
  /** See probe-limits.ts. */
  readonly ratio: number;
  /** The most rows of one segment that have the same second list. */
  readonly rowsMax: number;
}

const noSpilled: SpilledProbes = { probes: 0, ratio: 0, rowsMax: 0 };

/** The blocks of the lists, and the rows in them that are searched. Valid until the next await. */
export interface SearchedLists {
  readonly table: ListBlockTable;
  /** Undefined: there is no filter. */
  readonly matching: MatchTable | undefined;
  /** The mark of blocks that are scanned, by which the cache knows which were used last. */
  readonly now: number;
}

/** A list near a query. */
export interface NearList {
  readonly list: number;
  /** The squared distance of its centroid in list space. */
  readonly square: number;
}

/** Holds kernel memory: call `free` when done. */
export class ListSearch {
  readonly query: QueryVector;
  readonly #config: IndexConfig;
  readonly #trained: Trained;
  readonly #topK: number;
  /** Addresses in the query's room. */
  readonly #job: number;
  readonly #nearest: number;
  readonly #probes: number;
  #isSorted = false;
  #tables = 0;
  #scanner: Scanner | undefined;

  /** `rowsMax`: of the largest block. */
  constructor(
    config: IndexConfig,
    trained: Trained,
    vector: Float32Array,
    { topK, rowsMax }: { readonly topK: number; readonly rowsMax: number },
  ) {
    const { quantizer, rowQuantizer } = trained;
    const scratch = scratchBytes(Math.max(quantizer.nLists, rowsMax));
    const [probesBytes, nearestBytes] = [heapBytes(quantizer.nLists), heapBytes(topK)];
    const codedBytes = rowQuantizer?.queryBytes ?? 0;
    this.#config = config;
    this.#trained = trained;
    this.#topK = topK;
    // In one piece: allocating and freeing each of them takes longer than scanning a list.
    const roomBytes = codedBytes + jobLayout.bytes + nearestBytes + probesBytes + scratch;
    this.query = new QueryVector(config.metric, vector, quantizer.rotation, roomBytes);
    this.#job = this.query.room + codedBytes;
    this.#nearest = this.#job + jobLayout.bytes;
    this.#probes = this.#nearest + nearestBytes;
    this.query.useScratch(this.#probes + probesBytes, scratch);
    rowQuantizer?.prepare(this.query, this.query.room);
  }

  /** Sorted id tables that may shadow rows, newest first. They must not move before the next call of a method that scans has returned. */
  shadowBy(tables: readonly IdTable[]): void {
    if (this.#tables > 0) freeScratch(this.#tables);
    this.#tables = writeIdTables(tables);
    this.query.newerIdTables = this.#tables;
  }

  /**
   * The share of matches among the rows of the nearest lists within these limits; 0 if the query is more than `outside` times farther from the
   * nearest list that has a match, squared, than rows of that list are.
   */
  shareAround(
    matching: MatchTable,
    { probes, ratio }: Pick<Reach, "probes" | "ratio">,
    outside: number,
  ): number {
    const { quantizer } = this.#trained;
    initHeap(this.#probes, Math.min(probes, quantizer.nLists));
    return kernels().shareAround(
      this.query.listAddress,
      quantizer.address,
      quantizer.codedMax(),
      this.#probes,
      ratio,
      outside,
      matching.address,
      this.#job,
    );
  }

  /**
   * Scans the blocks in memory of the lists within these limits, of lists that have a match, and of no list; the table knows those that are missing.
   * Returns the number of lists. With `spilled`, rows are found in their second lists, too: 0 if that is impossible.
   */
  within(
    { table, matching, now }: SearchedLists,
    { probes, ratio, epsilon }: Reach,
    spilled: SpilledProbes = noSpilled,
  ): number {
    const { quantizer } = this.#trained;
    const count = matching?.count ?? quantizer.nLists;
    this.query.epsilon = epsilon;
    table.matching = matching?.address ?? 0;
    initHeap(this.#probes, Math.min(probes, count));
    initHeap(this.#nearest, this.#topK);
    const lists = kernels().searchLists(
      this.query.address,
      this.query.listAddress,
      quantizer.address,
      quantizer.codedMax(count),
      this.#probes,
      ratio,
      spilled.probes,
      spilled.ratio,
      table.address,
      this.#nearest,
      this.#job,
      now,
    );
    this.#isSorted = !table.isMissing && this.isFull;
    return lists;
  }

  /** The first `count` of the lists that the latest search found, nearest first. */
  nearestLists(count: number): NearList[] {
    return readHeap(this.#probes, count).map(({ row, score }) => ({ list: row, square: score }));
  }

  /** Compares the query with these blocks, too, unless it is done: full, with nothing missing. */
  scan(jobs: readonly ScanJob[]): void {
    this.#scanner ??= chooseScanner(this.#config, this.query, this.#trained);
    this.#scanner.scan(jobs, this.#nearest);
  }

  /** Whether it has found as many rows as were asked for. */
  get isFull(): boolean {
    return wordAt(this.#nearest + heapLayout.size) === this.#topK;
  }

  /** The rows found, nearest first; their `block` is a number in the table. Ends the search: nothing can be scanned afterwards. */
  finish(): Candidate[] {
    if (!this.#isSorted) kernels().sortHeap(this.#nearest);
    return readHeap(this.#nearest);
  }

  free(): void {
    if (this.#tables > 0) freeScratch(this.#tables);
    this.#scanner?.free();
    this.query.free();
  }
}
