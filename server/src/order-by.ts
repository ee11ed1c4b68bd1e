/** Ids of items ordered by metadata fields. */

import type { OrderedQuery, VectorIndex } from "sealdex/core";

const pageItemsMax = 10_000;

/** At most `limit`. Default: all, within the limits of a request. */
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
