/** Adds fields to matches that the HTTP interface does not return with them. */

import { compileFilter, type Filter } from "../filter.js";
import type { ItemField, StoredItem } from "../vector-index.js";

interface Completion {
  /** The requested item fields, without those that describe the match. */
  readonly include: readonly ItemField[];
  readonly filter: Filter | undefined;
}

/**
 * Returns the matches with the present fields of their items, all of one state; without items that
 * were deleted or no longer match the filter. `get` reads items by id.
 */
export async function completeMatches<T extends StoredItem>(
  lists: readonly (readonly T[])[],
  { include, filter }: Completion,
  get: (ids: readonly string[], include: readonly ItemField[]) => Promise<StoredItem[]>,
): Promise<T[][]> {
  if (include.length === 0) return lists.map((matches) => [...matches]);
  const ids = [...new Set(lists.flat().map(({ id }) => id))];
  const isHidden = filter !== undefined && !include.includes("metadata");
  const { matches: isMatch } = compileFilter(filter ?? {});
  const byName = new Map<string, StoredItem>();
  for (const item of await get(ids, isHidden ? [...include, "metadata"] : include)) {
    if (!isMatch(item.metadata ?? {})) continue;
    const { metadata: _, expiresAt: __, ...others } = item;
    byName.set(nameOf(item), isHidden ? others : item);
  }
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
