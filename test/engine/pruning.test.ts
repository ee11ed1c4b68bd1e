/** What searches lose because codes rule rows out, as training expects it. */

import { describe, expect, test } from "vitest";
import { marginsOf } from "../../src/engine/margins.js";
import {
  lostByCode,
  outlyingEpsilon,
  outlyingEpsilonAt,
  outlyingPruning,
  uniformPruning,
} from "../../src/engine/pruning.js";
import { seededRandom } from "../../src/engine/random.js";
import { learnRecallCurves, limitsFor } from "../../src/engine/recall-curves.js";
import { trainModel } from "../../src/engine/train.js";
import { sampleOf, uniform } from "./data.js";
import { finish } from "./finish.js";

test("a code loses a neighbour as often as a normal error is larger than epsilon and the neighbour's margin", () => {
  expect(lostByCode(0, 1.6449)).toBeCloseTo(0.05, 5);
  expect(lostByCode(1, 1.3263)).toBeCloseTo(0.01, 5);
  expect(lostByCode(-1, 3.3263)).toBeCloseTo(0.01, 5);
  expect(lostByCode(Infinity, 1)).toBe(0);
});

test("the margin of a row is that within the rows compared before it: in nearer lists, or earlier in its own", () => {
  const coded = { dimension: 64, lengths: undefined, residuals: Float32Array.of(4, 4, 0, 4, 0, 1) };
  // Row 3 lies in the nearest list, rows 5 and 1 in the next one, rows 2 and 4 in the last one.
  const nearest = { rows: Uint32Array.of(5, 2, 1, 3, 4), lists: [1, 2, 1, 0, 2], ranks: [1, 2, 1, 0, 2] };
  const query = {
    toRows: Float32Array.of(0, 3, 2, 4, 5, 1),
    toLists: Float32Array.of(9, 9, 9),
    square: 0,
  };
  const deviation = Math.sqrt((4 * (Math.PI / 2 - 1) * 9) / 64);
  // Rows 1 and 3 come before row 5, and are at 3 and 4. Row 2 is at its centroid, and so its code is exact.
  expect(marginsOf(nearest, 1, query, coded)).toEqual([2 / deviation]);
  expect(marginsOf(nearest, 2, query, coded)).toEqual([3 / deviation, Infinity]);
  expect(marginsOf(nearest, 3, query, coded)).toEqual([Infinity, Infinity, Infinity]);
});

test("the more recall is declared, the more codes may be off, and never less than 1.6 deviations", () => {
  const d = 32;
  const points = uniform(4000, d, 3);
  const { curves } = finish(trainModel(sampleOf(points, d), 40, 1));
  for (const depth of [1, 10, 300]) {
    const epsilons = [0.8, 0.9, 0.95, 0.98, 0.99].map((recall) =>
      Math.fround(limitsFor(curves, depth, recall).epsilon),
    );
    expect(epsilons).toEqual(epsilons.toSorted((a, b) => a - b));
    expect(epsilons[0]).toBeGreaterThan(1.599);
    expect(epsilons[4] - epsilons[0]).toBeGreaterThan(0.3);
    expect(limitsFor(curves, depth, undefined).epsilon).toBeGreaterThan(1.599);
  }
});

test("what codes lose is made up for by lists, but not by those of outlying queries, whose codes are as good as ever", () => {
  const random = seededRandom(5);
  const n = 4000;
  const some = () => Array.from({ length: n }, random);
  const observed = {
    ranks: some().map((x) => Math.floor(100 * x ** 4)),
    ratios: some(),
    cosines: some(),
    farCosines: some(),
  };
  const curvesWith = (margins: number[]) => finish(learnRecallCurves([1], [{ ...observed, margins }], 1));
  const [exact, coded] = [curvesWith([]), curvesWith(Array.from({ length: n }, () => 0.5))];
  for (const recall of [undefined, 0.85, 0.9, 0.95]) {
    const [without, within] = [limitsFor(exact, 1, recall), limitsFor(coded, 1, recall)];
    expect(within.ratio).toBeGreaterThan(without.ratio + 0.005);
    expect(Math.abs(within.cosine - without.cosine)).toBeLessThan(0.01);
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

  test("the rows that are just scored are neighbours with the same probability in each list", () => {
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
