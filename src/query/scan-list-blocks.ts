/** Scans list blocks for one query, opening as many at a time as the memory for one query allows. */

import { TimeSlice } from "../async/event-loop.js";
import type { CoarseQuantizer } from "../engine/lists/coarse-quantizer.js";
import type { Search } from "../engine/scan/scan-blocks.js";
import { type Task, waitFor } from "../engine/threads/run.js";
import type { Candidate } from "../engine/top-k.js";
import { SealdexError } from "../errors.js";
import { openedListBlocks, type OpenListBlocks, pinListBlocks, PlacedRows } from "./open-list-blocks.js";
import type { SearchScope } from "./search-scope.js";
import type { ListBlock, RowRef } from "./snapshot/snapshot.js";

/** Codes that one query holds open at a time, in bytes as stored. */
const heldBytesMax = 64 * 1024 * 1024;

/** Blocks that are scanned one after the other. */
export interface ScanPhase {
  readonly blocks: readonly ListBlock[];
  /** Per block, from the query to the centroid of its list; undefined if the blocks are in none of the query's lists. */
  readonly distances: readonly number[] | undefined;
  /** Whether rows may be ruled out by their codes. */
  readonly pruned: boolean;
  /** That of the lists, if estimates make use of the lengths of centroids (see `ScanJob`). */
  readonly quantizer?: CoarseQuantizer | undefined;
}

/** Holds kernel memory: call `free` when done. */
export class ListBlockScan {
  readonly #scope: SearchScope;
  readonly #search: Search;
  readonly #pieces: Iterable<ScanPhase>;
  readonly #signal: AbortSignal | undefined;
  readonly #accepted: PlacedRows | undefined;
  /** Candidates name their blocks by positions here. */
  readonly #scanned: ListBlock[] = [];

  /** Each phase begins when the one before is scanned. `search` stays the caller's. */
  constructor(
    scope: SearchScope,
    search: Search,
    phases: Iterable<ScanPhase>,
    signal: AbortSignal | undefined,
  ) {
    this.#scope = scope;
    this.#search = search;
    this.#pieces = piecesOfAll(phases);
    this.#signal = signal;
    this.#accepted = scope.matches && new PlacedRows(scope.matches.rows);
    // Where blocks lie is recorded in the table. Making it may evict blocks, so it is made before the first lookup.
    scope.searcher.residency.ensureTable(scope.snapshot);
  }

  /** Scans all phases, and returns the nearest rows, nearest first. Waits only for reads and for its turn of the event loop. */
  *run(): Task<SearchResult> {
    const { snapshot, memoryOnly } = this.#scope;
    const slice = new TimeSlice();
    for (const piece of this.#pieces) {
      this.#signal?.throwIfAborted();
      if (slice.isOver) {
        yield;
        slice.restart();
      }
      if (this.#scanOpened(piece)) continue;
      if (memoryOnly) throw new SealdexError("internal", "query: rows are not in memory");
      const pinned = yield* waitFor(pinListBlocks(snapshot, piece.blocks), ({ release }) => release());
      try {
        this.#scanOpen(piece, pinned);
      } finally {
        pinned.release();
      }
    }
    return foundIn(this.#scanned, this.#search.finish());
  }

  free(): void {
    this.#accepted?.free();
  }

  /** The warm case, which must cost nothing. False if something has to be read first. */
  #scanOpened(phase: ScanPhase): boolean {
    const { snapshot } = this.#scope;
    const opened = openedListBlocks(snapshot, phase.blocks);
    if (opened !== undefined) this.#scanOpen(phase, opened);
    return opened !== undefined;
  }

  #scanOpen({ blocks, distances, pruned, quantizer }: ScanPhase, { codes, tables }: OpenListBlocks): void {
    const { searcher, snapshot } = this.#scope;
    searcher.residency.recordAddresses(snapshot, blocks, codes);
    this.#search.shadowBy(tables);
    this.#search.scan(
      blocks.map((listBlock, i) => ({
        block: this.#scanned.push(listBlock) - 1,
        codes: codes[i].codes,
        distance: distances?.[i],
        length: quantizer?.lengthOf(listBlock.block.list),
        pruned,
        newerSegments: listBlock.newerSegments,
        accepted: this.#accepted?.addressOf(listBlock.segment) ?? 0,
        firstBit: listBlock.block.firstRow,
      })),
    );
  }
}

function* piecesOfAll(phases: Iterable<ScanPhase>): Generator<ScanPhase> {
  for (const phase of phases) yield* piecesOf(phase);
}

/** A phase in pieces that may be open at the same time. */
function* piecesOf(phase: ScanPhase): Generator<ScanPhase> {
  const { blocks, distances } = phase;
  for (let start = 0; start < blocks.length;) {
    const end = start + heldTogether(blocks, start, heldBytesMax);
    yield { ...phase, blocks: blocks.slice(start, end), distances: distances?.slice(start, end) };
    start = end;
  }
}

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
