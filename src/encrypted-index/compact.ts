/**
 * Compaction: merges small segments, so that their number grows with the logarithm of the rows.
 *
 * Size-tiered, as in log-structured merge trees (O'Neil et al., 1996): once the newest segments hold eight of one
 * tier, they and what is newer become one. A row is rewritten at most once per tier. Writers run it before they
 * write, so a burst of writes pays for the segments it makes.
 */

import type { SegmentRef } from "./manifest.js";
import type { OpenIndex } from "./open-index.js";
import { commitRewrite, replaceSegments, rewrite, tombstones } from "./rewrite.js";

const fanIn = 8;
const segmentBytes = 32 * 1024 * 1024;
const tierBytes = 256 * 1024;
/** Segments above this tier are large enough to be left alone: 16 MiB and more. */
const tierMax = 2;

/** Merges the newest segments if they are due. Does nothing where another writer is doing the same. */
export async function compactIfDue(index: OpenIndex): Promise<void> {
  if (index.rewriting) return;
  const due = dueSegments((await index.snapshot()).manifest.segments);
  if (due.length === 0) return;
  await index.whileRewriting(async () => {
    const snapshot = await index.snapshot();
    const old = dueSegments(snapshot.manifest.segments);
    const dimension = index.dimension(snapshot.manifest);
    if (old.length === 0 || dimension === undefined) return;
    const names = new Set(old.map(({ name }) => name));
    const segments = snapshot.segments.filter(({ ref }) => names.has(ref.name));
    // Where nothing older is left to hide, tombstones have done their work.
    const deleted = old.length === snapshot.segments.length ? [] : await tombstones(snapshot, segments);
    const name = snapshot.manifest.model?.name;
    const stored = await rewrite(
      index,
      snapshot,
      segments,
      dimension,
      { model: snapshot.model, name },
      deleted,
      segmentBytes,
    );
    await commitRewrite(index, stored, (latest) => {
      const replaced = latest.model?.name === name ? replaceSegments(latest, old, stored) : null;
      return replaced && { ...latest, ...replaced };
    });
  });
}

/** The newest segments that should become one: none, or eight and more. */
export function dueSegments(segments: readonly SegmentRef[]): readonly SegmentRef[] {
  for (let tier = tierMax; tier >= 0; tier--) {
    const start = segments.findLastIndex((segment) => tierOf(segment) > tier) + 1;
    const suffix = segments.slice(start);
    if (suffix.filter((segment) => tierOf(segment) === tier).length >= fanIn) return suffix;
  }
  return [];
}

function tierOf({ length }: SegmentRef): number {
  return Math.max(0, Math.ceil(Math.log2(length / tierBytes) / Math.log2(fanIn)));
}
