/** Deletes items: a segment of tombstones, and the commit that makes it count. */

import type { Manifest } from "../commit/manifest.js";
import type { StoredSegment } from "../commit/replace-segments.js";
import { compileFilter, type CompiledFilter } from "../filter.js";
import { forEachItem } from "../search/read-items.js";
import { vectorRows } from "../segment/row-source.js";
import type { Metadata, Selection } from "../vector-index.js";
import { commitAddition } from "./commit-addition.js";
import { commitAsOf } from "./commit-as-of.js";
import { withEncoding } from "./encoding.js";
import { fingerprintsOf } from "./fingerprints.js";
import { MatchingItems } from "./matching-items.js";
import { dimensionOf, type OpenIndex } from "./open-index.js";

/** Deletes the items of a checked selection. */
export async function deleteSelected(
  index: OpenIndex,
  { ids, filter }: Selection,
  signal: AbortSignal | undefined,
): Promise<void> {
  // All items match the empty filter.
  if (ids === undefined) await deleteMatching(index, compileFilter(filter ?? {}), signal);
  else if (filter === undefined) await deleteIds(index, ids, signal);
  else await deleteIdsMatching(index, ids, compileFilter(filter), signal);
}

/** Deletes those of the ids that exist. */
async function deleteIds(
  index: OpenIndex,
  ids: readonly string[],
  signal: AbortSignal | undefined,
): Promise<void> {
  const fingerprints = await fingerprintsOf(index, new Set(ids));
  const { manifest, refs } = await index.snapshots.read(async (snapshot) => ({
    manifest: snapshot.manifest,
    refs: await snapshot.find(fingerprints),
  }));
  if (refs.every((ref) => ref === null)) return;
  // All of them, also those that are not there: another writer may be adding one, and these go together or not at all.
  for (;;) {
    const segments = await storeTombstones(index, manifest, fingerprints, signal);
    if (await commitAddition(index, { segments }, () => true, { signal })) return;
  }
}

/** Deletes every item whose metadata match, as of one moment. */
async function deleteMatching(
  index: OpenIndex,
  filter: CompiledFilter,
  signal: AbortSignal | undefined,
): Promise<void> {
  const matching = new MatchingItems(filter, signal);
  await commitAsOf(index, signal, async (snapshot) => ({
    segments: await storeTombstones(index, snapshot.manifest, await matching.in(snapshot), signal),
  }));
}

/** Deletes those of the ids whose metadata match, as of one moment. */
async function deleteIdsMatching(
  index: OpenIndex,
  ids: readonly string[],
  filter: CompiledFilter,
  signal: AbortSignal | undefined,
): Promise<void> {
  const fingerprints = await fingerprintsOf(index, new Set(ids));
  await commitAsOf(index, signal, async (snapshot) => {
    const refs = await snapshot.find(fingerprints);
    const found = refs.flatMap((ref, i) => (ref === null ? [] : [{ ref, fingerprint: fingerprints[i] }]));
    const matching: Uint8Array[] = [];
    const foundRefs = found.map(({ ref }) => ref);
    await forEachItem(foundRefs, new Set(["metadata"] as const), ({ metadataJson }, i) => {
      signal?.throwIfAborted();
      if (filter.matches(JSON.parse(metadataJson ?? "{}") as Metadata)) matching.push(found[i].fingerprint);
    });
    return { segments: await storeTombstones(index, snapshot.manifest, matching, signal) };
  });
}

/** A segment that deletes items; none if there are none. */
export async function storeTombstones(
  index: OpenIndex,
  manifest: Manifest,
  deleted: readonly Uint8Array[],
  signal: AbortSignal | undefined,
): Promise<StoredSegment[]> {
  const dimension = dimensionOf(index, manifest);
  if (dimension === undefined || deleted.length === 0) return [];
  const batch = { dimension, rows: [], source: vectorRows(new Float32Array(0), dimension), deleted };
  const stored = await withEncoding(index.searcher, dimension, undefined, (encoding) =>
    index.writer.storeSegment(batch, encoding, undefined, signal),
  );
  return [stored];
}
