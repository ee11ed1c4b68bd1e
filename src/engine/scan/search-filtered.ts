/** The search of one query among the rows that a filter accepts, if all blocks that it looks at are in kernel memory. */

import { kernels } from "../kernels/kernels.js";
import { jobLayout } from "../kernels/kernels.wasm.js";
import { freeScratch } from "../kernels/memory.js";
import { type ListSearch, type ListsSearched, type SpilledProbes } from "./search-lists.js";
import type { MatchTable } from "./match-table.js";
import { QueryVector, scratchBytes } from "../query-vector.js";
import type { ScanLimits } from "../recall-curves.js";
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

  /** The share of matches among the rows of the nearest lists within these limits; 0 if the query is far from all rows. */
  shareAround({ probes, ratio }: Pick<ScanLimits, "probes" | "ratio">): number {
    const { quantizer } = this.#among;
    initHeap(this.#probes, Math.min(probes, quantizer.nLists));
    const share = kernels().shareAround(
      this.query.listAddress,
      quantizer.address,
      quantizer.codedMax(),
      this.#probes,
      ratio,
      this.#matching.address,
      this.#job,
    );
    const [{ row: list, score }] = readHeap(this.#probes, 1);
    return quantizer.isFar(list, Math.sqrt(score)) ? 0 : share;
  }

  /**
   * The nearest matches in the lists within these limits, of lists that have a match. `spilled`: see `ListQuery`. Undefined if one of the blocks is not in
   * memory.
   */
  within(
    { probes, ratio, epsilon }: ScanLimits,
    spilled: SpilledProbes | undefined,
  ): ListsSearched | undefined {
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

  #found(lists: number): ListsSearched {
    return { candidates: readHeap(this.#nearest), lists };
  }

  free(): void {
    if (this.#tables > 0) freeScratch(this.#tables);
    this.query.free();
  }
}
