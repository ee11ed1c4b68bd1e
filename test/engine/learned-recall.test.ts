/** What the limits of an index learn from queries: found as declared, for queries whose neighbors lie elsewhere than training saw. */

import { expect, test } from "vitest";
import type { Model } from "../../src/engine/model.js";
import { seededRandom } from "../../src/engine/random.js";
import {
  LearnedRecall,
  type QueryRecall,
  triedDepths,
  triedRecalls,
} from "../../src/query/learned-recall.js";

const model = [{ dimension: 2 } as Model];

/** Queries that lose `times` as many neighbors as they declare, with chance. */
function learned(times: (depth: number) => number, queries: number, seed = 1): LearnedRecall {
  const random = seededRandom(seed);
  const learner = new LearnedRecall(random);
  for (let n = 0; n < queries; n++) {
    // Some queries lose much, most nothing.
    const share = -Math.log(1 - random());
    const result: QueryRecall = triedDepths.map((depth) =>
      triedRecalls.map((recall) => Math.max(0, 1 - share * times(depth) * (1 - recall))),
    );
    learner.add(model, result);
  }
  return learner;
}

test("queries that lose more than they declare get the limits of a larger recall, others of a smaller one", () => {
  for (const times of [0.6, 1, 1.6, 3]) {
    const learner = learned(() => times, 300);
    for (const recall of [0.85, 0.9, 0.95, 0.98, 0.99]) {
      for (const topK of [10, 30, 100, 1000]) {
        const found = 1 - times * (1 - (learner.limitsOf(model, recall, topK) ?? 0));
        // Loss as declared, less the standard error.
        expect((1 - found) / (1 - recall)).toBeLessThan(1.05);
        if (recall > 0.85) expect((1 - found) / (1 - recall)).toBeGreaterThan(0.75);
      }
    }
  }
});

test("automatic probing aims at .95", () => {
  const learner = learned(() => 2, 300);
  expect(learner.limitsOf(model, undefined, 10)).toBe(learner.limitsOf(model, 0.95, 10));
});

test("each depth has limits of its own, and a search between two of them is between", () => {
  const learner = learned((depth) => (depth === 10 ? 2.5 : 1), 300);
  const at = (topK: number) => learner.limitsOf(model, 0.95, topK) ?? 0;
  expect(at(1)).toBe(at(10));
  expect(at(10)).toBeGreaterThan(at(30));
  expect(at(30)).toBeGreaterThan(at(100));
  expect(at(1000)).toBe(at(100));
  // Fewer than ten never get less than they declare.
  expect(learned(() => 0.4, 300).limitsOf(model, 0.95, 3)).toBe(0.95);
});

test("whatever queries find, limits stay within those of twice the loss and of the last that is tried", () => {
  for (const times of [0, 100]) {
    const learner = learned(() => times, 300);
    for (const recall of [0.8, 0.9, 0.99, 0.999]) {
      const loss = 1 - (learner.limitsOf(model, recall, 10) ?? 0);
      expect(loss).toBeGreaterThanOrEqual(1e-5 - 1e-9);
      expect(loss / (1 - recall)).toBeLessThanOrEqual(2 + 1e-9);
    }
  }
});

test("a hundred queries count, the last three hundred, and those of one model", () => {
  const learner = learned(() => 3, 99);
  const measured = (of: readonly Model[]) => learner.measured(of, triedRecalls);
  expect(learner.limitsOf(model, 0.9, 10)).toBe(0.9);
  expect(measured(model)).toEqual([]);
  const all = triedDepths.map(() => triedRecalls.map(() => 1));
  learner.add(model, all);
  expect(learner.limitsOf(model, 0.9, 10)).toBeGreaterThan(0.9);
  const [{ queries, points }] = measured(model);
  expect(queries).toBe(100);
  expect(points.map(({ recall }) => recall)).toEqual(triedRecalls);
  for (const { recall, found } of points.slice(0, 4)) expect(Math.abs(found - recall)).toBeLessThan(0.03);
  for (let n = 0; n < 300; n++) learner.add(model, all);
  const perfect = triedRecalls.map((recall) => ({
    recall,
    found: 1,
    high: 1,
    low: expect.closeTo(3000 / (3000 + 1.96 ** 2), 6) as number,
  }));
  expect(measured(model)[0]).toEqual({ topK: 10, queries: 300, points: perfect });
  const other = [...model, { dimension: 2 } as Model];
  expect(learner.limitsOf(other, 0.9, 10)).toBe(0.9);
  expect(measured(other)).toEqual([]);
  learner.add(other, all);
  expect(learner.limitsOf(model, 0.9, 10)).toBe(0.9);
});

test("three hundred queries are wanted, then one of fifty, and all of a new model", () => {
  const learner = learned(() => 1, 299);
  expect(learner.isWanted(model)).toBe(true);
  learner.add(
    model,
    triedDepths.map(() => triedRecalls.map(() => 1)),
  );
  const wanted = Array.from({ length: 10_000 }, () => learner.isWanted(model)).filter(Boolean).length;
  expect(wanted).toBeGreaterThan(140);
  expect(wanted).toBeLessThan(260);
  expect(learner.isWanted([{ dimension: 2 } as Model])).toBe(true);
});

test("the interval of the measured recall has the true mean about as often as it claims", () => {
  const samples = 200;
  const coverage = (times: number) => {
    let within = 0;
    for (let seed = 1; seed <= samples; seed++) {
      const learner = learned(() => times, 200, seed);
      const [{ low, high, found }] = learner.measured(model, [0.9])[0].points;
      expect(low).toBeLessThan(found);
      expect(high).toBeGreaterThan(found);
      const truth = 1 - times * (1 - (learner.limitsOf(model, 0.9, 10) ?? 0));
      if (low <= truth && truth <= high) within++;
    }
    return within / samples;
  };
  // Queries that lose so little that the limits are those of twice the loss, whatever the sample.
  expect(coverage(0.4)).toBeGreaterThan(0.92);
  // Limits that the same sample chose.
  expect(coverage(0.6)).toBeGreaterThan(0.85);
});

test("an interval is wider the fewer queries there are, and has a width if all of them found everything", () => {
  const widthOf = (queries: number, times: number) => {
    const [{ points }] = learned(() => times, queries).measured(model, [0.95]);
    return points[0].high - points[0].low;
  };
  expect(widthOf(100, 2)).toBeGreaterThan(1.3 * widthOf(300, 2));
  const [{ points }] = learned(() => 0, 100).measured(model, [0.95]);
  expect(points[0]).toMatchObject({ found: 1, high: 1 });
  expect(points[0].low).toBeCloseTo(1000 / (1000 + 1.96 ** 2), 6);
});
