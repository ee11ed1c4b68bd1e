/** How far codes may be off in a search. */

import { expect, test } from "vitest";
import { epsilonFor, limitsFor } from "../../src/engine/recall-curves.js";
import { trainModel } from "../../src/engine/training/train.js";
import { sampleOf, uniform } from "./data.js";
import { finish } from "./finish.js";

test("the more recall is declared, the more codes may be off, and never less than 1.8 deviations", () => {
  const d = 32;
  const points = uniform(4000, d, 3);
  const { curves } = finish(trainModel(sampleOf(points, d), 40, 1));
  for (const depth of [1, 10, 300]) {
    const epsilons = [0.8, 0.9, 0.95, 0.98, 0.99].map((recall) =>
      Math.fround(limitsFor(curves, depth, recall).epsilon),
    );
    expect(epsilons).toEqual(epsilons.toSorted((a, b) => a - b));
    expect(epsilons[0]).toBeGreaterThan(1.799);
    expect(epsilons[4]).toBeGreaterThan(epsilons[0]);
    expect(limitsFor(curves, depth, undefined).epsilon).toBeGreaterThan(1.799);
  }
});

test("the nearest neighbor, which codes lose most often, has the larger epsilon", () => {
  for (const loss of [0.05, 0.02, 0.01]) {
    expect(epsilonFor(loss, 1)).toBeGreaterThan(epsilonFor(loss, 10));
    expect(epsilonFor(loss, 1)).toBeGreaterThanOrEqual(epsilonFor(1.5 * loss, 1));
  }
});
