import { describe, expect, test } from "vitest";
import { chooseScanner, codecToRead, codecToWrite } from "../../src/engine/scan/choose-codec.js";
import { CoarseQuantizer } from "../../src/engine/lists/coarse-quantizer.js";
import type { RowCodec } from "../../src/engine/codes/codec.js";
import { type IndexConfig, type Metric, metrics } from "../../src/engine/config.js";
import { callKernel } from "../../src/engine/kernels/kernels.js";
import { allocate, allocatedBytes, free, wordsAt } from "../../src/engine/kernels/memory.js";
import { toListSpace } from "../../src/engine/metric.js";
import { type CodedModel, type Model } from "../../src/engine/model.js";
import { ModelQuantizer } from "../../src/engine/codes/model-quantizer.js";
import { QueryVector } from "../../src/engine/query-vector.js";
import { seededRandom } from "../../src/engine/random.js";
import { Search } from "../../src/engine/scan/scan-blocks.js";
import { trainModel } from "../../src/engine/training/train.js";
import { codewordCount } from "../../src/engine/training/train-quantizer.js";
import { repeats } from "../tier.js";
import { clustered, sampleOf } from "./data.js";
import { finish } from "./finish.js";
import { dot, rowsOf, squaredL2 } from "./oracle.js";

function ivf(metric: Metric = "euclidean"): IndexConfig {
  return { type: "ivf", metric, nLists: 1024 };
}

function ivfpq(pqDim: number, pqBits: number, metric: Metric = "euclidean"): IndexConfig {
  return { type: "ivfpq", metric, nLists: 1024, pqDim, pqBits };
}

/** A model with a quantizer, learned from vectors, in kernel memory. */
function trained(config: IndexConfig, vectors: Float32Array, d: number, nLists: number) {
  const points = toListSpace(config.metric, vectors, d);
  const coding = { config, known: undefined };
  const model = finish(trainModel({ ...sampleOf(points, d, config.metric), coding }, nLists, 3));
  return loaded(config, model as CodedModel);
}

function loaded(config: IndexConfig, model: CodedModel) {
  const quantizer = finish(CoarseQuantizer.open(model, config.metric));
  const rowQuantizer = new ModelQuantizer(config, model);
  const both = { model: model as Model, quantizer, rowQuantizer };
  const codec = codecToWrite(config, model.dimension, both);
  if (codec.kind !== "codes") throw new Error("expected a codec of codes alone");
  const release = () => {
    quantizer.free();
    rowQuantizer.free();
  };
  return { trained: both, model, codec, quantizer, release };
}

type Loaded = ReturnType<typeof trained>;

/** A block of vectors that all belong to one list. */
function blockOf(codec: RowCodec, vectors: Float32Array, list: number): Uint8Array {
  const n = vectors.length / codec.model.dimension;
  return codec.pack(finish(codec.encodeRows(vectors, new Uint32Array(n).fill(list))));
}

/** What a scan of rows, all as one block of `list`, offers, by row. */
function scores(
  config: IndexConfig,
  { trained: both, codec, quantizer }: Loaded,
  block: Uint8Array,
  n: number,
  list: number,
  query: Float32Array,
): number[] {
  const asking = new QueryVector(config.metric, query, quantizer.rotation);
  const { lists, distances } = quantizer.probe(asking, quantizer.nLists);
  const search = new Search(asking, chooseScanner(config, asking, both), n);
  const fingerprints = allocate(16 * n);
  const codes = codec.load({ codes: block, n }, fingerprints);
  wordsAt(fingerprints, 4 * n).fill(0);
  search.scan([
    {
      block: 0,
      codes,
      distance: quantizer.distanceToCentroid(list, distances[lists.indexOf(list)]),
      pruned: false,
      newerSegments: 0,
      accepted: 0,
      firstBit: 0,
    },
  ]);
  const offered: number[] = Array.from({ length: n }, () => Number.NaN);
  for (const { row, score } of search.finish()) offered[row] = score;
  search.free();
  asking.free();
  codes.free();
  free(fingerprints);
  return offered;
}

/** All of them; a run has the first so many. */
const allWordLengths = [1, 4, 9, 8, 12, 16, 2, 3, 5, 6, 7, 10, 11, 13, 14, 15];
const wordLengths = allWordLengths.slice(0, repeats("SEALDEX_WORD_LENGTHS", { fast: 3, all: 6 }));

const shapes: [string, IndexConfig][] = [
  ["ivf", ivf()],
  ...wordLengths.map((bits): [string, IndexConfig] => [`ivfpq, ${bits} bits`, ivfpq(6, bits)]),
];

