/** Reads that begin before it is known whether they are needed. */

import { expect, test } from "vitest";
import { EarlyReads } from "../../src/query/snapshot/early-reads.js";
import { createMemoryStore } from "../../src/storage/memory.js";

const readAhead = 32 * 1024;

/** A store with objects of these lengths, and the reads that it gets. */
async function storeOf(lengths: Readonly<Record<string, number>>) {
  const store = createMemoryStore();
  const contents: Record<string, Uint8Array> = {};
  for (const [name, length] of Object.entries(lengths)) {
    contents[name] = Uint8Array.from({ length }, (_, i) => i % 251);
    await store.create(name, contents[name], {});
  }
  const reads: string[] = [];
  const counting: typeof store = {
    ...store,
    read: async (name, range) => {
      reads.push(`${name} ${range?.offset}+${range?.length}`);
      if (name === "failing" && reads.length === 1) throw new Error("no answer");
      return store.read(name, range);
    },
  };
  return { early: new EarlyReads(counting), reads, contents };
}

test("a range that was read early is not read again, and any other is", async () => {
  const { early, reads, contents } = await storeOf({ small: 100, large: 3 * readAhead });
  early.begin(["small", "large"]);
  expect(reads).toEqual([`small 0+${readAhead}`, `large 0+${readAhead}`]);
  const read = (name: string, offset: number, length: number) => early.read(name, { offset, length });
  expect(await read("small", 10, 90)).toEqual(contents.small.subarray(10));
  expect(await read("small", 0, 100)).toEqual(contents.small);
  expect(await read("large", 5, readAhead - 5)).toEqual(contents.large.subarray(5, readAhead));
  expect(reads.length).toBe(2);
  expect(await read("large", 5, readAhead - 4)).toEqual(contents.large.subarray(5, readAhead + 1));
  expect(await read("large", 2 * readAhead, 7)).toEqual(
    contents.large.subarray(2 * readAhead, 2 * readAhead + 7),
  );
  expect(reads.slice(2)).toEqual([`large 5+${readAhead - 4}`, `large ${2 * readAhead}+7`]);
});

test("what was not begun, or was forgotten, is read from the store", async () => {
  const { early, reads, contents } = await storeOf({ a: 10, b: 10 });
  early.begin(["a"]);
  expect(await early.read("b", { offset: 1, length: 2 })).toEqual(contents.b.subarray(1, 3));
  early.end();
  expect(await early.read("a", { offset: 1, length: 2 })).toEqual(contents.a.subarray(1, 3));
  expect(reads).toEqual([`a 0+${readAhead}`, "b 1+2", "a 1+2"]);
  expect(await early.hasAll([{ name: "a", length: 1 }])).toBe(false);
});

test("knows whether the beginnings of all objects were read", async () => {
  const { early } = await storeOf({ a: 10, b: 20 });
  early.begin(["a", "b", "missing"]);
  expect(await early.hasAll([])).toBe(true);
  expect(
    await early.hasAll([
      { name: "a", length: 10 },
      { name: "b", length: 20 },
    ]),
  ).toBe(true);
  expect(
    await early.hasAll([
      { name: "a", length: 10 },
      { name: "b", length: 21 },
    ]),
  ).toBe(false);
  expect(await early.hasAll([{ name: "missing", length: 1 }])).toBe(false);
  expect(await early.hasAll([{ name: "missing", length: 0 }])).toBe(true);
});

test("an early read that fails is made again when its bytes are needed", async () => {
  const { early, reads, contents } = await storeOf({ failing: 10 });
  early.begin(["failing"]);
  expect(await early.hasAll([{ name: "failing", length: 1 }])).toBe(false);
  expect(await early.read("failing", { offset: 2, length: 3 })).toEqual(contents.failing.subarray(2, 5));
  expect(reads.length).toBe(2);
  early.begin(["gone"]);
  expect(await early.read("gone", { offset: 0, length: 1 })).toBeNull();
});
