/**
 * All indexes of a process share the memory of the kernels. Whatever numbers the codes, the model or the rows of one name, kernels compute nothing of
 * the bytes of another: they trap. Nothing here is checked as what is read from storage is.
 */

import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { codecToRead } from "../../src/engine/scan/choose-codec.js";
import { CoarseQuantizer } from "../../src/engine/lists/coarse-quantizer.js";
import type { Codec, LoadedCodes } from "../../src/engine/codes/codec.js";
import { putCodeword } from "../../src/engine/codes/code-layout.js";
import { codedScanner } from "../../src/engine/scan/coded-scanner.js";
import type { IndexConfig } from "../../src/engine/config.js";
import { flatCodec } from "../../src/engine/codes/flat.js";
import { callKernel } from "../../src/engine/kernels/kernels.js";
import { allocate, floatsAt, free, wordsAt } from "../../src/engine/kernels/memory.js";
import { ListBlockTable } from "../../src/engine/scan/list-block-table.js";
import { ListSearch } from "../../src/engine/scan/search-lists.js";
import type { CodedModel } from "../../src/engine/model.js";
import { ModelQuantizer } from "../../src/engine/codes/model-quantizer.js";
import { QueryVector } from "../../src/engine/query-vector.js";
import { flatScanner, type Scanner, writeJobs } from "../../src/engine/scan/scanner.js";
import { Search } from "../../src/engine/scan/scan-blocks.js";
import { SpilledCodes } from "../../src/state/segment/secondary-codes.js";
import { modelOf, uniform } from "./data.js";
import { finish } from "./finish.js";

const d = 8;
const lists = 3;
/** What another index holds: a number that nothing here computes. */
const secret = 1234.5;
const secretFloats = 2 ** 20;
let secrets: number[];

beforeAll(() => {
  secrets = Array.from({ length: 4 }, () => {
    const at = allocate(4 * secretFloats);
    floatsAt(at, secretFloats).fill(secret);
    return at;
  });
});
afterAll(() => secrets.forEach(free));

const trap = WebAssembly.RuntimeError;
const centroids = uniform(lists, d, 1);
const ivf: IndexConfig = { type: "ivf", metric: "euclidean", nLists: lists };
const ivfpq = (pqBits: number): IndexConfig => ({ ...ivf, type: "ivfpq", pqDim: 4, pqBits });

function coded(k: number, order = Uint32Array.from({ length: d }, (_, i) => i)): CodedModel {
  const quantizer = { rotationSeed: 1, origin: new Float32Array(d), references: centroids.slice() };
  const codebooks = k > 0 ? { codebooks: { order, codewords: uniform(k, d, 2) } } : {};
  return { ...modelOf(centroids, d), quantizer: { ...quantizer, ...codebooks } };
}

/** A block of n rows whose codes are these bytes, without fingerprints. */
function load(codec: Codec, codes: Uint8Array, n: number) {
  const fingerprints = allocate(16 * n);
  wordsAt(fingerprints, 4 * n).fill(0);
  const loaded = codec.load({ codes, n }, fingerprints);
  const release = () => {
    loaded.free();
    free(fingerprints);
  };
  return { loaded, release };
}

const jobOf = (codes: LoadedCodes) => ({
  block: 0,
  codes,
  distance: undefined,
  pruned: false,
  newerSegments: 0,
  accepted: 0,
  firstBit: 0,
});

/** The scores of a query with a block. */
function scoresOf(query: QueryVector, scanner: Scanner, codes: LoadedCodes): number[] {
  const search = new Search(query, scanner, codes.n);
  try {
    search.scan([jobOf(codes)]);
    return search.finish().map(({ score }) => score);
  } finally {
    search.free();
    query.free();
  }
}

function scanCodes(config: IndexConfig, model: CodedModel, codes: Uint8Array, n: number): number[] {
  const coarse = finish(CoarseQuantizer.open(model, config.metric));
  const quantizer = new ModelQuantizer(config, model);
  const { loaded, release } = load(codecToRead(config, d, true, model), codes, n);
  try {
    const query = new QueryVector(config.metric, new Float32Array(d), coarse.rotation);
    return scoresOf(query, codedScanner(config, query, quantizer), loaded);
  } finally {
    release();
    quantizer.free();
    coarse.free();
  }
}

const shapes: [string, IndexConfig, number][] = [
  ["ivf", ivf, 0],
  ["ivfpq of 4 bits", ivfpq(4), 16],
  ["ivfpq of 8 bits", ivfpq(8), 256],
  ["ivfpq of 6 bits", ivfpq(6), 64],
];

describe.each(shapes)("%s", (_, config, k) => {
  const model = coded(k);
  const codec = codecToRead(config, d, true, model);
  const withReferences = (references: readonly number[]) => {
    const codes = new Uint8Array(codec.codeBytes(references.length));
    const view = new DataView(codes.buffer);
    references.forEach((reference, row) => view.setUint32(4 * row, reference, true));
    return codes;
  };

  test("a reference beyond the reference centroids of the model is nobody's", () => {
    expect(scanCodes(config, model, withReferences([0, 1, 2, 1]), 4)).toHaveLength(4);
    // One for all rows, or one of several.
    for (const first of [[], [0]]) {
      for (let word = lists; word < 2 ** 14; word = Math.ceil(word * 1.1)) {
        for (const reference of [word, 2 ** 32 - word, secrets[0] / 4 + word]) {
          const codes = withReferences([...first, reference]);
          expect(() => scanCodes(config, model, codes, first.length + 1)).toThrow(trap);
        }
      }
    }
  });
});

