/**
 * The one change that removes segments: new ones take the place of old ones whose live rows they hold. docs/decisions/commit.md
 * has the argument why nothing is lost and nothing deleted comes back.
 */

import type { Manifest, SegmentRef } from "./manifest.js";

/** A segment that is stored but that no manifest names yet. */
export type StoredSegment = Omit<SegmentRef, "sequence">;

export interface Replacement {
  /**
   * Segments of one manifest, all or none of each sequence: either its oldest, or some whose tombstones `stored` keeps.
   */
  readonly old: readonly SegmentRef[];
  /** Their live rows as of that manifest. */
  readonly stored: readonly StoredSegment[];
}

/**
 * The segments and dropped objects of `latest` after the replacement, or null if nothing of it applies any more.
 *
 * Other processes may have replaced some of `old` since. Then only the segments older than all of those are replaced, and the
 * new segments take the sequence of the newest of them. Rows that `stored` holds of the other segments are then shadowed by
 * whatever took the place of these, since that has the same or a higher sequence.
 */
export function replaceSegments(
  latest: Manifest,
  { old, stored }: Replacement,
): Pick<Manifest, "segments" | "droppedObjects"> | null {
  const live = new Set(latest.segments.map(({ name }) => name));
  const replacedByOthers = old.filter(({ name }) => !live.has(name));
  const end = replacedByOthers.reduce((least, { sequence }) => Math.min(least, sequence), Infinity);
  const removed = old.filter(({ sequence }) => sequence < end);
  const sequence = removed.reduce((most, segment) => Math.max(most, segment.sequence), 0);
  if (removed.length === 0) return null;
  const names = new Set(removed.map(({ name }) => name));
  const place = latest.segments.findLastIndex(({ name }) => names.has(name)) + 1;
  const isKept = ({ name }: SegmentRef) => !names.has(name);
  return {
    segments: [
      ...latest.segments.slice(0, place).filter(isKept),
      ...stored.map((segment) => ({ ...segment, sequence })),
      ...latest.segments.slice(place),
    ],
    droppedObjects: [...latest.droppedObjects, ...names],
  };
}
