/** Lists the ids of live items, in the order of string comparison. */

import { recordId } from "../segment/row.js";
import type { OpenIndex } from "./open-index.js";

/** At most `limit` ids after `after`. Reads the records of the whole index. */
export async function listIds(
  index: OpenIndex,
  limit: number,
  after: string | undefined,
  signal: AbortSignal | undefined,
): Promise<string[]> {
  return index.snapshots.read(async (snapshot) => {
    const ids: string[] = [];
    for await (const records of snapshot.liveRecords()) {
      signal?.throwIfAborted();
      for (const record of records) {
        const id = recordId(record);
        if (after === undefined || id > after) ids.push(id);
      }
    }
    return ids.sort().slice(0, limit);
  });
}
