/**
 * The borders of float32: an index of any type and metric returns correct results for every vector
 * that it accepts, and refuses the others.
 */

import { describe, expect, test } from "vitest";
import {
  createClient,
  generateKey,
  type IndexConfigInput,
  type Match,
  type Metric,
  type VectorIndex,
} from "../../src/core.js";
import { seededRandom } from "../../src/engine/random.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { repeats } from "../tier.js";
import { gaussian } from "../engine/data.js";
import { dot, squaredL2 } from "../engine/oracle.js";

const metrics: readonly Metric[] = ["euclidean", "squared_euclidean", "cosine"];

/** Exact in float64, and defined for vectors without a direction. */
function trueDistance(metric: Metric, a: Float32Array, b: Float32Array): number {
  if (metric !== "cosine") {
    const square = squaredL2(a, b);
    return metric === "euclidean" ? Math.sqrt(square) : square;
  }
  const scale = Math.sqrt(dot(a, a)) * Math.sqrt(dot(b, b));
  return scale === 0 ? 1 : Math.min(2, Math.max(0, 1 - dot(a, b) / scale));
}

/** Component `i` of a row. `draw` gives the next number of a normal distribution. */
type Component = (row: number, i: number, draw: () => number) => number;

/** n rows of d components, from seeded numbers. */
function rows(n: number, d: number, componentOf: Component): Float32Array[] {
  const random = seededRandom(n * d);
  const draw = () => gaussian(random);
  return Array.from({ length: n }, (_, row) =>
    Float32Array.from({ length: d }, (_value, i) => componentOf(row, i, draw)),
  );
}

/** 60 rows of some dimension. */
const sixty = (componentOf: Component) => (d: number) => rows(60, d, componentOf);
const ofScale = (scale: number): Shape => [
  `components of about ${scale}`,
  sixty((_row, _i, draw) => draw() * scale),
];

type Shape = readonly [name: string, make: (d: number) => Float32Array[]];

/** Euclidean norms stay below 1e15. */
const shapes: readonly Shape[] = [
  ["zeros alone", sixty(() => 0)],
  ["a zero among others", sixty((row, _, draw) => (row === 7 ? 0 : draw()))],
  ["identical vectors", sixty((_, i) => 0.1 * (i + 1))],
  ["three distinct vectors", sixty((row, i) => ((row % 3) + 1) * (i - 1.5))],
  ["opposite vectors", sixty((row, i) => (row % 2 === 0 ? 1 : -1) * (i + 1))],
  ["one row", (d) => rows(1, d, (_, i) => i + 0.5)],
  ["two rows", (d) => rows(2, d, (row, i) => row - i)],
  ["constant dimensions", (d) => rows(60, d, (_, i, draw) => (i % 2 === 0 && d > 1 ? 1e6 : draw()))],
  [
    "differences below the normal range",
    // Squares from 1.4e-45 down, which float32 rounds up to 1.4e-45.
    sixty((row, i) => (i === 0 ? 1 : i === 1 ? 3.7e-23 - row * 1.8e-25 : 0)),
  ],
  [
    "scales from 1e-38 to 1e12 together",
    sixty((row, _, draw) => draw() * 10 ** (row % 2 === 0 ? -38 : (row % 51) - 38)),
  ],
  ...[1e-45, 1e-40, 1e-38, 1e-30, 1e-22, 1e-20, 1e-15, 1e-10, 1e-5, 1e5, 1e12].map(ofScale),
];
/** Only directions count under cosine, so there is no limit. */
const hugeShapes: readonly Shape[] = [1e18, 1e25, 3e37].map(ofScale);
/** Just within the limits of euclidean metrics, in all directions. */
const limitShapes: readonly Shape[] = [
  [
    "norms of almost 1e15",
    (d) =>
      rows(60, d, (_row, _i, draw) => draw()).map((vector, row) => {
        const scale = (row % 3 === 0 ? -0.999e15 : 0.999e15) / Math.sqrt(dot(vector, vector));
        return vector.map((value) => value * scale);
      }),
  ],
];
const dimensions = [65, 1, 3, 63, 2, 4];
/** Dimensions that each of the data is tried in; `npm run test:long -- recall` tries all. */
const tried = repeats("SEALDEX_BORDER_DIMENSIONS", { fast: 1, all: 3 });

