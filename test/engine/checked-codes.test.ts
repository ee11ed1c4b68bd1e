/** Codes of blocks are such as a writer can have written, or they are corrupt. */

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { codecToRead } from "../../src/engine/scan/choose-codec.js";
import {
  bitOffsetOf,
  noCentroid,
  packBlock,
  productLayout,
  putCodeword,
} from "../../src/engine/codes/code-layout.js";
import type { Codec } from "../../src/engine/codes/codec.js";
import { type IndexConfig, type Metric, precisions } from "../../src/engine/config.js";
import type { CodedModel } from "../../src/engine/model.js";
import { modelOf, uniform } from "./data.js";

const d = 8;
const references = 5;
const isCorrupt = expect.objectContaining({ code: "corrupt" });

/** A model with `k` codewords in each codebook, none for `ivf`. */
function coded(k: number): CodedModel {
  const centroids = uniform(references, d, 1);
  const order = Uint32Array.from({ length: d }, (_, i) => i);
  const quantizer = { rotationSeed: 1, origin: new Float32Array(d), references: centroids };
  const codebooks = k > 0 ? { codebooks: { order, codewords: uniform(k, d, 2) } } : {};
  return { ...modelOf(centroids, d), quantizer: { ...quantizer, ...codebooks } };
}

const ivf = (metric: Metric = "euclidean"): IndexConfig => ({ type: "ivf", metric, nLists: references });
const ivfpq = (pqBits: number): IndexConfig => ({ ...ivf(), type: "ivfpq", pqDim: 4, pqBits });

const codecs: [string, Codec][] = [
  ...precisions.flatMap((precision): [string, Codec][] =>
    [false, true].map((grouped) => [
      `${precision}${grouped ? " with codes" : ""}`,
      codecToRead(
        { type: "ivfflat", metric: "cosine", nLists: 1, ...(precision !== "float32" && { precision }) },
        d,
        grouped,
        undefined,
      ),
    ]),
  ),
  ["ivf", codecToRead(ivf(), d, true, coded(0))],
  ...[3, 4, 6, 8].map((bits): [string, Codec] => [
    `ivfpq of ${bits} bits`,
    codecToRead(ivfpq(bits), d, true, coded(2 ** bits)),
  ]),
];

test.each(codecs)("%s: a block is as long as its rows are", (_, codec) => {
  for (const n of [1, 31, 32, 33, 100]) {
    const length = codec.codeBytes(n);
    codec.check({ codes: new Uint8Array(length), n });
    for (const other of [0, 1, length - 1, length + 1, 2 * length, codec.codeBytes(n + 1)]) {
      expect(() => codec.check({ codes: new Uint8Array(other), n })).toThrow(isCorrupt);
    }
  }
});

describe.each(["euclidean", "cosine"] as const)("under %s", (metric) => {
  test("the reference of a row is a reference centroid, or under cosine none", () => {
    const config = ivf(metric);
    const codec = codecToRead(config, d, true, coded(0));
    const u32 = fc.integer({ min: 0, max: 2 ** 32 - 1 });
    const reference = fc.oneof(fc.nat(references + 1), fc.constant(noCentroid), u32);
    fc.assert(
      fc.property(fc.array(reference, { minLength: 1, maxLength: 40 }), fc.nat(3), (all, shift) => {
        const n = all.length;
        // A plaintext begins at any byte.
        const codes = new Uint8Array(codec.codeBytes(n) + shift).subarray(shift);
        const view = new DataView(codes.buffer, codes.byteOffset);
        all.forEach((each, row) => view.setUint32(4 * row, each, true));
        const isValid = (each: number) => each < references || (metric === "cosine" && each === noCentroid);
        if (all.every(isValid)) codec.check({ codes, n });
        else expect(() => codec.check({ codes, n })).toThrow(isCorrupt);
      }),
    );
  });
});

test.each([1, 2, 3, 4, 5, 7, 8, 9, 16])("of %i bits, the number of a codeword is that of one", (bits) => {
  const config = ivfpq(bits);
  const layout = productLayout(config);
  const { subspaces } = layout;
  fc.assert(
    fc.property(fc.integer({ min: 1, max: Math.min(300, 2 ** bits) }), fc.gen(), (k, gen) => {
      const codec = codecToRead(config, d, true, coded(k));
      const n = gen(fc.integer, { min: 1, max: 40 });
      const rowBytes = codec.kind === "codes" ? codec.rowBytes : 0;
      const rows = new Uint8Array(n * rowBytes);
      const numbers = Array.from({ length: n * subspaces }, () => gen(fc.nat, k - 1));
      const write = () => {
        rows.fill(0);
        numbers.forEach((number, i) => {
          const own = rows.subarray(Math.floor(i / subspaces) * rowBytes + 12);
          putCodeword(own, bitOffsetOf(layout, i % subspaces), number);
        });
        return packBlock(layout, rows);
      };
      codec.check({ codes: write(), n });
      if (k === 2 ** bits) return;
      numbers[gen(fc.nat, numbers.length - 1)] = gen(fc.integer, { min: k, max: 2 ** bits - 1 });
      expect(() => codec.check({ codes: write(), n })).toThrow(isCorrupt);
    }),
    { numRuns: 50 },
  );
});
