import { describe, expect, test } from "vitest";
import { CoarseQuantizer } from "../../src/engine/coarse-quantizer.js";
import { buildTable, scanRabitq } from "../../src/engine/kernels/kernels.js";
import {
  allocate,
  allocatedBytes,
  bytesAt,
  floatsAt,
  free,
  wordsAt,
} from "../../src/engine/kernels/memory.js";
import { encodeList, rabitqBytes, RabitqQuery } from "../../src/engine/rabitq.js";
import { Rotation, rotatedDimension } from "../../src/engine/rotation.js";
import { seededRandom } from "../../src/engine/random.js";
import { clustered, gaussian } from "./data.js";
import { finish } from "./finish.js";
import { dot, rowsOf, squaredL2 } from "./oracle.js";

describe.each([1, 3, 64, 100, 128, 256, 300, 384, 768, 1000, 1536])("the rotation of %i dimensions", (d) => {
  const rotation = new Rotation(d, 7);
  const D = rotatedDimension(d);

  function rotated(vectors: Float32Array): Float32Array[] {
    const at = allocate((4 * D * vectors.length) / d);
    rotation.apply(vectors, at);
    const rows = rowsOf(floatsAt(at, (D * vectors.length) / d).slice(), D);
    free(at);
    return rows;
  }

  test("keeps lengths and angles", () => {
    const vectors = clustered(6, d, 3, d);
    const before = rowsOf(vectors, d);
    const after = rotated(vectors);
    before.forEach((a, i) => {
      before.forEach((b, j) => {
        const tolerance = 1e-5 * Math.sqrt(dot(a, a) * dot(b, b));
        expect(Math.abs(dot(a, b) - dot(after[i], after[j]))).toBeLessThanOrEqual(tolerance);
      });
    });
  });

  test("spreads a single component over all of them", () => {
    const unit = new Float32Array(d).fill(0).with(d >> 1, 1);
    const [row] = rotated(unit);
    const largest = row.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    expect(largest).toBeLessThan(D === 64 ? 0.8 : 0.6);
    expect(row.filter((value) => Math.abs(value) > 1e-6).length).toBeGreaterThan(D / 2);
  });
});

/** Rows around one centroid, their codes in kernel memory, and what a query should find. */
function encoded(n: number, d: number, seed: number) {
  const vectors = clustered(n + 1, d, 1, seed);
  const rows = vectors.subarray(0, n * d);
  const query = vectors.subarray(n * d);
  const centroid = new Float32Array(d);
  for (let i = 0; i < n * d; i++) centroid[i % d] += rows[i] / n;
  const quantizer = new CoarseQuantizer({
    dimension: d,
    centroids: centroid,
    autoProbes: 1,
    rotationSeed: seed,
  });
  const codes = finish(encodeList(rows, quantizer, 0));
  expect(codes.length).toBe(rabitqBytes(n, d));
  const at = allocate(codes.length);
  bytesAt(at, codes.length).set(codes);
  const distance = Math.sqrt(squaredL2(query, centroid));
  const exact = rowsOf(rows, d).map((row) => squaredL2(query, row));
  const release = () => {
    free(at);
    quantizer.free();
  };
  return { query, quantizer, at, distance, exact, release };
}

describe.each([1, 2, 31, 64, 100, 257, 384, 1100, 4200])("codes of %i dimensions", (d) => {
  const n = 333;
  const m = 352;

  test("estimate squared distances without bias, within their own error", () => {
    const { query, quantizer, at, distance, exact, release } = encoded(n, d, d);
    const prepared = new RabitqQuery(query, quantizer);
    const scratch = allocate(12 * m);
    expect(prepared.select(at, n, distance, Infinity, scratch)).toBe(n);
    const estimates = floatsAt(scratch + 4 * m, n);
    const errors = floatsAt(at + 8 * m, n);
    const scaled = exact.map(
      (value, i) => (estimates[i] - value) / Math.max(errors[i] * distance, 1e-3 * value),
    );
    const mean = scaled.reduce((sum, value) => sum + value, 0) / n;
    const spread = Math.sqrt(scaled.reduce((sum, value) => sum + value * value, 0) / n);
    expect(Math.abs(mean)).toBeLessThan(0.5);
    expect(spread).toBeLessThan(1.4);
    free(scratch);
    prepared.free();
    release();
  });

  test("rule out most far rows and hardly a near one", () => {
    const { query, quantizer, at, distance, exact, release } = encoded(n, d, d + 1);
    const prepared = new RabitqQuery(query, quantizer);
    const scratch = allocate(12 * m);
    const threshold = exact.toSorted((a, b) => a - b)[9];
    const count = prepared.select(at, n, distance, threshold, scratch);
    const selected = wordsAt(scratch + 8 * m, count);
    expect(Array.from(selected)).toEqual(Array.from(selected).sort((a, b) => a - b));
    const kept = exact.filter((value, row) => value <= threshold && selected.includes(row)).length;
    expect(kept).toBeGreaterThanOrEqual(9);
    expect(count).toBeLessThan(n);
    free(scratch);
    prepared.free();
    release();
  });
});

