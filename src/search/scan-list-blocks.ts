/** Scans code blocks for a search, opening as many at a time as the memory for one query allows. */

import type { Search } from "../engine/search.js";
import {
  type AcceptedRows,
  openedListBlocks,
  type OpenListBlocks,
  pinListBlocks,
  placeRows,
} from "./open-list-blocks.js";
import type { OpenIndex } from "../encrypted-index/open-index.js";
import type { ListBlock, Snapshot } from "./snapshot.js";

/** Codes that one query holds open at a time, in bytes as stored. */
const heldBytesMax = 32 * 1024 * 1024;

export interface ScanOptions {
  /** For each part, of the query from its list's centroid; undefined where the parts are not in the query's lists. */
  readonly distances: readonly number[] | undefined;
  /** Whether rows may be ruled out by their codes. */
  readonly pruned: boolean;
  /** Undefined: all. */
  readonly accepted: AcceptedRows | undefined;
}

/**
 * Offers the rows of `parts` to a search, all in their order, and appends the parts to `scanned`, whose positions are the
 * numbers by which candidates name their blocks.
 */
export async function scanListBlocks(
  index: OpenIndex,
  snapshot: Snapshot,
  search: Search,
  scanned: ListBlock[],
  blocks: readonly ListBlock[],
  { distances, ...options }: ScanOptions,
): Promise<void> {
  for (let start = 0; start < blocks.length;) {
    const end = start + heldTogether(blocks, start, heldBytesMax);
    const group = blocks.slice(start, end);
    const scan = (open: OpenListBlocks) => {
      index.noteOpened(snapshot, group, open.codes);
      scanOpen(search, scanned, group, open, { distances: distances?.slice(start, end), ...options });
    };
    // First, since making the table of parts may let blocks go.
    index.listBlockTable(snapshot);
    // The warm case, which is to cost nothing.
    const opened = openedListBlocks(snapshot, group);
    if (opened !== undefined) scan(opened);
    else {
      const pinned = await pinListBlocks(snapshot, group);
      try {
        scan(pinned);
      } finally {
        pinned.release();
      }
    }
    start = end;
  }
}

/** How many parts from `start` on, one or more, have about `bytesMax` of codes. */
export function heldTogether(blocks: readonly ListBlock[], start: number, bytesMax: number): number {
  let bytes = 0;
  let end = start;
  while (end < blocks.length && (end === start || bytes < bytesMax)) bytes += blocks[end++].block.length;
  return end - start;
}

function scanOpen(
  search: Search,
  scanned: ListBlock[],
  blocks: readonly ListBlock[],
  { codes, tables }: OpenListBlocks,
  { distances, pruned, accepted }: ScanOptions,
): void {
  const placed = accepted && placeRows(blocks, accepted);
  try {
    search.shadowBy(tables);
    search.scan(
      blocks.map((listBlock, i) => ({
        block: scanned.push(listBlock) - 1,
        codes: codes[i].codes,
        distance: distances?.[i],
        pruned,
        newerSegments: listBlock.newerSegments,
        accepted: placed?.offsets.get(listBlock.segment) ?? 0,
        firstBit: listBlock.block.firstRow,
      })),
    );
  } finally {
    placed?.free();
  }
}
