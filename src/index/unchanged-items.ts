/** Compares items with those that are stored, so that an upsert can skip the unchanged ones. */

import type { RawMetadata } from "../api/served-index.js";
import type { ItemField, StoredItem } from "../api/vector-index.js";
import { roundVectors } from "../engine/codes/scalar.js";
import type { IndexConfig } from "../engine/config.js";
import { forEachItem } from "../query/read-items.js";
import type { Snapshot } from "../query/snapshot/snapshot.js";
import { decodeContents, recordExpiry, recordMetadataJson } from "../state/segment/row.js";
import { keepsVectors } from "./open/available-fields.js";
import { type CheckedItems, copyVector } from "./pack-items.js";

/** Positions of the items that are not stored as they are. Throws as `copyVector`. */
export async function changedItems(
  config: IndexConfig,
  snapshot: Snapshot,
  checked: CheckedItems,
  fingerprints: readonly Uint8Array[],
): Promise<number[]> {
  const refs = await snapshot.find(fingerprints);
  const hasVectors = keepsVectors(snapshot);
  const include = new Set<ItemField>(["contents", "metadata"]);
  if (hasVectors) include.add("vector");
  const unchanged = new Set<number>();
  const known = checked.items.flatMap(({ hasVector, embedded }, at) => {
    const ref = refs[at];
    const isComparable = hasVectors || !(hasVector || embedded !== undefined);
    return ref === null || !isComparable ? [] : [{ at, ref }];
  });
  const refsOfKnown = known.map(({ ref }) => ref);
  await forEachItem(refsOfKnown, include, (stored, i) => {
    const { at } = known[i];
    if (isEqual(checked, at, stored, config)) unchanged.add(at);
  });
  return [...checked.items.keys()].filter((at) => !unchanged.has(at));
}

/** Whether an item is stored as it is; one that is yet to be embedded if its text and metadata are. */
function isEqual(
  { items, vectors, dimension = 0 }: CheckedItems,
  at: number,
  stored: StoredItem & RawMetadata,
  { metric, precision }: IndexConfig,
): boolean {
  const { row, hasVector, embedded, position } = items[at];
  const contents = row.contents === null ? undefined : decodeContents(row.contents);
  if (stored.expiresAt?.getTime() !== recordExpiry(row.record)) return false;
  if (stored.metadataJson !== recordMetadataJson(row.record) || stored.contents !== contents) return false;
  if (!hasVector && embedded === undefined) return true;
  const kept = stored.vector;
  if (kept === undefined) return false;
  const own = hasVector
    ? vectors.subarray(at * dimension, (at + 1) * dimension)
    : new Float32Array(kept.length);
  if (embedded !== undefined) {
    copyVector(embedded, own, metric, `items[${position}].vector`);
    if (precision !== undefined) roundVectors(own, precision, own.length);
  }
  return own.length === kept.length && own.every((component, i) => Object.is(component, kept[i]));
}
