/** Scans code blocks for a search, opening as many at a time as the memory for one query allows. */

import type { Search } from "../engine/search.js";
import { type AcceptedRows, openedParts, type OpenParts, pinParts, placeRows } from "./open-list-blocks.js";
import type { OpenIndex } from "../encrypted-index/open-index.js";
import type { Part, Snapshot } from "./snapshot.js";

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
export async function scanParts(
  index: OpenIndex,
  snapshot: Snapshot,
  search: Search,
  scanned: Part[],
  parts: readonly Part[],
  { distances, ...options }: ScanOptions,
): Promise<void> {
  for (let start = 0; start < parts.length;) {
    const end = start + heldTogether(parts, start, heldBytesMax);
    const group = parts.slice(start, end);
    const scan = (open: OpenParts) => {
      index.noteOpen(snapshot, group, open.codes);
      scanOpen(search, scanned, group, open, { distances: distances?.slice(start, end), ...options });
    };
    // First, since making the table of parts may let blocks go.
    index.partTable(snapshot);
    // The warm case, which is to cost nothing.
    const opened = openedParts(snapshot, group);
    if (opened !== undefined) scan(opened);
    else {
      const pinned = await pinParts(snapshot, group);
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
export function heldTogether(parts: readonly Part[], start: number, bytesMax: number): number {
  let bytes = 0;
  let end = start;
  while (end < parts.length && (end === start || bytes < bytesMax)) bytes += parts[end++].block.length;
  return end - start;
}

function scanOpen(
  search: Search,
  scanned: Part[],
  parts: readonly Part[],
  { codes, tables }: OpenParts,
  { distances, pruned, accepted }: ScanOptions,
): void {
  const placed = accepted && placeRows(parts, accepted);
  try {
    search.hideBy(tables);
    search.scan(
      parts.map((part, i) => ({
        block: scanned.push(part) - 1,
        codes: codes[i].codes,
        distance: distances?.[i],
        pruned,
        newer: part.newer,
        accepted: placed?.offsets.get(part.segment) ?? 0,
        firstBit: part.block.firstRow,
      })),
    );
  } finally {
    placed?.free();
  }
}
