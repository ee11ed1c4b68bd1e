import { expect, describe, test } from "vitest";
import { metrics, type Metric } from "../../src/engine/config.js";
import { flatCodec, flatScanner } from "../../src/engine/flat.js";
import { allocatedBytes } from "../../src/engine/kernels/memory.js";
import { distanceOf } from "../../src/engine/metric.js";
import { clustered } from "./data.js";
import { finish } from "./finish.js";
import { dot, rowsOf, squaredL2 } from "./oracle.js";

function exactScore(metric: Metric, query: Float32Array, row: Float32Array): number {
  if (metric !== "cosine") return squaredL2(query, row);
  const scale = Math.sqrt(dot(query, query)) * Math.sqrt(dot(row, row));
  return scale === 0 ? 1 : 1 - dot(query, row) / scale;
}

/** Rows that pass the threshold, each with its score. */
function scan(metric: Metric, d: number, query: Float32Array, vectors: Float32Array, threshold: number) {
  const codec = flatCodec(metric, d, "none");
  const codes = codec.load(finish(codec.encode(vectors, 0)), vectors.length / d);
  const scanner = flatScanner(metric, d, query, undefined);
  const rows: number[] = [];
  const scores: number[] = [];
  const offer = (row: number, score: number) => {
    rows.push(row);
    scores.push(score);
  };
  scanner.scan(codes, undefined, { threshold, vacancies: 0, offer });
  scanner.free();
  codes.free();
  return { rows, scores };
}

describe.each(metrics)("scanning exact codes under %s", (metric) => {
  test.each([1, 2, 7, 33, 128, 770])("finds every row within the threshold, d = %i", (d) => {
    const vectors = clustered(301, d, 9, d);
    const rows = rowsOf(vectors, d);
    const query = rows[17].map((value, i) => value + 0.01 * (i % 3));
    const exact = rows.map((row) => exactScore(metric, query, row));
    for (const rank of [0, 1, 30, 300]) {
      const threshold = exact.toSorted((a, b) => a - b)[rank];
      const found = scan(metric, d, query, vectors, threshold + 1e-12);
      const expected = exact.flatMap((score, row) => (score <= threshold ? [row] : []));
      expect(found.rows).toEqual(expect.arrayContaining(expected));
      // Beside those, only rows that float32 cannot tell from the threshold.
      for (const row of found.rows) expect(exact[row]).toBeLessThanOrEqual(threshold * 1.001 + 1e-3);
      found.rows.forEach((row, i) => expect(found.scores[i]).toBeCloseTo(exact[row], 10));
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
      const { rows, scores } = scan(metric, d, row, vectors, Infinity);
      expect(rows).toEqual(scales.map((_, i) => i));
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
      const { scores } = scan(metric, d, query, vectors, Infinity);
      expect(Math.min(...scores)).toBeLessThan(1e-15);
      expect(Math.min(...scores)).toBeGreaterThanOrEqual(0);
    }
  });
});

test("cosine counts a zero vector as orthogonal to everything", () => {
  const zero = new Float32Array(3);
  expect(scan("cosine", 3, zero, Float32Array.of(1, 2, 3, 0, 0, 0), Infinity).scores).toEqual([1, 1]);
  expect(scan("cosine", 3, Float32Array.of(1, 0, 0), zero, Infinity).scores).toEqual([1]);
});

test("decoding gives the vectors back bit for bit", () => {
  const codec = flatCodec("euclidean", 4, "none");
  const vectors = Float32Array.of(0.1, -0, 1e-45, 3.4e38, 7, 8, 9, 10);
  expect(Buffer.from(codec.decode(finish(codec.encode(vectors, 0)), 2).buffer)).toEqual(
    Buffer.from(vectors.buffer),
  );
});

test("scanning gives back all the kernel memory it took", () => {
  const before = allocatedBytes();
  scan("cosine", 40, clustered(1, 40, 1, 1), clustered(500, 40, 4, 1), 0.5);
  expect(allocatedBytes()).toBe(before);
});
