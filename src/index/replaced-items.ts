/** The stored items that an upsert replaces: unchanged ones can be skipped, those beyond its filter not replaced. */

import type { CompiledFilter } from "../api/filter/compile.js";
import type { RawMetadata } from "../api/served-index.js";
import type { ItemField, Metadata, StoredItem } from "../api/vector-index.js";
import { forEachYielding } from "../async/event-loop.js";
import { roundVectors } from "../engine/codes/scalar.js";
import type { IndexConfig } from "../engine/config.js";
import { SealdexError } from "../errors.js";
import { forEachItem } from "../query/read-items.js";
import type { RowRef, Snapshot } from "../query/snapshot/snapshot.js";
import { decodeContents, recordExpiry, recordMetadata, recordMetadataJson } from "../state/segment/row.js";
import { type CheckedItems, copyVector } from "./pack-items.js";

/** Positions of the items that are not stored as they are. Throws as `copyVector`. */
export async function changedItems(
  config: IndexConfig,
  snapshot: Snapshot,
  checked: CheckedItems,
  fingerprints: readonly Uint8Array[],
): Promise<number[]> {
  const refs = await snapshot.find(fingerprints);
  const hasVectors = snapshot.keepsVectors;
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

/** Throws `forbidden` for an item that the filter rejects. */
export async function checkWithin({ items }: CheckedItems, within: CompiledFilter): Promise<void> {
  await forEachYielding(items.length, (i) => {
    const { row, position } = items[i];
    if (within.matches(recordMetadata(row.record))) return;
    throw forbidden(`items[${position}]: expected metadata that match what the items must stay within`);
  });
}

/** Throws `forbidden` for an item that replaces one that the filter rejects. `replaced`: of each item, the one that has its id. */
export async function checkReplaced(
  { items }: CheckedItems,
  replaced: readonly (RowRef | null)[],
  within: CompiledFilter,
): Promise<void> {
  const positions = [...replaced.keys()].filter((i) => replaced[i] !== null);
  const refs = replaced.filter((ref) => ref !== null);
  await forEachItem(refs, new Set(["metadata"] as const), ({ metadataJson }, i) => {
    if (within.matches(JSON.parse(metadataJson ?? "{}") as Metadata)) return;
    const { position } = items[positions[i]];
    throw forbidden(
      `items[${position}].id: expected another one, since it is that of an item beyond the border`,
    );
  });
}

function forbidden(message: string): SealdexError {
  return new SealdexError("forbidden", message);
}
