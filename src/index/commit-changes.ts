/** The commit that adds stored segments to an index. Upserts, deletes and updates share it. */

import { own } from "../checks/value-kinds.js";
import type { Snapshot } from "../query/snapshot/snapshot.js";
import {
  areCommittable,
  erasuresOf,
  type Manifest,
  namesNamespace,
  nextSequence,
} from "../state/commit/manifest.js";
import { canBeWritten, type Namespace } from "../state/commit/namespaces.js";
import type { StoredSegment } from "../state/commit/replace-segments.js";
import type { OpenIndex } from "./open/open-index.js";
import { retryWithReservation } from "./open/retry-with-reservation.js";

/** The additions of a change to the newest manifest. The segments have no item in common; none: there is nothing to change. */
interface Addition {
  readonly segments: readonly StoredSegment[];
  /** Of the vectors in them, if they have any. */
  readonly dimension?: number | undefined;
  /** The namespace that the segments belong to, if the newest manifest may not name it yet. */
  readonly namespace?: Namespace | undefined;
  /** Whether the commit counts as an erasure, after which no writer commits on the strength of an earlier state. */
  readonly erases?: boolean;
}

interface AdditionOptions {
  readonly signal: AbortSignal | undefined;
  /** See `ManifestLog.reserveNextCommit`. */
  readonly reservation?: string | undefined;
}

/**
 * Commits the segments as the newest, in one commit. Returns null if they do not fit the latest manifest, or may not be committed
 * any more: then they are deleted. So they are if the signal aborted, whose reason is thrown.
 */
export async function commitAddition(
  index: OpenIndex,
  addition: Addition,
  fits: (latest: Manifest) => boolean,
  { signal, reservation }: AdditionOptions,
): Promise<Manifest | null> {
  const { segments, dimension, namespace, erases } = own(addition);
  const committed = await index.log.commit((latest) => {
    if (signal?.aborted || !fits(latest) || !areCommittable(latest, segments)) return null;
    if (!segments.every((segment) => isWritten(latest, segment, namespace))) return null;
    const sequence = nextSequence(latest);
    const added = segments.map((segment) => own({ ...segment, sequence }));
    return {
      ...latest,
      ...(dimension && { dimension }),
      segments: [...latest.segments, ...added],
      ...(erases && { erasures: erasuresOf(latest) + 1 }),
    };
  }, reservation);
  if (committed !== null) return committed;
  await index.store.delete(segments.map(({ name }) => name));
  signal?.throwIfAborted();
  return null;
}

/** Whether the namespace of a segment was not erased since its secret was looked up. */
function isWritten(
  latest: Manifest,
  { namespace: id }: StoredSegment,
  namespace: Namespace | undefined,
): boolean {
  if (id === undefined) return true;
  return namespace?.id === id ? canBeWritten(latest, namespace) : namesNamespace(latest, id);
}

// Changes that were computed from a snapshot, and are right only as long as its items are the newest. A commit of others
// meanwhile makes such a change begin again.

/**
 * Commits the change that `prepare` computes from the newest snapshot, if the index still has the same items then; otherwise asks for it again.
 * Objects that `prepare` stored in vain are deleted. Returns whether there was something to commit.
 */
export async function commitAsOf(
  index: OpenIndex,
  signal: AbortSignal | undefined,
  prepare: (snapshot: Snapshot) => Promise<Addition>,
): Promise<boolean> {
  const outcome = await retryWithReservation(index, async (reservation) => {
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
  return outcome !== "nothing";
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