test("a fast scan sums table entries exactly, also beyond what 16 bits hold", () => {
  const random = seededRandom(4);
  for (const groups of [1, 16, 255, 256, 257, 700]) {
    const blocks = 3;
    const m = 32 * blocks;
    const at = allocate(16 * groups * (blocks + 1) + 12 * m + 12 * m);
    const table = at + 16 * groups * blocks;
    const factors = table + 16 * groups;
    const scratch = factors + 12 * m;
    const bytes = bytesAt(at, 16 * groups * (blocks + 1));
    for (let i = 0; i < bytes.length; i++) bytes[i] = groups > 256 ? 255 : Math.floor(256 * random());
    const codes = bytes.slice(0, 16 * groups * blocks);
    const entries = bytes.slice(16 * groups * blocks);
    floatsAt(factors, 3 * m).fill(0);
    scanRabitq(at, factors, m, groups, table, 0, 1, 0, 0, 0, 0, scratch, scratch + 4 * m, scratch + 8 * m);
    const sums = wordsAt(scratch, m);
    for (let row = 0; row < m; row++) {
      let expected = 0;
      for (let group = 0; group < groups; group++) {
        const byte = codes[(row >> 5) * 16 * groups + 16 * group + 2 * (row & 7) + ((row >> 3) & 1)];
        expected += entries[16 * group + (row & 16 ? byte >> 4 : byte & 15)];
      }
      expect(sums[row]).toBe(expected);
    }
    free(at);
  }
});

test("a query's table holds every sum of signs, to half a step", () => {
  const random = seededRandom(2);
  const groups = 10;
  const query = Float32Array.from({ length: 4 * groups }, () => gaussian(random));
  const at = allocate(16 * groups + 16 * groups + 8);
  const table = at + 16 * groups;
  floatsAt(at, 4 * groups).set(query);
  buildTable(at, groups, table, table + 16 * groups);
  const [step, shift] = floatsAt(table + 16 * groups, 2);
  const root = Math.sqrt(4 * groups);
  let shifts = 0;
  for (let group = 0; group < groups; group++) {
    const part = query.subarray(4 * group, 4 * group + 4);
    const half = part.reduce((sum, value) => sum + Math.abs(value), 0);
    shifts -= half;
    for (let bits = 0; bits < 16; bits++) {
      const sum = part.reduce((total, value, i) => total + ((bits >> i) & 1 ? value : -value), half);
      const entry = bytesAt(table + 16 * group, 16)[bits];
      expect(Math.abs(entry * step * root - sum)).toBeLessThanOrEqual(0.501 * step * root);
    }
  }
  expect(shift).toBeCloseTo(shifts / root, 5);
  free(at);
});

test("rows that are their centroid, zeros, and values beyond float32 lose nothing", () => {
  const d = 8;
  const centroids = new Float32Array(d).fill(2);
  const quantizer = new CoarseQuantizer({ dimension: d, centroids, autoProbes: 1, rotationSeed: 1 });
  const rows = Float32Array.from([...centroids, ...new Float32Array(d), ...new Float32Array(d).fill(3e38)]);
  const codes = finish(encodeList(rows, quantizer, 0));
  const at = allocate(codes.length);
  bytesAt(at, codes.length).set(codes);
  const prepared = new RabitqQuery(new Float32Array(d).fill(1), quantizer);
  const scratch = allocate(12 * 32);
  const count = prepared.select(at, 3, Math.sqrt(8), 8.001, scratch);
  expect(Array.from(wordsAt(scratch + 8 * 32, count))).toEqual(expect.arrayContaining([0, 1]));
  for (const offset of [at, scratch]) free(offset);
  prepared.free();
  quantizer.free();
});

test("encoding and asking give back all the kernel memory they took", () => {
  const before = allocatedBytes();
  const { query, quantizer, release } = encoded(50, 70, 1);
  new RabitqQuery(query, quantizer).free();
  release();
  expect(allocatedBytes()).toBe(before);
});
