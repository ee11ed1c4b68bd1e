/** Models as bytes: what is read is what was written, bit by bit, and what is cut off or made up is refused. */

import { describe, expect, test } from "vitest";
import type { Model } from "../../src/engine/model.js";
import { trainModel } from "../../src/engine/train.js";
import { trainQuantizer } from "../../src/engine/train-quantizer.js";
import { SealdexError } from "../../src/errors.js";
import { decodeModel, encodeModel } from "../../src/segment/stored-model.js";
import { clustered, sampleOf } from "../engine/data.js";
import { finish } from "../engine/finish.js";

const d = 12;
const lists = 20;
const points = clustered(3000, d, 15, 1);
const trained = finish(trainModel(sampleOf(points, d), lists, 1));
const productConfig = { type: "ivfpq", pqDim: 4, pqBits: 4, nLists: lists, metric: "euclidean" } as const;
const quantizer = finish(trainQuantizer(productConfig, points, trained));
const again = finish(trainModel(sampleOf(points, d), lists, 2));

/** With centroids in each precision, and a zero of either sign. */
const mixed = { ...trained, centroids: trained.centroids.slice() };
mixed.centroids.fill(1 / 3, 2 * d, 4 * d);
mixed.centroids[2 * d] = Math.PI;
mixed.centroids.set([1 + 2 ** -10, 2 ** -10], 5 * d);
mixed.centroids.fill(-0, 6 * d, 7 * d);
mixed.centroids.fill(0, 7 * d, 8 * d);
mixed.centroids[8 * d] = Infinity;

const models: Record<string, Model> = {
  plain: trained,
  mixed,
  spilled: { ...trained, spilledCurves: again.curves },
  coded: { ...trained, quantizer },
  regrouped: { ...again, quantizer },
};

describe.each(Object.keys(models))("a model, %s", (name) => {
  const bytes = finish(encodeModel(models[name]));

  test("is read as it was written", () => {
    expect(decodeModel(bytes)).toEqual(models[name]);
    const { centroids, quantizer: read } = decodeModel(bytes);
    expect(Buffer.from(centroids.buffer)).toEqual(Buffer.from(models[name].centroids.slice().buffer));
    if (name === "coded") expect(read?.references).toBe(centroids);
  });

  test("is refused if it is cut off", () => {
    for (let length = 0; length < bytes.length; length += 7) {
      expect(() => decodeModel(bytes.subarray(0, length))).toThrow(SealdexError);
      expect(() => decodeModel(bytes.subarray(0, length))).toThrow("shorter");
    }
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
  expect(() => decodeModel(changed)).toThrow("a precision that there is not");
  // Dimension, lists, limits, depths, values.
  for (let word = 1; word < 6; word++) {
    const large = Buffer.from(bytes);
    large.writeUInt32LE(0xffffffff, 4 * word);
    expect(() => decodeModel(large)).toThrow(SealdexError);
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
    expect(() => decodeModel(changed)).toThrow("recall curves");
  }
});
