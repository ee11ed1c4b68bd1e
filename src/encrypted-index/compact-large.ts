/**
 * Merges large segments, which no write waits for: in the background of the process whose commit made them due, once its writes pause, a
 * block at a time. A load in many writes that a training follows is rewritten by that alone.
 * If that process ends before it is done, any process that finds twice as many does.
 */

import type { Manifest } from "../commit/manifest.js";
import type { Snapshot } from "../search/snapshot.js";
import { dueLargeOf, isForeign, isLargeDue, merge, planFor, wholeSegmentBytes } from "./compact.js";
import { fanIn } from "./due-segments.js";
import type { OpenIndex } from "./open-index.js";

/** Whether this process is to merge large segments, as far as it knows. */
export function owesLargeMerge({ log, rewriting }: OpenIndex): boolean {
  return log.known !== undefined && isLargeDue(log.known, rewriting.owes("large") ? fanIn : 2 * fanIn);
}

/** Merges large segments if they are due. Does nothing while a training or a compaction runs, and gives way to them. */
export async function compactLarge(index: OpenIndex, signal: AbortSignal): Promise<void> {
  await index.rewriting.mergeLarge(signal, async (giveWay) => {
    const merged = await index.snapshots.readNewest((snapshot) => mergeLarge(index, snapshot, giveWay));
    return merged !== null && isLargeDue(merged, fanIn);
  });
}

async function mergeLarge(
  index: OpenIndex,
  snapshot: Snapshot,
  signal: AbortSignal,
): Promise<Manifest | null> {
  const { manifest } = snapshot;
  const refs = dueLargeOf(manifest, fanIn);
  if (refs.length === 0) return null;
  index.rewriting.reserve(refs);
  const names = new Set(refs.map(({ name }) => name));
  const segments = snapshot.stored.filter(({ ref }) => names.has(ref.name));
  const isGrouped = manifest.model !== undefined && refs.every((ref) => !isForeign(ref, manifest));
  const order = isGrouped ? "by list" : "by segment";
  const merged = await merge(index, { ...planFor(snapshot, wholeSegmentBytes), segments, order }, { signal });
  if (merged === null) signal.throwIfAborted();
  return merged;
}
