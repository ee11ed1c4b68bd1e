/** The commit that adds stored segments to an index. What upserts, deletes and updates share. */

import { areCommittable, type Manifest, namesNamespace, nextSequence } from "../commit/manifest.js";
import { canBeWritten, type Namespace } from "../commit/namespaces.js";
import type { StoredSegment } from "../commit/replace-segments.js";
import type { OpenIndex } from "./open-index.js";

/** What a change adds to the newest manifest. The segments have no item in common; none: there is nothing to change. */
export interface Addition {
  readonly segments: readonly StoredSegment[];
  /** Of the vectors in them, if they have any. */
  readonly dimension?: number | undefined;
  /** The namespace that the segments belong to, if the newest manifest may not name it yet. */
  readonly namespace?: Namespace | undefined;
}

export interface AdditionOptions {
  readonly signal: AbortSignal | undefined;
  /** See `ManifestLog.claimTurn`. */
  readonly turn?: string | undefined;
}

/**
 * Commits the segments as the newest, in one commit. Returns null if they do not fit the latest manifest, or may not be committed
 * any more: then they are deleted. So they are if the signal aborted, whose reason is thrown.
 */
export async function commitAddition(
  index: OpenIndex,
  { segments, dimension, namespace }: Addition,
  fits: (latest: Manifest) => boolean,
  { signal, turn }: AdditionOptions,
): Promise<Manifest | null> {
  const committed = await index.log.commit((latest) => {
    if (signal?.aborted || !fits(latest) || !areCommittable(latest, segments)) return null;
    if (!segments.every((segment) => isWritten(latest, segment, namespace))) return null;
    const sequence = nextSequence(latest);
    const added = segments.map((segment) => ({ ...segment, sequence }));
    return { ...latest, ...(dimension && { dimension }), segments: [...latest.segments, ...added] };
  }, turn);
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
