import { describe, expect, test } from "vitest";
import { CoarseQuantizer } from "../../src/engine/lists/coarse-quantizer.js";
import { kernels } from "../../src/engine/kernels/kernels.js";
import { queryLayout, smallEntryMax } from "../../src/engine/kernels/kernels.wasm.js";
import {
  allocate,
  allocatedBytes,
  bytesAt,
  floatsAt,
  free,
  wordsAt,
} from "../../src/engine/kernels/memory.js";
import { epsilonByDefault, QueryVector } from "../../src/engine/query-vector.js";
import { copySections } from "../../src/engine/codes/code-sections.js";
import {
  encodeList,
  rabitqAddresses,
  rabitqBytes,
  rabitqSections,
  unpackRabitq,
} from "../../src/engine/codes/rabitq.js";
import { flatCodec } from "../../src/engine/codes/flat.js";
import { flatScanner } from "../../src/engine/scan/scanner.js";
import { Search } from "../../src/engine/scan/scan-blocks.js";
import { Rotation, rotatedDimension } from "../../src/engine/rotation.js";
import { seededRandom } from "../../src/engine/random.js";
import { clustered, gaussian, modelOf } from "./data.js";
import { finish, joined } from "./finish.js";
import { dot, rowsOf, squaredL2 } from "./oracle.js";

const { buildTable, encodeRabitq, estimateRabitq, fastScan, fastScanSmall, rabitqWithin } = kernels();

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

/** Stored codes of n rows, in kernel memory. */
function inMemory(stored: Uint8Array, n: number, d: number): number {
  const at = allocate(rabitqBytes(n, d));
  // What was there before must not matter.
  bytesAt(at, rabitqBytes(n, d)).fill(255);
  const addresses = rabitqAddresses(at, n);
  copySections({ codes: stored, n }, (rows) => rabitqSections(rows, d), addresses);
  unpackRabitq(at, n, d);
  return at;
}

test.each([1, 7, 16, 17, 31, 32, 33, 61, 64])(
  "codes of %i rows are stored without room for others, and are the same when they are read",
  (n) => {
    const d = 70;
    const D = rotatedDimension(d);
    const rotation = new Rotation(d, 5);
    const centroid = allocate(4 * D);
    floatsAt(centroid, D).fill(0.1);
    const rows = clustered(n, d, 1, n);
    const rotated = allocate(4 * n * D + rabitqBytes(n, d));
    rotation.apply(rows, rotated);
    const written = rotated + 4 * n * D;
    encodeRabitq(rotated, n, D, centroid, rabitqAddresses(written, n)[3], written);
    const stored = finish(encodeList(rows, "euclidean", { rotation, rotatedCentroid: () => centroid }, 0));
    expect(stored.length).toBe(n * (12 + D / 8));
    const read = inMemory(stored, n, d);
    expect(bytesAt(read, rabitqBytes(n, d))).toEqual(bytesAt(written, rabitqBytes(n, d)));
    rotation.free();
    for (const at of [centroid, rotated, read]) free(at);
  },
);

/** Rows around one centroid, their codes in kernel memory, and what a query should find. */
function encoded(n: number, d: number, seed: number, offset = 0) {
  const vectors = clustered(n + 1, d, 1, seed).map((value) => value + offset);
  const rows = vectors.subarray(0, n * d);
  const query = vectors.subarray(n * d);
  const centroid = new Float32Array(d);
  for (let i = 0; i < n * d; i++) centroid[i % d] += rows[i] / n;
  const quantizer = finish(CoarseQuantizer.open(modelOf(centroid, d, seed), "euclidean"));
  const at = inMemory(finish(encodeList(rows, "euclidean", quantizer, 0)), n, d);
  const distance = Math.sqrt(squaredL2(query, centroid));
  const exact = rowsOf(rows, d).map((row) => squaredL2(query, row));
  const release = () => {
    free(at);
    quantizer.free();
  };
  return { query, quantizer, rows, at, distance, exact, release };
}

/** Estimates of squared distances and their floors, from the codes of n rows at `at`, and which rows may be within a limit. */
function estimate(query: Float32Array, quantizer: CoarseQuantizer, at: number, n: number, distance: number) {
  const m = Math.ceil(n / 32) * 32;
  const square = distance * distance;
  const asking = new QueryVector("euclidean", query, quantizer.rotation);
  const [table, groups] = wordsAt(asking.address + queryLayout.table, 2);
  const [step, shift, rounding, deviations] = floatsAt(asking.address + queryLayout.step, 4);
  const sums = allocate(8 * m);
  const estimates = sums + 4 * m;
  const scan = () => fastScanSmall(at + 12 * m, table, m / 32, groups, sums);
  scan();
  estimateRabitq(at, n, square, step, shift, rounding, deviations, sums, estimates);
  const floors = floatsAt(sums, n).slice();
  const within = (limit: number) => {
    scan();
    const count = rabitqWithin(at, n, square, step, shift, rounding, deviations, limit, sums);
    return [...wordsAt(sums, count)];
  };
  const release = () => {
    free(sums);
    asking.free();
  };
  return { floors, estimates: floatsAt(estimates, n).slice(), within, release };
}

