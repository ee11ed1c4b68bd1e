/**
 * Compaction: merges segments, without rows that were deleted or replaced. Writers merge small segments before they write, a
 * bounded amount each, so a burst of writes pays for the segments that it makes; see due-segments.ts. Large ones are merged in the
 * background, a block at a time. On demand, all segments are merged.
 */

import { untilAborted } from "../../async/calls.js";
import type { Manifest, SegmentRef } from "../../state/commit/manifest.js";
import { SealdexError } from "../../errors.js";
import type { OpenSegment, Snapshot } from "../../query/snapshot/snapshot.js";
import { batchRowsMax, type RewritePlan } from "./live-row-batches.js";
import { dueSegments, fanIn, mergedBytesMax } from "../open/merge-policy.js";
import type { OpenIndex } from "../open/open-index.js";
import { type AlsoChange, commitRewrite, rewrite } from "./rewrite.js";
import { type Attempt, retryWithReservation } from "../open/retry-with-reservation.js";

/** On demand, and of large segments: as large as training makes them. */
const wholeSegmentBytes = 128 * 1024 * 1024;
const attemptsMax = 5;
/** Times the runs that are due, from which on writes wait for the merge that runs. */
const stallFactor = 4;

/**
 * Merges small segments if they are due. Of many processes it is the one whose commit made them due, or, if that one does
 * not come back, any that finds twice as many. If this process merges already, the writer continues, unless it is so far behind that writes
 * have to wait: each segment slows down queries, and with them the merge.
 */
export async function mergeSmallIfDue(index: OpenIndex, signal: AbortSignal | undefined): Promise<void> {
  const { log, maintenance, rewriting, snapshots } = index;
  for (;;) {
    const segments = rewriting.mergeable((await log.knownOrNewest()).segments);
    if (!maintenance.isMergeDue("small", segments)) break;
    if (rewriting.merging === undefined) {
      await rewriting.mergeSmall(async () => {
        const merged = await snapshots.readNewest((snapshot) => mergeSmall(index, snapshot, signal));
        if (merged === null) maintenance.noteNoMerge("small");
      });
      break;
    }
    if (dueSegments(segments, "small", stallFactor * fanIn).length === 0) break;
    await untilAborted(rewriting.merging, signal);
  }
  signal?.throwIfAborted();
}

/** Merges large segments if they are due. Does nothing while a training or a compaction runs, which preempt it. */
export async function mergeLarge(index: OpenIndex, signal: AbortSignal): Promise<void> {
  await index.rewriting.mergeLarge(signal, async (preempted) => {
    const merged = await index.snapshots.readNewest((snapshot) => mergeLargeOf(index, snapshot, preempted));
    if (merged === null) index.maintenance.noteNoMerge("large");
  });
}

async function mergeLargeOf(
  index: OpenIndex,
  snapshot: Snapshot,
  signal: AbortSignal,
): Promise<Manifest | null> {
  const { manifest } = snapshot;
  const refs = dueSegments(manifest.segments, "large", fanIn);
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

/**
 * Merges all segments into as few as their size allows, each list whole, without shadowed and deleted rows. Does nothing if
 * that is so already. Commits of other processes meanwhile are left as they are. Throws `storage_unavailable` if other processes
 * rewrite the whole index all the time.
 */
export async function compactAll(index: OpenIndex, signal: AbortSignal | undefined): Promise<void> {
  await index.rewriting.rewrite(signal, async () => {
    const attempt: Attempt<"done"> = async (reservation) => {
      for (;;) {
        const once = (snapshot: Snapshot) => compactOnce(index, snapshot, { signal, reservation });
        const outcome = await index.snapshots.readNewest(once);
        if (outcome !== "continue") return outcome;
      }
    };
    if ((await retryWithReservation(index, attempt, attemptsMax)) !== null) return;
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
  /** See `retryWithReservation`. */
  readonly reservation?: string | undefined;
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

async function mergeSmall(
  index: OpenIndex,
  snapshot: Snapshot,
  signal: AbortSignal | undefined,
): Promise<Manifest | null> {
  const refs = dueSegments(index.rewriting.mergeable(snapshot.manifest.segments), "small", fanIn);
  const names = new Set(refs.map(({ name }) => name));
  if (names.size === 0) return null;
  const segments = snapshot.stored.filter(({ ref }) => names.has(ref.name));
  return merge(index, { ...planFor(snapshot, mergedBytesMax), segments }, { signal });
}

/** Of all segments of a snapshot, by the lists of its model. */
export function planFor(snapshot: Snapshot, segmentBytes: number): RewritePlan {
  const { stored: segments, model, manifest } = snapshot;
  const target = { model, name: manifest.model?.name };
  return { snapshot, segments, target, order: "by segment", segmentBytes };
}

/** Returns null if other processes replaced the same segments first, or the signal aborted. */
async function merge(
  index: OpenIndex,
  plan: RewritePlan,
  { signal, reservation }: MergeOptions,
): Promise<Manifest | null> {
  const replacement = await rewrite(index, plan, { signal });
  const adopt: AlsoChange = (latest, replaced) =>
    signal?.aborted || latest.model?.name !== plan.target.name ? null : replaced;
  return commitRewrite(index, replacement, [], adopt, reservation);
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
    // Sealed, rows may take a fraction of their memory.
    const isLarge = ref.length + next.ref.length >= wholeSegmentBytes / 16;
    return isLarge || ref.rows + next.ref.rows > batchRowsMax;
  });
}
