/** Deletes items: a segment of tombstones, and the commit that makes it count. */

import { fingerprint } from "../crypto/keys.js";
import type { Predicate } from "../filter.js";
import { recordId, recordMetadata } from "../segment/row.js";
import { inTurns } from "./breathe.js";
import type { OpenIndex } from "./open-index.js";
import type { Snapshot } from "./snapshot.js";

/** Deletes those of the ids that exist. */
export async function deleteIds(index: OpenIndex, ids: readonly string[]): Promise<void> {
  const distinct = [...new Set(ids)];
  const fingerprints: Uint8Array[] = [];
  await inTurns(distinct.length, (i) => fingerprints.push(fingerprint(index.keys.id, distinct[i])));
  const snapshot = await index.snapshot();
  const places = await snapshot.find(fingerprints);
  await bury(
    index,
    snapshot,
    fingerprints.filter((_, i) => places[i] !== null),
  );
}

/** Deletes every item whose metadata match, as of one moment. */
export async function deleteMatching(index: OpenIndex, matches: Predicate): Promise<void> {
  for (;;) {
    const snapshot = await index.snapshot();
    const found: Uint8Array[] = [];
    for await (const records of snapshot.liveRecords()) {
      for (const record of records) {
        if (matches(recordMetadata(record))) found.push(fingerprint(index.keys.id, recordId(record)));
      }
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
