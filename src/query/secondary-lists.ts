/**
 * Searches of rows in second lists, too (see engine/second-lists.ts), which take fewer lists for the same recall. They need the vectors of
 * whatever rows the codes show to be near, so they are for indexes whose codes are all in memory: other searches find rows in their
 * first lists alone, and read nothing more than before.
 */

import type { MemoryUse } from "../api/vector-index.js";
import { yieldIfDue } from "../async/event-loop.js";
import type { IndexConfig, Metric } from "../engine/config.js";
import type { CoarseQuantizer } from "../engine/lists/coarse-quantizer.js";
import { listCount, type Model } from "../engine/model.js";
import type { Reach } from "../engine/recall-curves.js";
import type { Trained } from "../engine/scan/choose-codec.js";
import type { ListBlockTable } from "../engine/scan/list-block-table.js";
import type { SpilledProbes } from "../engine/scan/search-lists.js";
import { run } from "../engine/threads/run.js";
import { SealdexError } from "../errors.js";
import { groupsOf } from "../state/segment/block-requests.js";
import type { CodeBlock } from "../state/segment/code-table.js";
import { spilledBytes, SpilledCodes } from "../state/segment/secondary-codes.js";
import type { SegmentReader } from "../state/segment/segment-reader.js";
import { pinListBlocks } from "./open-list-blocks.js";
import type { Residency } from "./residency.js";
import { type Sought, spilledLimits } from "./list-limits.js";
import type { ListBlock, OpenSegment, Snapshot } from "./snapshot/snapshot.js";

/** Searches that read nothing, after which the codes in second lists are computed: the index is in use, and in memory. */
const warmSearchesMin = 32;
/** Searches after which they are tried again, if vectors were missing or there was no room. */
const retriedAfter = 1024;
/** How much of the cache may be full in the end: they must evict nothing. */
const filledShare = 0.9;
/** Of the vectors of a segment, how much may have to be read for its codes in second lists while queries run. */
const missingShareMax = 1 / 8;

/** The index that is searched. */
interface Searched {
  readonly config: IndexConfig;
  readonly residency: Residency;
  withTrained<T>(model: Model, use: (trained: Trained) => Promise<T>): Promise<T>;
  memory(): MemoryUse;
}

export class SpilledSearch {
  readonly #searched: Searched;
  /** Searches to go until they are tried again. */
  #waiting = 0;
  /** Searches since something was missing. */
  #warm = 0;

  constructor(searched: Searched) {
    this.#searched = searched;
  }

