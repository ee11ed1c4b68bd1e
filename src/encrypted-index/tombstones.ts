/** Tombstones on their way from old segments to new ones. */

import type { OpenSegment, Snapshot } from "../search/snapshot.js";
import { entryFingerprint, tombstone } from "../segment/id-table.js";

/**
 * Fingerprints that `segments` delete, except those that newer segments of `snapshot` shadow, and those of their rows that have
 * expired: what is older must not come back.
 */
export async function tombstonesOf(
  snapshot: Snapshot,
  segments: readonly OpenSegment[],
): Promise<Uint8Array[]> {
  const found: Uint8Array[] = [];
  for (const segment of segments) {
    for (const fingerprint of snapshot.expired.items.get(segment) ?? []) found.push(fingerprint);
    if (segment.ref.deleted === 0) continue;
    await snapshot.forEachEntry(
      segment,
      (row) => row === tombstone,
      (entry) => found.push(entryFingerprint(entry)),
    );
  }
  return found;
}
