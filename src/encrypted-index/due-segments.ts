/**
 * Which segments are merged next: size-tiered, as in log-structured merge trees (O'Neil et al., 1996). Segments that were
 * committed together, a run, are merged together. Once eight neighbouring runs are of one tier, they and the smaller ones
 * between them become one run. So a row is rewritten about once per tier above the lowest, and few small runs
 * stay. Large ones are left to training and to compaction on demand.
 */

import type { SegmentRef } from "../commit/manifest.js";

/** Runs of one tier that become one. */
export const fanIn = 8;
/** What one write may merge: it waits for that. */
export const mergedBytesMax = 32 * 1024 * 1024;
export const mergedEntriesMax = 2 ** 16;
/** The largest of tier 0. Each tier is `fanIn` times as large as the one below. */
const tierBytes = 256 * 1024;
const tierEntries = 512;
/** The highest tier of which any two runs are within what one write may merge. */
const tierMax = 2;

interface Run {
  readonly segments: readonly SegmentRef[];
  readonly bytes: number;
  /** Rows and tombstones. */
  readonly entries: number;
  readonly tier: number;
}

/**
 * Neighbouring segments to merge, oldest first, at most what one write may merge; none unless `count` runs of one tier are
 * neighbours but for smaller ones, or the smaller ones have become too many.
 */
export function dueSegments(segments: readonly SegmentRef[], count: number): readonly SegmentRef[] {
  const runs = runsOf(segments);
  for (let tier = tierMax; tier >= 0; tier--) {
    for (let start = 0; start < runs.length;) {
      let end = start;
      while (end < runs.length && runs[end].tier <= tier) end++;
      const small = runs.slice(start, end);
      const isDue =
        small.filter((run) => run.tier === tier).length >= count || small.length >= count * (tier + 1);
      if (isDue) return mergeable(small).flatMap((run) => run.segments);
      start = end + 1;
    }
  }
  return [];
}

/** Whether a segment is so large that no write merges it. */
export function isLargeSegment(segment: SegmentRef): boolean {
  return tierOf(segment.length, segment.rows + segment.deleted) > tierMax;
}

/** The oldest runs that one write may merge. */
function mergeable(runs: readonly Run[]): readonly Run[] {
  let bytes = 0;
  let entries = 0;
  const end = runs.findIndex((run) => {
    bytes += run.bytes;
    entries += run.entries;
    return bytes > mergedBytesMax || entries > mergedEntriesMax;
  });
  return end === -1 ? runs : runs.slice(0, end);
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
