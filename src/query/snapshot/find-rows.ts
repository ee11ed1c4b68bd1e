/** Rows of items in some segments, by the fingerprints of their ids. */

import { yieldIfDue } from "../../async/event-loop.js";
import { handleOf } from "../../state/commit/namespaces.js";
import { tombstone } from "../../state/segment/id-table.js";
import type { SegmentReader } from "../../state/segment/segment-reader.js";

interface Searched {
  readonly reader: SegmentReader;
}

/** Fingerprints looked up between two turns of the event loop. */
const soughtTogether = 1000;

/** The newest version of each item in the segments, which ascend by sequence; null for unknown or deleted ones. */
export async function newestRows<S extends Searched>(
  segments: readonly S[],
  fingerprints: readonly Uint8Array[],
): Promise<({ readonly segment: S; readonly row: number } | null)[]> {
  const refs: ({ readonly segment: S; readonly row: number } | null)[] = [];
  for await (const { sought, rows } of findIn(segments, fingerprints)) {
    for (let i = 0; i < sought; i++) {
      const newest = rows.findLastIndex((found) => found[i] !== -1);
      const isLive = newest !== -1 && rows[newest][i] !== tombstone;
      refs.push(isLive ? { segment: segments[newest], row: rows[newest][i] } : null);
    }
  }
  return refs;
}

/** The entries of each segment for the items with these fingerprints, see `SegmentReader.find`, some items at a time. */
export async function* findIn(
  segments: readonly Searched[],
  fingerprints: readonly Uint8Array[],
): AsyncGenerator<{ readonly sought: number; readonly rows: readonly number[][] }> {
  for (let start = 0; start < fingerprints.length; start += soughtTogether) {
    if (start > 0) await yieldIfDue();
    const sought = fingerprints.slice(start, start + soughtTogether);
    // All segments at once: one wait for storage, whichever of them have the items.
    const rows = await Promise.all(segments.map(({ reader }) => reader.find(sought)));
    yield { sought: sought.length, rows };
  }
}

// Fingerprints of ids in a namespace: those of ids in none, exclusive or the handle of the namespace. So two namespaces share no
// fingerprint, and an item of one never shadows an item of another.

/** `namespace`: its id; undefined: none. */
export function fingerprintsIn(
  namespace: string | undefined,
  fingerprints: readonly Uint8Array[],
): readonly Uint8Array[] {
  if (namespace === undefined) return fingerprints;
  const mask = Buffer.from(handleOf(namespace), "hex");
  return fingerprints.map((bytes) => bytes.map((byte, i) => byte ^ mask[i]));
}
