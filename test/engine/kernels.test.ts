import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { kernels } from "../../src/engine/kernels/kernels.js";
import { allocate, doublesAt, floatsAt, free, wordsAt } from "../../src/engine/kernels/memory.js";
import { samplePositions, seededRandom } from "../../src/engine/random.js";
import { absoluteDot, dot, rowsOf, smallestPosition, squaredL2 } from "./oracle.js";

const { assignNearest, dotBlock, normsFloat64, squaredL2Block, squaredL2BlockFloat64 } = kernels();

const dimensions = [...Array.from({ length: 70 }, (_, i) => i + 1), 384, 768, 1536];
const rowCounts = [0, 1, 2, 3, 4, 5, 7, 8, 9, 12, 13, 31];
const float32Max = 3.4028234663852886e38;
const float32Epsilon = 2 ** -24;
const denormalMin = 2 ** -149;
const float64Tolerance = 1e-12;

const held: number[] = [];
afterEach(() => held.splice(0).forEach(free));

/** Room between NaNs, which would spoil a sum that reads too far and show where one writes too far. */
function reserve(bytes: number, shift: number): number {
  const floats = bytes / 4 + 16;
  const at = allocate(4 * floats);
  floatsAt(at, floats).fill(NaN);
  held.push(at);
  return at + shift;
}

/** Places values at an offset that is a multiple of 4 and of nothing more. */
function place(values: Float32Array): number {
  const at = reserve(values.byteLength, 4);
  floatsAt(at, values.length).set(values);
  return at;
}

type BlockKernel = (query: number, vectors: number, n: number, d: number, out: number) => void;

interface Outputs {
  readonly dots: Float32Array;
  readonly squares: Float32Array;
  readonly float64Squares: Float64Array;
  readonly norms: Float64Array;
}

/** Every block kernel on the same input; fails if one writes beyond its n results. */
function runBlockKernels(query: Float32Array, vectors: Float32Array): Outputs {
  const d = query.length;
  const n = vectors.length / d;
  const queryAt = place(query);
  const vectorsAt = place(vectors);
  const inFloat32 = (kernel: BlockKernel): Float32Array => {
    const out = reserve(4 * n, 4);
    kernel(queryAt, vectorsAt, n, d, out);
    expect(floatsAt(out, n + 1)[n]).toBeNaN();
    return floatsAt(out, n).slice();
  };
  const inFloat64 = (kernel: BlockKernel): Float64Array => {
    const out = reserve(8 * n, 8);
    kernel(queryAt, vectorsAt, n, d, out);
    expect(floatsAt(out + 8 * n, 1)[0]).toBeNaN();
    return doublesAt(out, n).slice();
  };
  const outputs = {
    dots: inFloat32(dotBlock),
    squares: inFloat32(squaredL2Block),
    float64Squares: inFloat64(squaredL2BlockFloat64),
    norms: inFloat64((_query, at, rows, dimension, out) => normsFloat64(at, rows, dimension, out)),
  };
  held.splice(0).forEach(free);
  return outputs;
}

function randomFloats(random: () => number, length: number): Float32Array {
  return Float32Array.from({ length }, () => random() - 0.5);
}

