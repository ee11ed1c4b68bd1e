/** Stores items as a caller gives them, on conditions if there are some. */

import type { Item, UpsertResult } from "../api/vector-index.js";
import type { Embedder } from "../embedding/embedder.js";
import { mergeSmallIfDue } from "./maintenance/compact.js";
import { dimensionOf } from "./open/dimension.js";
import type { OpenIndex } from "./open/open-index.js";
import { type CheckedItems, checkItems, packItems, takeItems } from "./pack-items.js";
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
  const checked = await takeChecked(index, items, conditions.embedder);
  return upsertChecked(index, checked, conditions, guard);
}

/** The items, checked, and without a reference to anything that the caller can change. */
export async function takeChecked(
  index: OpenIndex,
  items: readonly Item[],
  embedder: Embedder | undefined,
): Promise<CheckedItems> {
  const packing = packingOf(index, embedder);
  return unlessDeleted(index, async () => checkItems(takeItems(items, packing), index.keys, packing));
}

export async function upsertChecked(
  index: OpenIndex,
  checked: CheckedItems,
  conditions: UpsertConditions,
  guard?: UpsertGuard,
): Promise<UpsertResult> {
  const { deleteFilter, within, skipUnchanged, embedder, signal } = conditions;
  const isConditional = (deleteFilter ?? within) !== undefined || skipUnchanged;
  const pack = () => packItems(checked, [...checked.items.keys()], packingOf(index, embedder));
  const packed = isConditional ? undefined : await unlessDeleted(index, pack);
  await mergeSmallIfDue(index, signal);
  if (packed === undefined) return upsertAsOf(index, checked, conditions);
  const isStored = await upsert(index, packed, signal, guard);
  return { stored: isStored ? packed.rows.length : 0, unchanged: 0, deleted: 0 };
}

function packingOf(index: OpenIndex, embedder: Embedder | undefined) {
  return own({ ...index.config, dimension: dimensionOf(index, index.log.known), embedder });
}

async function unlessDeleted<T>(index: OpenIndex, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    // The known state may be behind: if the index was deleted, that is the better error.
    await index.log.newest();
    throw error;
  }
}