async function open(indexConfig: IndexConfigInput, metric: Metric): Promise<VectorIndex> {
  const client = createClient({ indexLocation: createMemoryStore() });
  return client.createIndex({ indexName: "borders", indexKey: generateKey(), indexConfig, metric });
}

async function fill(index: VectorIndex, vectors: readonly Float32Array[]): Promise<void> {
  await index.upsert(vectors.map((vector, i) => ({ id: `${i}`, vector })));
}

/** Query vectors: a stored one, another of the same kind, the first component of one, zero. */
function queriesOf(vectors: readonly Float32Array[]): Float32Array[] {
  const last = vectors[vectors.length - 1];
  return [
    vectors[0],
    last.map((value, i) => (i % 2 === 0 ? value / 2 : -value)),
    last.map((value, i) => (i === 0 ? value : 0)),
    last.map(() => 0),
  ];
}

/** Ranking and values are those of brute force, in float64; rows that are equally far come in any order. */
function expectExact(
  found: Match[],
  metric: Metric,
  query: Float32Array,
  vectors: Float32Array[],
  topK: number,
) {
  const all = vectors.map((vector) => trueDistance(metric, query, vector));
  const nearest = all.toSorted((a, b) => a - b).slice(0, topK);
  expect(found).toHaveLength(nearest.length);
  expect(new Set(found.map(({ id }) => id)).size).toBe(found.length);
  const close = (a: number, b: number) => Math.abs(a - b) <= 1e-12 * b + (metric === "cosine" ? 1e-13 : 0);
  const wrong = found.filter(
    ({ id, distance = Number.NaN }, rank) =>
      !close(distance, nearest[rank]) || !close(distance, all[Number(id)]),
  );
  expect(wrong).toEqual([]);
}

/** Holds for estimates, too. */
function expectSound(found: Match[], most: number): void {
  expect(found.length).toBeLessThanOrEqual(most);
  expect(new Set(found.map(({ id }) => id)).size).toBe(found.length);
  const distances = found.map(({ distance = Number.NaN }) => distance);
  expect(distances.filter((distance, i) => !(distance >= (distances[i - 1] ?? 0)))).toEqual([]);
  expect(distances.filter((distance) => !(distance < Infinity))).toEqual([]);
}

function shapesOf(metric: Metric) {
  const all = [...shapes, ...(metric === "cosine" ? hugeShapes : limitShapes)];
  return all.map(([name, make], i) => ({
    name,
    make,
    triedIn: Array.from({ length: tried }, (_, j) => dimensions[(i + j) % dimensions.length]),
  }));
}

const codedTypes: readonly ((d: number) => IndexConfigInput)[] = [
  () => ({ type: "ivf" }),
  (d) => ({ type: "ivfpq", pqDim: d, pqBits: 4 }),
  () => ({ type: "ivfpq", pqDim: 1, pqBits: 8 }),
];

