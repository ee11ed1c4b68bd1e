/** The search of one query among the rows that a filter accepts, if all blocks that it looks at are in kernel memory. */

import { kernels } from "../kernels/kernels.js";
import { jobLayout } from "../kernels/kernels.wasm.js";
import { freeScratch } from "../kernels/memory.js";
import { type ListSearch, type ListsSearched, type SpilledProbes } from "./search-lists.js";
import type { MatchTable } from "./match-table.js";
import type { OutlyingPruning } from "../pruning.js";
import { QueryVector, scratchBytes } from "../query-vector.js";
import type { Reach, ScanLimits } from "../recall-curves.js";
import { writeIdTables } from "./scan-blocks.js";
import { heapBytes, initHeap, readHeap } from "../top-k.js";

/** Holds kernel memory: call `free` when done, before the next await. */
export class MatchingSearch {
  readonly #among: ListSearch;
  readonly #matching: MatchTable;
  /** Probing needs no more memory. */
  readonly query: QueryVector;
  readonly #topK: number;
  readonly #tables: number;
  /** Addresses in the query's room. */
  readonly #job: number;
  readonly #nearest: number;
  readonly #probes: number;

  /** `rowsMax`: the most rows that are compared at once, besides those of a block and the lists. */
  constructor(among: ListSearch, matching: MatchTable, vector: Float32Array, topK: number, rowsMax: number) {
    const { metric, quantizer, rowQuantizer, table, newer } = among;
    const { nLists } = quantizer;
    const scratch = scratchBytes(Math.max(nLists, table.rowsMax, rowsMax));
    const [probesBytes, nearestBytes] = [heapBytes(nLists), heapBytes(topK)];
    const codedBytes = rowQuantizer?.queryBytes ?? 0;
    const roomBytes = codedBytes + jobLayout.bytes + nearestBytes + probesBytes + scratch;
    this.#among = among;
    this.#matching = matching;
    this.#topK = topK;
    this.query = new QueryVector(metric, vector, quantizer.rotation, roomBytes);
    this.#job = this.query.room + codedBytes;
    this.#nearest = this.#job + jobLayout.bytes;
    this.#probes = this.#nearest + nearestBytes;
    this.query.useScratch(this.#probes + probesBytes, scratch);
    rowQuantizer?.prepare(this.query, this.query.room);
    this.#tables = writeIdTables(newer);
    this.query.newerIdTables = this.#tables;
    table.matching = matching.address;
  }

  /**
   * The share of matches among the rows of the nearest lists within these limits; 0 if the query is more than `unlike` times farther from the
   * nearest list, squared, than rows of that list are.
   */
  shareAround({ probes, ratio }: Pick<ScanLimits, "probes" | "ratio">, unlike: number): number {
    const { quantizer } = this.#among;
    initHeap(this.#probes, Math.min(probes, quantizer.nLists));
    return kernels().shareAround(
      this.query.listAddress,
      quantizer.address,
      quantizer.codedMax(),
      this.#probes,
      ratio,
      unlike,
      this.#matching.address,
      this.#job,
    );
  }

  /**
   * The nearest matches in the lists within these limits, of lists that have a match. `spilled`: see `ListQuery`. Undefined if one of the blocks is not in
   * memory.
   */
  within({ probes, ratio, epsilon }: Reach, spilled: SpilledProbes | undefined): ListsSearched | undefined {
    const { quantizer, table, now } = this.#among;
    const { count } = this.#matching;
    this.query.epsilon = epsilon;
    initHeap(this.#probes, Math.min(probes, count));
    initHeap(this.#nearest, this.#topK);
    const lists = kernels().searchLists(
      this.query.address,
      this.query.listAddress,
      quantizer.address,
      quantizer.codedMax(count),
      this.#probes,
      ratio,
      spilled?.probes ?? 0,
      spilled?.ratio ?? 0,
      table.address,
      this.#nearest,
      this.#job,
      now,
    );
    return lists === 0 ? undefined : this.#found(lists);
  }

  /**
   * The nearest matches in the lists whose rows may need a cosine up to `cosine` (see recall-curves.ts). Undefined if one of the blocks is not in memory.
   */
  outlying(cosine: number, { epsilon, usual, fall }: OutlyingPruning): ListsSearched | undefined {
    const { quantizer, table, now } = this.#among;
    const { count } = this.#matching;
    initHeap(this.#probes, count);
    initHeap(this.#nearest, this.#topK);
    const rows = kernels().searchOutlying(
      this.query.address,
      this.query.listAddress,
      quantizer.address,
      this.#probes,
      cosine,
      epsilon,
      usual,
      fall,
      table.address,
      this.#nearest,
      this.#job,
      now,
    );
    return rows === 0 ? undefined : this.#found(count);
  }

  #found(lists: number): ListsSearched {
    return { candidates: readHeap(this.#nearest), lists };
  }

  free(): void {
    if (this.#tables > 0) freeScratch(this.#tables);
    this.query.free();
  }
}
