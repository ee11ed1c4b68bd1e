/**
 * Compaction: merges segments, without rows that were deleted or replaced. Writers merge small segments before they write, a
 * bounded amount each, so a burst of writes pays for the segments that it makes; see due-segments.ts. On demand, all segments
 * are merged.
 */

import { untilAborted } from "../calls.js";
import { byNamespace, type Manifest, type SegmentRef } from "../commit/manifest.js";
import { SealdexError } from "../errors.js";
import type { OpenSegment, Snapshot } from "../search/snapshot.js";
import { batchRowsMax, type RewritePlan } from "./live-row-batches.js";
import { dueLargeSegments, dueSegments, fanIn, mergedBytesMax } from "./due-segments.js";
import type { OpenIndex } from "./open-index.js";
import { type AlsoChange, commitRewrite, rewrite } from "./rewrite.js";
import { type Attempt, takeTurns } from "./take-turns.js";

/** On demand, and of large segments: as large as training makes them. */
export const wholeSegmentBytes = 128 * 1024 * 1024;
const attemptsMax = 5;
/** Times the runs that are due, from which on writes wait for the merge that runs. */
const stallFactor = 4;

/**
 * Merges small segments if they are due. Of many processes it is the one whose commit made them due, or, if that one does
 * not come back, any that finds twice as many. If this process merges already, the writer goes on, unless it is so far behind that writes
 * have to wait: each segment slows down queries, and with them the merge.
 */
export async function compactIfDue(index: OpenIndex, signal: AbortSignal | undefined): Promise<void> {
  for (;;) {
    const manifest = await index.log.knownOrNewest();
    const count = index.rewriting.owes("small") ? fanIn : 2 * fanIn;
    if (!isDue(index, manifest, count)) return;
    const { merging } = index.rewriting;
    if (merging === undefined) break;
    if (!isDue(index, manifest, stallFactor * fanIn)) return;
    await untilAborted(merging, signal);
  }
  await index.rewriting.merge(async () => {
    const merged = await index.snapshots.readNewest((snapshot) => mergeDue(index, snapshot, signal));
    return merged !== null && isDue(index, merged, fanIn);
  });
}

/** Notes a commit of this process, which may have made segments due. */
export function noteCommit(index: OpenIndex, before: Manifest, committed: Manifest): void {
  const { rewriting } = index;
  if (!isDue(index, before, fanIn) && isDue(index, committed, fanIn)) rewriting.owe("small", true);
  if (!isLargeDue(before, fanIn) && isLargeDue(committed, fanIn)) rewriting.owe("large", true);
}

/** Whether large segments are so many that they are to be merged. */
export function isLargeDue(manifest: Manifest, count: number): boolean {
  return dueLargeOf(manifest, count).length > 0;
}

/** Large segments to merge, all of one namespace; none if there are too few in each. */
export function dueLargeOf({ segments }: Manifest, count: number): readonly SegmentRef[] {
  return firstDue(segments, (group) => dueLargeSegments(group, count));
}

/** What is due in the first namespace in which something is. */
function firstDue(
  segments: readonly SegmentRef[],
  dueIn: (group: readonly SegmentRef[]) => readonly SegmentRef[],
): readonly SegmentRef[] {
  for (const group of byNamespace(segments, (ref) => ref)) {
    const found = dueIn(group);
    if (found.length > 0) return found;
  }
  return [];
}

/**
 * Merges all segments into as few as their size allows, each list whole, without shadowed and deleted rows. Does nothing if
 * that is so already. What other processes commit meanwhile is left as it is. Throws `storage_unavailable` if other processes
 * rewrite the whole index all the time.
 */
export async function compactAll(index: OpenIndex, signal: AbortSignal | undefined): Promise<void> {
  await index.rewriting.rewrite(signal, async () => {
    const attempt: Attempt<"done"> = async (turn) => {
      for (;;) {
        const once = (snapshot: Snapshot) => compactOnce(index, snapshot, { signal, turn });
        const outcome = await index.snapshots.readNewest(once);
        if (outcome !== "continue") return outcome;
      }
    };
    if ((await takeTurns(index, attempt, attemptsMax)) !== null) return;
    throw new SealdexError(
      "storage_unavailable",
      `compact: other processes rewrote the index ${attemptsMax} times meanwhile`,
    );
  });
}