describe.each(shapes)("%s", (_, config) => {
  const d = 24;
  const vectors = clustered(900, d, 6, 7);
  const queries = rowsOf(clustered(905, d, 6, 7).subarray(900 * d), d);

  test("decodes a row to the point nearest to it in the direction of its code", () => {
    const index = trained(config, vectors, d, 4);
    const reference = index.model.centroids.subarray(d, 2 * d);
    const residuals = (rows: Float32Array) =>
      rowsOf(rows, d).map((row) => row.map((value, i) => value - reference[i]));
    const decoded = residuals(index.codec.decode(blockOf(index.codec, vectors, 1), 900));
    for (const [row, residual] of residuals(vectors).entries()) {
      const along = dot(residual, decoded[row]);
      const length = Math.sqrt(dot(residual, residual) * dot(decoded[row], decoded[row]));
      // Codewords that have too little in common with a residual stand for none of it.
      if (config.type === "ivfpq" && along / length < 0.6) continue;
      expect(Math.abs(dot(decoded[row], decoded[row]) - along)).toBeLessThan(1e-4 * length);
    }
    index.release();
  });

  test("estimates what the codes stand for, whatever the number of rows", () => {
    const index = trained(config, vectors, d, 4);
    // Entries of one byte suffice where a code's own error is ten times theirs.
    const tolerance = config.type === "ivf" ? 2e-2 : 1e-3;
    for (const n of [1, 2, 31, 32, 33, 64, 77]) {
      const rows = vectors.subarray(0, n * d);
      const block = blockOf(index.codec, rows, 1);
      const decoded = rowsOf(index.codec.decode(block, n), d);
      const reference = index.model.centroids.subarray(d, 2 * d);
      for (const query of queries) {
        scores(config, index, block, n, 1, query).forEach((score, row) => {
          // Both follow from u, the code's direction: |q - a|^2 + |r|^2 - 2 |r| <q - a, u> / <r / |r|, u>.
          const residual = rowsOf(rows, d)[row].map((value, i) => value - reference[i]);
          const code = decoded[row].map((value, i) => value - reference[i]);
          const fromAnchor = query.map((value, i) => value - reference[i]);
          const along = dot(residual, code);
          const cosine = along / Math.sqrt(dot(residual, residual) * dot(code, code));
          if (config.type === "ivfpq" && cosine < 0.6) return;
          const scale = dot(residual, residual) / along;
          const expected =
            squaredL2(query, reference) + dot(residual, residual) - 2 * scale * dot(fromAnchor, code);
          const size = squaredL2(query, reference) + dot(residual, residual);
          expect(Math.abs(score - Math.max(0, expected))).toBeLessThan(tolerance * size);
        });
      }
    }
    index.release();
  });

  test.each(metrics)("gives the vectors of rows of a loaded block as of a stored one, under %s", (metric) => {
    const given = vectors.slice();
    given.fill(0, 3 * d, 4 * d);
    const index = trained({ ...config, metric }, given, d, 4);
    for (const n of [5, 32, 70]) {
      const block = blockOf(index.codec, given.subarray(0, n * d), 2);
      const all = rowsOf(index.codec.decode(block, n), d);
      const codes = index.codec.load({ codes: block, n }, 0);
      for (const wanted of [[3], [n - 1, 3, 0], Array.from({ length: n }, (__, row) => row), []]) {
        const picked = rowsOf(codes.gather(wanted), d);
        expect(picked).toEqual(wanted.map((row) => all[row]));
      }
      codes.free();
    }
    index.release();
  });

  test("row codes make the same blocks in any order, and decode to the same vectors", () => {
    const index = trained(config, vectors, d, 4);
    const n = 70;
    const block = blockOf(index.codec, vectors.subarray(0, n * d), 2);
    const rows = index.codec.unpack(block, n);
    expect(index.codec.pack(rows)).toEqual(block);
    const reader = codecToRead(config, d, true, index.model);
    expect(reader.decode(block, n)).toEqual(index.codec.decode(block, n));
    index.release();
  });

  test("gives back all the kernel memory it took", () => {
    const before = allocatedBytes();
    const index = trained(config, vectors, d, 4);
    const block = blockOf(index.codec, vectors.subarray(0, 50 * d), 0);
    scores(config, index, block, 50, 0, queries[0]);
    index.codec.decode(block, 50);
    index.release();
    expect(allocatedBytes()).toBe(before);
  });
});

