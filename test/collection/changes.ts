/** Changes of a collection, and what they leave. */

import type { VectorIndex } from "../../src/api/vector-index.js";
import { SealdexError } from "../../src/errors.js";
import { randomItems } from "./twins.js";

/** "done", or the code of the error. */
export async function outcomeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return "done";
  } catch (error) {
    if (error instanceof SealdexError) return error.code;
    throw error;
  }
}

export async function fillSome(collection: VectorIndex): Promise<void> {
  await collection.upsert(randomItems(40, 1));
  await collection.upsert(randomItems(10, 2));
  await collection.upsert(randomItems(12, 3, "own"), { namespace: "red" });
  await collection.delete({ ids: ["item-3", "item-30"] });
}

/** Of a collection that `fillSome` filled. */
export const changes: Readonly<Record<string, (collection: VectorIndex) => Promise<unknown>>> = {
  "upsert items": (one) => one.upsert([...randomItems(12, 5), ...randomItems(4, 6, "new")]),
  "upsert items of a namespace": (one) => one.upsert(randomItems(5, 7, "own"), { namespace: "red" }),
  "upsert items of a new namespace": (one) => one.upsert(randomItems(5, 7, "own"), { namespace: "blue" }),
  "upsert items that changed": (one) =>
    one.upsert([...randomItems(6, 2), ...randomItems(4, 8, "new")], { skipUnchanged: true }),
  "upsert items that are there": (one) => one.upsert(randomItems(6, 2), { skipUnchanged: true }),
  "replace the matches of a filter": (one) =>
    one.upsert(randomItems(3, 9, "new"), { deleteFilter: { even: true } }),
  "update items": (one) => one.update({ ids: ["item-1", "item-2", "absent"] }, { metadata: { seen: true } }),
  "update the matches of a filter": (one) => one.update({ filter: { even: false } }, { unset: ["year"] }),
  "update nothing": (one) => one.update({ ids: ["absent"] }, { metadata: { seen: true } }),
  "delete items": (one) => one.delete({ ids: ["item-1", "item-2", "item-20", "absent"] }),
  "delete nothing": (one) => one.delete({ ids: ["absent", "item-3"] }),
  "delete the matches of a filter": (one) => one.delete({ filter: { even: true } }),
  "delete all": (one) => one.delete({ deleteAll: true }),
  "erase a namespace": async (one) => (await one.erase("red")).rows,
  "erase a namespace that is absent": async (one) => (await one.erase("blue")).rows,
  compact: (one) => one.compact(),
  train: (one) => one.train(),
  reencrypt: (one) => one.reencrypt(),
};

/** All items, by namespace and id. */
export async function contentsOf(collection: VectorIndex) {
  const { items } = await collection.listItems({
    limit: 1000,
    include: ["vector", "contents", "metadata"],
  });
  const keyOf = ({ namespace = "", id }: (typeof items)[number]) => `${namespace} ${id}`;
  return items.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
}
