/** Models as bytes: they are read as written, bit by bit, and cut or forged ones are refused. */

import { describe, expect, test } from "vitest";
import type { IndexConfig } from "../../src/engine/config.js";
import type { CodedModel, Model } from "../../src/engine/model.js";
import { trainModel } from "../../src/engine/training/train.js";
import { SealdexError } from "../../src/errors.js";
import { decodeModel, encodeModel } from "../../src/state/segment/stored-model.js";
import { clustered, sampleOf } from "../engine/data.js";
import { finish } from "../engine/finish.js";

const d = 12;
const lists = 20;
const points = clustered(3000, d, 15, 1);
const trained = finish(trainModel(sampleOf(points, d), lists, 1));
const productConfig = { type: "ivfpq", pqDim: 4, pqBits: 4, nLists: lists, metric: "euclidean" } as const;
const coding = { config: productConfig, known: undefined };
const product = finish(trainModel({ ...sampleOf(points, d), coding }, lists, 1)) as CodedModel;
const { quantizer } = product;
const again = finish(trainModel(sampleOf(points, d), lists, 2));

/** With centroids in each precision, and a zero of either sign. */
const mixed = { ...trained, centroids: trained.centroids.slice() };
mixed.centroids.fill(1 / 3, 2 * d, 4 * d);
mixed.centroids[2 * d] = Math.PI;
mixed.centroids.set([1 + 2 ** -10, 2 ** -10], 5 * d);
mixed.centroids.fill(-0, 6 * d, 7 * d);
mixed.centroids.fill(0, 7 * d, 8 * d);
mixed.centroids[8 * d] = 3e38;

const flatConfig = { type: "ivfflat", nLists: lists, metric: "euclidean" } as const;
const configOf = ({ quantizer: coded }: Model): IndexConfig =>
  coded === undefined ? flatConfig : productConfig;

const models: Record<string, Model> = {
  plain: trained,
  mixed,
  spilled: { ...trained, spilledCurves: again.curves },
  coded: product,
  regrouped: { ...again, quantizer },
};

describe.each(Object.keys(models))("a model, %s", (name) => {
  const bytes = finish(encodeModel(models[name]));
  const config = configOf(models[name]);

  test("is read as it was written", () => {
    expect(decodeModel(bytes, config)).toEqual(models[name]);
    const { centroids, quantizer: read } = decodeModel(bytes, config);
    expect(Buffer.from(centroids.buffer)).toEqual(Buffer.from(models[name].centroids.slice().buffer));
    if (name === "coded") expect(read?.references).toBe(centroids);
  });

  test("is refused if it is cut off, or too long", () => {
    for (let length = 0; length < bytes.length; length += 7) {
      const cut = bytes.subarray(0, length);
      expect(() => decodeModel(cut, config)).toThrow(expect.objectContaining({ code: "corrupt" }));
      expect(() => decodeModel(cut, config)).toThrow("its bytes to be longer");
    }
    expect(() => decodeModel(Buffer.concat([bytes, new Uint8Array(4)]), config)).toThrow("to be shorter");
  });
});

test("trained centroids take little more than a byte per number", () => {
  const { curves, spreads, probeLimits } = trained;
  const others = 4 * (7 + probeLimits.length + curves.depths.length + curves.values.length + spreads.length);
  expect(finish(encodeModel(trained)).length).toBe(others + lists * (1 + 4 + d));
});

test("a precision that there is not, and counts beyond the bytes, are corrupt", () => {
  const bytes = Buffer.from(finish(encodeModel(trained)));
  const { curves, spreads, probeLimits } = trained;
  const at = 4 * (7 + probeLimits.length + curves.depths.length + curves.values.length + spreads.length);
  const changed = Buffer.from(bytes);
  changed[at] = 3;
  expect(() => decodeModel(changed, flatConfig)).toThrow("a precision that there is not");
  // Dimension, lists, limits, depths, values.
  for (let word = 1; word < 6; word++) {
    const large = Buffer.from(bytes);
    large.writeUInt32LE(0xffffffff, 4 * word);
    expect(() => decodeModel(large, flatConfig)).toThrow(SealdexError);
  }
});

test("recall curves whose values are not those of their depths are corrupt", () => {
  const bytes = Buffer.from(finish(encodeModel(trained)));
  const { depths, values } = trained.curves;
  for (const [limited, measured] of [
    [depths.length - 1, values.length],
    [depths.length, values.length - 1],
    [0, 0],
  ]) {
    const changed = Buffer.from(bytes);
    changed.writeUInt32LE(limited, 4 * 4);
    changed.writeUInt32LE(measured, 4 * 5);
    expect(() => decodeModel(changed, flatConfig)).toThrow("recall curves");
  }
});