describe("block kernels", () => {
  test.each(dimensions)("agree with the oracle at d = %i", (d) => {
    const random = seededRandom(d);
    let worstFloat32 = 0;
    let worstFloat64 = 0;
    for (const n of rowCounts) {
      const query = randomFloats(random, d);
      const rows = rowsOf(randomFloats(random, n * d), d);
      const out = runBlockKernels(query, Float32Array.from(rows.flatMap((row) => [...row])));
      rows.forEach((row, i) => {
        const scale = absoluteDot(query, row);
        const square = squaredL2(query, row);
        worstFloat32 = Math.max(
          worstFloat32,
          Math.abs(out.dots[i] - dot(query, row)) / scale,
          Math.abs(out.squares[i] / square - 1),
        );
        worstFloat64 = Math.max(
          worstFloat64,
          Math.abs(out.float64Squares[i] / square - 1),
          Math.abs(out.norms[i] / Math.sqrt(dot(row, row)) - 1),
        );
      });
    }
    expect(worstFloat32).toBeLessThan((d + 2) * float32Epsilon);
    expect(worstFloat64).toBeLessThan(float64Tolerance);
  });

  const extremeFloat = fc.oneof(
    fc.constantFrom(float32Max, -float32Max, denormalMin, -denormalMin, 0, -0, 1.8446743e19, 1e-23, 1),
    fc.float({ noNaN: true, noDefaultInfinity: true }),
  );
  const extremeInput = fc.integer({ min: 1, max: 13 }).chain((d) =>
    fc.record({
      query: fc.array(extremeFloat, { minLength: d, maxLength: d }),
      row: fc.array(extremeFloat, { minLength: d, maxLength: d }),
    }),
  );

  test("follow IEEE 754 in float32 and stay finite in float64, for extreme floats", () => {
    fc.assert(
      fc.property(extremeInput, (input) => {
        const query = Float32Array.from(input.query);
        const row = Float32Array.from(input.row);
        const d = query.length;
        const out = runBlockKernels(query, row);
        const terms = Array.from(query, (q, i) => q * row[i]);
        const scale = absoluteDot(query, row);
        const square = squaredL2(query, row);
        // Products below the normal range lose up to half a denormal each.
        const underflow = d * denormalMin;
        const tolerance = (d + 2) * float32Epsilon;

        if (terms.some((term) => !Number.isFinite(Math.fround(term)))) {
          expect(Number.isFinite(out.dots[0])).toBe(false);
          if (terms.every((term) => term >= 0)) expect(out.dots[0]).toBe(Infinity);
          if (terms.every((term) => term <= 0)) expect(out.dots[0]).toBe(-Infinity);
        } else if (scale < float32Max * (1 - tolerance)) {
          expect(Math.abs(out.dots[0] - dot(query, row))).toBeLessThanOrEqual(scale * tolerance + underflow);
        }
        if (square > float32Max * (1 + tolerance)) {
          expect(out.squares[0]).toBe(Infinity);
        } else if (square < float32Max * (1 - tolerance)) {
          expect(Math.abs(out.squares[0] - square)).toBeLessThanOrEqual(square * tolerance + underflow);
        }
        expect(Math.abs(out.float64Squares[0] - square)).toBeLessThanOrEqual(square * float64Tolerance);
        const norm = Math.sqrt(dot(row, row));
        expect(Math.abs(out.norms[0] - norm)).toBeLessThanOrEqual(norm * float64Tolerance);
      }),
      { numRuns: 2_000 },
    );
  });

  test.each([1, 2, 3, 5, 8, 15, 33, 70, 384])("give a row the same bits wherever it lies, d = %i", (d) => {
    const random = seededRandom(d);
    const query = randomFloats(random, d);
    const vectors = randomFloats(random, 21 * d);
    const together = runBlockKernels(query, vectors);
    rowsOf(vectors, d).forEach((row, i) => {
      const alone = runBlockKernels(query, row);
      const shifted = runBlockKernels(query, vectors.subarray(0, (i + 1) * d));
      for (const output of ["dots", "squares", "float64Squares", "norms"] as const) {
        expect(alone[output][0]).toBe(together[output][i]);
        expect(shifted[output][i]).toBe(together[output][i]);
      }
    });
  });
});

/** assignNearest and its outputs; fails if it writes beyond its n results. */
function assign(vectors: Float32Array, centroids: Float32Array, d: number) {
  const n = vectors.length / d;
  const k = centroids.length / d;
  const halfNorms = Float32Array.from(rowsOf(centroids, d), (c) => dot(c, c) / 2);
  const lists = reserve(4 * n, 4);
  const distances = reserve(4 * n, 4);
  assignNearest(place(vectors), n, d, place(centroids), k, place(halfNorms), lists, distances);
  expect(floatsAt(lists + 4 * n, 1)[0]).toBeNaN();
  expect(floatsAt(distances + 4 * n, 1)[0]).toBeNaN();
  const result = { lists: wordsAt(lists, n).slice(), distances: floatsAt(distances, n).slice() };
  held.splice(0).forEach(free);
  return result;
}

