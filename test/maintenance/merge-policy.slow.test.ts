/** Which segments writers merge: few segments stay, each write merges little, and no row is merged often. */

import { expect, test } from "vitest";
import type { SegmentRef } from "../../src/state/commit/manifest.js";
import { dueSegments, fanIn, mergedBytesMax, mergedEntriesMax } from "../../src/index/open/merge-policy.js";
import { seededRandom } from "../../src/engine/random.js";

const tiers = 2;
let names = 0;
const segment = (length: number, rows: number, sequence: number): SegmentRef => ({
  name: `${names++}`,
  header: "",
  length,
  rows,
  deleted: 0,
  blocks: 1,
  footerLength: 1,
  sequence,
});
const sum = (segments: readonly SegmentRef[], of: "length" | "rows") =>
  segments.reduce((total, one) => total + one[of], 0);
const isSmall = ({ length, rows }: SegmentRef) => length <= 2 * 2 ** 20 && rows <= 2 ** 12;

/** Neighboring segments, which `due` are, as one. */
function merged(segments: readonly SegmentRef[], due: readonly SegmentRef[]): readonly SegmentRef[] {
  const first = segments.indexOf(due[0]);
  expect(segments.slice(first, first + due.length)).toEqual(due);
  expect(new Set(due.map(({ sequence }) => sequence)).size).toBeGreaterThan(1);
  const one = segment(sum(due, "length"), sum(due, "rows"), due[due.length - 1].sequence);
  return [...segments.slice(0, first), one, ...segments.slice(first + due.length)];
}

/** What an index is after many writes, each of which merges first what is due, and leaves large segments to the background. */
function afterWrites(sizes: readonly { readonly length: number; readonly rows: number }[]) {
  let segments: readonly SegmentRef[] = [];
  let mergedBytes = 0;
  let segmentsMax = 0;
  let allMax = 0;
  for (const [n, { length, rows }] of sizes.entries()) {
    const due = dueSegments(segments, "small", fanIn);
    if (due.length > 0) {
      expect(sum(due, "length")).toBeLessThanOrEqual(mergedBytesMax);
      expect(sum(due, "rows")).toBeLessThanOrEqual(mergedEntriesMax);
      // Fewer at a time would rewrite each row more often than once per tier.
      expect(new Set(due.map(({ sequence }) => sequence)).size).toBeGreaterThanOrEqual(fanIn);
      segments = merged(segments, due);
      mergedBytes += sum(due, "length");
    }
    segments = [...segments, segment(length, rows, n + 1)];
    for (let large = dueSegments(segments, "large", fanIn); large.length > 0;) {
      segments = merged(segments, large);
      mergedBytes += sum(large, "length");
      large = dueSegments(segments, "large", fanIn);
    }
    segmentsMax = Math.max(segmentsMax, segments.filter(isSmall).length);
    allMax = Math.max(allMax, segments.length);
  }
  return {
    segments,
    segmentsMax,
    allMax,
    amplification:
      mergedBytes /
      Math.max(
        1,
        sum(
          sizes.map((s, i) => segment(s.length, s.rows, i)),
          "length",
        ),
      ),
  };
}

test("small writes leave few small segments, and every row is merged about once per tier above the lowest", () => {
  const random = seededRandom(1);
  for (const bytes of [1000, 5000, 60_000]) {
    const sizes = Array.from({ length: 10_000 }, () => ({
      length: Math.ceil(2 * bytes * random()),
      rows: 1,
    }));
    const { segmentsMax, amplification } = afterWrites(sizes);
    expect(segmentsMax).toBeLessThanOrEqual(fanIn * (tiers + 1));
    // Segments of the lowest tier are short, and merged again and again until they leave it.
    const inLowest = (256 * 1024) / bytes / (fanIn - 1);
    expect(amplification).toBeLessThanOrEqual(inLowest + 2 * tiers);
  }
});

test("so do writes of many rows, and of sizes of every kind in every order", () => {
  for (let seed = 1; seed <= 20; seed++) {
    const random = seededRandom(seed);
    const spread = 24 * random();
    const sizes = Array.from({ length: 1000 }, () => {
      const length = Math.ceil(2 ** (6 + spread * random()));
      return { length, rows: Math.ceil((length / 40) * random()) };
    });
    const { segments, segmentsMax } = afterWrites(sizes);
    const large = segments.filter((one) => !isSmall(one)).length;
    expect(segmentsMax).toBeLessThanOrEqual(fanIn * tiers * (large + 1) + 2 * fanIn);
  }
});

test("a stream of writes without a training leaves segments of which the number grows with its logarithm", () => {
  const random = seededRandom(2);
  for (const writes of [1000, 10_000, 40_000]) {
    // 4 MiB on average: 160 GB in the end.
    const sizes = Array.from({ length: writes }, () => ({
      length: Math.ceil(2 ** 23 * random()),
      rows: 500,
    }));
    const { segments, allMax, amplification } = afterWrites(sizes);
    const largeTiers = Math.log2(sum(segments, "length") / (2 * 2 ** 20)) / Math.log2(fanIn);
    expect(allMax).toBeLessThanOrEqual(fanIn * (tiers + 1) + fanIn * Math.ceil(largeTiers));
    expect(amplification).toBeLessThanOrEqual(tiers + 1 + Math.ceil(largeTiers));
  }
});

test("segments that were committed together stay together", () => {
  const together = Array.from({ length: 20 }, () => segment(1000, 1, 1));
  expect(dueSegments(together, "small", fanIn)).toEqual([]);
  const runs = Array.from({ length: fanIn }, (_, i) => [segment(1000, 1, i), segment(1000, 1, i)]);
  expect(dueSegments(runs.flat(), "small", fanIn)).toEqual(runs.flat());
});

test("small segments between large ones are merged, and large ones are left alone", () => {
  const large = () => segment(20 * 2 ** 20, 1000, names);
  const small = () => Array.from({ length: fanIn }, () => segment(1000, 1, names));
  const between = small();
  expect(dueSegments([large(), ...between, large(), segment(1000, 1, names)], "small", fanIn)).toEqual(
    between,
  );
  expect(dueSegments(Array.from({ length: 100 }, large), "small", fanIn)).toEqual([]);
  const all = Array.from({ length: fanIn }, () => [segment(1000, 1, names), large()]).flat();
  const newest = segment(1000, 1, names);
  expect(dueSegments([...all, newest], "large", fanIn)).toEqual(all);
  expect(dueSegments(all.slice(2), "large", fanIn)).toEqual([]);
});