describe("a model is corrupt whose", () => {
  const { curves, spreads, probeLimits } = trained;
  const limitsAt = 4 * 7;
  const depthsAt = limitsAt + 4 * probeLimits.length;
  const valuesAt = depthsAt + 4 * curves.depths.length;
  const spreadsAt = valuesAt + 4 * curves.values.length;
  const centroidsAt = spreadsAt + 4 * spreads.length;
  /** Of the words before the origin of `coded`, whose centroids are all of one precision. */
  const quantizerAt = (bytes: Uint8Array) => bytes.length - 4 * (3 + d + d + quantizerWords);
  const quantizerWords = quantizer.codebooks?.codewords.length ?? 0;
  const k = quantizerWords / d;
  const nan = Number.NaN;

  const float = (at: number, value: number) => (bytes: Buffer) => bytes.writeFloatLE(value, at);
  const word = (at: number, value: number) => (bytes: Buffer) => bytes.writeUInt32LE(value, at);
  const inQuantizer = (i: number, value: number) => (bytes: Buffer) =>
    bytes.writeUInt32LE(value, quantizerAt(bytes) + 4 * i);
  const floatInQuantizer = (i: number, value: number) => (bytes: Buffer) =>
    bytes.writeFloatLE(value, quantizerAt(bytes) + 4 * i);

  test.each<[string, keyof typeof models, (bytes: Buffer) => number]>([
    ["kind is that of another type", "plain", word(0, 2)],
    ["kind is that of another type, coded", "coded", word(0, 1)],
    ["dimension is 0", "plain", word(4, 0)],
    ["dimension is too large", "plain", word(4, 8193)],
    ["lists are none", "plain", word(8, 0)],
    ["probe limit is no number", "plain", float(limitsAt, nan)],
    ["probe limit is negative", "plain", float(limitsAt + 4, -1)],
    ["depth is no number", "plain", float(depthsAt, nan)],
    ["depth is 0", "plain", float(depthsAt, 0)],
    ["depth is infinite", "plain", float(valuesAt - 4, Infinity)],
    ["depths descend", "plain", float(depthsAt + 4, curves.depths[0] / 2)],
    ["recall is infinite", "plain", float(valuesAt, -Infinity)],
    ["number of lists to probe is no number", "plain", float(valuesAt + 4, nan)],
    ["number of lists to probe is 0", "plain", float(valuesAt + 4, 0)],
    ["number of lists to probe is no integer", "plain", float(valuesAt + 4, 1.5)],
    ["number of lists to probe is above that of all", "plain", float(valuesAt + 4, lists + 1)],
    ["distance ratio is negative", "plain", float(valuesAt + 8, -1)],
    ["cosine is no number", "plain", float(valuesAt + 12, nan)],
    ["deviations are infinite", "plain", float(valuesAt + 16, Infinity)],
    ["deviations are negative", "plain", float(valuesAt + 16, -1)],
    [
      "curves of two lists probe more lists than there are",
      "spilled",
      (bytes) => bytes.writeFloatLE(lists + 1, bytes.length - 4 * curves.values.length + 4),
    ],
    ["spread is no number", "plain", float(spreadsAt, nan)],
    ["spread is negative", "plain", float(spreadsAt, -1)],
    ["centroid has a scale that is no number", "plain", float(centroidsAt + lists, nan)],
    ["centroid is infinite", "plain", float(centroidsAt + lists, Infinity)],
    ["reference centroids are not its lists", "coded", inQuantizer(1, lists + 1)],
    ["codewords are none", "coded", inQuantizer(2, 0)],
    ["codewords are more than their bits number", "coded", inQuantizer(2, k + 1)],
    ["origin is no number", "coded", floatInQuantizer(3, nan)],
    ["order of components has one twice", "coded", inQuantizer(3 + d, quantizer.codebooks?.order[1] ?? 0)],
    ["order of components has one that there is not", "coded", inQuantizer(3 + d, 0xffffffff)],
    ["codeword is no number", "coded", floatInQuantizer(3 + 2 * d, nan)],
  ])("%s", (_, name, change) => {
    const bytes = Buffer.from(finish(encodeModel(models[name])));
    const config = configOf(models[name]);
    expect(decodeModel(bytes, config)).toEqual(models[name]);
    change(bytes);
    expect(() => decodeModel(bytes, config)).toThrow(expect.objectContaining({ code: "corrupt" }));
  });

  test("codebooks do not divide its dimension, or are of an index without", () => {
    const bytes = finish(encodeModel(models.coded));
    for (const config of [
      { ...productConfig, pqDim: 5 },
      { ...productConfig, type: "ivf" as const },
    ]) {
      expect(() => decodeModel(bytes, config)).toThrow(expect.objectContaining({ code: "corrupt" }));
    }
  });
});
