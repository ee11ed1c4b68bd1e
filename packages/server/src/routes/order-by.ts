/** Ids of items in the order of fields of their metadata. */

import type { OrderedQuery, VectorIndex } from "sealdex/core";

const pageItemsMax = 10_000;

/** At most `limit`. Default: all, which the service's limits of a request bound. */
export async function idsInOrder(
  index: VectorIndex,
  query: OrderedQuery<readonly []>,
  limit = Infinity,
): Promise<string[]> {
  const ids: string[] = [];
  let cursor: string | undefined;
  while (ids.length < limit) {
    const topK = Math.min(pageItemsMax, limit - ids.length);
    const page = await index.query({ ...query, topK, cursor });
    for (const { id } of page.items) ids.push(id);
    cursor = page.cursor;
    if (cursor === undefined) break;
  }
  return ids;
}
