/** Deletes items: a segment of tombstones, and the commit that makes it count. */

import { isDeepStrictEqual } from "node:util";
import { fingerprint } from "../crypto/keys.js";
import type { CompiledFilter } from "../filter.js";
import { entryFingerprint, tombstone } from "../segment/id-table.js";
import { hasRow } from "../segment/row-bits.js";
import { vectorRows } from "../segment/row-source.js";
import { forEachYielding } from "../threads/yield-to-event-loop.js";
import { noteCommit } from "./compact.js";
import { areCommittable, type Manifest, nextSequence } from "../commit/manifest.js";
import { withEncoding } from "./encoding.js";
import { dimensionOf, type OpenIndex } from "./open-index.js";
import { pinMatching, unpinMatching } from "../search/row-filter.js";
import type { Snapshot } from "../search/snapshot.js";

/** Deletes those of the ids that exist. */
export async function deleteIds(
  index: OpenIndex,
  ids: readonly string[],
  signal: AbortSignal | undefined,
): Promise<void> {
  const distinct = [...new Set(ids)];
  const fingerprints: Uint8Array[] = [];
  await forEachYielding(distinct.length, (i) => fingerprints.push(fingerprint(index.keys.id, distinct[i])));
  const { manifest, places } = await index.snapshots.read(async (snapshot) => ({
    manifest: snapshot.manifest,
    places: await snapshot.find(fingerprints),
  }));
  if (places.every((place) => place === null)) return;
  // All of them, also those that are not there: another writer may be adding one, and these go together or not at all.
  await bury(index, manifest, fingerprints, signal);
}

/** Deletes every item whose metadata match, as of one moment. */
export async function deleteMatching(
  index: OpenIndex,
  filter: CompiledFilter,
  signal: AbortSignal | undefined,
): Promise<void> {
  for (;;) {
    const { manifest, found } = await index.snapshots.read(async (snapshot) => ({
      manifest: snapshot.manifest,
      found: await findMatching(snapshot, filter, signal),
    }));
    // What was written in the meantime may have changed which items match.
    if (found.length === 0 || (await bury(index, manifest, found, signal, true))) return;
  }
}

async function findMatching(
  snapshot: Snapshot,
  filter: CompiledFilter,
  signal: AbortSignal | undefined,
): Promise<Uint8Array[]> {
  const found: Uint8Array[] = [];
  for (const segment of snapshot.segments) {
    signal?.throwIfAborted();
    const { bits, count } = await pinMatching(segment.reader, filter);
    // The bits lie in the heap: they stay valid.
    unpinMatching(segment.reader, filter);
    if (count === 0) continue;
    await snapshot.forEachEntry(
      segment,
      (row) => row !== tombstone && hasRow(bits, row),
      (entry) => found.push(entryFingerprint(entry)),
    );
  }
  return found;
}

/** Commits tombstones. False where that needs the segments to be those of `manifest`, and they no longer are. */
async function bury(
  index: OpenIndex,
  manifest: Manifest,
  deleted: readonly Uint8Array[],
  signal: AbortSignal | undefined,
  onlyIfUnchanged = false,
): Promise<boolean> {
  const dimension = dimensionOf(index, manifest);
  if (dimension === undefined) return true;
  const batch = { dimension, rows: [], source: vectorRows(new Float32Array(0), dimension), deleted };
  for (;;) {
    const stored = await withEncoding(index.searcher, dimension, undefined, (encoding) =>
      index.writer.storeSegment(batch, encoding, undefined, signal),
    );
    let changed = false;
    let before = manifest;
    const committed = await index.log.commit((latest) => {
      before = latest;
      changed = onlyIfUnchanged && !isDeepStrictEqual(latest.segments, manifest.segments);
      if (signal?.aborted || changed || !areCommittable(latest, [stored])) return null;
      return { ...latest, segments: [...latest.segments, { ...stored, sequence: nextSequence(latest) }] };
    });
    if (committed !== null) {
      noteCommit(index, before, committed);
      return true;
    }
    await index.store.delete([stored.name]);
    signal?.throwIfAborted();
    if (changed) return false;
  }
}
