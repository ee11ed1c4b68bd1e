/** List blocks with all that a scan of them reads: codes, and the id tables that shadow rows. */

import type { CodeBlock } from "../state/segment/code-table.js";
import type { OpenCodes, OpenIdTable } from "../state/segment/opened-blocks.js";
import { pinIdTables } from "./snapshot/id-tables.js";
import { bySegment, type ListBlock, type Snapshot } from "./snapshot/snapshot.js";

export interface OpenListBlocks {
  /** In the order of the blocks. */
  readonly codes: readonly OpenCodes[];
  /** Newest first. */
  readonly tables: readonly OpenIdTable[];
}

/** The blocks, if all of them are in memory: not pinned, valid until the next await. */
export function openedListBlocks(
  snapshot: Snapshot,
  blocks: readonly ListBlock[],
): OpenListBlocks | undefined {
  const codes = blocks.map(({ segment, block }) => segment.reader.openedCodes(block));
  const tables = snapshot.newestReaders(newerMax(blocks)).map((reader) => reader.openedTable());
  return isComplete(codes) && isComplete(tables) ? { codes, tables } : undefined;
}

/** The blocks, opened and pinned, all at once. Call `release` when done. */
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
    unpin.push(() => reader.cache.unpin(codeBlocks));
    codeBlocks.forEach((block, i) => codeOf.set(block, codes[i]));
  });
  const openingTables = pinIdTables(snapshot.newestReaders(newerMax(blocks)));
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

function newerMax(blocks: readonly ListBlock[]): number {
  return blocks.reduce((most, { newerSegments }) => Math.max(most, newerSegments), 0);
}

/** Whether none is undefined. */
export function isComplete<T>(values: readonly (T | undefined)[]): values is readonly T[] {
  return !values.includes(undefined);
}
