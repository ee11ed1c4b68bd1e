/** Upserts that depend on what is stored: they replace what matches a filter, or leave out what is stored already. */

import type { StoredSegment } from "../commit/replace-segments.js";
import type { Manifest } from "../commit/manifest.js";
import type { Namespace } from "../commit/namespaces.js";
import type { Embedder } from "../embedding/embedder.js";
import type { IndexConfig } from "../engine/config.js";
import { roundVectors } from "../engine/scalar.js";
import type { CompiledFilter } from "../filter.js";
import { fingerprintsIn } from "../search/namespace-fingerprints.js";
import { forEachItem } from "../search/read-items.js";
import type { Snapshot } from "../search/snapshot.js";
import { decodeContents, recordExpiry, recordMetadataJson } from "../segment/row.js";
import { forEachYielding } from "../threads/yield-to-event-loop.js";
import type { ItemField, RawMetadata, StoredItem, UpsertResult } from "../vector-index.js";
import { commitAsOf } from "./commit-as-of.js";
import { storeTombstones } from "./delete.js";
import { withEncoding } from "./encoding.js";
import { keepsVectors } from "./kept-fields.js";
import { MatchingItems } from "./matching-items.js";
import { dimensionOf, type OpenIndex } from "./open-index.js";
import { type CheckedItem, copyVector, type PackedItems, packItems } from "./pack-items.js";
import { checkDimension, namespaceFor, storePacked } from "./upsert.js";

export interface UpsertConditions {
  readonly deleteFilter: CompiledFilter | undefined;
  readonly skipUnchanged: boolean;
  readonly embedder: Embedder | undefined;
  readonly signal: AbortSignal | undefined;
}

export interface UpsertOutcome {
  /** Null if nothing was to be changed. */
  readonly committed: Manifest | null;
  readonly result: UpsertResult;
}

export async function upsertAsOf(
  index: OpenIndex,
  items: readonly CheckedItem[],
  { deleteFilter, skipUnchanged, embedder, signal }: UpsertConditions,
): Promise<UpsertOutcome> {
  const matching = deleteFilter && new MatchingItems(deleteFilter, signal);
  let changed: readonly CheckedItem[] = [];
  let packed: PackedItems | undefined;
  let deleted: readonly Uint8Array[] = [];
  const committed = await commitAsOf(index, signal, async (snapshot) => {
    const namespace = await namespaceFor(index, snapshot.manifest);
    const fingerprints = fingerprintsIn(
      namespace?.id,
      items.map(({ row }) => row.fingerprint),
    );
    const now = skipUnchanged ? await changedItems(index, snapshot, items, fingerprints) : items;
    if (packed === undefined || now.length !== changed.length || now.some((item, i) => item !== changed[i])) {
      const dimension = dimensionOf(index, snapshot.manifest);
      packed = await packItems(now, { ...index.config, dimension, embedder });
      changed = now;
    }
    const own = new Set(fingerprints.map(keyOf));
    const matches = (await matching?.in(snapshot))?.get(namespace?.id) ?? [];
    const others: Uint8Array[] = [];
    await forEachYielding(matches.length, (i) => {
      if (!own.has(keyOf(matches[i]))) others.push(matches[i]);
    });
    deleted = others;
    return store(index, snapshot, { packed, deleted, namespace }, signal);
  });
  const stored = changed.length;
  return {
    committed,
    result: { stored, unchanged: items.length - stored, deleted: deleted.length },
  };
}

interface ToStore {
  readonly packed: PackedItems;
  readonly deleted: readonly Uint8Array[];
  readonly namespace: Namespace | undefined;
}

async function store(
  index: OpenIndex,
  { manifest, model }: Snapshot,
  { packed, deleted, namespace }: ToStore,
  signal: AbortSignal | undefined,
) {
  const { dimension } = packed;
  const segments: StoredSegment[] = [];
  try {
    if (packed.rows.length > 0) {
      checkDimension(index, manifest, dimension);
      const rows = await withEncoding(index.searcher, dimension, model, (encoding) =>
        storePacked(index, packed, encoding, { modelName: manifest.model?.name, namespace }, signal),
      );
      segments.push(...rows);
    }
    segments.push(...(await storeTombstones(index, manifest, new Map([[namespace?.id, deleted]]), signal)));
  } catch (error) {
    await index.store.delete(segments.map(({ name }) => name));
    throw error;
  }
  return { segments, namespace, ...(packed.rows.length > 0 && { dimension }) };
}

/** The items that are not stored as they are. Throws as `copyVector`. */
async function changedItems(
  index: OpenIndex,
  snapshot: Snapshot,
  items: readonly CheckedItem[],
  fingerprints: readonly Uint8Array[],
): Promise<CheckedItem[]> {
  const refs = await snapshot.find(fingerprints);
  const hasVectors = keepsVectors(snapshot);
  const include = new Set<ItemField>(["contents", "metadata"]);
  if (hasVectors) include.add("vector");
  const unchanged = new Set<CheckedItem>();
  const known = items.flatMap((item, i) => {
    const ref = refs[i];
    const isComparable = hasVectors || item.vector === undefined;
    return ref === null || !isComparable ? [] : [{ item, ref }];
  });
  const refsOfKnown = known.map(({ ref }) => ref);
  await forEachItem(refsOfKnown, include, (stored, i) => {
    const { item } = known[i];
    if (isEqual(item, stored, index.config)) unchanged.add(item);
  });
  return items.filter((item) => !unchanged.has(item));
}

/** Whether an item is stored as it is; one that is yet to be embedded if its text and metadata are. */
function isEqual(
  { row, vector, position }: CheckedItem,
  stored: StoredItem & RawMetadata,
  { metric, precision }: IndexConfig,
): boolean {
  const contents = row.contents === null ? undefined : decodeContents(row.contents);
  if (stored.expiresAt?.getTime() !== recordExpiry(row.record)) return false;
  if (stored.metadataJson !== recordMetadataJson(row.record) || stored.contents !== contents) return false;
  if (vector === undefined) return true;
  const kept = stored.vector;
  if (kept === undefined) return false;
  const own = new Float32Array(kept.length);
  copyVector(vector, own, metric, `items[${position}].vector`);
  if (precision !== undefined) roundVectors(own, precision, own.length);
  return own.every((component, i) => Object.is(component, kept[i]));
}

function keyOf(fingerprint: Uint8Array): string {
  return Buffer.from(fingerprint.buffer, fingerprint.byteOffset, fingerprint.length).toString("latin1");
}
