/** How far codes may be off in a search. */

import { describe, expect, test } from "vitest";
import {
  epsilonFor,
  outlyingEpsilon,
  outlyingEpsilonAt,
  outlyingPruning,
  uniformPruning,
} from "../../src/engine/pruning.js";
import { limitsFor } from "../../src/engine/recall-curves.js";
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

describe("of an outlying query", () => {
  const rotated = 256;
  /** Of the cosines of rows in random directions, and of the errors of their codes. */
  const deviation = 1 / Math.sqrt(rotated);
  const codeDeviation = deviation * Math.sqrt(Math.PI / 2 - 1);

  test("codes may be off by less where rows need larger cosines, and nowhere by nothing", () => {
    for (const cosine of [0.02, 0.1, 0.2, 0.4, 0.9]) {
      for (const dimension of [8, 64, 256, 1024]) {
        const pruning = outlyingPruning(cosine, dimension);
        const at = (share: number) => outlyingEpsilonAt(share * cosine, pruning);
        expect([at(-1), at(0), at(0.6)]).toEqual([outlyingEpsilon, outlyingEpsilon, outlyingEpsilon]);
        expect(outlyingEpsilonAt(-1, pruning)).toBe(outlyingEpsilon);
        expect(at(0.8)).toBeLessThan(outlyingEpsilon);
        expect(at(1)).toBeLessThan(at(0.8));
        expect(at(1)).toBeGreaterThan(0.5);
      }
    }
  });

  test("the rows that are just scored are neighbors with the same probability in each list", () => {
    const pruning = outlyingPruning(3.3 * deviation, rotated);
    const variances = codeDeviation ** 2 / deviation ** 2;
    const deviationsBelow = [0.6, 0.7, 0.8, 0.9, 1].map((share) => {
      const needed = share * 3.3 * deviation;
      // The least cosine that a code may show: given it, the row's cosine is normal around a part of it.
      const shown = needed - outlyingEpsilonAt(needed, pruning) * codeDeviation;
      const mean = shown / (1 + variances);
      return (needed - mean) / (deviation * Math.sqrt(variances / (1 + variances)));
    });
    for (const each of deviationsBelow) expect(each).toBeCloseTo(deviationsBelow[0], 9);
  });

  test("an unbounded cosine, one that nothing needs, and a declared recall leave all lists the same epsilon", () => {
    const epsilons = [
      outlyingPruning(Infinity, rotated),
      outlyingPruning(-1, rotated),
      uniformPruning(outlyingEpsilon),
    ].flatMap((pruning) => [-1, 0, 0.5].map((needed) => outlyingEpsilonAt(needed, pruning)));
    expect(new Set(epsilons.slice(0, 4))).toEqual(new Set([outlyingEpsilon]));
    expect(new Set(epsilons.slice(6))).toEqual(new Set([outlyingEpsilon]));
  });
});
