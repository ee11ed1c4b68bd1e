/** Objects that are read as a whole, in parts, up to a bound. */

import { expect, test } from "vitest";
import { checkObjectLength, readObject } from "../../src/state/commit/read-object.js";
import { createMemoryStore } from "../../src/storage/memory.js";

const mebibyte = 2 ** 20;

function bytesOf(length: number): Uint8Array {
  return new Uint8Array(length).map((_, i) => i % 251);
}

test.each([0, 1, mebibyte - 1, mebibyte, mebibyte + 1, 5 * mebibyte])(
  "an object of %i bytes is read whole, in few reads",
  async (length) => {
    const store = createMemoryStore();
    const bytes = bytesOf(length);
    await store.create("names/a", bytes);
    const asked: number[] = [];
    const read: typeof store.read = (name, range, options) => {
      asked.push(range.length);
      return store.read(name, range, options);
    };
    expect(Buffer.compare((await readObject({ read }, "record", "names/a")) ?? Buffer.of(), bytes)).toBe(0);
    expect(asked.length).toBeLessThanOrEqual(4);
    expect(Math.max(...asked)).toBeLessThanOrEqual(Math.max(mebibyte, length));
  },
);

test("there is no object, or it goes while it is read", async () => {
  const store = createMemoryStore();
  expect(await readObject(store, "record", "names/a")).toBeNull();
  await store.create("names/a", bytesOf(2 * mebibyte));
  const read: typeof store.read = async (name, range) => {
    const part = await store.read(name, range);
    await store.delete([name]);
    return part;
  };
  expect(await readObject({ read }, "record", "names/a")).toBeNull();
});

test("an object beyond its bound is corrupt, and no more of it is read than the bound", async () => {
  const store = createMemoryStore();
  await store.create("names/a", bytesOf(1025));
  await expect(readObject(store, "anchor", "names/a")).rejects.toMatchObject({ code: "corrupt" });
  await store.create("names/b", bytesOf(1024));
  expect((await readObject(store, "anchor", "names/b"))?.length).toBe(1024);
});

test("an object that no reader would take is not written", () => {
  expect(checkObjectLength("anchor", "anchor", bytesOf(1024)).length).toBe(1024);
  expect(() => checkObjectLength("anchor", "anchor", bytesOf(1025))).toThrow("at most 1024 bytes, got 1025");
});