describe("assignNearest", () => {
  // Small integers are exact in float32, so ties are ties, and there are many.
  const input = fc
    .record({
      n: fc.integer({ min: 0, max: 60 }),
      d: fc.integer({ min: 1, max: 9 }),
      k: fc.integer({ min: 1, max: 14 }),
      seed: fc.integer(),
    })
    .map(({ n, d, k, seed }) => {
      const random = seededRandom(seed);
      const integers = (length: number) => Float32Array.from({ length }, () => Math.floor(random() * 5) - 2);
      return { d, vectors: integers(n * d), centroids: integers(k * d) };
    });

  test("agrees with brute force; the lowest list wins a tie", () => {
    fc.assert(
      fc.property(input, ({ d, vectors, centroids }) => {
        const { lists, distances } = assign(vectors, centroids, d);
        rowsOf(vectors, d).forEach((v, i) => {
          const values = rowsOf(centroids, d).map((c) => dot(c, c) / 2 - dot(v, c));
          const nearest = smallestPosition(values);
          expect([lists[i], distances[i]]).toEqual([nearest, values[nearest]]);
        });
      }),
      { numRuns: 500 },
    );
  });

  test.each([
    [1, 100, 13],
    [70, 53, 37],
    [384, 49, 101],
    [1536, 25, 6],
  ])("finds a centroid as near as any, d = %i, n = %i, k = %i", (d, n, k) => {
    const random = seededRandom(n);
    const vectors = randomFloats(random, n * d);
    const centroids = randomFloats(random, k * d);
    const { lists, distances } = assign(vectors, centroids, d);
    const clusters = rowsOf(centroids, d);
    rowsOf(vectors, d).forEach((v, i) => {
      const chosen = clusters[lists[i]];
      const margin = (d + 2) * float32Epsilon * (dot(chosen, chosen) + absoluteDot(v, chosen));
      const smallest = Math.min(...clusters.map((c) => squaredL2(v, c)));
      expect(squaredL2(v, chosen)).toBeLessThanOrEqual(smallest + 4 * margin);
      expect(Math.abs(distances[i] - (dot(chosen, chosen) / 2 - dot(v, chosen)))).toBeLessThanOrEqual(margin);
    });
  });

  test("gives a row the same bits wherever it lies, and lets the first of equal centroids win", () => {
    const random = seededRandom(7);
    const d = 43;
    const vectors = randomFloats(random, 30 * d);
    const once = randomFloats(random, 11 * d);
    const twice = Float32Array.from([...once, ...once]);
    const together = assign(vectors, once, d);
    expect(assign(vectors, twice, d)).toEqual(together);
    rowsOf(vectors, d).forEach((row, i) => {
      const alone = assign(row, once, d);
      expect([alone.lists[0], alone.distances[0]]).toEqual([together.lists[i], together.distances[i]]);
    });
    const order = samplePositions(random, 30, 17);
    const some = assign(Float32Array.from([...order].flatMap((i) => [...rowsOf(vectors, d)[i]])), once, d);
    expect(some.distances).toEqual(Float32Array.from(order, (i) => together.distances[i]));
  });

  test("passes over centroids whose value is not a number", () => {
    const vectors = Float32Array.of(3e38, -3e38);
    const centroids = Float32Array.of(3e38, 3e38, 0, 0, 3e38, 3e38);
    const { lists, distances } = assign(vectors, centroids, 2);
    expect([lists[0], distances[0]]).toEqual([1, 0]);
  });

  test("puts a vector whose values overflow into list 0", () => {
    const vectors = Float32Array.of(-float32Max, float32Max, 1, 1);
    const centroids = Float32Array.of(float32Max, float32Max, 3e38, 3e38);
    const { lists, distances } = assign(vectors, centroids, 2);
    expect([...lists]).toEqual([0, 0]);
    expect([...distances]).toEqual([Infinity, Infinity]);
  });
});

/** Room for float32 that ends where the memory ends; not allocated, so only until the next allocation. */
function endOfMemory(length: number): number {
  return floatsAt(0, 1).buffer.byteLength - 4 * length;
}

describe("at the end of memory", () => {
  test.each([1, 2, 3, 4, 5, 6, 7, 11])("no kernel reads beyond its input, d = %i", (d) => {
    const at = reserve(4096, 8);
    floatsAt(at, 1024).fill(0);
    const [query, centroids, halfNorms, out, rows] = [at, at + 512, at + 1024, at + 1536, at + 2048];
    const runAll = () => {
      for (const n of [1, 2, 3, 4, 5, 7, 8, 9]) {
        const vectors = endOfMemory(n * d);
        for (const kernel of [dotBlock, squaredL2Block, squaredL2BlockFloat64]) {
          kernel(query, vectors, n, d, out);
          kernel(endOfMemory(d), query, n, d, out);
        }
        normsFloat64(vectors, n, d, out);
        assignNearest(vectors, n, d, centroids, 5, halfNorms, rows, out);
        assignNearest(query, 1, d, vectors, n, halfNorms, rows, out);
        assignNearest(query, 1, d, centroids, n, endOfMemory(n), rows, out);
      }
    };
    expect(runAll).not.toThrow();
  });
});
