/**
 * The one change that removes segments: new ones take the place of old ones whose live rows they hold. docs/internals/decisions/commit.md
 * has the argument why nothing is lost and nothing deleted comes back.
 */

import { byNamespace, type Manifest, type SegmentRef } from "./manifest.js";
import { own } from "../../checks/value-kinds.js";

/** A segment that is stored but that no manifest names yet. */
export type StoredSegment = Omit<SegmentRef, "sequence">;

export interface Replacement {
  /**
   * Segments of one manifest, all or none of each sequence: either its oldest, or some whose tombstones `stored` keeps.
   */
  readonly old: readonly SegmentRef[];
  /** Their live rows at that manifest. */
  readonly stored: readonly StoredSegment[];
}

/**
 * The segments and dropped objects of `latest` after the replacement, or null if nothing of it applies any more. Each
 * namespace by itself.
 *
 * Other processes may have replaced some of `old` since. Then only the segments older than all of those are replaced, and the
 * new segments take the sequence of the newest of them. Rows that `stored` holds of the other segments are then shadowed by
 * whatever took the place of these, since that has the same or a higher sequence. If the oldest were replaced, or erased, none of
 * `stored` is of use.
 */
export function replaceSegments(
  latest: Manifest,
  { old, stored }: Replacement,
): Pick<Manifest, "segments" | "droppedObjects"> | null {
  let { segments } = latest;
  const dropped: string[] = [];
  for (const group of byNamespace(old, (segment) => segment)) {
    const storedInGroup = stored.filter(({ namespace }) => namespace === group[0].namespace);
    const replaced = replaceOfNamespace(segments, { old: group, stored: storedInGroup });
    if (replaced === null) continue;
    segments = replaced.segments;
    dropped.push(...replaced.removed);
  }
  return dropped.length === 0 ? null : { segments, droppedObjects: [...latest.droppedObjects, ...dropped] };
}

function replaceOfNamespace(
  segments: readonly SegmentRef[],
  { old, stored }: Replacement,
): { readonly segments: readonly SegmentRef[]; readonly removed: ReadonlySet<string> } | null {
  const live = new Set(segments.map(({ name }) => name));
  const replacedByOthers = old.filter(({ name }) => !live.has(name));
  const end = replacedByOthers.reduce((least, { sequence }) => Math.min(least, sequence), Infinity);
  const replaced = old.filter(({ sequence }) => sequence < end);
  const sequence = replaced.reduce((most, segment) => Math.max(most, segment.sequence), 0);
  if (replaced.length === 0) return null;
  const removed = new Set(replaced.map(({ name }) => name));
  const place = segments.findLastIndex(({ name }) => removed.has(name)) + 1;
  const isKept = ({ name }: SegmentRef) => !removed.has(name);
  return {
    segments: [
      ...segments.slice(0, place).filter(isKept),
      ...stored.map((segment) => own({ ...segment, sequence })),
      ...segments.slice(place),
    ],
    removed,
  };
}