describe.each(metrics)("vectors at the borders of float32, under %s", (metric) => {
  test.each(shapesOf(metric))("exact types agree with brute force: $name", async ({ make, triedIn }) => {
    for (const d of triedIn) {
      const vectors = make(d);
      const index = await open({ type: "ivfflat" }, metric);
      await fill(index, vectors);
      for (let trainings = 0; trainings <= 2; trainings++) {
        if (trainings > 0) await index.train({ nLists: Math.min(vectors.length, 7) });
        for (const queryVector of queriesOf(vectors)) {
          for (const topK of [1, 10, vectors.length + 5]) {
            const all = await index.query({ queryVector, topK, nProbes: 65_536 });
            expectExact(all, metric, queryVector, vectors, topK);
            const greedy = await index.query({ queryVector, topK, nProbes: 1, greedy: true });
            expectExact(greedy, metric, queryVector, vectors, topK);
            expectSound(await index.query({ queryVector, topK, nProbes: 2 }), Math.min(topK, vectors.length));
            const automatic = await index.query({ queryVector, topK, nProbes: 0 });
            expectSound(automatic, Math.min(topK, vectors.length));
            expect(automatic).toHaveLength(Math.min(topK, vectors.length));
          }
        }
      }
    }
  });

  test.each(shapesOf(metric))("codes end, without duplicates or NaN: $name", async ({ make, triedIn }) => {
    for (const [i, d] of triedIn.entries()) {
      const vectors = make(d);
      const index = await open(codedTypes[(d + i) % codedTypes.length](d), metric);
      await fill(index, vectors);
      for (let trainings = 1; trainings <= 3; trainings++) {
        await index.train({ nLists: Math.min(vectors.length, trainings === 3 ? 1 : 7) });
        for (const queryVector of queriesOf(vectors)) {
          const topK = vectors.length + 5;
          for (const asked of [{ nProbes: 65_536 }, { nProbes: 0 }, { nProbes: 1, greedy: true }]) {
            const found = await index.query({ queryVector, topK, ...asked });
            expect(found).toHaveLength(vectors.length);
            expectSound(found, vectors.length);
          }
          expectSound(await index.query({ queryVector, topK, nProbes: 2 }), vectors.length);
        }
      }
    }
  });

  test("exact types agree with brute force in 8,192 dimensions", async () => {
    const d = 8192;
    for (const scale of [1e-40, 1e-20, 1, metric === "cosine" ? 3e37 : 1e12]) {
      const vectors = rows(40, d, (_row, _i, draw) => draw() * scale);
      const index = await open({ type: "ivfflat" }, metric);
      await fill(index, vectors);
      for (const nLists of [undefined, 5]) {
        if (nLists !== undefined) await index.train({ nLists });
        const [queryVector] = queriesOf(vectors);
        const found = await index.query({ queryVector, topK: 50, nProbes: 65_536 });
        expectExact(found, metric, queryVector, vectors, 50);
      }
    }
  });

  test.each([{ type: "ivfflat" }, { type: "ivf" }, { type: "ivfpq", pqDim: 2, pqBits: 8 }] as const)(
    "lists that outnumber the distinct vectors find every row once: $type",
    async (config) => {
      for (const distinct of [1, 3]) {
        const vectors = rows(150, 6, (row, i) => (row % distinct) - i);
        const index = await open(config, metric);
        await fill(index, vectors);
        for (const nLists of [100, 150]) {
          await index.train({ nLists });
          for (const nProbes of [0, 30, 65_536]) {
            const [queryVector] = queriesOf(vectors);
            const found = await index.query({ queryVector, topK: 200, nProbes });
            expectSound(found, vectors.length);
            if (nProbes !== 30) expect(found).toHaveLength(vectors.length);
          }
        }
      }
    },
  );

  if (metric === "cosine") return;

  test.each([1e15, 2e19, 3e38])("a component of %s is refused in items and in queries", async (component) => {
    const index = await open({ type: "ivf" }, metric);
    await fill(
      index,
      rows(3, 2, (row, i) => row + i),
    );
    const tooLong = [component, component];
    const items = [
      { id: "a", vector: [1, 2] },
      { id: "b", vector: tooLong },
    ];
    const refused = { code: "invalid_request", message: expect.stringContaining("at most 1000000000000000") };
    await expect(index.upsert(items)).rejects.toMatchObject(refused);
    await expect(index.upsert(items)).rejects.toThrow("items[1].vector");
    await expect(index.query({ queryVector: tooLong })).rejects.toMatchObject(refused);
    await expect(index.query({ queryVectors: [[1, 2], tooLong] })).rejects.toThrow("queryVectors[1]");
    expect(await index.count()).toBe(3);
    await index.train({ nLists: 2 });
    await index.train({ nLists: 3 });
    expect(await index.query({ queryVector: [0, 0], topK: 5, nProbes: 3 })).toHaveLength(3);
  });
});
