/** Scans list blocks for one query, reading as many at a time as the memory for one query allows. */

import type { TimeSlice } from "../async/event-loop.js";
import { currentProfile, enterStage } from "../async/profile.js";
import type { MatchTable } from "../engine/scan/match-table.js";
import type { IdTable } from "../engine/scan/scan-blocks.js";
import type { ScanJob } from "../engine/scan/scanner.js";
import { type Task, waitFor } from "../engine/threads/run.js";
import type { Candidate } from "../engine/top-k.js";
import { SealdexError } from "../errors.js";
import { openedListBlocks, type OpenListBlocks, pinListBlocks } from "./open-list-blocks.js";
import type { SearchScope } from "./search-scope.js";
import type { ListBlock, RowRef } from "./snapshot/snapshot.js";

/** Codes that one query holds open at a time, in bytes as stored. */
const heldBytesMax = 64 * 1024 * 1024;
/** The same of several searches at once. */
export const batchBytesMax = 128 * 1024 * 1024;

/** The search of one query: it keeps the nearest rows. */
export interface BlockSearch {
  shadowBy(tables: readonly IdTable[]): void;
  scan(jobs: readonly ScanJob[]): void;
}

/** Blocks to scan, nearest first. */
export interface ScanPhase {
  readonly blocks: readonly ListBlock[];
  /** Per block, from the query to the centroid of its list; undefined if it is in none of the query's lists. */
  readonly distances: readonly (number | undefined)[];
  /** Whether rows may be ruled out by their codes. */
  readonly pruned: boolean;
}

/** The search of one query, the rows that it may find, and the signal that ends it. */
export interface BlockScan {
  readonly search: BlockSearch;
  readonly matching: MatchTable | undefined;
  readonly signal: AbortSignal | undefined;
  readonly slice: TimeSlice;
}

/** Scans all blocks of a phase. Candidates name them by their numbers. Waits only for reads and for its turn of the event loop. */
export function* scanListBlocks(
  { searcher, snapshot, memoryOnly }: SearchScope,
  { search, matching, signal, slice }: BlockScan,
  phase: ScanPhase,
): Task<void> {
  for (let start = 0, end = 0; start < phase.blocks.length; start = end) {
    signal?.throwIfAborted();
    if (slice.isOver) {
      yield;
      slice.restart();
    }
    end = start + heldTogether(phase.blocks, start, heldBytesMax);
    const blocks = phase.blocks.slice(start, end);
    const scanOpen = ({ codes, tables }: OpenListBlocks) => {
      enterStage("scan");
      searcher.residency.recordAddresses(snapshot, blocks, codes);
      search.shadowBy(tables);
      search.scan(
        blocks.map((listBlock, i) => ({
          block: listBlock.number,
          codes: codes[i].codes,
          distance: phase.distances[start + i],
          pruned: phase.pruned,
          newerSegments: listBlock.newerSegments,
          ...acceptedIn(matching, listBlock),
        })),
      );
    };
    const opened = openedListBlocks(snapshot, blocks);
    if (opened !== undefined) {
      currentProfile()?.add({ cacheHits: blocks.length });
      scanOpen(opened);
      continue;
    }
    if (memoryOnly) throw new SealdexError("internal", "query: rows are not in memory");
    enterStage("read");
    const pinned = yield* waitFor(pinListBlocks(snapshot, blocks), ({ release }) => release());
    try {
      scanOpen(pinned);
    } finally {
      pinned.release();
    }
  }
}

/** The rows of a block that a search may find, as a job names them. */
export function acceptedIn(matching: MatchTable | undefined, { number }: ListBlock) {
  return matching?.acceptedIn(number) ?? allAccepted;
}

const allAccepted = { accepted: 0, firstBit: 0 };

/** How many blocks from `start` on, one or more, have about `bytesMax` of codes. */
export function heldTogether(blocks: readonly ListBlock[], start: number, bytesMax: number): number {
  let bytes = 0;
  let end = start;
  while (end < blocks.length && (end === start || bytes < bytesMax)) bytes += blocks[end++].block.length;
  return end - start;
}

// The result of a search.

/** Nearest first: each candidate's score, and its row's ref. */
export interface SearchResult {
  readonly candidates: readonly Candidate[];
  readonly rows: readonly RowRef[];
}

/** The rows of candidates that name their blocks by positions in `blocks`. */
export function foundIn(blocks: readonly ListBlock[], candidates: readonly Candidate[]): SearchResult {
  const rows = candidates.map(({ block, row }) => {
    const { segment, block: codes } = blocks[block];
    return { segment, row: codes.firstRow + row };
  });
  return { candidates, rows };
}
