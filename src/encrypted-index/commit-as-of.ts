/**
 * Changes that were worked out from what a snapshot holds, and that are right only as long as it holds that. What others write
 * meanwhile makes such a change begin again.
 */

import { type Manifest, nextSequence } from "../commit/manifest.js";
import type { StoredSegment } from "../commit/replace-segments.js";
import type { Snapshot } from "../search/snapshot.js";
import { type Addition, commitAddition } from "./commit-addition.js";
import type { OpenIndex } from "./open-index.js";
import { retryWithReservation } from "./retry-with-reservation.js";

/**
 * Commits what `prepare` makes of the newest snapshot, if the index still has the same items then; otherwise asks for it again.
 * Objects that `prepare` stored in vain are deleted.
 */
export async function commitAsOf(
  index: OpenIndex,
  signal: AbortSignal | undefined,
  prepare: (snapshot: Snapshot) => Promise<Addition>,
): Promise<void> {
  await retryWithReservation(index, async (reservation) => {
    const { manifest, ...addition } = await index.snapshots.readNewest(async (snapshot) => ({
      manifest: snapshot.manifest,
      ...(await prepare(snapshot)),
    }));
    const { segments } = addition;
    if (segments.length === 0) return "nothing";
    const fits = (latest: Manifest) =>
      // An erasure removes segments, the newest perhaps. Those of other namespaces make no difference to one.
      (index.namespace !== undefined || latest.erasures === manifest.erasures) &&
      hasSameItems(scopeOf(index, latest, segments), manifest) &&
      areGrouped(segments, latest);
    return commitAddition(index, addition, fits, { signal, reservation });
  });
}

/** The manifest with the segments alone that the snapshots of `index` have. */
function scopeOf(
  { namespace }: OpenIndex,
  latest: Manifest,
  [{ namespace: id }]: readonly StoredSegment[],
): Manifest {
  if (namespace === undefined) return latest;
  return { ...latest, segments: latest.segments.filter((segment) => segment.namespace === id) };
}

/** Whether the rows of the segments are grouped by the lists of the index. */
function areGrouped(segments: readonly StoredSegment[], latest: Manifest): boolean {
  return segments.every(({ rows, model }) => rows === 0 || model === latest.model?.name);
}

/**
 * Whether a manifest surely has the items of an earlier one, in segments that may have been rewritten. A commit of items has a
 * higher sequence, which only goes down again if all segments are rewritten.
 */
function hasSameItems(latest: Manifest, earlier: Manifest): boolean {
  if (earlier.segments.length === 0) return latest.segments.length === 0;
  const names = new Set(latest.segments.map(({ name }) => name));
  return (
    nextSequence(latest) === nextSequence(earlier) && earlier.segments.some(({ name }) => names.has(name))
  );
}