test.each([1, 2, 31, 64, 100, 257, 784, 1100, 4200])(
  "estimates of ivf lie around the distances, d = %i",
  (d) => {
    const n = 200;
    const vectors = clustered(n + 5, d, 1, d);
    const index = trained(ivf(), vectors.subarray(0, n * d), d, 1);
    const block = blockOf(index.codec, vectors.subarray(0, n * d), 0);
    for (const query of rowsOf(vectors.subarray(n * d), d)) {
      const exact = rowsOf(vectors.subarray(0, n * d), d).map((row) => squaredL2(query, row));
      const mean = exact.reduce((sum, value) => sum + value, 0) / n;
      const found = scores(ivf(), index, block, n, 0, query);
      const bias = found.reduce((sum, score, row) => sum + score - exact[row], 0) / n;
      const error = Math.sqrt(found.reduce((sum, score, row) => sum + (score - exact[row]) ** 2, 0) / n);
      expect(Math.abs(bias)).toBeLessThan(0.1 * mean);
      expect(error).toBeLessThan((2.2 / Math.sqrt(d + 128)) * mean);
    }
    index.release();
  },
);

test("estimates stay good far from the origin, and in a list much tighter than the query is far", () => {
  const d = 32;
  const vectors = clustered(300, d, 1, 5).map((value) => 1e-3 * value + 100);
  const index = trained(ivf(), vectors, d, 2);
  const query = vectors.slice(0, d).map((value, i) => value + (i % 2) * 1e-3);
  const block = blockOf(index.codec, vectors, 0);
  const found = scores(ivf(), index, block, 300, 0, query);
  const exact = rowsOf(vectors, d).map((row) => squaredL2(query, row));
  const nearest = (values: number[]) => values.map((_, i) => i).sort((a, b) => values[a] - values[b]);
  const first = new Set(nearest(found).slice(0, 30));
  expect(
    nearest(exact)
      .slice(0, 10)
      .filter((row) => first.has(row)).length,
  ).toBeGreaterThanOrEqual(7);
  index.release();
});

describe.each(metrics)("under %s", (metric) => {
  test.each([
    ["ivf", ivf(metric)],
    ["ivfpq", ivfpq(4, 8, metric)],
    ["ivfpq, 4 bits", ivfpq(4, 4, metric)],
  ])("%s gives every row a distance that is a number, whatever the data", (_, config) => {
    const d = 8;
    const data: Record<string, Float32Array> = {
      duplicates: new Float32Array(100 * d).fill(0.5),
      zeros: new Float32Array(100 * d),
      "one zero": clustered(100, d, 3, 1).fill(0, 0, d),
      "the end of float32": clustered(100, d, 3, 1).map((value) => Math.sign(value) * 3e38),
    };
    for (const [name, vectors] of Object.entries(data)) {
      const index = trained(config, vectors, d, 3);
      const block = blockOf(index.codec, vectors, 0);
      for (const query of [vectors.slice(0, d), new Float32Array(d), new Float32Array(d).fill(1)]) {
        for (const score of scores(config, index, block, 100, 0, query)) {
          expect(Number.isFinite(score) && score >= 0 && (metric !== "cosine" || score <= 2), name).toBe(
            true,
          );
        }
      }
      index.release();
    }
  });
});

test.each([ivf("cosine"), ivfpq(4, 8, "cosine")])(
  "a zero vector is at distance 1 from everything under cosine, stored or asked: %o",
  (config) => {
    const d = 8;
    const vectors = clustered(60, d, 3, 2).fill(0, d, 2 * d);
    const index = trained(config, vectors, d, 2);
    const block = blockOf(index.codec, vectors, 0);
    expect(scores(config, index, block, 60, 0, vectors.slice(0, d))[1]).toBe(1);
    for (const score of scores(config, index, block, 60, 0, new Float32Array(d))) expect(score).toBe(1);
    expect(Array.from(index.codec.decode(block, 60).subarray(d, 2 * d))).toEqual(
      Array.from(new Float32Array(d)),
    );
    index.release();
  },
);

test("rows keep their code, and their estimates, under lists that were learned anew", () => {
  const d = 16;
  const vectors = clustered(500, d, 8, 4);
  for (const config of [ivf(), ivfpq(4, 8), ivfpq(8, 4)]) {
    const old = trained(config, vectors, d, 5);
    const quantizer = old.quantizer.assign(vectors);
    const rows = finish(old.codec.encodeRows(vectors, quantizer));
    const lists = finish(trainModel(sampleOf(vectors, d), 9, 8));
    const now = loaded(config, { ...lists, quantizer: old.model.quantizer });
    const query = clustered(501, d, 8, 4).slice(500 * d);
    const regrouped = scores(config, now, now.codec.pack(rows), 500, 3, query);
    for (let list = 0; list < 5; list++) {
      const members = Array.from(quantizer.keys()).filter((row) => quantizer[row] === list);
      const codes = Buffer.concat(
        members.map((row) => rows.subarray(row * old.codec.rowBytes, (row + 1) * old.codec.rowBytes)),
      );
      const before = scores(config, old, old.codec.pack(codes), members.length, list, query);
      const tolerance = (config.type === "ivf" ? 2e-2 : 1e-4) * Math.max(...before);
      before.forEach((score, i) => {
        expect(Math.abs(regrouped[members[i]] - score)).toBeLessThan(tolerance);
      });
    }
    old.release();
    now.release();
  }
});

