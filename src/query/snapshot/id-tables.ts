/** Id tables in kernel memory, by which a search recognizes rows that newer segments shadow. */

import type { OpenIdTable } from "../../state/segment/opened-blocks.js";
import type { SegmentReader } from "../../state/segment/segment-reader.js";

/** In the order of the readers. Call `release` when done. */
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
