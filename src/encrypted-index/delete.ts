/** Deletes items: a segment of tombstones, and the commit that makes it count. */

import { fingerprint } from "../crypto/keys.js";
import type { CompiledFilter } from "../filter.js";
import { tombstone } from "../segment/id-table.js";
import { hasRow } from "../segment/row-bits.js";
import { forEachEntry } from "../segment/segment-reader.js";
import type { OpenIndex } from "./open-index.js";
import type { Snapshot } from "./snapshot.js";

/** Deletes those of the ids that exist. */
export async function deleteIds(index: OpenIndex, ids: readonly string[]): Promise<void> {
  const fingerprints = [...new Set(ids)].map((id) => fingerprint(index.keys.id, id));
  const snapshot = await index.snapshot();
  const places = await snapshot.find(fingerprints);
  await bury(
    index,
    snapshot,
    fingerprints.filter((_, i) => places[i] !== null),
  );
}

/** Deletes every item whose metadata match, as of one moment. */
export async function deleteMatching(index: OpenIndex, filter: CompiledFilter): Promise<void> {
  for (;;) {
    const snapshot = await index.snapshot();
    const found: Uint8Array[] = [];
    for (const segment of snapshot.segments) {
      const { bits, count } = await index.rowFilters.matching(segment.reader, filter);
      if (count === 0) continue;
      const hidden = await snapshot.hiddenIn(segment);
      forEachEntry(await segment.reader.entries(), (w0, w1, w2, w3, row) => {
        if (row === tombstone || !hasRow(bits, row) || hidden(w0, w1, w2, w3)) return;
        found.push(new Uint8Array(Uint32Array.of(w0, w1, w2, w3).buffer));
      });
    }
    // What was written in the meantime may have changed which items match.
    const unchanged = snapshot.manifest.version;
    if (await bury(index, snapshot, found, unchanged)) return;
  }
}

/** Commits tombstones. False where the index is no longer at version `onlyAt`. */
async function bury(
  index: OpenIndex,
  { manifest }: Snapshot,
  deleted: readonly Uint8Array[],
  onlyAt?: number,
): Promise<boolean> {
  const dimension = index.dimension(manifest);
  if (deleted.length === 0 || dimension === undefined) return true;
  const batch = { dimension, rows: [], vectors: new Float32Array(0), deleted };
  const stored = await index.withEncoding(dimension, undefined, (encoding) =>
    index.storeSegment(batch, encoding, undefined),
  );
  const committed = await index.log.commit((latest) => {
    if (onlyAt !== undefined && latest.version !== onlyAt) return null;
    return { ...latest, segments: [...latest.segments, { ...stored, sequence: latest.version + 1 }] };
  });
  if (committed === null) await index.store.delete([stored.name]);
  return committed !== null;
}
