import { expect, test } from "vitest";
import type { SegmentRef } from "../../src/commit/manifest.js";
import { vacate, vacatedIn } from "../../src/commit/vacated-lists.js";

const ref: SegmentRef = {
  name: "segment",
  header: "",
  length: 1,
  sequence: 1,
  rows: 100,
  deleted: 0,
  blocks: 1,
  footerLength: 1,
};

const listsOf = (segment: SegmentRef) =>
  Array.from({ length: 70_000 }, (_, list) => list).filter(vacatedIn(segment));

test("a segment has vacated the lists that it was told of, then and before, and their rows", () => {
  expect(listsOf(ref)).toEqual([]);
  const once = { ...ref, vacated: vacate(ref, new Set([0, 9, 65_535]), 10) };
  expect(listsOf(once)).toEqual([0, 9, 65_535]);
  const twice = { ...ref, vacated: vacate(once, new Set([8, 9]), 5) };
  expect(listsOf(twice)).toEqual([0, 8, 9, 65_535]);
  expect(twice.vacated.rows).toBe(15);
  const none = vacate(ref, new Set(), 0);
  expect(none).toEqual({ lists: "", rows: 0 });
  expect(listsOf({ ...ref, vacated: none })).toEqual([]);
});
