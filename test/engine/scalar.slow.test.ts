/** Vectors of float16 and int8: what they are rounded to, and searches among them. */

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { dimensionMax, metrics, type Metric, type ScalarPrecision } from "../../src/engine/config.js";
import { flatCodec } from "../../src/engine/codes/flat.js";
import { allocate, allocatedBytes, free } from "../../src/engine/kernels/memory.js";
import { roundVectors, scalarCodec } from "../../src/engine/codes/scalar.js";
import { clustered } from "./data.js";
import { joined } from "./finish.js";
import { dot, rowsOf, squaredL2 } from "./oracle.js";
import { scan } from "./scan.js";

const precisions = ["float16", "int8"] as const;
const largestFloat32 = 3.4028234663852886e38;
const smallestFloat32 = 2 ** -149;

function rounded(vectors: Float32Array, precision: ScalarPrecision, d: number): Float32Array {
  const copy = vectors.slice();
  roundVectors(copy, precision, d);
  return copy;
}

const bitsOf = (vectors: Float32Array) => [
  ...new Uint32Array(vectors.buffer, vectors.byteOffset, vectors.length),
];

/** A vector whose components are as large as `magnitude`, or many orders smaller. */
const oddVector = fc
  .record({
    magnitude: fc.constantFrom(
      largestFloat32,
      1e30,
      1e15,
      65504,
      1,
      1e-7,
      1e-20,
      1e-33,
      1e-38,
      1e-43,
      smallestFloat32,
    ),
    parts: fc.array(
      fc.oneof(
        fc.double({ min: -1, max: 1, noNaN: true }),
        fc.constantFrom(0, -0, 1, -1, 0.5, 1 / 127, 2 ** -14, 2 ** -24, 2 ** -40, 1e-30),
      ),
      { minLength: 1, maxLength: 40 },
    ),
  })
  .map(({ magnitude, parts }) => Float32Array.from(parts, (part) => part * magnitude));

describe.each(precisions)("vectors of %s", (precision) => {
  test("are rounded once: rounded again, they and their codes stay bit for bit", () => {
    fc.assert(
      fc.property(oddVector, (vector) => {
        const d = vector.length;
        const once = rounded(vector, precision, d);
        expect(once.every(Number.isFinite)).toBe(true);
        expect(bitsOf(rounded(once, precision, d))).toEqual(bitsOf(once));
        const codec = scalarCodec({ metric: "euclidean", precision, dimension: d }, "none");
        const codes = joined(codec.encode(vector, 0));
        expect(bitsOf(codec.decode(codes, 1))).toEqual(bitsOf(once));
        expect(joined(codec.encode(once, 0))).toEqual(codes);
      }),
      { numRuns: 2000 },
    );
  });

  test("differ from what was stored by no more than their precision", () => {
    fc.assert(
      fc.property(oddVector, (vector) => {
        const largest = Math.max(...vector.map(Math.abs));
        rounded(vector, precision, vector.length).forEach((value, i) => {
          const bound =
            precision === "int8"
              ? Math.max(largest / (largest < 1e-30 ? 127 : 254), smallestFloat32)
              : Math.max(Math.abs(vector[i]) * 2 ** -11, largest * 2 ** -39, smallestFloat32 / 2);
          // Beyond the largest float16 times a scale, which is 2^-11 below the largest float32, there is no number to round to.
          const slack = precision === "float16" && largest > 3.4e38 ? 2 : 1 + 2 ** -10;
          expect(Math.abs(value - vector[i])).toBeLessThanOrEqual(bound * slack);
        });
      }),
      { numRuns: 2000 },
    );
  });

  test("keep zeros, constants, and one component", () => {
    expect(rounded(new Float32Array(5), precision, 5)).toEqual(new Float32Array(5));
    const constant = rounded(new Float32Array(6).fill(0.1), precision, 6);
    expect(new Set(constant).size).toBe(1);
    expect(constant[0]).toBeCloseTo(0.1, 4);
    expect(rounded(Float32Array.of(2), precision, 1)[0]).toBeCloseTo(2, 3);
  });
});

