/**
 * Compaction: merges small segments, so that their number grows with the logarithm of the rows.
 *
 * Size-tiered, as in log-structured merge trees (O'Neil et al., 1996): once the newest segments hold eight of one
 * tier, they and what is newer become one. A row is rewritten at most once per tier. Writers run it before they
 * write, so a burst of writes pays for the segments it makes. On demand, all segments are merged.
 */

import { SealdexError } from "../errors.js";
import type { Manifest, SegmentRef } from "../commit/manifest.js";
import { dimensionOf, type OpenIndex } from "./open-index.js";
import type { BlockOrder } from "./live-blocks.js";
import { collectedRowsMax, commitRewrite, replaceSegments, rewrite, tombstones } from "./rewrite.js";
import type { OpenSegment, Snapshot } from "../search/snapshot.js";

const fanIn = 8;
const segmentBytes = 32 * 1024 * 1024;
const tierBytes = 256 * 1024;
/** Segments above this tier are large enough to be left alone: 16 MiB and more. */
const tierMax = 2;
/** On demand: as large as training makes them. */
const wholeSegmentBytes = 128 * 1024 * 1024;
const attemptsMax = 5;

/**
 * Merges the newest segments if they are due. Of many writers it is the one whose commit made them due, or, where that
 * one does not come back, whoever finds twice as many. Does nothing where another process is doing the same.
 */
export async function compactIfDue(index: OpenIndex, signal: AbortSignal | undefined): Promise<void> {
  if (index.rewriting.isHeld) return;
  const { segments } = await index.log.recent();
  if (dueSegments(segments, index.rewriting.compactionOwed ? fanIn : 2 * fanIn).length === 0) return;
  await index.rewriting.hold(signal, async () => {
    const snapshot = await index.snapshots.newest();
    const due = new Set(dueSegments(snapshot.manifest.segments, fanIn).map(({ name }) => name));
    const old = snapshot.segments.filter(({ ref }) => due.has(ref.name));
    await merge(index, snapshot, old, "by segment", segmentBytes, signal);
    index.rewriting.settleCompaction();
  });
}

/**
 * Merges all segments into as few as their size allows, each list whole, without hidden and deleted rows. Does nothing
 * where that is so already. Throws `storage_unavailable` where other processes rewrite the index all the time.
 */
export async function compactAll(index: OpenIndex, signal: AbortSignal | undefined): Promise<void> {
  await index.rewriting.hold(signal, async () => {
    for (let lost = 0; lost < attemptsMax;) {
      const snapshot = await index.snapshots.newest();
      const { segments, manifest } = snapshot;
      // Only rows that are grouped by the same lists can be merged list by list.
      const foreign = segments.filter(({ ref }) => ref.model !== manifest.model?.name);
      if (foreign.length === 0 && isCompact(segments)) return;
      const [old, order] =
        foreign.length > 0 ? ([foreign, "by segment"] as const) : ([segments, "by list"] as const);
      const merged = await merge(index, snapshot, old, order, wholeSegmentBytes, signal);
      signal?.throwIfAborted();
      if (merged === null) lost++;
      else if (order === "by list") return;
    }
    throw new SealdexError(
      "storage_unavailable",
      `compact: other processes rewrote the index ${attemptsMax} times meanwhile`,
    );
  });
}

/** Replaces segments by new ones with their live rows; null where another process was first, or the signal aborted. */
async function merge(
  index: OpenIndex,
  snapshot: Snapshot,
  old: readonly OpenSegment[],
  order: BlockOrder,
  bytesMax: number,
  signal: AbortSignal | undefined,
): Promise<Manifest | null> {
  try {
    return await mergeNow(index, snapshot, old, order, bytesMax, signal);
  } catch (error) {
    if (await index.snapshots.wasSuperseded(snapshot.manifest, error)) return null;
    throw error;
  }
}

async function mergeNow(
  index: OpenIndex,
  snapshot: Snapshot,
  old: readonly OpenSegment[],
  order: BlockOrder,
  bytesMax: number,
  signal: AbortSignal | undefined,
): Promise<Manifest | null> {
  const dimension = dimensionOf(index, snapshot.manifest);
  if (old.length === 0 || dimension === undefined) return null;
  // Where nothing older is left to hide, tombstones have done their work.
  const deleted = old.length === snapshot.segments.length ? [] : await tombstones(snapshot, old);
  const name = snapshot.manifest.model?.name;
  const model = { model: snapshot.model, name };
  const stored = await rewrite(index, snapshot, old, dimension, model, deleted, bytesMax, {
    signal,
    order,
  });
  return commitRewrite(index, stored, (latest) => {
    if (signal?.aborted || latest.model?.name !== name) return null;
    const replaced = replaceSegments(
      latest,
      old.map(({ ref }) => ref),
      stored,
    );
    return replaced && { ...latest, ...replaced };
  });
}

/** Whether merging all of them would gain nothing: no row is hidden, no list is torn, none is small. */
function isCompact(segments: readonly OpenSegment[]): boolean {
  return segments.every(({ ref, reader }, i) => {
    if (ref.deleted > 0 || ref.sequence !== segments[0].ref.sequence) return false;
    const next = segments[i + 1];
    if (next === undefined) return true;
    const last = reader.directory.codes.at(-1);
    const first = next.reader.directory.codes.at(0);
    if (last !== undefined && first !== undefined && last.list > first.list) return false;
    // Sealed, rows may be a fraction of what they are in memory.
    const isLarge = ref.length + next.ref.length >= wholeSegmentBytes / 16;
    return isLarge || ref.rows + next.ref.rows > collectedRowsMax;
  });
}

/** Notes a commit of this process: whether it was the one that made segments due. */
export function noteCommit(index: OpenIndex, before: Manifest, committed: Manifest): void {
  const wasDue = dueSegments(before.segments, fanIn).length > 0;
  if (!wasDue && dueSegments(committed.segments, fanIn).length > 0) index.rewriting.oweCompaction();
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