/** Whether a segment has rows that are not grouped by the lists of the manifest's model. */
export function isForeign({ rows, model }: SegmentRef, manifest: Manifest): boolean {
  return rows > 0 && model !== manifest.model?.name;
}

/** Of a merge. */
export interface MergeOptions {
  readonly signal: AbortSignal | undefined;
  /** See `takeTurns`. */
  readonly turn?: string | undefined;
}

/**
 * Only rows that are grouped by the same lists can be merged list by list: others are grouped first. Returns null if other
 * processes replaced the same segments first.
 */
async function compactOnce(
  index: OpenIndex,
  snapshot: Snapshot,
  options: MergeOptions,
): Promise<"done" | "continue" | null> {
  const { manifest } = snapshot;
  const isGrouped = manifest.segments.every((ref) => !isForeign(ref, manifest));
  const segments = snapshot.namespaces.filter((group) => !isCompact(group)).flat();
  if (isGrouped && segments.length === 0) return "done";
  if (isGrouped) index.rewriting.reserve(segments.map(({ ref }) => ref));
  const merged = isGrouped
    ? await merge(index, { ...planFor(snapshot, wholeSegmentBytes), segments, order: "by list" }, options)
    : await regroup(index, snapshot, options);
  options.signal?.throwIfAborted();
  if (merged === null) return null;
  return isGrouped ? "done" : "continue";
}

/** Groups all rows by the lists of the snapshot's model. Returns null if other processes replaced the same segments first. */
export function regroup(
  index: OpenIndex,
  snapshot: Snapshot,
  options: MergeOptions,
): Promise<Manifest | null> {
  const segments = snapshot.stored.filter(({ ref }) => isForeign(ref, snapshot.manifest));
  index.rewriting.reserve(segments.map(({ ref }) => ref));
  return merge(index, { ...planFor(snapshot, wholeSegmentBytes), segments }, options);
}

async function mergeDue(
  index: OpenIndex,
  snapshot: Snapshot,
  signal: AbortSignal | undefined,
): Promise<Manifest | null> {
  const names = new Set(due(index, snapshot.manifest, fanIn).map(({ name }) => name));
  if (names.size === 0) return null;
  const segments = snapshot.stored.filter(({ ref }) => names.has(ref.name));
  const merged = await merge(index, { ...planFor(snapshot, mergedBytesMax), segments }, { signal });
  if (merged !== null) noteCommit(index, snapshot.manifest, merged);
  return merged;
}

/** Of all segments of a snapshot, by the lists of its model. */
export function planFor(snapshot: Snapshot, segmentBytes: number): RewritePlan {
  const { stored: segments, model, manifest } = snapshot;
  const target = { model, name: manifest.model?.name };
  return { snapshot, segments, target, order: "by segment", segmentBytes };
}

/** Returns null if other processes replaced the same segments first, or the signal aborted. */
export async function merge(
  index: OpenIndex,
  plan: RewritePlan,
  { signal, turn }: MergeOptions,
): Promise<Manifest | null> {
  const replacement = await rewrite(index, plan, { signal });
  const adopt: AlsoChange = (latest, replaced) =>
    signal?.aborted || latest.model?.name !== plan.target.name ? null : replaced;
  return commitRewrite(index, replacement, [], adopt, turn);
}

function due(index: OpenIndex, { segments }: Manifest, count: number) {
  return firstDue(index.rewriting.mergeable(segments), (group) => dueSegments(group, count));
}

function isDue(index: OpenIndex, manifest: Manifest, count: number): boolean {
  return due(index, manifest, count).length > 0;
}

/** Whether merging all of them would gain nothing: no row is shadowed, no list is torn, none is small. */
function isCompact(segments: readonly OpenSegment[]): boolean {
  return segments.every(({ ref, reader }, i) => {
    if (ref.deleted > 0 || ref.sequence !== segments[0].ref.sequence) return false;
    const next = segments[i + 1];
    if (next === undefined) return true;
    const [before, after] = [reader.footer.codes, next.reader.footer.codes];
    const areBoth = before.length > 0 && after.length > 0;
    if (areBoth && before.at(before.length - 1).list > after.at(0).list) return false;
    // Sealed, rows may be a fraction of what they are in memory.
    const isLarge = ref.length + next.ref.length >= wholeSegmentBytes / 16;
    return isLarge || ref.rows + next.ref.rows > batchRowsMax;
  });
}