test("numbers that are float16 stay as they are, and so do multiples of a scale in int8", () => {
  const halves = Float32Array.of(0, 1, -2, 0.5, 2047, 2 ** -14, 2 ** -10 * 1023, -255);
  expect(rounded(halves, "float16", halves.length)).toEqual(halves);
  const bytes = Float32Array.from({ length: 255 }, (_, i) => i - 127);
  for (const scale of [1, 0.25, 3, 2 ** -100, 2 ** 100]) {
    const multiples = bytes.map((byte) => byte * scale);
    expect(rounded(multiples, "int8", bytes.length)).toEqual(multiples);
  }
});

function trueScore(metric: Metric, query: Float32Array, row: Float32Array): number {
  if (metric !== "cosine") return squaredL2(query, row);
  const scale = Math.sqrt(dot(query, query)) * Math.sqrt(dot(row, row));
  return scale === 0 ? 1 : Math.min(2, Math.max(0, 1 - dot(query, row) / scale));
}

describe.each(precisions)("a scan of %s", (precision) => {
  describe.each(metrics)("under %s", (metric) => {
    test.each([1, 2, 3, 4, 5, 7, 8, 9, 31, 100, 770, dimensionMax - 1, dimensionMax])(
      "finds what brute force finds among the decoded vectors, with the scores of float32, d = %i",
      (d) => {
        const n = d > 1000 ? 41 : 201;
        const raw = clustered(n, d, 9, d);
        const query = rowsOf(raw, d)[17].map((value, i) => value + 0.01 * (i % 3));
        const magnitudes = metric === "cosine" ? [1e-39, 1, 1e33] : [1e-39, 1e-12, 1, 1e9];
        for (const magnitude of magnitudes) {
          const vectors = rounded(
            raw.map((value) => value * magnitude),
            precision,
            d,
          );
          const asked = query.map((value) => value * magnitude);
          const codec = scalarCodec({ metric, precision, dimension: d }, "none");
          const before = allocatedBytes();
          const found = scan(codec, metric, asked, vectors, 10);
          expect(allocatedBytes()).toBe(before);
          expect(found).toEqual(scan(flatCodec(metric, d, "none"), metric, asked, vectors, 10));
          const scores = rowsOf(vectors, d).map((row) => trueScore(metric, asked, row));
          const nearest = scores.toSorted((a, b) => a - b).slice(0, 10);
          // Sums differ in the order of their terms.
          found.forEach(({ row, score }, i) => {
            expect(Math.abs(score - scores[row])).toBeLessThanOrEqual(1e-12 * (1 + Math.abs(score)));
            expect(Math.abs(score - nearest[i])).toBeLessThanOrEqual(1e-12 * (1 + Math.abs(score)));
          });
        }
      },
    );

    test("answers for zeros, equal rows, opposite rows and a query far away", () => {
      const d = 12;
      const rows = [
        new Float32Array(d),
        new Float32Array(d).fill(1),
        new Float32Array(d).fill(1),
        new Float32Array(d).fill(-1),
        Float32Array.from({ length: d }, (_, i) => (i === 3 ? 1e14 : 1e-14)),
        Float32Array.from({ length: d }, (_, i) => i * smallestFloat32),
      ];
      const vectors = rounded(Float32Array.from(rows.flatMap((row) => [...row])), precision, d);
      for (const query of [...rows, new Float32Array(d).fill(1e12)]) {
        const codec = scalarCodec({ metric, precision, dimension: d }, "none");
        const found = scan(codec, metric, query, vectors, 6);
        expect(found).toEqual(scan(flatCodec(metric, d, "none"), metric, query, vectors, 6));
        expect(found).toHaveLength(6);
        expect(found.every(({ score }) => Number.isFinite(score))).toBe(true);
      }
    });
  });

  test("gathers rows as it decodes them", () => {
    const d = 13;
    const vectors = rounded(clustered(40, d, 3, 1), precision, d);
    const codec = scalarCodec({ metric: "cosine", precision, dimension: d }, "none");
    const fingerprints = allocate(16 * 40);
    const codes = codec.load({ codes: joined(codec.encode(vectors, 0)), n: 40 }, fingerprints);
    expect(codes.gather([39, 0, 7])).toEqual(
      Float32Array.from([39, 0, 7].flatMap((row) => [...rowsOf(vectors, d)[row]])),
    );
    codes.free();
    free(fingerprints);
  });
});
