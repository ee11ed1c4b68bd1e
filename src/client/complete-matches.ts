/** Fields of matches that the HTTP interface does not include in results. */

import { compileFilter, type Filter } from "../filter.js";
import type { ItemField, StoredItem } from "../vector-index.js";

/** Which fields are to be added, and to which items. */
interface Completion {
  /** All fields of items that are asked for, but for those that describe the match. */
  readonly include: readonly ItemField[];
  readonly filter: Filter | undefined;
}

/**
 * Matches with the fields of their items as they are now, all of one state; without those that are not there any more, or that do
 * not match the filter any more. `get`: by ids.
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
