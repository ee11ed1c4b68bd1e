/** Reads blocks into memory before queries need them. */

import { groupsOf } from "../state/segment/block-requests.js";
import { pinListBlocks } from "./open-list-blocks.js";
import { heldTogether } from "./scan-list-blocks.js";
import type { Searcher } from "./searcher.js";
import { spilledSegments } from "./secondary-segments.js";
import type { Snapshot } from "./snapshot/snapshot.js";
import type { Snapshots } from "./snapshot/snapshots.js";

/** The index to read. */
export interface Searched {
  readonly searcher: Searcher;
  readonly snapshots: Pick<Snapshots, "read">;
}

/** Codes that are read at a time, in bytes as stored. */
const bytesTogether = 32 * 1024 * 1024;
/** How much of the cache may be full in the end: beyond that, a query could evict the blocks just read. */
const filledShare = 0.9;
/** Memory of opened blocks, as a multiple of their stored bytes. */
const openedShare = 1.1;

/**
 * Reads the model, id tables, codes, those in second lists, and records, in this order, and leaves out those that the cache has no
 * room for: nothing is evicted for it. Returns whether all of it is in memory.
 */
export function prefetch(
  { searcher, snapshots }: Searched,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  return snapshots.read((snapshot) => readAll(searcher, snapshot, signal));
}

async function readAll(
  searcher: Searcher,
  snapshot: Snapshot,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const hasRoom = (bytes: number) => {
    const { cacheBytes, cacheBytesMax } = searcher.memory();
    return cacheBytes + openedShare * bytes <= filledShare * cacheBytesMax;
  };
  if (snapshot.model !== undefined) await searcher.withTrained(snapshot.model, () => undefined);
  const { all } = snapshot.listBlocks;
  for (let start = 0; start < all.length;) {
    signal?.throwIfAborted();
    const some = all.slice(start, start + heldTogether(all, start, bytesTogether));
    if (!hasRoom(lengthOf(some.map(({ block }) => block)))) return false;
    // With the id tables that shadow their rows.
    (await pinListBlocks(snapshot, some)).release();
    start += some.length;
  }
  const spilled = spilledSegments(snapshot).segments;
  if (snapshot.model !== undefined && !(await searcher.spilled.load(spilled, snapshot.model))) {
    return false;
  }
  for (const { reader } of snapshot.segments) {
    for (const pages of groupsOf(reader.footer.records)) {
      signal?.throwIfAborted();
      if (!hasRoom(lengthOf(pages))) return false;
      await reader.loadPages("records", pages);
    }
  }
  return true;
}

function lengthOf(blocks: readonly { readonly length: number }[]): number {
  return blocks.reduce((sum, { length }) => sum + length, 0);
}
