/** The id tables by which a search tells rows that newer segments hide. */

import type { OpenIdTable, SegmentReader } from "../segment/segment-reader.js";
import type { Snapshot } from "./snapshot.js";

/** The `count` newest segments, newest first. */
export function newestReaders({ segments }: Snapshot, count: number): SegmentReader[] {
  return Array.from({ length: count }, (_, i) => segments[segments.length - 1 - i].reader);
}

/** Their id tables, pinned. Call `release` when done. */
export interface PinnedIdTables {
  readonly tables: readonly OpenIdTable[];
  release(): void;
}

export async function pinIdTables(readers: readonly SegmentReader[]): Promise<PinnedIdTables> {
  const results = await Promise.allSettled(readers.map((reader) => reader.pinTable()));
  const release = () => {
    results.forEach(({ status }, i) => {
      if (status === "fulfilled") readers[i].unpinTable();
    });
  };
  const tables: OpenIdTable[] = [];
  for (const result of results) {
    if (result.status === "fulfilled") tables.push(result.value);
    else {
      release();
      throw result.reason;
    }
  }
  return { tables, release };
}
