/** Keys that order items, and the search for the first of them. */

import { describe, expect, test } from "vitest";
import { firstIndex } from "../../src/state/segment/row-bits.js";
import { columnKey, compareKeys, keyAt, type OrderKey } from "../../src/index/listing/order-key.js";

const long = "x".repeat(97);

describe("a key of an item", () => {
  test.each<[string, unknown, OrderKey]>([
    ["a number", { a: { b: 0 } }, 0],
    ["a text", { a: { b: "" } }, ""],
    ["a boolean", { a: { b: false } }, false],
    ["a text of 96 units", { a: { b: long.slice(1) } }, long.slice(1)],
    ["a longer text, which follows its beginning", { a: { b: long } }, `${long.slice(1)}\0`],
    ["null", { a: { b: null } }, undefined],
    ["an object", { a: { b: {} } }, undefined],
    ["an array", { a: { b: [1] } }, undefined],
    ["no field", { a: {} }, undefined],
    ["no object on the way", { a: 1 }, undefined],
    ["a text on the way", { a: "b" }, undefined],
    ["null on the way", { a: null }, undefined],
    ["an array on the way", { a: [{ b: 1 }] }, undefined],
    ["an array with a property of that name", { a: Object.assign([], { b: 1 }) }, undefined],
    ["a field that is inherited", { a: Object.create({ b: 1 }) as unknown }, undefined],
    ["no metadata", undefined, undefined],
  ])("of %s", (_, metadata, key) => {
    expect(keyAt(metadata as Parameters<typeof keyAt>[0], ["a", "b"])).toBe(key);
  });

  test("does not enter positions of texts or arrays", () => {
    expect(keyAt({ a: "xy" }, ["a", "0"])).toBeUndefined();
    expect(keyAt({ a: ["x"] }, ["a", "0"])).toBeUndefined();
    expect(keyAt({ a: "xy" }, ["a", "length"])).toBeUndefined();
  });

  test("is the same from a column as from the metadata", () => {
    for (const value of [1, -0.5, "x", "", true, false, long.slice(1)]) {
      expect(columnKey(value)).toBe(keyAt({ a: value }, ["a"]));
    }
    expect(columnKey([long.slice(1)])).toBe(keyAt({ a: long }, ["a"]));
    expect(columnKey(null)).toBeUndefined();
  });
});

describe("the order of keys", () => {
  const ascending: OrderKey[] = [-1, 0, 2, 10, "", "a", "a\0", "b", false, true];

  test("is numbers, texts, booleans, and without a key last, in both directions", () => {
    ascending.forEach((a, i) => {
      ascending.forEach((b, j) => {
        expect(Math.sign(compareKeys(a, b, true)) - Math.sign(i - j)).toBeCloseTo(0);
        expect(Math.sign(compareKeys(a, b, false)) - Math.sign(j - i)).toBeCloseTo(0);
      });
      for (const isAscending of [true, false]) {
        expect(compareKeys(undefined, a, isAscending)).toBeGreaterThan(0);
        expect(compareKeys(a, undefined, isAscending)).toBeLessThan(0);
      }
    });
    expect(compareKeys(undefined, undefined, true)).toBe(0);
    expect(compareKeys(undefined, undefined, false)).toBe(0);
  });
});

test("the first index beyond is found for every number of indices and every border", () => {
  for (let n = 0; n <= 17; n++) {
    for (let border = 0; border <= n; border++) {
      const asked: number[] = [];
      const isBeyond = (i: number) => {
        asked.push(i);
        return i >= border;
      };
      expect(firstIndex(n, isBeyond)).toBe(border);
      expect(asked.every((i) => i >= 0 && i < n)).toBe(true);
      expect(asked.length).toBeLessThanOrEqual(5);
    }
  }
});