  /** The limits of a search whose lists the index chooses, valid until the next await. Undefined: it scans first lists only. */
  probes(
    { growth }: Snapshot,
    model: Model,
    table: ListBlockTable,
    sought: Sought,
  ): (SpilledProbes & Reach) | undefined {
    const { segments } = this.#searched.residency.spilled;
    if (segments.length === 0 || this.#waiting-- > 0) return undefined;
    const limits = spilledLimits(model, sought, growth);
    if (limits === undefined) return undefined;
    let rowsMax = 0;
    for (let i = 0; i < segments.length; i++) {
      const opened = segments[i].reader.openedSpilled();
      if (opened === undefined) {
        this.#noteWarm(segments, model);
        return undefined;
      }
      table.putSpilled(i, opened.groups);
      rowsMax = Math.max(rowsMax, opened.rowsMax);
    }
    const { probes, ratio, epsilon } = limits;
    return { probes, ratio, epsilon, rowsMax };
  }

  /** A search found that vectors of these blocks are not in memory. */
  noteMissing(snapshot: Snapshot, numbers: readonly number[]): void {
    const { all } = snapshot.listBlocks;
    const blocks = numbers.map((number) => all[number]);
    this.#readFor(() => this.#readBlocks(snapshot, blocks));
  }

  /** Evicts nothing for it: returns whether there was room. */
  async #readBlocks(snapshot: Snapshot, blocks: readonly ListBlock[]): Promise<boolean> {
    if (!this.#hasRoom(lengthOf(blocks.map(({ block }) => block)))) return false;
    const pinned = await pinListBlocks(snapshot, blocks);
    this.#searched.residency.recordAddresses(snapshot, blocks, pinned.codes);
    pinned.release();
    return true;
  }

  #noteWarm(segments: readonly OpenSegment[], model: Model): void {
    if (++this.#warm < warmSearchesMin) return;
    this.#warm = 0;
    const mayCompute = segments.every(({ reader }) => {
      if (reader.openedSpilled() !== undefined) return true;
      return lengthOf(missingOf(reader)) <= missingShareMax * lengthOf(reader.footer.codes);
    });
    this.#readFor(async () => mayCompute && this.load(segments, model));
  }

  /**
   * Computes the codes in second lists of these segments, of whose vectors it reads those that are not in memory. Evicts nothing for it:
   * returns whether there was room.
   */
  async load(segments: readonly OpenSegment[], model: Model): Promise<boolean> {
    for (const { reader } of segments) {
      if (reader.openedSpilled() !== undefined) continue;
      const { rows, dimension } = reader.footer;
      const bytes = spilledBytes(rows, listCount(model), dimension);
      if (!this.#hasRoom(lengthOf(missingOf(reader)) + bytes)) return false;
      await reader.loadSpilled(() =>
        this.#searched.withTrained(model, ({ quantizer }) =>
          computeSpilled(reader, quantizer, this.#searched.config.metric),
        ),
      );
    }
    this.#waiting = 0;
    return true;
  }

  /** Reads in the background, until when searches look in first lists alone. Whatever goes wrong is for a search that needs it to report. */
  #readFor(read: () => Promise<boolean>): void {
    this.#waiting = retriedAfter;
    void read().then(
      (isThere) => {
        if (isThere) this.#waiting = 0;
      },
      () => undefined,
    );
  }

  #hasRoom(bytes: number): boolean {
    const { cacheBytes, cacheBytesMax } = this.#searched.memory();
    return cacheBytes + bytes <= filledShare * cacheBytesMax;
  }
}

/** The code blocks of a segment that are not in memory. */
function missingOf(reader: SegmentReader): CodeBlock[] {
  return [...reader.footer.codes].filter((block) => reader.openedCodes(block) === undefined);
}

function lengthOf(blocks: Iterable<CodeBlock>): number {
  let sum = 0;
  for (const { length } of blocks) sum += length;
  return sum;
}

// Computes the codes of a segment's rows in their second lists, of the vectors in its code blocks.

/** `quantizer`: of the model that the rows are grouped by, in memory until this is done. Blocks that are not in memory are read. */
export async function computeSpilled(
  reader: SegmentReader,
  quantizer: CoarseQuantizer,
  metric: Metric,
): Promise<SpilledCodes> {
  const seconds = await reader.secondLists(quantizer.nLists);
  const spilled = new SpilledCodes(seconds, quantizer);
  let added = 0;
  try {
    for (const blocks of groupsOf(reader.footer.codes)) {
      const opened = await reader.pinCodes(blocks);
      try {
        for (const [i, { number, firstRow, rows }] of blocks.entries()) {
          const vectors = opened[i].codes.gather(Array.from({ length: rows }, (_, row) => row));
          const lists = seconds.subarray(firstRow, firstRow + rows);
          if (firstRow !== added || lists.length !== rows) throw misfit();
          await run(spilled.add({ block: number, lists, vectors }, quantizer, metric));
          added += rows;
          await yieldIfDue();
        }
      } finally {
        reader.cache.unpin(blocks);
      }
    }
    if (added !== seconds.length) throw misfit();
    return spilled;
  } catch (error) {
    spilled.free();
    throw error;
  }
}

function misfit(): SealdexError {
  return new SealdexError("corrupt", "segment: its code blocks do not have each row once");
}
