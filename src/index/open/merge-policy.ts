/**
 * Which segments are merged next: size-tiered, as in log-structured merge trees (O'Neil et al., 1996). Segments that were
 * committed together, a run, are merged together. Once eight neighboring runs are of one tier, they and the smaller ones
 * between them become one run. So a row is rewritten about once per tier above the lowest, and the number of runs grows with
 * the logarithm of the bytes written. Writes merge small runs; large ones are merged in the background, see compact.ts.
 */

import { byNamespace, type SegmentRef } from "../../state/commit/manifest.js";

/** Runs of one tier that become one. */
export const fanIn = 8;
/** Rows that one write may merge: it waits for that. */
export const mergedBytesMax = 32 * 1024 * 1024;
export const mergedEntriesMax = 2 ** 16;
/** The largest of tier 0. Each tier is `fanIn` times as large as the one below. */
const tierBytes = 256 * 1024;
const tierEntries = 512;
/** The highest tier of which one write may merge `fanIn` runs: to merge fewer at a time would rewrite rows more often. */
const tierMax = 1;

interface Run {
  readonly segments: readonly SegmentRef[];
  readonly bytes: number;
  /** Rows and tombstones. */
  readonly entries: number;
  readonly tier: number;
}

/** Writes merge small segments, a background job large ones. */
export type SegmentSize = "small" | "large";

/**
 * Neighboring segments of one namespace to merge, oldest first; none unless `count` runs of one tier are neighbors but for smaller ones,
 * or the smaller ones have become too many. Small ones are at most as much as one write may merge.
 */
export function dueSegments(
  segments: readonly SegmentRef[],
  size: SegmentSize,
  count: number,
): readonly SegmentRef[] {
  for (const group of byNamespace(segments, (ref) => ref)) {
    const due = size === "small" ? dueSmall(runsOf(group), count) : dueLarge(runsOf(group), count);
    if (due.length > 0) return due.flatMap((run) => run.segments);
  }
  return [];
}

/** The oldest runs that one write may merge of those that are due. */
function dueSmall(runs: readonly Run[], count: number): readonly Run[] {
  const due = dueRuns(runs, { lowest: 0, highest: tierMax }, count);
  let bytes = 0;
  let entries = 0;
  const end = due.findIndex((run) => {
    bytes += run.bytes;
    entries += run.entries;
    return bytes > mergedBytesMax || entries > mergedEntriesMax;
  });
  return end === -1 ? due : due.slice(0, end);
}

/** Runs that are too large for a write, however large they are. */
function dueLarge(runs: readonly Run[], count: number): readonly Run[] {
  const highest = runs.reduce((most, { tier }) => Math.max(most, tier), 0);
  const due = dueRuns(runs, { lowest: tierMax + 1, highest }, count);
  // Those written after the last large run are left to writes.
  return due.slice(0, due.findLastIndex(({ tier }) => tier > tierMax) + 1);
}

interface Tiers {
  readonly lowest: number;
  readonly highest: number;
}

/** Neighboring runs, none of a higher tier, among which those of these tiers are due to be merged; of the highest tier that is due. */
function dueRuns(runs: readonly Run[], { lowest, highest }: Tiers, count: number): readonly Run[] {
  for (let tier = highest; tier >= lowest; tier--) {
    for (let start = 0; start < runs.length;) {
      let end = start;
      while (end < runs.length && runs[end].tier <= tier) end++;
      const neighbors = runs.slice(start, end);
      const counted = neighbors.filter((run) => run.tier >= lowest);
      const equal = counted.filter((run) => run.tier === tier);
      if (equal.length >= count || counted.length >= count * (tier - lowest + 1)) return neighbors;
      start = end + 1;
    }
  }
  return [];
}

/** Whether a segment is so large that no write merges it. */
export function isLargeSegment(segment: SegmentRef): boolean {
  return tierOf(segment.length, segment.rows + segment.deleted) > tierMax;
}

function runsOf(segments: readonly SegmentRef[]): Run[] {
  const bySequence = new Map<number, SegmentRef[]>();
  for (const segment of segments) {
    const run = bySequence.get(segment.sequence);
    if (run === undefined) bySequence.set(segment.sequence, [segment]);
    else run.push(segment);
  }
  return Array.from(bySequence.values(), (run) => {
    const bytes = run.reduce((sum, { length }) => sum + length, 0);
    const entries = run.reduce((sum, { rows, deleted }) => sum + rows + deleted, 0);
    return { segments: run, bytes, entries, tier: tierOf(bytes, entries) };
  });
}

function tierOf(bytes: number, entries: number): number {
  const times = Math.max(bytes / tierBytes, entries / tierEntries);
  return Math.max(0, Math.ceil(Math.log2(times) / Math.log2(fanIn)));
}
