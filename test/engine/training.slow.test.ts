import { describe, expect, test } from "vitest";
import { CoarseQuantizer, type ProbeOptions, type Probes } from "../../src/engine/lists/coarse-quantizer.js";
import { type Metric, metrics } from "../../src/engine/config.js";
import { allocatedBytes } from "../../src/engine/kernels/memory.js";
import { scoreLowerBound, toListSpace } from "../../src/engine/metric.js";
import { listCount, type Model } from "../../src/engine/model.js";
import { distanceRatio } from "../../src/engine/lists/probe-limits.js";
import { QueryVector } from "../../src/engine/query-vector.js";
import { seededRandom } from "../../src/engine/random.js";
import { limitsFor } from "../../src/engine/recall-curves.js";
import { trainModel } from "../../src/engine/training/train.js";
import { addRow, countRows, hasRow, noRows } from "../../src/state/segment/row-bits.js";
import { clustered, sampleOf } from "./data.js";
import { finish } from "./finish.js";
import { dot, rowsOf, squaredL2 } from "./oracle.js";

/** How many of the lists at ascending distances are within the limit. */
function likelyLists(distances: readonly number[], limit: number): number {
  const isWithin = (distance: number, rank: number) =>
    rank === 0 || distanceRatio(rank, distance ** 2, distances[0] ** 2) <= limit;
  return distances.findLastIndex(isWithin) + 1;
}

function train(sample: Float32Array, d: number, nLists: number, seed = 1, metric?: Metric): Model {
  return finish(trainModel(sampleOf(sample, d, metric), nLists, seed));
}

/** Mean squared distance of each vector from its list's centroid. */
function distortion(model: Model, vectors: Float32Array): number {
  const quantizer = finish(CoarseQuantizer.open(model, "euclidean"));
  const centroids = rowsOf(model.centroids, model.dimension);
  const lists = quantizer.assign(vectors);
  quantizer.free();
  const rows = rowsOf(vectors, model.dimension);
  return rows.reduce((sum, row, i) => sum + squaredL2(row, centroids[lists[i]]), 0) / rows.length;
}

test("the same sample and seed give the same model, another seed another", () => {
  const sample = clustered(2000, 16, 10, 1);
  const model = train(sample, 16, 20);
  expect(train(sample, 16, 20)).toEqual(model);
  expect(train(sample, 16, 20, 2).centroids).not.toEqual(model.centroids);
});

test("k-means finds clusters: distortion near the spread within them, far below one list's", () => {
  const d = 24;
  const sample = clustered(4000, d, 12, 5);
  const within = 0.09 * d;
  // Of three seeds the middle one: one may leave two clusters in a list.
  const distortions = [1, 2, 3].map((seed) => distortion(train(sample, d, 24, seed), sample));
  expect(distortions.toSorted((a, b) => a - b)[1]).toBeLessThan(1.1 * within);
  expect(distortion(train(sample, d, 1), sample)).toBeGreaterThan(5 * within);
});

function probe(
  quantizer: CoarseQuantizer,
  query: Float32Array,
  nProbes: number,
  metric: Metric = "euclidean",
  options: ProbeOptions = {},
): Probes {
  const asking = new QueryVector(metric, query, quantizer.rotation);
  const probes = quantizer.probe(asking, nProbes, options);
  asking.free();
  return probes;
}

test("a few probes of many lists are nearly always the nearest ones", () => {
  const d = 48;
  const vectors = clustered(3000, d, 300, 4);
  const quantizer = finish(CoarseQuantizer.open(train(vectors, d, 400), "euclidean"));
  let missed = 0;
  for (const query of rowsOf(clustered(60, d, 300, 4), d)) {
    const exact = probe(quantizer, query, 400);
    const few = probe(quantizer, query, 20);
    expect(few.lists.length).toBe(20);
    missed += exact.lists.slice(0, 20).filter((list) => !few.lists.includes(list)).length;
    few.lists.forEach((list, rank) => {
      expect(few.distances[rank]).toBe(exact.distances[exact.lists.indexOf(list)]);
    });
  }
  quantizer.free();
  expect(missed).toBeLessThanOrEqual(0.02 * 60 * 20);
});

