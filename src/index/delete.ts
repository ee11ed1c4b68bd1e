/** Deletes items: a segment of tombstones, and the commit that makes it count. */

import { type CompiledFilter, compileFilter } from "../api/filter/compile.js";
import type { Metadata, Selection } from "../api/vector-index.js";
import { SealdexError } from "../errors.js";
import { forEachItem } from "../query/read-items.js";
import { fingerprintsIn } from "../query/snapshot/find-rows.js";
import type { FoundId } from "../query/snapshot/snapshot.js";
import type { Manifest } from "../state/commit/manifest.js";
import type { StoredSegment } from "../state/commit/replace-segments.js";
import { vectorRows } from "../state/segment/row-source.js";
import { rowsOf } from "../state/segment/row.js";
import { commitAddition, commitAsOf } from "./commit-changes.js";
import { mergeSmallIfDue } from "./maintenance/compact.js";
import { type Deletions, MatchingItems } from "./matching-items.js";
import { fingerprintsOf } from "./open/fingerprints.js";
import { dimensionOf } from "./open/dimension.js";
import type { OpenIndex } from "./open/open-index.js";
import { withEncoding } from "./open/row-encoding.js";

/** Deletes the items of a checked selection. Returns whether there were any. */
export async function deleteSelected(
  index: OpenIndex,
  { ids, filter }: Selection,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  try {
    await mergeSmallIfDue(index, signal);
  } catch (error) {
    // A full location may have room for tombstones, though not for merged segments.
    if (!(error instanceof SealdexError && error.code === "storage_unavailable")) throw error;
    signal?.throwIfAborted();
  }
  // All items match the empty filter.
  if (ids === undefined) return deleteMatching(index, compileFilter(filter ?? {}), signal);
  if (filter === undefined) return deleteIds(index, ids, signal);
  return deleteIdsMatching(index, ids, compileFilter(filter), signal);
}

/** Deletes those of the ids that exist. */
async function deleteIds(
  index: OpenIndex,
  ids: readonly string[],
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const fingerprints = await fingerprintsOf(index, new Set(ids));
  for (;;) {
    const { manifest, deleted } = await index.snapshots.read(async (snapshot) => ({
      manifest: snapshot.manifest,
      deleted: deletionsOf(await snapshot.findIds(fingerprints), fingerprints),
    }));
    if (deleted.size === 0) return false;
    const segments = await storeTombstones(index, manifest, deleted, signal);
    if (await commitAddition(index, { segments }, () => true, { signal })) return true;
  }
}

/**
 * In each namespace that has one of the ids, all that it may have: also those that are not there, since another writer may be adding
 * one, and these go together or not at all. But items of another namespace leave no trace in this one.
 */
function deletionsOf(found: readonly FoundId[], fingerprints: readonly Uint8Array[]): Deletions {
  const namespaces = new Map<string | undefined, Set<number>>();
  for (const { segment, position } of found) {
    const { namespace } = segment.ref;
    namespaces.set(namespace, (namespaces.get(namespace) ?? new Set()).add(position));
  }
  const isFound = new Set(found.map(({ position }) => position));
  return new Map(
    Array.from(namespaces, ([namespace, own]) => [
      namespace,
      fingerprintsIn(
        namespace,
        fingerprints.filter((_, position) => own.has(position) || !isFound.has(position)),
      ),
    ]),
  );
}

/** Deletes every item whose metadata match, at one moment. */
async function deleteMatching(
  index: OpenIndex,
  filter: CompiledFilter,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const matching = new MatchingItems(filter, signal);
  return commitAsOf(index, signal, async (snapshot) => ({
    segments: await storeTombstones(index, snapshot.manifest, await matching.in(snapshot), signal),
  }));
}

/** Deletes those of the ids whose metadata match, at one moment. */
async function deleteIdsMatching(
  index: OpenIndex,
  ids: readonly string[],
  filter: CompiledFilter,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const fingerprints = await fingerprintsOf(index, new Set(ids));
  return commitAsOf(index, signal, async (snapshot) => {
    const found = await snapshot.findIds(fingerprints);
    const matching = new Map<string | undefined, Uint8Array[]>();
    await forEachItem(found, new Set(["metadata"] as const), ({ metadataJson }, i) => {
      signal?.throwIfAborted();
      if (!filter.matches(JSON.parse(metadataJson ?? "{}") as Metadata)) return;
      const { namespace } = found[i].segment.ref;
      const own = matching.get(namespace) ?? [];
      matching.set(namespace, own);
      own.push(found[i].fingerprint);
    });
    return { segments: await storeTombstones(index, snapshot.manifest, matching, signal) };
  });
}

/** Segments that delete items, one per namespace; none if there are none. If it fails, nothing of them stays. */
export async function storeTombstones(
  index: OpenIndex,
  manifest: Manifest,
  deleted: Deletions,
  signal: AbortSignal | undefined,
): Promise<StoredSegment[]> {
  const dimension = dimensionOf(index, manifest);
  const stored: StoredSegment[] = [];
  if (dimension === undefined) return stored;
  const noRows = { dimension, rows: rowsOf([]), source: vectorRows([], dimension) };
  try {
    for (const [id, fingerprints] of deleted) {
      if (fingerprints.length === 0) continue;
      const namespace = id === undefined ? undefined : await index.namespaces.byId(id);
      const segment = await withEncoding(index.searcher, dimension, undefined, (encoding) =>
        index.writer.storeSegment({ ...noRows, deleted: fingerprints }, encoding, { namespace }, signal),
      );
      stored.push(segment);
    }
    return stored;
  } catch (error) {
    await index.store.delete(stored.map(({ name }) => name));
    throw error;
  }
}
