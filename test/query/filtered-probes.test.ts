/** Which lists a filtered query probes, compared with what their rule says in plain words. */

import { afterAll, describe, expect, test } from "vitest";
import { CoarseQuantizer, type ListSet } from "../../src/engine/lists/coarse-quantizer.js";
import { likelyLists } from "../../src/engine/lists/probe-limits.js";
import { QueryVector } from "../../src/engine/query-vector.js";
import { outlyingDepth, probeMatching } from "../../src/query/filtered-probes.js";
import { addRow, noRows } from "../../src/state/segment/row-bits.js";
import { finish } from "../engine/finish.js";

const opened: { free(): void }[] = [];

afterAll(() => {
  for (const each of opened) each.free();
});

/** Lists with centroids at these points of a line. */
function listsAt(points: readonly number[]): CoarseQuantizer {
  const model = {
    dimension: 2,
    centroids: Float32Array.from(points.flatMap((point) => [point, 0])),
    rotationSeed: 1,
    spreads: new Float32Array(points.length),
    curves: { depths: new Float32Array(), values: new Float32Array() },
    probeLimits: new Float32Array(),
  };
  const quantizer = finish(CoarseQuantizer.open(model, "euclidean"));
  opened.push(quantizer);
  return quantizer;
}

function queryAt(point: number, { rotation }: CoarseQuantizer): QueryVector {
  const query = new QueryVector("euclidean", Float32Array.of(point, 0), rotation);
  opened.push(query);
  return query;
}

function setOf(nLists: number, lists: readonly number[]): ListSet {
  const bits = noRows(nLists);
  for (const list of lists) addRow(bits, list);
  return { bits, count: lists.length };
}

describe("automatic probing", () => {
  const points = Array.from({ length: 20 }, (_, i) => 10 * i);
  const spreads = new Float32Array(20).fill(4);

  /** Limits that tell at which depth they were asked for. */
  const limitsFor = (depth: number) => ({ probes: 3, ratio: 2 * depth, cosine: depth / 1000, epsilon: 2 });

  function probed(
    point: number,
    matchesOf: (list: number) => number,
    {
      share = 0.5,
      probes = 2,
      ratio = 100,
    }: { readonly share?: number; readonly probes?: number; readonly ratio?: number } = {},
  ) {
    const quantizer = listsAt(points);
    const query = queryAt(point, quantizer);
    const matching = setOf(
      20,
      points.map((_, list) => list).filter((list) => matchesOf(list) > 0),
    );
    const found = probeMatching(quantizer, query, {
      unfiltered: { probes, ratio },
      topK: 10,
      spreads,
      concentration: 0.5,
      share,
      matching,
      limitsFor,
      countsOf: (list) => ({ rows: 100, matches: matchesOf(list) }),
    });
    return { found, quantizer, query, matching };
  }

  test("asks for the depth that the share of matches around the query gives", () => {
    // The two nearest lists have 30 and 60 matches of 100 rows each.
    const { found, quantizer, query, matching } = probed(1, (list) =>
      list === 0 ? 30 : list === 1 ? 60 : 10,
    );
    expect(found.ratio).toBeCloseTo((2 * 10) / 0.45, 9);
    expect(found.outlying).toBeUndefined();
    expect(found.probes).toEqual(quantizer.probe(query, 3, { among: matching, limit: found.ratio }));
    expect(found.probes.lists).toEqual([0, 1, 2]);
  });

  test("asks for no less than matches around a match need", () => {
    const { found } = probed(1, () => 90);
    expect(found.ratio).toBeCloseTo((2 * 10) / 0.5, 9);
  });

  test("counts around the query only the lists within the distance ratio", () => {
    // From 4, the second list is 6 away: its ratio is the fourth root of 2 times 36 / 16.
    expect(likelyLists([4, 6], 3)).toBe(2);
    const matchesOf = (list: number) => (list === 0 ? 40 : 50);
    expect(probed(4, matchesOf, { ratio: 3 }).found.ratio).toBeCloseTo((2 * 10) / 0.45, 9);
    expect(likelyLists([4, 6], 2.5)).toBe(1);
    expect(probed(4, matchesOf, { ratio: 2.5 }).found.ratio).toBeCloseTo((2 * 10) / 0.4, 9);
  });

  test("scans lists without a match never, and nearest first", () => {
    const { found } = probed(1, (list) => (list % 2 === 0 ? 80 : 0));
    expect(found.probes.lists).toEqual([0, 2, 4]);
    expect(found.probes.distances).toEqual([1, 19, 39]);
  });

  test("takes a query among fewer matches than around a match as outlying", () => {
    // 0.7 times the concentration, 0.5, is 0.35 of the 200 rows of two lists.
    expect(probed(1, () => 35.1).found.outlying).toBeUndefined();
    const { found, quantizer, query, matching } = probed(1, (list) => (list > 15 ? 0 : 34.9));
    expect(found.outlying).toBeCloseTo(10 / 0.5 / 1000, 9);
    expect(found.ratio).toBe(Infinity);
    expect(found.probes).toEqual(quantizer.probe(query, 16, { among: matching }));
    expect(found.probes.lists.length).toBe(16);
  });

  test("looks for the matches of an outlying query as deep as they are few and fill their lists", () => {
    expect(probed(1, (list) => (list < 2 ? 0 : 50), { share: 0.08 }).found.outlying).toBeCloseTo(0.05, 9);
    expect(outlyingDepth(10, { share: 0.1, concentration: 1 })).toBeCloseTo(100, 9);
    // Evenly spread matches are as deep as those of a query among them.
    expect(outlyingDepth(10, { share: 0.1, concentration: 0.1 })).toBeCloseTo(100, 9);
    expect(outlyingDepth(10, { share: 1, concentration: 1 })).toBe(10);
  });

  test("takes a query twice as far from its list as rows of the list are as outlying", () => {
    expect(probed(-3.99, () => 50).found.outlying).toBeUndefined();
    expect(probed(-4, () => 50).found.outlying).toBeUndefined();
    expect(probed(-4.01, () => 50).found.outlying).toBeCloseTo(0.02, 9);
  });

  test("takes a query among no rows at all as outlying", () => {
    const quantizer = listsAt(points);
    const query = queryAt(0, quantizer);
    const found = probeMatching(quantizer, query, {
      unfiltered: { probes: 1, ratio: 1 },
      topK: 10,
      spreads,
      concentration: 0.5,
      share: 0.5,
      matching: setOf(20, [5]),
      limitsFor,
      countsOf: (list) => (list === 5 ? { rows: 10, matches: 5 } : { rows: 0, matches: 0 }),
    });
    expect(found).toEqual({
      probes: { lists: [5], distances: [50] },
      ratio: Infinity,
      outlying: expect.closeTo(0.02, 9),
    });
  });
});
