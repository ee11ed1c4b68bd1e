/** Ids of items in the order of fields of their metadata. */

import type { ListItemsOptions } from "sealdex/core";
import type { ResultSettings, ServedIndex } from "sealdex/wire";

const pageItemsMax = 10_000;

/** At most `limit`. Default: all, which the service's limits of a request bound. */
export async function idsInOrder(
  index: ServedIndex,
  listing: ListItemsOptions,
  results: ResultSettings,
  limit = Infinity,
): Promise<string[]> {
  const ids: string[] = [];
  let cursor: string | undefined;
  while (ids.length < limit) {
    const page = await index.listItems(
      {
        ...listing,
        limit: Math.min(pageItemsMax, limit - ids.length),
        cursor,
      },
      results,
    );
    for (const { id } of page.items) ids.push(id);
    cursor = page.cursor;
    if (cursor === undefined) break;
  }
  return ids;
}
