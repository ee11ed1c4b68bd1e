/**
 * The search of one query among the lists of a trained index. Kernels scan the blocks that are in memory, in one call, which any thread can make; the
 * others are scanned as jobs, into the same heap, once they have been read.
 */

import type { IndexConfig } from "../config.js";
import { callKernel, type KernelCall, kernels } from "../kernels/kernels.js";
import { heapLayout, jobLayout, listSearchLayout, waitingBytes } from "../kernels/kernels.wasm.js";
import { allDoubles, allWords, freeScratch, wordAt, wordsAt } from "../kernels/memory.js";
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

/** Bytes of the kernel's struct, rounded up so that the next one is aligned. */
const searchBytes = 8 * Math.ceil(listSearchLayout.bytes / 8);

/** Multiply-adds: a search takes some dozens of microseconds. */
const searchCost = 2 ** 18;

type WordField = Exclude<keyof typeof listSearchLayout, "bytes" | "limit" | "spilledLimit">;

const noSpilled: SpilledProbes = { probes: 0, ratio: 0, rowsMax: 0 };

/** The blocks of the lists, and the rows in them that are searched. Valid until the next await. */
export interface SearchedLists {
  readonly table: ListBlockTable;
  /** Blocks that were put into the table in this epoch are in memory. */
  readonly epoch: number;
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

/** The numbers that the room of a search depends on. */
interface SearchRoom {
  readonly topK: number;
  /** Of the table. */
  readonly blocks: number;
  /** Rows of the largest block. */
  readonly rowsMax: number;
}

/** Holds kernel memory: call `free` when done. */
export class ListSearch {
  readonly query: QueryVector;
  /** The scan that `begin` prepares. Those of several searches may be made at the same time. */
  readonly call: KernelCall;
  readonly #address: number;
  readonly #config: IndexConfig;
  readonly #trained: Trained;
  readonly #topK: number;
  /** Addresses in the query's room. */
  readonly #job: number;
  readonly #nearest: number;
  readonly #probes: number;
  #tables = 0;
  #scanner: Scanner | undefined;

  constructor(
    config: IndexConfig,
    trained: Trained,
    vector: Float32Array,
    { topK, blocks, rowsMax }: SearchRoom,
  ) {
    const { quantizer, rowQuantizer } = trained;
    const scratch = scratchBytes(Math.max(quantizer.nLists, rowsMax));
    const [probesBytes, nearestBytes] = [heapBytes(quantizer.nLists), heapBytes(topK)];
    const codedBytes = rowQuantizer?.queryBytes ?? 0;
    const missingBytes = 4 * blocks;
    const scannedBytes = 4 * Math.ceil(blocks / 32);
    this.#config = config;
    this.#trained = trained;
    this.#topK = topK;
    // In one piece: allocating and freeing each of them takes longer than scanning a list.
    const structBytes = codedBytes + searchBytes + jobLayout.bytes + nearestBytes + probesBytes;
    const roomBytes = structBytes + scratch + waitingBytes + missingBytes + scannedBytes;
    this.query = new QueryVector(config.metric, vector, quantizer.rotation, roomBytes);
    this.#address = this.query.room + codedBytes;
    this.#job = this.#address + searchBytes;
    this.#nearest = this.#job + jobLayout.bytes;
    this.#probes = this.#nearest + nearestBytes;
    const scratchAt = this.#probes + probesBytes;
    this.query.useScratch(scratchAt, scratch);
    rowQuantizer?.prepare(this.query, this.query.room);
    const waiting = scratchAt + scratch;
    this.call = { kernel: "searchLists", args: [this.#address], cost: searchCost };
    this.#write("query", this.query.address);
    this.#write("point", this.query.listAddress);
    this.#write("quantizer", quantizer.address);
    this.#write("probes", this.#probes);
    this.#write("nearest", this.#nearest);
    this.#write("job", this.#job);
    this.#write("waiting", waiting);
    this.#write("missing", waiting + waitingBytes);
    this.#write("scanned", waiting + waitingBytes + missingBytes);
  }

  #write(field: WordField, value: number): void {
    allWords()[(this.#address + listSearchLayout[field]) >>> 2] = value;
  }

  #read(field: WordField): number {
    return wordAt(this.#address + listSearchLayout[field]);
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
   * Prepares `call`: the scan of the blocks in memory of the lists within these limits, of lists that have a match, and of no list. With `spilled`,
   * rows are found in their second lists, too.
   */
  begin(
    { table, epoch, matching, now }: SearchedLists,
    { probes, ratio, epsilon }: Reach,
    spilled: SpilledProbes = noSpilled,
  ): void {
    const { quantizer } = this.#trained;
    const count = matching?.count ?? quantizer.nLists;
    this.query.epsilon = epsilon;
    initHeap(this.#probes, Math.min(probes, count));
    initHeap(this.#nearest, this.#topK);
    this.#write("codedMax", quantizer.codedMax(count));
    this.#write("spilledProbes", spilled.probes);
    this.#write("table", table.address);
    this.#write("epoch", epoch);
    this.#write("matching", matching?.address ?? 0);
    this.#write("now", now);
    const doubles = allDoubles();
    doubles[(this.#address + listSearchLayout.limit) >>> 3] = ratio;
    doubles[(this.#address + listSearchLayout.spilledLimit) >>> 3] = spilled.ratio;
  }

  /** The same, done: returns `lists`. */
  within(among: SearchedLists, reach: Reach, spilled?: SpilledProbes): number {
    this.begin(among, reach, spilled);
    callKernel(this.call);
    return this.lists;
  }

  /** How many lists the scan has found; 0 with `spilled` if a block of them is not in memory. */
  get lists(): number {
    return this.#read("nFound");
  }

  /** Whether the scan needed a block that is not in memory. */
  get isMissing(): boolean {
    return this.#read("nMissing") > 0;
  }

  /** The numbers of such blocks, in the order in which they were needed. */
  missing(): number[] {
    return [...new Set(wordsAt(this.#read("missing"), this.#read("nMissing")))];
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
    if (this.#read("isSorted") === 0) kernels().sortHeap(this.#nearest);
    return readHeap(this.#nearest);
  }

  free(): void {
    if (this.#tables > 0) freeScratch(this.#tables);
    this.#scanner?.free();
    this.query.free();
  }
}
