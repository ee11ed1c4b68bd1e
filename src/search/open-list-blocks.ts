/** Code blocks with what it takes to scan them: their codes, the id tables that hide rows, the rows that a filter accepts. */

import { allocate, free, wordsAt } from "../engine/kernels/memory.js";
import type { CodeBlock } from "../segment/directory.js";
import type { OpenCodes, OpenIdTable } from "../segment/segment-reader.js";
import { newestReaders, pinIdTables } from "./newer-id-tables.js";
import type { MatchingRows } from "./row-filter.js";
import { bySegment, type OpenSegment, type ListBlock, type Snapshot } from "./snapshot.js";

export interface OpenListBlocks {
  /** In the order of the parts. */
  readonly codes: readonly OpenCodes[];
  /** Newest first. */
  readonly tables: readonly OpenIdTable[];
}

/** The parts, if all of them are in memory: not pinned, good for as long as nothing is awaited. */
export function openedListBlocks(
  snapshot: Snapshot,
  blocks: readonly ListBlock[],
): OpenListBlocks | undefined {
  const codes = blocks.map(({ segment, block }) => segment.reader.openedCodes(block));
  const tables = newestReaders(snapshot, newerMax(blocks)).map((reader) => reader.openedTable());
  return isComplete(codes) && isComplete(tables) ? { codes, tables } : undefined;
}

/** The parts, opened and pinned, all at once. Call `release` when done. */
export async function pinListBlocks(
  snapshot: Snapshot,
  blocks: readonly ListBlock[],
): Promise<OpenListBlocks & { release(): void }> {
  const codeOf = new Map<CodeBlock, OpenCodes>();
  const unpin: (() => void)[] = [];
  const release = () => {
    for (const each of unpin) each();
  };
  const opening = Array.from(bySegment(blocks), async ([{ reader }, group]) => {
    const codeBlocks = group.map(({ block }) => block);
    const codes = await reader.pinCodes(codeBlocks);
    unpin.push(() => reader.unpin(codeBlocks));
    codeBlocks.forEach((block, i) => codeOf.set(block, codes[i]));
  });
  const openingTables = pinIdTables(newestReaders(snapshot, newerMax(blocks)));
  const registered = openingTables.then((pinned) => unpin.push(pinned.release));
  // Settled rather than raced: whatever was pinned must be known before it is unpinned.
  for (const result of await Promise.allSettled([...opening, registered])) {
    if (result.status === "fulfilled") continue;
    release();
    throw result.reason;
  }
  const { tables } = await openingTables;
  return { codes: blocks.map(({ block }) => codeOf.get(block) as OpenCodes), tables, release };
}

/** Rows that a filter accepts, of every segment. */
export type AcceptedRows = ReadonlyMap<OpenSegment, MatchingRows>;

/** The accepted rows of the parts' segments, in kernel memory. Call `free` when done. */
export interface PlacedRows {
  /** Where the bits of a segment lie. */
  readonly offsets: ReadonlyMap<OpenSegment, number>;
  free(): void;
}

export function placeRows(blocks: readonly ListBlock[], accepted: AcceptedRows): PlacedRows {
  const sets = new Map(
    blocks.map(({ segment }) => [segment, (accepted.get(segment) as MatchingRows).bits] as const),
  );
  const at = allocate([...sets.values()].reduce((bytes, set) => bytes + set.byteLength, 0));
  const offsets = new Map<OpenSegment, number>();
  let next = at;
  for (const [segment, set] of sets) {
    wordsAt(next, set.length).set(set);
    offsets.set(segment, next);
    next += set.byteLength;
  }
  return { offsets, free: () => free(at) };
}

function newerMax(blocks: readonly ListBlock[]): number {
  return blocks.reduce((most, { newerSegments }) => Math.max(most, newerSegments), 0);
}

/** Whether everything is there. */
export function isComplete<T>(values: readonly (T | undefined)[]): values is readonly T[] {
  return !values.includes(undefined);
}
