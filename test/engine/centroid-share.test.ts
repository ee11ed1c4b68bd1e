/** Estimates of directions: what a query and a centroid have in common is known, and only the rest is estimated. */

import { expect, test } from "vitest";
import { CoarseQuantizer } from "../../src/engine/lists/coarse-quantizer.js";
import { flatCodec } from "../../src/engine/codes/flat.js";
import { kernels } from "../../src/engine/kernels/kernels.js";
import { blockLayout, queryLayout } from "../../src/engine/kernels/kernels.wasm.js";
import { allFloats, allocate, allWords, floatsAt, free, wordsAt } from "../../src/engine/kernels/memory.js";
import { toListSpace } from "../../src/engine/metric.js";
import { QueryVector } from "../../src/engine/query-vector.js";
import { seededRandom } from "../../src/engine/random.js";
import { flatScanner } from "../../src/engine/scan/scanner.js";
import { Search } from "../../src/engine/scan/scan-blocks.js";
import { gaussian, modelOf } from "./data.js";
import { finish, joined } from "./finish.js";
import { dot, rowsOf, squaredL2 } from "./oracle.js";

const { estimateRabitq, fastScanSmall } = kernels();
const n = 320;

/** Rows of length 1 around one centroid, their mean, and the codes relative to it. */
function coded(d: number) {
  const random = seededRandom(d);
  const centre = Float32Array.from({ length: d }, () => gaussian(random));
  /** A direction at random, turned to the centre by a share of it. */
  const towards = (share: number) =>
    toListSpace(
      "cosine",
      centre.map((value) => share * value + gaussian(random)),
      d,
    );
  const rows = new Float32Array(n * d);
  for (let row = 0; row < n; row++) rows.set(towards(1), row * d);
  const centroid = new Float32Array(d);
  for (let i = 0; i < n * d; i++) centroid[i % d] += rows[i] / n;
  const quantizer = finish(CoarseQuantizer.open(modelOf(centroid, d, d), "cosine"));
  const fingerprints = allocate(16 * n);
  wordsAt(fingerprints, 4 * n).fill(0);
  for (let row = 0; row < n; row++) wordsAt(fingerprints, 4 * n)[4 * row] = row;
  const codec = flatCodec("cosine", d, quantizer);
  const load = (vectors: Float32Array) =>
    codec.load({ codes: joined(codec.encode(vectors, 0)), n }, fingerprints);
  const release = () => {
    quantizer.free();
    free(fingerprints);
  };
  return { rows, centroid, towards, quantizer, load, release };
}

/** From near the centroid to opposite to it. */
const turns = [3, 1, 0.5, 0.1, 0, -0.5, -3];

test.each([64, 128, 384, 1000])("they are unbiased and within their own error, d = %i", (d) => {
  const { rows, centroid, towards, quantizer, load, release } = coded(d);
  const codes = load(rows);
  const [factors, signs] = [blockLayout.factors, blockLayout.codes].map(
    (field) => allWords()[(codes.address + field) >>> 2],
  );
  const errors = floatsAt(factors + 8 * n, n);
  const sums = allocate(8 * n);
  for (const turn of turns) {
    const query = towards(turn);
    const asking = new QueryVector("cosine", query, quantizer.rotation);
    const field = (name: "table" | "groups") => allWords()[(asking.address + queryLayout[name]) >>> 2];
    const number = (name: "step" | "shift" | "rounding") =>
      allFloats()[(asking.address + queryLayout[name]) >>> 2];
    const square = squaredL2(query, centroid);
    const own = dot(centroid, centroid);
    /** The root of the mean squared error, checked against what is expected. */
    const errorWith = (share: number) => {
      const apart = squaredL2(
        query,
        centroid.map((value) => share * value),
      );
      const base = square + (1 - share) * (1 - own);
      fastScanSmall(signs, field("table"), n / 32, field("groups"), sums);
      const [step, shift, rounding] = [number("step"), number("shift"), number("rounding")];
      estimateRabitq(factors, n, base, share, apart, step, shift, rounding, 1, sums, sums + 4 * n);
      const off = rowsOf(rows, d).map((row, i) => floatsAt(sums + 4 * n, n)[i] - squaredL2(query, row));
      const scaled = off.map((value, i) => value / (errors[i] * Math.sqrt(apart)));
      expect(Math.abs(scaled.reduce((sum, value) => sum + value, 0) / n)).toBeLessThan(0.25);
      expect(Math.sqrt(dot(scaled, scaled) / n)).toBeLessThan(1.25);
      return Math.sqrt(dot(off, off) / n);
    };
    const share = Math.min(1, Math.max(0, dot(query, centroid) / own));
    const smaller = Math.sqrt(
      squaredL2(
        query,
        centroid.map((value) => share * value),
      ) / square,
    );
    expect(errorWith(share) / errorWith(1)).toBeLessThan(smaller + 0.1);
    if (turn <= 0.1) expect(smaller).toBeLessThan(0.9);
    asking.free();
  }
  free(sums);
  codes.free();
  release();
});

test.each([64, 384])("a scan by them keeps nearly all of the nearest rows, d = %i", (d) => {
  const { rows, centroid, towards, quantizer, load, release } = coded(d);
  // A row without a direction is orthogonal to everything.
  rows.fill(0, 7 * d, 8 * d);
  const codes = load(rows);
  const length = Math.sqrt(dot(centroid, centroid));
  for (const turn of turns) {
    const query = towards(turn);
    const scores = rowsOf(rows, d).map((row) => 1 - dot(query, row));
    const nearest = [...scores.keys()].sort((a, b) => scores[a] - scores[b]);
    const distance = Math.sqrt(squaredL2(query, centroid));
    for (const k of [1, 10, 50, 200]) {
      const asking = new QueryVector("cosine", query, quantizer.rotation);
      const search = new Search(asking, flatScanner(asking), k);
      const job = {
        block: 0,
        codes,
        distance,
        length,
        pruned: true,
        newerSegments: 0,
        accepted: 0,
        firstBit: 0,
      };
      search.scan([job]);
      const found = search.finish();
      const best = new Set(nearest.slice(0, k));
      expect(found.filter(({ row }) => best.has(row)).length).toBeGreaterThanOrEqual(0.97 * k - 1);
      for (const { row, score } of found) expect(score).toBeCloseTo(scores[row], 5);
      if (turn === -3 && k === 1) expect(found[0].row).toBe(7);
      search.free();
      asking.free();
    }
  }
  codes.free();
  release();
});
