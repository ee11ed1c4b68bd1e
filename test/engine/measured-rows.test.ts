/** What limits are measured to lose, compared with what they lose of an index with many rows per list. */

import { describe, expect, test } from "vitest";
import { CoarseQuantizer } from "../../src/engine/coarse-quantizer.js";
import { allocate, floatsAt, free } from "../../src/engine/kernels/memory.js";
import { type ObservedNeighbours, trendOf } from "../../src/engine/lost-neighbours.js";
import { furtherRows, measuredRows } from "../../src/engine/measured-rows.js";
import type { Model } from "../../src/engine/model.js";
import { distanceRatio } from "../../src/engine/probe-limits.js";
import { shuffled, seededRandom } from "../../src/engine/random.js";
import { limitsFor } from "../../src/engine/recall-curves.js";
import { trainModel } from "../../src/engine/train.js";
import { clustered, sampleOf, uniform } from "./data.js";
import { finish } from "./finish.js";
import { rowsOf, squaredL2 } from "./oracle.js";

const d = 16;
const rows = 40_000;
const nLists = 60;
const learned = 40 * nLists;
const depths = [1, 10, 100];

interface Lost {
  readonly depth: number;
  readonly recall: number;
  readonly found: number;
}

/** The share of neighbours in the lists that a model's limits name. */
function foundBy(model: Model, all: Float32Array, queries: readonly Float32Array[]): Lost[] {
  const quantizer = finish(CoarseQuantizer.open(model, "euclidean"));
  const lists = finish(quantizer.assignAll(rows, (first, n) => all.subarray(first * d, (first + n) * d)));
  quantizer.free();
  const centroids = rowsOf(model.centroids, d);
  const points = rowsOf(all, d);
  const neighbours = queries.flatMap((query) => {
    const squares = Float64Array.from(points, (point) => squaredL2(point, query));
    const bound = squares.toSorted()[Math.max(...depths) - 1];
    const nearest = [...squares.keys()].filter((row) => squares[row] <= bound);
    nearest.sort((a, b) => squares[a] - squares[b]);
    const toLists = centroids.map((centroid) => squaredL2(centroid, query));
    const sorted = toLists.toSorted((a, b) => a - b);
    return nearest.map((row, i) => {
      const rank = sorted.indexOf(toLists[lists[row]]);
      return { depth: i + 1, rank, ratio: distanceRatio(rank, sorted[rank], sorted[0]) };
    });
  });
  return depths.flatMap((depth) =>
    [0.8, 0.9, 0.95].map((recall) => {
      const limits = limitsFor(model.curves, depth, recall);
      const down = neighbours.filter((neighbour) => neighbour.depth <= depth);
      const found = down.filter(({ rank, ratio }) => rank < limits.probes && ratio <= limits.ratio);
      return { depth, recall, found: found.length / down.length };
    }),
  );
}

describe("of an index with 17 times the rows that lists are learned from", () => {
  const further = furtherRows(learned, rows, d);
  const sets = {
    uniform: uniform(rows + 300, d, 3),
    clustered: clustered(rows + 300, d, 30, 3),
  };

  test.each(Object.entries(sets))(
    "limits find what is declared in %s vectors, and little more of ten neighbours",
    (_, drawn) => {
      const all = drawn.subarray(0, rows * d);
      const points = all.subarray(0, (learned + further) * d);
      const model = finish(trainModel({ ...sampleOf(points, d), rows, further }, nLists, 1));
      // Neighbours nearer than any that were measured take no more.
      const ratioAt = (depth: number) => limitsFor(model.curves, depth, 0.9).ratio;
      expect(ratioAt(1)).toBeLessThanOrEqual(ratioAt(rows / learned));
      for (const { depth, recall, found } of foundBy(model, all, rowsOf(drawn.subarray(rows * d), d))) {
        const measured = `depth ${depth}: ${found} of ${recall}`;
        expect(found, measured).toBeGreaterThanOrEqual(recall - 0.01);
        if (depth === 10) expect(found, measured).toBeLessThanOrEqual(recall + 0.06);
      }
    },
  );
});

