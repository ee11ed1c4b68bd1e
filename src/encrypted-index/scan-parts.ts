/** Scans code blocks for a search, opening as many at a time as the memory for one query allows. */

import { allocate, free, wordsAt } from "../engine/kernels/memory.js";
import type { Search } from "../engine/search.js";
import type { CodeBlock } from "../segment/directory.js";
import type { OpenCodes, OpenTable } from "../segment/segment-reader.js";
import { newestReaders, pinTables } from "./newer-tables.js";
import type { MatchingRows } from "./row-filter.js";
import { bySegment, type OpenSegment, type Part, type Snapshot } from "./snapshot.js";

/** Codes that one query holds open at a time, in bytes as stored. */
const heldBytesMax = 32 * 1024 * 1024;

/** Rows that a filter accepts, of every segment. */
type AcceptedRows = ReadonlyMap<OpenSegment, MatchingRows>;

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
  snapshot: Snapshot,
  search: Search,
  scanned: Part[],
  parts: readonly Part[],
  { distances, ...options }: ScanOptions,
): Promise<void> {
  for (let start = 0; start < parts.length;) {
    let bytes = 0;
    let end = start;
    while (end < parts.length && (end === start || bytes < heldBytesMax)) bytes += parts[end++].block.length;
    const group = parts.slice(start, end);
    await scanGroup(snapshot, search, scanned, group, {
      distances: distances?.slice(start, end),
      ...options,
    });
    start = end;
  }
}

async function scanGroup(
  snapshot: Snapshot,
  search: Search,
  scanned: Part[],
  parts: readonly Part[],
  { distances, pruned, accepted }: ScanOptions,
): Promise<void> {
  const newer = newestReaders(
    snapshot,
    parts.reduce((most, part) => Math.max(most, part.newer), 0),
  );
  const opened = parts.map(({ segment, block }) => segment.reader.openedCodes(block));
  const openedTables = newer.map((reader) => reader.openedTable());
  const scan = (codes: readonly OpenCodes[], tables: readonly OpenTable[]) => {
    const bits = accepted && placeBits(parts, accepted);
    try {
      search.hideBy(tables);
      search.scan(
        parts.map((part, i) => ({
          block: scanned.push(part) - 1,
          codes: codes[i].codes,
          fingerprints: codes[i].fingerprints,
          distance: distances?.[i],
          pruned,
          newer: part.newer,
          accepted: bits?.offsets.get(part.segment) ?? 0,
          firstBit: part.block.firstRow,
        })),
      );
    } finally {
      if (bits !== undefined) free(bits.at);
    }
  };
  // The warm case, which is to cost nothing.
  if (isComplete(opened) && isComplete(openedTables)) scan(opened, openedTables);
  else await whilePinned(parts, pinTables(newer), scan);
}

function isComplete<T>(values: readonly (T | undefined)[]): values is readonly T[] {
  return !values.includes(undefined);
}

/** Opens and pins the parts' codes, all at once. */
async function whilePinned(
  parts: readonly Part[],
  pinning: ReturnType<typeof pinTables>,
  use: (codes: readonly OpenCodes[], tables: readonly OpenTable[]) => void,
): Promise<void> {
  const codeOf = new Map<CodeBlock, OpenCodes>();
  const unpin: (() => void)[] = [];
  const opening = Array.from(bySegment(parts), async ([{ reader }, group]) => {
    const blocks = group.map(({ block }) => block);
    const codes = await reader.pinCodes(blocks);
    unpin.push(() => reader.unpin(blocks));
    blocks.forEach((block, i) => codeOf.set(block, codes[i]));
  });
  const openingTables = pinning.then((pinned) => unpin.push(pinned.release));
  try {
    // Settled rather than raced: whatever was pinned must be known before it is unpinned.
    for (const result of await Promise.allSettled([...opening, openingTables])) {
      if (result.status === "rejected") throw result.reason;
    }
    const { tables } = await pinning;
    use(
      parts.map(({ block }) => codeOf.get(block) as OpenCodes),
      tables,
    );
  } finally {
    for (const release of unpin) release();
  }
}

/** The accepted rows of the parts' segments in kernel memory: where each segment's lie, and what to free. */
function placeBits(parts: readonly Part[], accepted: AcceptedRows) {
  const sets = new Map(
    parts.map(({ segment }) => [segment, (accepted.get(segment) as MatchingRows).bits] as const),
  );
  const at = allocate([...sets.values()].reduce((bytes, set) => bytes + set.byteLength, 0));
  const offsets = new Map<OpenSegment, number>();
  let next = at;
  for (const [segment, set] of sets) {
    wordsAt(next, set.length).set(set);
    offsets.set(segment, next);
    next += set.byteLength;
  }
  return { at, offsets };
}
