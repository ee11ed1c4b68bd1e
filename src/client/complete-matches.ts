/** Fields of matches that the HTTP interface does not include in results. */

import type { StoredItem } from "../vector-index.js";

/** Items with more fields, if more are asked for; without those that are not there any more. `get`: by ids. */
export async function completeMatches<T extends StoredItem>(
  lists: readonly (readonly T[])[],
  include: readonly string[],
  get: (ids: readonly string[]) => Promise<StoredItem[]>,
): Promise<T[][]> {
  if (include.length === 0) return lists.map((matches) => [...matches]);
  const items = await get([...new Set(lists.flat().map(({ id }) => id))]);
  const byName = new Map(items.map((item) => [nameOf(item), item]));
  return lists.map((matches) =>
    matches.flatMap((match) => {
      const item = byName.get(nameOf(match));
      return item === undefined ? [] : [{ ...match, ...item }];
    }),
  );
}

function nameOf({ namespace, id }: StoredItem): string {
  return JSON.stringify([namespace, id]);
}
