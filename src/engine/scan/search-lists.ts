/** The search of one query among its nearest lists in one kernel call, if all of their blocks are in kernel memory. */

import type { CoarseQuantizer } from "../lists/coarse-quantizer.js";
import { kernels } from "../kernels/kernels.js";
import { jobLayout } from "../kernels/kernels.wasm.js";
import { freeScratch } from "../kernels/memory.js";
import type { ListBlockTable } from "./list-block-table.js";
import type { ModelQuantizer } from "../codes/model-quantizer.js";
import { QueryVector, scratchBytes } from "../query-vector.js";
import type { Metric } from "../config.js";
import { type IdTable, writeIdTables } from "./scan-blocks.js";
import { type Candidate, heapBytes, initHeap, readHeap } from "../top-k.js";

export interface ListSearch {
  readonly metric: Metric;
  readonly quantizer: CoarseQuantizer;
  /** If rows are codes without vectors: of the model of all blocks in the table. */
  readonly rowQuantizer?: ModelQuantizer | undefined;
  readonly table: ListBlockTable;
  /** Id tables of segments that may shadow rows, newest first. */
  readonly newer: readonly IdTable[];
  /** The mark of blocks that are scanned, by which the cache knows which were used last. */
  readonly now: number;
}

/** A query and its parameters. */
export interface ListQuery {
  readonly vector: Float32Array;
  readonly nProbes: number;
  /** See probe-limits.ts. */
  readonly limit: number;
  /** See pruning.ts. */
  readonly epsilon: number;
  readonly topK: number;
  /** How many of these lists, within a limit of their own, are enough for rows that are in two lists. Undefined: only first lists count. */
  readonly spilled: SpilledProbes | undefined;
}

export interface SpilledProbes {
  readonly probes: number;
  /** See probe-limits.ts. */
  readonly ratio: number;
  /** The most rows of one segment that have the same second list. */
  readonly rowsMax: number;
}

const noSpilled: SpilledProbes = { probes: 0, ratio: 0, rowsMax: 0 };

/** The rows found, nearest first; their `block` is a number in the list block table. */
export interface ListsSearched {
  readonly candidates: readonly Candidate[];
  /** The number of lists within the limit. */
  readonly lists: number;
}

interface NearestSearched extends ListsSearched {
  readonly nearest: NearestList;
}

/** The list nearest to a query. */
export interface NearestList {
  readonly list: number;
  /** As `CoarseQuantizer.probe` finds it. */
  readonly distance: number;
}

/**
 * The nearest rows in the `nProbes` nearest lists, as far as they are within the limit, and in the blocks of no list. Undefined if
 * one of the blocks is not in memory.
 */
export function searchLists(
  { metric, quantizer, rowQuantizer, table, newer, now }: ListSearch,
  { vector, nProbes, limit, epsilon, topK, spilled = noSpilled }: ListQuery,
): NearestSearched | undefined {
  const rowsMax = Math.max(quantizer.nLists, table.rowsMax, spilled.rowsMax);
  // In one piece: allocating and freeing each of them takes longer than scanning a list.
  const [probesBytes, nearestBytes] = [heapBytes(nProbes), heapBytes(topK)];
  const codedBytes = rowQuantizer?.queryBytes ?? 0;
  const scratch = scratchBytes(rowsMax);
  const roomBytes = codedBytes + jobLayout.bytes + probesBytes + nearestBytes + scratch;
  const query = new QueryVector(metric, vector, quantizer.rotation, roomBytes);
  const job = query.room + codedBytes;
  const probes = job + jobLayout.bytes;
  const nearest = probes + probesBytes;
  const tables = writeIdTables(newer);
  try {
    initHeap(probes, nProbes);
    initHeap(nearest, topK);
    query.useScratch(nearest + nearestBytes, scratch);
    rowQuantizer?.prepare(query, query.room);
    query.newerIdTables = tables;
    query.epsilon = epsilon;
    table.matching = 0;
    const lists = kernels().searchLists(
      query.address,
      query.listAddress,
      quantizer.address,
      quantizer.codedMax(),
      probes,
      limit,
      spilled.probes,
      spilled.ratio,
      table.address,
      nearest,
      job,
      now,
    );
    if (lists === 0) return undefined;
    const [{ row: list, score }] = readHeap(probes, 1);
    return { candidates: readHeap(nearest), lists, nearest: { list, distance: Math.sqrt(score) } };
  } finally {
    if (tables > 0) freeScratch(tables);
    query.free();
  }
}
