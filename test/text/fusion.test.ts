import fc from "fast-check";
import { expect, test } from "vitest";
import { type Fusion, fuse, type Ranking, type VectorKind } from "../../src/text/fusion.js";

const rankings = fc
  .uniqueArray(fc.record({ row: fc.nat(30), score: fc.integer({ min: -100, max: 100 }) }), {
    selector: ({ row }) => row,
    maxLength: 20,
  })
  .map((found) => found.toSorted((x, y) => y.score - x.score))
  .map((found): Ranking => ({ rows: found.map(({ row }) => row), scores: found.map(({ score }) => score) }));
const alphas = fc.double({ min: 0, max: 1, noNaN: true });
const fusions: fc.Arbitrary<Fusion> = fc.oneof(
  fc.constant({ method: "automatic" as const }),
  fc.record({ method: fc.constant("rank" as const), k: fc.nat(100), alpha: alphas }),
  fc.record({ method: fc.constant("scores" as const), alpha: alphas }),
);
const kinds = fc.constantFrom<VectorKind>("unknown", "meaning");
const none: Ranking = { rows: [], scores: [] };

test("the rows of both sides are there once each, by descending finite scores from 0 to 1", () => {
  fc.assert(
    fc.property(rankings, rankings, fusions, kinds, (words, vectors, fusion, kind) => {
      const found = fuse(words, vectors, fusion, kind);
      const inOrder = [...new Set([...words.rows, ...vectors.rows])];
      expect(found.map(({ row }) => row).sort()).toEqual(inOrder.toSorted());
      found.forEach(({ row, score }, i) => {
        expect(score).toBeGreaterThanOrEqual(0);
        expect(score).toBeLessThanOrEqual(1 + 1e-9);
        const before = found[i - 1];
        if (before === undefined) return;
        expect(
          before.score > score ||
            (before.score === score && inOrder.indexOf(before.row) < inOrder.indexOf(row)),
        ).toBe(true);
      });
    }),
  );
});

test("a row that is better on both sides is before the other", () => {
  fc.assert(
    fc.property(rankings, rankings, fusions, kinds, (words, vectors, fusion, kind) => {
      const sums = new Map(fuse(words, vectors, fusion, kind).map(({ row, score }) => [row, score]));
      for (const [i, row] of words.rows.entries()) {
        for (const other of words.rows.slice(i + 1)) {
          const [here, there] = [vectors.rows.indexOf(row), vectors.rows.indexOf(other)];
          if (here < 0 || there < here) continue;
          expect(sums.get(row)).toBeGreaterThanOrEqual((sums.get(other) ?? 0) - 1e-9);
        }
      }
    }),
  );
});

test("a side that found nothing leaves the other's order as it is", () => {
  fc.assert(
    fc.property(rankings, kinds, (ranking, kind) => {
      for (const method of ["automatic", "rank", "scores"] as const) {
        expect(fuse(ranking, none, { method }, kind).map(({ row }) => row)).toEqual(ranking.rows);
        expect(fuse(none, ranking, { method }, kind).map(({ row }) => row)).toEqual(ranking.rows);
      }
    }),
  );
});

test("reciprocal ranks are those of the paper", () => {
  const words = { rows: [1, 2], scores: [9, 8] };
  const vectors = { rows: [2, 3], scores: [-1, -2] };
  expect(fuse(words, vectors, { method: "rank" })).toEqual([
    { row: 2, score: 0.5 / 62 + 0.5 / 61 },
    { row: 1, score: 0.5 / 61 },
    { row: 3, score: 0.5 / 62 },
  ]);
});

test("vectors of unknown worth count nothing where they agree with no word, and half where they agree in all", () => {
  const rows = Array.from({ length: 10 }, (_, i) => i);
  const scores = rows.map((row) => 10 - row);
  const apart = { rows: rows.map((row) => row + 100), scores };
  const best = (vectors: Ranking) => fuse({ rows, scores }, vectors, { method: "automatic" });
  expect(
    best(apart)
      .slice(0, 9)
      .map(({ row }) => row),
  ).toEqual(rows.slice(0, 9));
  expect(best({ rows, scores })[0]).toEqual({ row: 0, score: 1 });
});