describe.each([1, 2, 31, 64, 100, 257, 384, 1100, 4200])("codes of %i dimensions", (d) => {
  const n = 333;
  const m = 352;

  test("estimate squared distances without bias, within their own error", () => {
    const { query, quantizer, at, distance, exact, release } = encoded(n, d, d);
    const { estimates, release: releaseEstimates } = estimate(query, quantizer, at, n, distance);
    releaseEstimates();
    const errors = floatsAt(at + 8 * m, n);
    const scaled = exact.map(
      (value, i) => (estimates[i] - value) / Math.max(errors[i] * distance, 1e-3 * value),
    );
    const mean = scaled.reduce((sum, value) => sum + value, 0) / n;
    const spread = Math.sqrt(scaled.reduce((sum, value) => sum + value * value, 0) / n);
    expect(Math.abs(mean)).toBeLessThan(0.5);
    expect(spread).toBeLessThan(1.4);
    release();
  });

  test("rule out most far rows and hardly a near one", () => {
    const { query, quantizer, at, distance, exact, release } = encoded(n, d, d + 1);
    const { floors, release: releaseEstimates } = estimate(query, quantizer, at, n, distance);
    releaseEstimates();
    const threshold = exact.toSorted((a, b) => a - b)[9];
    const kept = exact.filter((value, row) => value <= threshold && !(floors[row] > threshold)).length;
    expect(kept).toBeGreaterThanOrEqual(9);
    expect(floors.filter((floor) => floor > threshold).length).toBeGreaterThan(0);
    release();
  });
});

describe.each([64, 100, 257, 384, 1100, 4200])("codes of %i dimensions", (d) => {
  test.each([0, 4, 30])(
    "are off by as much as signs of a rotated vector are, and tables that are rounded, %i from the origin in each component",
    (offset) => {
      const n = 333;
      const { query, quantizer, rows, at, distance, release } = encoded(n, d, d, offset);
      const { floors, estimates, release: releaseEstimates } = estimate(query, quantizer, at, n, distance);
      releaseEstimates();
      const centroid = floatsAt(quantizer.centroids.at, d);
      const deviation = (estimates[0] - floors[0]) / epsilonByDefault;
      // Signs have a cosine of sqrt(2 / pi) with a vector. The widest group of a table spans about 13 deviations of a component.
      const ofSigns = 4 * (Math.PI / 2 - 1) * distance ** 2;
      const ofTable = (((Math.PI / 2) * 13 ** 2) / 12 / smallEntryMax ** 2) * dot(query, query);
      const residual = squaredL2(rowsOf(rows, d)[0], centroid);
      const expected = Math.sqrt((residual * (ofSigns + ofTable)) / rotatedDimension(d));
      expect(deviation / expected).toBeGreaterThan(0.75);
      expect(deviation / expected).toBeLessThan(1.25);
      release();
    },
  );
});

describe.each([1, 3, 4, 31, 32, 33, 333])("of %i rows, those within a limit", (n) => {
  test("are the rows whose floor is up to it", () => {
    const { query, quantizer, at, distance, release } = encoded(n, 200, n);
    const { floors, within, release: releaseEstimates } = estimate(query, quantizer, at, n, distance);
    const sorted = [...floors].sort((a, b) => a - b);
    const betweenFloors = sorted.slice(1).map((floor, i) => (floor + sorted[i]) / 2);
    // Where two floors are nearly equal, rounding decides.
    const margin = 1e-4 * Math.max(...sorted.map(Math.abs));
    const limits = betweenFloors.filter((limit) => sorted.every((floor) => Math.abs(floor - limit) > margin));
    for (const limit of [-Infinity, sorted[0] - 1, ...limits, sorted[n - 1] + 1, Infinity]) {
      const expected = [...floors.keys()].filter((row) => floors[row] <= limit);
      expect(within(limit)).toEqual(expected);
    }
    if (n === 333) expect(limits.length).toBeGreaterThan(50);
    releaseEstimates();
    release();
  });

  test("include a row whose factors are not numbers", () => {
    const { query, quantizer, at, distance, release } = encoded(n, 200, n);
    const { floors, within, release: releaseEstimates } = estimate(query, quantizer, at, n, distance);
    floatsAt(at, n)[n - 1] = Number.NaN;
    expect(within(Math.min(...floors) - 1)).toEqual([n - 1]);
    releaseEstimates();
    release();
  });
});

const isThird = (row: number) => row % 3 === 1;

