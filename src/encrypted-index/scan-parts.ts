/** Scans code blocks for a search, opening as many at a time as the memory for one query allows. */

import { allocate, free, wordsAt } from "../engine/kernels/memory.js";
import type { Job, Search } from "../engine/search.js";
import type { Predicate } from "../filter.js";
import type { CodeBlock } from "../segment/directory.js";
import { recordMetadata } from "../segment/row.js";
import type { OpenCodes, OpenTable, SegmentReader } from "../segment/segment-reader.js";
import { bySegment, type Part, type Snapshot } from "./snapshot.js";

/** Codes that one query holds open at a time, in bytes as stored. */
const heldBytesMax = 32 * 1024 * 1024;

/**
 * Offers the rows of `parts` to a search, all in their order, and appends the parts to `scanned`, whose positions are the numbers by
 * which candidates name their blocks. `distances`, where given, let each part be pruned by its codes.
 */
export async function scanParts(
  snapshot: Snapshot,
  search: Search,
  scanned: Part[],
  parts: readonly Part[],
  distances: readonly number[] | undefined,
  matches: Predicate | undefined,
): Promise<void> {
  for (let start = 0; start < parts.length;) {
    let bytes = 0;
    let end = start;
    while (end < parts.length && (end === start || bytes < heldBytesMax)) bytes += parts[end++].block.length;
    const group = parts.slice(start, end);
    await scanGroup(snapshot, search, scanned, group, distances?.slice(start, end), matches);
    start = end;
  }
}

async function scanGroup(
  snapshot: Snapshot,
  search: Search,
  scanned: Part[],
  parts: readonly Part[],
  distances: readonly number[] | undefined,
  matches: Predicate | undefined,
): Promise<void> {
  const accepted = matches && (await acceptedRows(parts, matches));
  const newer = newerReaders(snapshot, parts);
  const scan = (codes: readonly OpenCodes[], tables: readonly OpenTable[]) => {
    const bits = accepted && placeBits(accepted);
    try {
      search.hideBy(tables);
      const jobs = parts.map((part, i): Job & { part: Part } => ({
        part,
        block: scanned.push(part) - 1,
        codes: codes[i].codes,
        fingerprints: codes[i].fingerprints,
        distance: distances?.[i],
        newer: part.newer,
        accepted: bits?.[i] ?? 0,
        firstBit: 0,
      }));
      for (let from = 0; from < jobs.length;) {
        const { codec } = jobs[from].part.segment.reader;
        let to = from + 1;
        while (to < jobs.length && jobs[to].part.segment.reader.codec.scan === codec.scan) to++;
        search.scan(codec.scan, jobs.slice(from, to));
        from = to;
      }
    } finally {
      if (bits !== undefined) free(bits[0]);
    }
  };

  const opened = parts.map(({ segment, block }) => segment.reader.openedCodes(block));
  const openedTables = newer.map((reader) => reader.openedTable());
  if (isComplete(opened) && isComplete(openedTables)) scan(opened, openedTables);
  else await whilePinned(parts, newer, scan);
}

function isComplete<T>(values: readonly (T | undefined)[]): values is readonly T[] {
  return !values.includes(undefined);
}

/** The segments that can hide rows of these parts, newest first. */
function newerReaders({ segments }: Snapshot, parts: readonly Part[]): SegmentReader[] {
  const count = parts.reduce((most, { newer }) => Math.max(most, newer), 0);
  return Array.from({ length: count }, (_, i) => segments[segments.length - 1 - i].reader);
}

/** Opens and pins the parts' codes and the readers' id tables, all at once. */
async function whilePinned(
  parts: readonly Part[],
  newer: readonly SegmentReader[],
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
  const openingTables = newer.map(async (reader) => {
    const table = await reader.pinTable();
    unpin.push(() => reader.unpinTable());
    return table;
  });
  try {
    // Settled rather than raced: whatever was pinned must be known before it is unpinned.
    for (const result of await Promise.allSettled([...opening, ...openingTables])) {
      if (result.status === "rejected") throw result.reason;
    }
    const tables = await Promise.all(openingTables);
    use(
      parts.map(({ block }) => codeOf.get(block) as OpenCodes),
      tables,
    );
  } finally {
    for (const release of unpin) release();
  }
}

/** For each part, the bits of the rows whose metadata match. Reads the records of all rows. */
async function acceptedRows(parts: readonly Part[], matches: Predicate): Promise<Uint32Array[]> {
  return Promise.all(
    parts.map(async ({ segment, block }) => {
      const rows = Array.from({ length: block.rows }, (_, i) => block.firstRow + i);
      const records = await segment.reader.records(rows);
      const bits = new Uint32Array(Math.ceil(block.rows / 32));
      records.forEach((record, i) => {
        if (matches(recordMetadata(record))) bits[i >>> 5] |= 1 << (i & 31);
      });
      return bits;
    }),
  );
}

/** Copies bit sets into kernel memory, one after another; the first offset is to be freed. */
function placeBits(sets: readonly Uint32Array[]): number[] {
  let at = allocate(sets.reduce((bytes, set) => bytes + set.byteLength, 0));
  return sets.map((set) => {
    const offset = at;
    wordsAt(at, set.length).set(set);
    at += set.byteLength;
    return offset;
  });
}
