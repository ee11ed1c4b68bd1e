/** Lists the ids of live items, in the order of string comparison. */

import type { CompiledFilter } from "../../api/filter/compile.js";
import type { Snapshot } from "../../query/snapshot/snapshot.js";
import type { ResultSettings } from "../../api/served-index.js";
import type { ListIdsOptions } from "../../api/vector-index.js";
import { liveIds } from "./live-ids.js";
import type { OpenIndex } from "../open/open-index.js";
import { rowsById } from "./rows-by-id.js";

/** Bytes of memory of an id, besides its characters. */
const idBytes = 64;

export interface CheckedListIds extends Omit<ListIdsOptions, "filter">, Pick<ResultSettings, "reserveBytes"> {
  readonly filter?: CompiledFilter | undefined;
}

/** At most `limit` ids after `after`, of all items or of those that match. */
export async function listIds(index: OpenIndex, options: CheckedListIds): Promise<string[]> {
  const { limit = Infinity, reserveBytes } = options;
  return index.snapshots.read(async (snapshot) => {
    const ids: string[] = [];
    if (limit === 0) return ids;
    for await (const some of pieces(snapshot, limit, options)) {
      // Of an id that is in several namespaces, one.
      const isNew = ({ id }: { readonly id: string }, i: number) => id !== (some[i - 1]?.id ?? ids.at(-1));
      const next = some.filter(isNew).slice(0, limit - ids.length);
      await reserveBytes?.(next.reduce((sum, { id }) => sum + idBytes + id.length, 0));
      for (const { id } of next) ids.push(id);
      if (ids.length === limit) break;
    }
    return ids;
  });
}

function pieces(
  snapshot: Snapshot,
  wanted: number,
  { after, filter, signal }: CheckedListIds,
): AsyncGenerator<readonly { readonly id: string }[]> {
  if (filter !== undefined) return rowsById(snapshot, { filter, after, wanted, signal });
  return liveIds(snapshot, { after, wanted, signal });
}