test.each([5, 6, 8, 9, 16])("of %i bits, a codeword that there is not counts for nothing", (bits) => {
  const config = ivfpq(bits);
  const k = 20;
  const model = coded(k);
  const codes = new Uint8Array(codecToRead(config, d, true, model).codeBytes(1));
  // What the codewords sum up to is not scaled by 0.
  new DataView(codes.buffer).setFloat32(8, 1, true);
  for (let subspace = 0; subspace < 4; subspace++) {
    for (const number of [k - 1, k, 31, 32, 2 ** bits - 1].filter((each) => each < 2 ** bits)) {
      const changed = codes.slice();
      putCodeword(changed.subarray(12), subspace * bits, number);
      const [score] = scanCodes(config, model, changed, 1);
      expect(score).toBeLessThan(100);
    }
  }
});

test("of 4 bits, a codeword that there is not counts as another of its codebook", () => {
  const config = ivfpq(4);
  const model = coded(5);
  const codes = new Uint8Array(codecToRead(config, d, true, model).codeBytes(1));
  const [known] = scanCodes(config, model, codes, 1);
  expect(scanCodes(config, model, codes.fill(255, 12), 1)).toEqual([known]);
});

test("a component beyond the vector is nobody's", () => {
  const codes = new Uint8Array(codecToRead(ivfpq(8), d, true, coded(256)).codeBytes(1));
  for (const component of [d, 2 ** 20, 2 ** 30, 2 ** 32 - 1]) {
    const order = Uint32Array.from({ length: d }, (_, i) => (i === 3 ? component : i));
    expect(() => scanCodes(ivfpq(8), coded(256, order), codes, 1)).toThrow(trap);
  }
});

/** Blocks of vectors in lists: rows of dimension `dimension` in list 0, for queries of dimension d. */
function tableOf(dimension: number, n: number) {
  const coarse = finish(CoarseQuantizer.open(modelOf(centroids, d), "euclidean"));
  const codec = flatCodec("euclidean", dimension, "stored");
  const { loaded, release } = load(codec, new Uint8Array(codec.codeBytes(n)), n);
  const blocks = [{ newerSegments: 0, isSpilled: false }];
  const table = new ListBlockTable({ firsts: [0, 1, 1, 1, 1], blocks, rowsMax: n, spilled: [] });
  table.put(0, loaded.address, 1);
  return {
    coarse,
    table,
    loaded,
    release() {
      table.free();
      release();
      coarse.free();
    },
  };
}

const limits = { probes: lists, ratio: Infinity, epsilon: 2 };
const flat: IndexConfig = { type: "ivfflat", metric: "euclidean", nLists: lists };

test("rows of another dimension than the query's are compared with nothing", () => {
  for (const dimension of [1, d - 1, d + 1, 2 * d, 64 * d]) {
    const { coarse, table, loaded, release } = tableOf(dimension, 40);
    const query = new QueryVector("euclidean", new Float32Array(d), undefined);
    expect(() => scoresOf(query, flatScanner(query), loaded)).toThrow(trap);
    const trained = { model: modelOf(centroids, d), quantizer: coarse };
    const search = new ListSearch(flat, trained, new Float32Array(d), {
      topK: 3,
      blocks: 1,
      rowsMax: 40,
    });
    const among = { table, epoch: 1, matching: undefined, now: 1 };
    expect(() => search.within(among, limits)).toThrow(trap);
    search.free();
    release();
  }
});

test("rows beyond the room of a query are not written beyond it", () => {
  const { coarse, loaded, release } = tableOf(d, 40);
  const query = new QueryVector("euclidean", new Float32Array(d), coarse.rotation);
  const jobs = writeJobs([jobOf(loaded)]);
  const room = allocate(12 * 32);
  query.useScratch(room, 12 * 32);
  expect(() => callKernel({ kernel: "scanFlat", args: [query.address, secrets[0], jobs, 1] })).toThrow(trap);
  for (const at of [room, jobs]) free(at);
  query.free();
  release();
});

test("rows beyond a block have no vectors", () => {
  const n = 40;
  const { loaded, release } = tableOf(d, n);
  for (const row of [n, n + 100, 2 ** 27, 2 ** 32 - 1]) {
    expect([...loaded.gather([row])]).toEqual(Array.from({ length: d }, () => 0));
  }
  release();
});

test("second lists that there are not, and rows without room there, are written nowhere", () => {
  const coarse = finish(CoarseQuantizer.open(modelOf(centroids, d), "euclidean"));
  const spilled = new SpilledCodes(Uint16Array.of(0, 1, 1), coarse);
  const add = (...numbers: readonly number[]) => {
    const vectors = new Float32Array(numbers.length * d);
    return finish(spilled.add({ block: 0, lists: Uint16Array.from(numbers), vectors }, coarse, "euclidean"));
  };
  add(0, 1);
  fc.assert(
    fc.property(fc.integer({ min: lists, max: 2 ** 16 - 1 }), (list) => {
      expect(() => add(list)).toThrow(trap);
    }),
  );
  add(1);
  // No row has list 2, and all that have the others are there.
  for (const list of [0, 1, 2]) expect(() => add(list)).toThrow(trap);
  for (const at of secrets) expect(new Set(floatsAt(at, secretFloats))).toEqual(new Set([secret]));
  spilled.free();
  coarse.free();
});
