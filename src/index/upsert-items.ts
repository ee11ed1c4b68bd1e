/** Stores items as a caller gives them, on conditions if there are some. */

import type { Item, UpsertResult } from "../api/vector-index.js";
import { mergeSmallIfDue } from "./maintenance/compact.js";
import { dimensionOf } from "./open/dimension.js";
import type { OpenIndex } from "./open/open-index.js";
import { checkItems, packItems, takeItems } from "./pack-items.js";
import { upsert, type UpsertGuard } from "./upsert.js";
import { upsertAsOf, type UpsertConditions } from "./conditional-upsert.js";
import { own } from "../checks/value-kinds.js";

/**
 * The items and all that they hold are the caller's again once this has returned its promise. `guard`: for an upsert without other conditions;
 * if it does not hold, no item is stored.
 */
export async function upsertItems(
  index: OpenIndex,
  items: readonly Item[],
  conditions: UpsertConditions,
  guard?: UpsertGuard,
): Promise<UpsertResult> {
  const { deleteFilter, within, skipUnchanged, embedder, signal } = conditions;
  const isConditional = (deleteFilter ?? within) !== undefined || skipUnchanged;
  const prepare = async () => {
    const dimension = dimensionOf(index, index.log.known);
    const packing = own({ ...index.config, dimension, embedder });
    const checked = await checkItems(takeItems(items, packing), index.keys, packing);
    return {
      checked,
      packed: isConditional ? undefined : await packItems(checked, [...checked.items.keys()], packing),
    };
  };
  const { checked, packed } = await prepare().catch(async (error: unknown) => {
    // The known state may be behind: if the index was deleted, that is the better error.
    await index.log.newest();
    throw error;
  });
  await mergeSmallIfDue(index, signal);
  if (packed === undefined) return upsertAsOf(index, checked, conditions);
  const isStored = await upsert(index, packed, signal, guard);
  return { stored: isStored ? packed.rows.length : 0, unchanged: 0, deleted: 0 };
}
