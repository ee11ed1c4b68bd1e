import { expect, describe, test } from "vitest";
import { metrics, type Metric } from "../../src/engine/config.js";
import { flatCodec } from "../../src/engine/codes/flat.js";
import { allocate, allocatedBytes, free, wordsAt } from "../../src/engine/kernels/memory.js";
import { distanceOf } from "../../src/engine/metric.js";
import { QueryVector } from "../../src/engine/query-vector.js";
import { flatScanner } from "../../src/engine/scan/scanner.js";
import { Search } from "../../src/engine/scan/scan-blocks.js";
import { clustered } from "./data.js";
import { joined } from "./finish.js";
import { dot, rowsOf, squaredL2 } from "./oracle.js";

function exactScore(metric: Metric, query: Float32Array, row: Float32Array): number {
  if (metric !== "cosine") return squaredL2(query, row);
  const scale = Math.sqrt(dot(query, query)) * Math.sqrt(dot(row, row));
  return scale === 0 ? 1 : 1 - dot(query, row) / scale;
}

/** The k nearest rows, nearest first, each with its score. `hidden` are positions that a newer id table speaks of. */
function scan(metric: Metric, query: Float32Array, vectors: Float32Array, k: number, options: Options = {}) {
  const d = query.length;
  const n = vectors.length / d;
  const codec = flatCodec(metric, d, "none");
  const asking = new QueryVector(metric, query, undefined);
  const search = new Search(asking, flatScanner(asking), k);
  const fingerprints = allocate(16 * n);
  const codes = codec.load({ codes: joined(codec.encode(vectors, 0)), n }, fingerprints);
  // Equal scores are ordered by fingerprint, so by row here.
  wordsAt(fingerprints, 4 * n).fill(0);
  for (let row = 0; row < n; row++) wordsAt(fingerprints, 4 * n)[4 * row] = row;
  const bits = allocate(4 * Math.ceil((n + firstBit) / 32));
  const accepted = wordsAt(bits, Math.ceil((n + firstBit) / 32)).fill(0);
  options.accepted?.forEach((row) => {
    accepted[(row + firstBit) >>> 5] |= 1 << ((row + firstBit) & 31);
  });
  const hidden = options.hidden ?? [];
  const entries = allocate(20 * Math.max(1, hidden.length));
  hidden.forEach((row, i) => wordsAt(entries + 20 * i, 5).set([row, 0, 0, 0, 7]));
  search.shadowBy([{ entries, count: hidden.length }]);
  search.scan([
    {
      block: 5,
      codes,
      distance: undefined,
      pruned: false,
      newerSegments: 1,
      accepted: options.accepted ? bits : 0,
      firstBit,
    },
  ]);
  const found = search.finish();
  search.free();
  asking.free();
  codes.free();
  for (const offset of [fingerprints, bits, entries]) free(offset);
  return { rows: found.map(({ row }) => row), scores: found.map(({ score }) => score) };
}

interface Options {
  readonly accepted?: readonly number[];
  readonly hidden?: readonly number[];
}

const firstBit = 37;

describe.each(metrics)("scanning exact codes under %s", (metric) => {
  test.each([1, 2, 7, 33, 128, 770])("finds the nearest rows in their order, d = %i", (d) => {
    const vectors = clustered(301, d, 9, d);
    const rows = rowsOf(vectors, d);
    const query = rows[17].map((value, i) => value + 0.01 * (i % 3));
    const exact = rows.map((row) => exactScore(metric, query, row));
    const odd = rows.flatMap((_, row) => (row % 2 === 1 ? [row] : []));
    const third = rows.flatMap((_, row) => (row % 3 === 0 ? [row] : []));
    const cases: [Options, (row: number) => boolean][] = [
      [{}, () => true],
      [{ accepted: odd }, (row) => row % 2 === 1],
      [{ hidden: third }, (row) => row % 3 !== 0],
      [{ accepted: odd, hidden: third }, (row) => row % 2 === 1 && row % 3 !== 0],
      [{ accepted: [] }, () => false],
    ];
    for (const [options, isWanted] of cases) {
      const wanted = exact.flatMap((score, row) => (isWanted(row) ? [{ score, row }] : []));
      wanted.sort((a, b) => a.score - b.score);
      for (const k of [1, 2, 31, 301]) {
        const found = scan(metric, query, vectors, k, options);
        expect(found.rows.length).toBe(Math.min(k, wanted.length));
        // The oracle sums in another order: scores that differ by its rounding may change places.
        found.scores.forEach((score, i) => expect(score).toBeCloseTo(wanted[i].score, 10));
        found.rows.forEach((row, i) => {
          expect(isWanted(row)).toBe(true);
          expect(found.scores[i]).toBeCloseTo(exact[row], 10);
        });
      }
    }
  });

  test("stays exact where float32 would overflow, underflow or cancel", () => {
    const d = 5;
    const scales = [2.5e38, 1e30, 1e16, 1, 1e-16, 1e-30, 1e-44, 0];
    const shape = [1, -0.5, 0.25, 0.9, -0.75];
    const vectors = Float32Array.from(
      scales.flatMap((scale) => shape.map((value, i) => value * scale * (1 + i / 9))),
    );
    for (const row of rowsOf(vectors, d)) {
      const exact = rowsOf(vectors, d).map((other) => exactScore(metric, row, other));
      const found = scan(metric, row, vectors, scales.length);
      expect(found.rows.toSorted((a, b) => a - b)).toEqual(scales.map((_, i) => i));
      const scores = scales.map((_, i) => found.scores[found.rows.indexOf(i)]);
      scores.forEach((score, i) => {
        expect(Number.isFinite(distanceOf(metric, score))).toBe(true);
        expect(Math.abs(score - exact[i])).toBeLessThanOrEqual(1e-12 * Math.max(1, exact[i]));
      });
    }
  });

  test("a vector is at distance 0 from itself, and nothing is nearer", () => {
    const d = 96;
    const vectors = clustered(50, d, 5, 3);
    for (const query of rowsOf(vectors, d)) {
      const { scores } = scan(metric, query, vectors, 50);
      expect(Math.min(...scores)).toBeLessThan(1e-15);
      expect(Math.min(...scores)).toBeGreaterThanOrEqual(0);
    }
  });
});

test("cosine counts a zero vector as orthogonal to everything", () => {
  const zero = new Float32Array(3);
  expect(scan("cosine", zero, Float32Array.of(1, 2, 3, 0, 0, 0), 2).scores).toEqual([1, 1]);
  expect(scan("cosine", Float32Array.of(1, 0, 0), zero, 1).scores).toEqual([1]);
});

test("decoding gives the vectors back bit for bit", () => {
  const codec = flatCodec("euclidean", 4, "none");
  const vectors = Float32Array.of(0.1, -0, 1e-45, 3.4e38, 7, 8, 9, 10);
  expect(Buffer.from(codec.decode(joined(codec.encode(vectors, 0)), 2).buffer)).toEqual(
    Buffer.from(vectors.buffer),
  );
});

test("scanning gives back all the kernel memory it took", () => {
  const before = allocatedBytes();
  scan("cosine", clustered(1, 40, 1, 1), clustered(500, 40, 4, 1), 9);
  expect(allocatedBytes()).toBe(before);
});
