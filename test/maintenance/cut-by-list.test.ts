import fc from "fast-check";
import { expect, test } from "vitest";
import { cutByList } from "../../src/index/maintenance/rewrite.js";

/** Rows in lists of these sizes; row numbers descend, so that places and rows differ. */
function grouped(sizes: readonly number[]) {
  const n = sizes.reduce((sum, size) => sum + size, 0);
  let end = 0;
  const runs = sizes.map((size, list) => ({ list: 3 * list, start: end, end: (end += size) }));
  return { order: Uint32Array.from({ length: n }, (_, place) => n - 1 - place), runs };
}

test("every row goes to one part, with its list, in its order, and no list to two", () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 30 });
  fc.assert(
    fc.property(sizes, fc.double({ min: 0, max: 12, noNaN: true }), (rowsOfLists, segments) => {
      const whole = grouped(rowsOfLists);
      const parts = cutByList(whole, segments);
      expect(parts.length).toBeGreaterThanOrEqual(1);
      expect(parts.length).toBeLessThanOrEqual(Math.max(1, Math.ceil(segments)));
      expect(parts.flatMap(({ order }) => [...order])).toEqual([...whole.order]);
      const lists = parts.flatMap(({ runs }) => runs.map(({ list }) => list));
      expect(lists).toEqual(whole.runs.map(({ list }) => list));
      for (const { order, runs } of parts) {
        let end = 0;
        for (const run of runs) {
          expect(run.start).toBe(end);
          expect(run.end - run.start).toBe(rowsOfLists[run.list / 3]);
          end = run.end;
        }
        expect(end).toBe(order.length);
      }
    }),
  );
});

test("parts are of about one size", () => {
  const parts = cutByList(grouped(Array.from({ length: 100 }, () => 10)), 4);
  expect(parts.map(({ order }) => order.length)).toEqual([250, 250, 250, 250]);
});

test("what is little more than one segment stays one", () => {
  expect(cutByList(grouped([5, 5, 5]), 1.2).length).toBe(1);
  expect(cutByList(grouped([5, 5, 5]), 1.5).length).toBe(2);
});