test.each([ivf(), ivfpq(4, 8)])(
  "random vectors that may have had the codes of $type are as far from their centroid as what was coded, and the same along the code",
  (config) => {
    const d = 32;
    const vectors = clustered(600, d, 4, 21);
    const { model, codec, release } = trained(config, vectors, d, 1);
    const codes = finish(codec.encodeRows(vectors, new Uint32Array(600)));
    const [decoded, drawn] = [codec.decodeRows(codes), codec.decodeRows(codes, seededRandom(4))];
    const centroid = model.centroids.subarray(0, d);
    const fromCentroid = (points: Float32Array, row: number) =>
      points.subarray(row * d, (row + 1) * d).map((value, i) => value - centroid[i]);
    for (let row = 0; row < 600; row++) {
      const [of, along, may] = [vectors, decoded, drawn].map((points) => fromCentroid(points, row));
      const square = dot(of, of);
      expect(Math.abs(dot(may, may) - square)).toBeLessThan(1e-3 * square);
      expect(Math.abs(dot(may, along) - dot(along, along))).toBeLessThan(1e-3 * square);
    }
    // Codes leave something open, and it is not left out.
    expect(drawn).not.toEqual(decoded);
    release();
  },
);

test("random vectors that may have had coarse codes have no more in common with their codes than what was coded", () => {
  const d = 64;
  const n = 1200;
  const vectors = clustered(n, d, 1, 22);
  const { model, codec, release } = trained(ivfpq(1, 4), vectors, d, 1);
  const codes = finish(codec.encodeRows(vectors, new Uint32Array(n)));
  const decoded = codec.decodeRows(codes);
  const centroid = model.centroids.subarray(0, d);
  const residual = (points: Float32Array, row: number) =>
    points.subarray(row * d, (row + 1) * d).map((value, i) => value - centroid[i]);
  const meanCosine = (points: Float32Array) => {
    let sum = 0;
    for (let row = 0; row < n; row++) {
      const [point, code] = [residual(points, row), residual(decoded, row)];
      sum += dot(point, code) / Math.sqrt(dot(point, point) * dot(code, code));
    }
    return sum / n;
  };
  const drawn = codec.decodeRows(codes, seededRandom(4));
  expect(Math.abs(meanCosine(drawn) - meanCosine(vectors))).toBeLessThan(0.05);
  release();
});

test("codebooks have as many words as the data supports", () => {
  expect([1, 7, 100, 2048, 5000, 39_000].map((n) => codewordCount(n, 16))).toEqual([
    1, 1, 12, 256, 256, 1000,
  ]);
  expect(codewordCount(1e6, 4)).toBe(16);
});

test("centroids that are abandoned while they are loaded leave no kernel memory", () => {
  const d = 16;
  const model = finish(trainModel(sampleOf(clustered(3000, d, 20, 5), d, "cosine"), 300, 3));
  const before = allocatedBytes();
  let steps = 0;
  for (let isOpen = false; !isOpen; steps++) {
    const work = CoarseQuantizer.open(model, "cosine");
    let step = work.next();
    for (let i = 0; i < steps && !step.done; i++) {
      for (const call of step.value ?? []) callKernel(call);
      step = work.next();
    }
    isOpen = step.done === true;
    if (step.done) step.value.free();
    else step = work.return(undefined as never);
    expect(allocatedBytes(), `abandoned at step ${steps}`).toBe(before);
  }
  expect(steps).toBeGreaterThan(3);
});

test("a model of codes alone holds no rotated centroids, which only codes beside vectors are made from", () => {
  const d = 64;
  const vectors = clustered(2000, d, 20, 5);
  const before = allocatedBytes();
  const { model, release, quantizer } = trained(ivf(), vectors, d, 100);
  const { quantizer: learned, ...plain } = model;
  const beside = finish(CoarseQuantizer.open(plain, "euclidean"));
  expect(learned).toBeDefined();
  expect(beside.bytes - quantizer.bytes).toBe(4 * 100 * d);
  beside.free();
  release();
  expect(allocatedBytes()).toBe(before);
});