test("a sample has as many further rows as make what is measured as large as what is learned from, up to 128 MiB", () => {
  expect(furtherRows(1000, 1000, d)).toBe(0);
  expect(furtherRows(1000, 1500, d)).toBe(333);
  expect(furtherRows(1000, 100_000, d)).toBe(990);
  expect(furtherRows(40_000, 1_000_000, 4096)).toBe(8192);
});

test.each([
  [1500, 333, 599],
  [10_000, 900, 90],
  // Fewer further rows than there could be.
  [10_000, 90, 9],
])("of %i rows and %i further ones, %i that k-means saw are measured", (all, further, kept) => {
  const [seen, unseen] = [900, 100];
  const points = uniform(seen + further + unseen, 2, 1);
  const at = allocate(4 * points.length);
  floatsAt(at, points.length).set(points);
  const centroids = Float32Array.of(0.5, 0.5, -0.5, -0.5);
  const nearest = (row: Float32Array) =>
    squaredL2(row, centroids.subarray(0, 2)) <= squaredL2(row, centroids.subarray(2)) ? 0 : 1;
  const expected = rowsOf(points, 2).map(nearest);
  const held = { at, n: points.length / 2, dimension: 2, areDirections: false };
  const lists = Uint32Array.from(expected.slice(0, seen));
  const measured = finish(
    measuredRows(
      held,
      lists,
      { dimension: 2, centroids, rotationSeed: 1 },
      { seen, further, unseen, rows: all },
    ),
  );
  free(at);
  expect(measured.lists).toHaveLength(kept + further);
  expect(measured.rows.n).toBe(kept + further + unseen);
  expect(measured.rows.at).toBe(at + 8 * (seen - kept));
  expect([...measured.lists]).toEqual(expected.slice(seen - kept, seen + further));
});

test("shuffled positions are all positions", () => {
  const order = shuffled(1000, seededRandom(1));
  expect(order.toSorted()).toEqual(Uint32Array.from({ length: 1000 }, (_, i) => i));
  expect(order.filter((position, i) => position === i).length).toBeLessThan(10);
});

describe("of neighbours nearer than any that were observed", () => {
  /** Neighbours of which these shares are in the second list. */
  const observedOf = (shares: readonly number[]): ObservedNeighbours[] =>
    shares.map((share, i) => {
      const n = 1000 * 3 ** i;
      const ratios = Array.from({ length: n }, (_, neighbour) => (neighbour < share * n ? 2 : 1));
      return { ratios, ranks: ratios.map((ratio) => ratio - 1), cosines: [], farCosines: [], margins: [] };
    });
  const limits = { probes: 1, ratio: 1 };

  test("limits lose as many as of others, if the depth does not matter", () => {
    const trend = trendOf(observedOf([0.2, 0.2, 0.2]), [20, 60, 200]);
    expect(trend(limits, 20)).toBeCloseTo(0.2, 3);
    expect(trend(limits, 1)).toBeCloseTo(0.2, 3);
  });

  test("limits lose no more than of others, if fewer of those are lost that are farther", () => {
    const trend = trendOf(observedOf([0.2, 0.18, 0.16]), [20, 60, 200]);
    expect(trend(limits, 1)).toBe(trend(limits, 20));
  });

  test("limits lose fewer, by half the power of the depth by which they lose others", () => {
    const trend = trendOf(observedOf([0.1, 0.2, 0.4]), [10, 40, 160]);
    expect(trend(limits, 10)).toBeCloseTo(0.1, 3);
    expect(trend(limits, 40)).toBeCloseTo(0.2, 3);
    expect(trend(limits, 1)).toBeCloseTo(0.1 * 10 ** -0.25, 3);
  });

  test("limits are expected to lose some, if none of the others were lost", () => {
    const trend = trendOf(observedOf([0, 0, 0]), [20, 60, 200]);
    expect(trend(limits, 1)).toBeGreaterThan(0);
    expect(trend(limits, 1)).toBeLessThan(0.001);
  });
});
