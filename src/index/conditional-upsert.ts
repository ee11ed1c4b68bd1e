/** Upserts that depend on stored items: they replace the matches of a filter, stay within one, or skip unchanged items. */

import type { CompiledFilter } from "../api/filter/compile.js";
import type { UpsertResult } from "../api/vector-index.js";
import { forEachYielding } from "../async/event-loop.js";
import { own as ownMembers } from "../checks/value-kinds.js";
import type { Embedder } from "../embedding/embedder.js";
import { fingerprintsIn } from "../query/snapshot/find-rows.js";
import type { Snapshot } from "../query/snapshot/snapshot.js";
import type { Namespace } from "../state/commit/namespaces.js";
import type { StoredSegment } from "../state/commit/replace-segments.js";
import { commitAsOf } from "./commit-changes.js";
import { storeTombstones } from "./delete.js";
import { MatchingItems } from "./matching-items.js";
import { dimensionOf } from "./open/dimension.js";
import type { OpenIndex } from "./open/open-index.js";
import { withEncoding } from "./open/row-encoding.js";
import { type CheckedItems, type PackedItems, packItems } from "./pack-items.js";
import { changedItems, checkReplaced, checkWithin } from "./replaced-items.js";
import { checkDimension, namespaceFor, storePacked } from "./upsert.js";

export interface UpsertConditions {
  readonly deleteFilter: CompiledFilter | undefined;
  /** The filter that the items, and those that they replace, must match. */
  readonly within: CompiledFilter | undefined;
  readonly skipUnchanged: boolean;
  /** Whether the commit counts as an erasure. */
  readonly erases?: boolean;
  readonly embedder: Embedder | undefined;
  readonly signal: AbortSignal | undefined;
}

export async function upsertAsOf(
  index: OpenIndex,
  checked: CheckedItems,
  { deleteFilter, within, skipUnchanged, erases, embedder, signal }: UpsertConditions,
): Promise<UpsertResult> {
  if (within !== undefined) await checkWithin(checked, within);
  const matching = deleteFilter && new MatchingItems(deleteFilter, signal);
  const { items } = checked;
  let changed: readonly number[] = [];
  let packed: PackedItems | undefined;
  let deleted: readonly Uint8Array[] = [];
  await commitAsOf(index, signal, async (snapshot) => {
    const namespace = await namespaceFor(index, snapshot.manifest);
    const fingerprints = fingerprintsIn(
      namespace?.id,
      items.map(({ row }) => row.fingerprint),
    );
    if (within !== undefined) await checkReplaced(checked, await snapshot.find(fingerprints), within);
    const now = skipUnchanged
      ? await changedItems(index.config, snapshot, checked, fingerprints)
      : [...items.keys()];
    if (packed === undefined || now.length !== changed.length || now.some((at, i) => at !== changed[i])) {
      const dimension = dimensionOf(index, snapshot.manifest);
      packed = await packItems(checked, now, ownMembers({ ...index.config, dimension, embedder }));
      changed = now;
    }
    const own = new Set(fingerprints.map(keyOf));
    const matches = (await matching?.in(snapshot))?.get(namespace?.id) ?? [];
    const others: Uint8Array[] = [];
    await forEachYielding(matches.length, (i) => {
      if (!own.has(keyOf(matches[i]))) others.push(matches[i]);
    });
    deleted = others;
    return {
      ...(await store(index, snapshot, { packed, deleted, namespace }, signal)),
      ...(erases && { erases }),
    };
  });
  const stored = changed.length;
  return { stored, unchanged: items.length - stored, deleted: deleted.length };
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

function keyOf(fingerprint: Uint8Array): string {
  return Buffer.from(fingerprint.buffer, fingerprint.byteOffset, fingerprint.length).toString("latin1");
}