test("probes among some of the lists are the nearest of those, and no more than there are", () => {
  const d = 48;
  const vectors = clustered(3000, d, 300, 4);
  const quantizer = finish(CoarseQuantizer.open(train(vectors, d, 401), "euclidean"));
  const random = seededRandom(9);
  let missed = 0;
  for (const query of rowsOf(clustered(40, d, 300, 4), d)) {
    const exact = probe(quantizer, query, 401);
    for (const share of [0, 0.01, 0.1, 0.9, 1]) {
      const bits = noRows(401);
      for (let list = 0; list < 401; list++) if (random() < share) addRow(bits, list);
      const among = { bits, count: countRows(bits, 0, 401) };
      const nearest = exact.lists.filter((list) => hasRow(bits, list));
      expect(probe(quantizer, query, 401, "euclidean", { among }).lists).toEqual(nearest);
      const few = probe(quantizer, query, 20, "euclidean", { among });
      expect(few.lists.length).toBe(Math.min(20, among.count));
      expect(few.lists.every((list) => hasRow(bits, list))).toBe(true);
      missed += nearest.slice(0, 20).filter((list) => !few.lists.includes(list)).length;
    }
  }
  quantizer.free();
  expect(missed).toBeLessThanOrEqual(0.02 * 40 * 3 * 20);
});

test("a vector is assigned to the list whose centroid is nearest, and probes come nearest first", () => {
  const d = 20;
  const vectors = clustered(500, d, 6, 2);
  const model = train(vectors, d, 30);
  const quantizer = finish(CoarseQuantizer.open(model, "euclidean"));
  const lists = quantizer.assign(vectors);
  const centroids = rowsOf(model.centroids, d);
  rowsOf(vectors, d).forEach((row, i) => {
    const squares = centroids.map((centroid) => squaredL2(row, centroid));
    expect(squares[lists[i]]).toBeLessThanOrEqual(Math.min(...squares) * (1 + 1e-5));
    const { lists: order, distances } = probe(quantizer, row, 30);
    expect(order.toSorted((a, b) => a - b)).toEqual(squares.map((_, list) => list));
    order.forEach((list, rank) => expect(distances[rank]).toBeCloseTo(Math.sqrt(squares[list]), 5));
    expect(distances).toEqual(distances.toSorted((a, b) => a - b));
  });
  quantizer.free();
});

describe("under cosine", () => {
  const d = 20;
  const points = toListSpace("cosine", clustered(900, d, 7, 3), d);
  const model = train(points, d, 30, 1, "cosine");
  const centroids = rowsOf(model.centroids, d);
  const cosines = (row: Float32Array) =>
    centroids.map((centroid) => dot(row, centroid) / Math.sqrt(dot(centroid, centroid)));

  test("a vector is assigned to the list at the smallest angle, and probes come in the order of angles", () => {
    const quantizer = finish(CoarseQuantizer.open(model, "cosine"));
    const lists = quantizer.assign(points);
    rowsOf(points, d).forEach((row, i) => {
      const found = cosines(row);
      expect(found[lists[i]]).toBeGreaterThanOrEqual(Math.max(...found) - 1e-6);
      const { lists: order, distances } = probe(quantizer, row, 30, "cosine");
      order.forEach((list, rank) => expect(distances[rank] ** 2).toBeCloseTo(2 - 2 * found[list], 5));
      expect(distances).toEqual(distances.toSorted((a, b) => a - b));
    });
    quantizer.free();
  });

  test("the distance to a centroid follows from the angle and the centroid's length", () => {
    const quantizer = finish(CoarseQuantizer.open(model, "cosine"));
    for (const row of rowsOf(points, d).slice(0, 50)) {
      const { lists, distances } = probe(quantizer, row, 30, "cosine");
      lists.forEach((list, rank) => {
        const distance = quantizer.distanceToCentroid(list, distances[rank]);
        expect(distance).toBeCloseTo(Math.sqrt(squaredL2(row, centroids[list])), 5);
      });
    }
    quantizer.free();
  });

  test("centroids are the means of their rows, rounded to 8 bits, up to the last round of k-means", () => {
    const [alone] = rowsOf(train(points, d, 1, 1, "cosine").centroids, d);
    const means = Array.from(
      { length: d },
      (_, i) => rowsOf(points, d).reduce((sum, row) => sum + row[i], 0) / 900,
    );
    const step = Math.max(...means.map(Math.abs)) / 127;
    means.forEach((mean, i) => expect(Math.abs(alone[i] - mean)).toBeLessThan(step / 2 + 1e-5));
  });
});

test.each(["euclidean", "cosine"] as const)(
  "with a limit, probes of many lists under %s are nearly always those within it",
  (metric) => {
    const d = 48;
    const points = toListSpace(metric, clustered(3000, d, 300, 4), d);
    const quantizer = finish(CoarseQuantizer.open(train(points, d, 401, 1, metric), metric));
    const random = seededRandom(9);
    let wanted = 0;
    let missed = 0;
    for (const query of rowsOf(toListSpace(metric, clustered(40, d, 300, 4), d), d)) {
      const bits = noRows(401);
      for (let list = 0; list < 401; list++) if (random() < 0.5) addRow(bits, list);
      const some = { bits, count: countRows(bits, 0, 401) };
      for (const among of [undefined, some]) {
        const exact = probe(quantizer, query, 401, metric, { among });
        for (const limit of [1, 1.5, 3, 10]) {
          const within = exact.lists.slice(0, likelyLists(exact.distances, limit));
          const found = probe(quantizer, query, 200, metric, { among, limit });
          expect(found.distances).toEqual(found.distances.toSorted((a, b) => a - b));
          const likely = found.lists.slice(0, likelyLists(found.distances, limit));
          if (among !== undefined) expect(likely.every((list) => hasRow(bits, list))).toBe(true);
          wanted += Math.min(200, within.length);
          missed += within.slice(0, 200).filter((list) => !likely.includes(list)).length;
        }
      }
    }
    quantizer.free();
    expect(missed).toBeLessThanOrEqual(0.02 * wanted);
  },
);

