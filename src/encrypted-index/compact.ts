/**
 * Compaction: merges small segments, so that their number grows with the logarithm of the rows.
 *
 * Size-tiered, as in log-structured merge trees (O'Neil et al., 1996): once the newest segments hold eight of one
 * tier, they and what is newer become one. A row is rewritten at most once per tier. Writers run it before they
 * write, so a burst of writes pays for the segments it makes.
 */

import type { Manifest, SegmentRef } from "./manifest.js";
import type { OpenIndex } from "./open-index.js";
import { commitRewrite, replaceSegments, rewrite, tombstones } from "./rewrite.js";
import type { Snapshot } from "./snapshot.js";

const fanIn = 8;
const segmentBytes = 32 * 1024 * 1024;
const tierBytes = 256 * 1024;
/** Segments above this tier are large enough to be left alone: 16 MiB and more. */
const tierMax = 2;

/**
 * Merges the newest segments if they are due. Of many writers it is the one whose commit made them due, or, where that
 * one does not come back, whoever finds twice as many. Does nothing where another process is doing the same.
 */
export async function compactIfDue(index: OpenIndex): Promise<void> {
  if (index.rewriting) return;
  const { segments } = await index.log.newest();
  if (dueSegments(segments, index.compactionOwed ? fanIn : 2 * fanIn).length === 0) return;
  await compact(index, fanIn);
}

/** Merges small segments until no two of one tier are the newest. */
export async function compactAll(index: OpenIndex): Promise<void> {
  for (let count = Infinity; ;) {
    const { segments } = await index.log.newest();
    // What could not be merged into fewer, or was rewritten by others meanwhile, is left for another time.
    if (segments.length >= count || dueSegments(segments, 2).length === 0) return;
    count = segments.length;
    await compact(index, 2);
  }
}

async function compact(index: OpenIndex, count: number): Promise<void> {
  await index.whileRewriting(async () => {
    const snapshot = await index.snapshot();
    const old = dueSegments(snapshot.manifest.segments, count);
    try {
      if (old.length > 0) await merge(index, snapshot, old);
      index.compactionOwed = false;
    } catch (error) {
      if (!(await index.isOutlived(snapshot.manifest, error))) throw error;
    }
  });
}

async function merge(index: OpenIndex, snapshot: Snapshot, old: readonly SegmentRef[]): Promise<void> {
  const dimension = index.dimension(snapshot.manifest);
  if (dimension === undefined) return;
  const names = new Set(old.map(({ name }) => name));
  const segments = snapshot.segments.filter(({ ref }) => names.has(ref.name));
  // Where nothing older is left to hide, tombstones have done their work.
  const deleted = old.length === snapshot.segments.length ? [] : await tombstones(snapshot, segments);
  const name = snapshot.manifest.model?.name;
  const model = { model: snapshot.model, name };
  const stored = await rewrite(index, snapshot, segments, dimension, model, deleted, segmentBytes);
  await commitRewrite(index, stored, (latest) => {
    const replaced = latest.model?.name === name ? replaceSegments(latest, old, stored) : null;
    return replaced && { ...latest, ...replaced };
  });
}

/** Notes a commit of this process: whether it was the one that made segments due. */
export function noteCommit(index: OpenIndex, before: Manifest, committed: Manifest): void {
  const wasDue = dueSegments(before.segments, fanIn).length > 0;
  if (!wasDue && dueSegments(committed.segments, fanIn).length > 0) index.compactionOwed = true;
}

/** The newest segments that should become one, once `count` are of one tier; else none. */
export function dueSegments(segments: readonly SegmentRef[], count: number): readonly SegmentRef[] {
  for (let tier = tierMax; tier >= 0; tier--) {
    const start = segments.findLastIndex((segment) => tierOf(segment) > tier) + 1;
    const suffix = segments.slice(start);
    if (suffix.filter((segment) => tierOf(segment) === tier).length >= count) return suffix;
  }
  return [];
}

function tierOf({ length }: SegmentRef): number {
  return Math.max(0, Math.ceil(Math.log2(length / tierBytes) / Math.log2(fanIn)));
}