test.each([1, 2, 3, 4, 5, 6, 7, 8, 9, 30, 200, 333])(
  "a pruned scan keeps nearly all of the %i nearest rows, exactly scored",
  (k) => {
    const [n, d] = [333, 200];
    const { query, quantizer, rows, distance, exact, release } = encoded(n, d, k);
    for (const [isWanted, firstBit] of [
      [() => true, 0],
      [isThird, 0],
      [isThird, 5],
      [isThird, 31],
    ] as const) {
      const codec = flatCodec("euclidean", d, quantizer);
      const asking = new QueryVector("euclidean", query, quantizer.rotation);
      const search = new Search(asking, flatScanner(asking), k);
      const at = allocate(16 * n + 4 * 12);
      const codes = codec.load({ codes: joined(codec.encode(rows, 0)), n }, at);
      const bits = at + 16 * n;
      wordsAt(at, 4 * n + 12).fill(0);
      for (let row = 0; row < n; row++) {
        wordsAt(at, 4 * n)[4 * row] = row;
        const bit = row + firstBit;
        if (isWanted(row)) wordsAt(bits, 12)[bit >>> 5] |= 1 << (bit & 31);
      }
      const shared = {
        block: 0,
        codes,
        distance,
        pruned: true,
        newerSegments: 0,
        accepted: bits,
        firstBit,
      };
      search.scan([shared]);
      const found = search.finish();
      const wanted = exact.flatMap((score, row) => (isWanted(row) ? [score] : [])).sort((a, b) => a - b);
      expect(found.length).toBeLessThanOrEqual(Math.min(k, wanted.length));
      expect(found.length).toBeGreaterThanOrEqual(Math.min(k, wanted.length) - 1);
      for (const { row, score } of found) {
        expect(isWanted(row)).toBe(true);
        expect(score).toBeCloseTo(exact[row], 8);
      }
      const limit = wanted[Math.min(k, wanted.length) - 1];
      const near = found.filter(({ score }) => score <= limit + 1e-9).length;
      expect(near).toBeGreaterThanOrEqual(0.97 * Math.min(k, wanted.length) - 1);
      search.free();
      asking.free();
      codes.free();
      free(at);
    }
    release();
  },
);

test.each([
  ["any entries", fastScan, 255, [1, 16, 255, 256, 257, 700]],
  ["small entries", fastScanSmall, 31, [16, 256, 512, 2048]],
])("a fast scan of %s sums them exactly, also beyond what 16 bits hold", (_, scan, entryMax, lengths) => {
  const random = seededRandom(4);
  for (const groups of lengths) {
    const blocks = 3;
    const m = 32 * blocks;
    const at = allocate(16 * groups * (blocks + 1) + 4 * m);
    const table = at + 16 * groups * blocks;
    const scratch = table + 16 * groups;
    const codes = bytesAt(at, 16 * groups * blocks);
    for (let i = 0; i < codes.length; i++) codes[i] = Math.floor(256 * random());
    const entries = bytesAt(table, 16 * groups);
    for (let i = 0; i < entries.length; i++)
      entries[i] = groups > 256 ? entryMax : Math.floor((entryMax + 1) * random());
    scan(at, table, blocks, groups, scratch);
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

test.each([31, 255])(
  "a query's table of entries up to %i holds every sum of signs, to half a step",
  (entryMax) => {
    const random = seededRandom(2);
    const groups = 10;
    const query = Float32Array.from({ length: 4 * groups }, () => gaussian(random));
    const at = allocate(16 * groups + 16 * groups + 8);
    const table = at + 16 * groups;
    floatsAt(at, 4 * groups).set(query);
    buildTable(at, groups, entryMax, table, table + 16 * groups);
    const [step, shift] = floatsAt(table + 16 * groups, 2);
    const root = Math.sqrt(4 * groups);
    let mean = 0;
    for (let group = 0; group < groups; group++) {
      const part = query.subarray(4 * group, 4 * group + 4);
      const half = part.reduce((sum, value) => sum + Math.abs(value), 0);
      mean += bytesAt(table + 16 * group, 16).reduce((sum, entry) => sum + entry / 16, 0);
      for (let bits = 0; bits < 16; bits++) {
        const sum = part.reduce((total, value, i) => total + ((bits >> i) & 1 ? value : -value), half);
        const entry = bytesAt(table + 16 * group, 16)[bits];
        expect(entry).toBeLessThanOrEqual(entryMax);
        expect(Math.abs(entry * step * root - sum)).toBeLessThanOrEqual(0.501 * step * root);
      }
    }
    // Signed sums have a mean of zero, and so has what rounding leaves of them.
    expect(mean * step + shift).toBeCloseTo(0, 5);
    free(at);
  },
);

test("rows that are their centroid, zeros, and values beyond float32 lose nothing", () => {
  const d = 8;
  const centroids = new Float32Array(d).fill(2);
  const quantizer = finish(CoarseQuantizer.open(modelOf(centroids, d, 1), "euclidean"));
  const rows = Float32Array.from([...centroids, ...new Float32Array(d), ...new Float32Array(d).fill(3e38)]);
  const at = inMemory(finish(encodeList(rows, "euclidean", quantizer, 0)), 3, d);
  const { floors } = estimate(new Float32Array(d).fill(1), quantizer, at, 3, Math.sqrt(8));
  for (const row of [0, 1]) expect(floors[row] > 8.001).toBe(false);
  free(at);
  quantizer.free();
});

test("encoding and asking give back all the kernel memory they took", () => {
  const before = allocatedBytes();
  const { query, quantizer, release } = encoded(50, 70, 1);
  const asking = new QueryVector("cosine", query, quantizer.rotation);
  asking.reserve(500);
  asking.free();
  release();
  expect(allocatedBytes()).toBe(before);
});