// At 1e13 the squares of bounds leave float32, and at 1e16 the vectors themselves do.
test.each([1, 1e10, 1e13, 1e16])(
  "a limit beyond the largest float32 rules out no list, and adds none, of vectors times %d",
  (scale) => {
    const d = 48;
    const points = clustered(3000, d, 300, 4).map((value) => value * scale);
    const quantizer = finish(CoarseQuantizer.open(train(points, d, 401), "euclidean"));
    const bits = noRows(401);
    for (let list = 0; list < 401; list += 3) addRow(bits, list);
    const among = { bits, count: countRows(bits, 0, 401) };
    const all = Array.from({ length: 401 }, (_, list) => list);
    for (const query of rowsOf(points, d).slice(0, 20)) {
      const sorted = (options: ProbeOptions) =>
        probe(quantizer, query, 401, "euclidean", options).lists.toSorted((a, b) => a - b);
      expect(sorted({ limit: 1e38 })).toEqual(all);
      expect(sorted({ limit: 1e38, among })).toEqual(all.filter((list) => list % 3 === 0));
    }
    quantizer.free();
  },
);

describe("training keeps every row reachable on data with", () => {
  const d = 6;
  const random = seededRandom(9);
  const repeated = Float32Array.from({ length: 300 * d }, (_, i) => [1, 2, 3, 4, 5, 6][i % d]);
  const shapes: Record<string, Float32Array> = {
    "nothing but duplicates": repeated,
    "nothing but zeros": new Float32Array(300 * d),
    "one tight cluster": Float32Array.from({ length: 300 * d }, () => 1 + 1e-6 * random()),
    "one far outlier": repeated.with(0, 1e30),
    "values at the end of float32": Float32Array.from({ length: 300 * d }, () => (random() - 0.5) * 6.8e38),
  };
  test.each(Object.entries(shapes))("%s", (_, sample) => {
    const model = train(sample, d, 16);
    expect(listCount(model)).toBe(16);
    for (const depth of [1, 10, 100, 300]) {
      const { probes, ratio, outside } = limitsFor(model.curves, depth, undefined);
      expect(probes).toBeGreaterThanOrEqual(1);
      expect(probes).toBeLessThanOrEqual(16);
      expect(ratio).toBeGreaterThanOrEqual(1);
      expect(outside).toBeGreaterThanOrEqual(1);
    }
    const quantizer = finish(CoarseQuantizer.open(model, "euclidean"));
    for (const list of quantizer.assign(sample)) expect(list).toBeLessThan(16);
    quantizer.free();
  });
});

test.each(metrics)("no row of a list scores below the list's floor under %s", (metric) => {
  const d = 12;
  const vectors = clustered(400, d, 5, 21);
  const points = toListSpace(metric, vectors, d);
  const model = train(points, d, 8, 1, metric);
  const quantizer = finish(CoarseQuantizer.open(model, metric));
  const lists = quantizer.assign(points);
  const rows = rowsOf(vectors, d);
  for (let list = 0; list < 8; list++) {
    const members = rows.flatMap((_, row) => (lists[row] === list ? [row] : []));
    if (members.length === 0) continue;
    const flat = Float32Array.from(
      members.flatMap((row) => Array.from(points.subarray(row * d, (row + 1) * d))),
    );
    const radius = finish(quantizer.radius(flat, list));
    for (const query of rows.slice(0, 40)) {
      const { lists: order, distances } = probe(quantizer, query, 8, metric);
      const distance = quantizer.distanceToCentroid(list, distances[order.indexOf(list)]);
      const floor = scoreLowerBound(metric, d, distance, radius);
      for (const row of members) {
        const cosine = 1 - dot(query, rows[row]) / Math.sqrt(dot(query, query) * dot(rows[row], rows[row]));
        expect(metric === "cosine" ? cosine : squaredL2(query, rows[row])).toBeGreaterThanOrEqual(
          floor - 1e-9,
        );
      }
    }
  }
  quantizer.free();
});

test("training gives back all the kernel memory it took", () => {
  const before = allocatedBytes();
  train(clustered(1000, 8, 4, 1), 8, 10);
  expect(allocatedBytes()).toBe(before);
});
