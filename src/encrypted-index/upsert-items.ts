/** Stores items as a caller gives them, on conditions if there are some. */

import type { Item } from "../vector-index.js";
import { compactIfDue } from "./compact.js";
import { dimensionOf, type OpenIndex } from "./open-index.js";
import { type CheckedItem, checkItems, packItems } from "./pack-items.js";
import { upsert } from "./upsert.js";
import { upsertAsOf, type UpsertConditions, type UpsertOutcome } from "./upsert-as-of.js";

export async function upsertItems(
  index: OpenIndex,
  items: readonly Item[],
  conditions: UpsertConditions,
): Promise<UpsertOutcome> {
  const { deleteFilter, skipUnchanged, embedder, signal } = conditions;
  const isConditional = deleteFilter !== undefined || skipUnchanged;
  const dimension = dimensionOf(index, await index.log.knownOrNewest());
  const pack = (checked: readonly CheckedItem[]) =>
    packItems(checked, { ...index.config, dimension, embedder });
  const checking = checkItems(items, index.keys, embedder).then(async (checked) => ({
    checked,
    packed: isConditional ? undefined : await pack(checked),
  }));
  const { checked, packed } = await checking.catch(async (error: unknown) => {
    // What is known here may be behind: that the index was deleted is the better answer.
    await index.log.newest();
    throw error;
  });
  await compactIfDue(index, signal);
  signal?.throwIfAborted();
  if (packed === undefined) return upsertAsOf(index, checked, conditions);
  const committed = await upsert(index, packed, signal);
  return { committed, result: { stored: packed.rows.length, unchanged: 0, deleted: 0 } };
}
