/** Names of objects and the keys under which they lie: below the name of their index. */

import { expect, test } from "vitest";
import { openFolder } from "../../src/state/commit/index-folder.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { whole } from "../ranges.js";

const bytes = Buffer.from("some bytes");
/** "a" and "b" in base32hex. */
const [folderOfA, folderOfB] = ["index/c4/", "index/c8/"];

test("objects of an index are stored, read, listed and deleted below its name", async () => {
  const store = createMemoryStore();
  const folder = openFolder(store, "a");
  expect(await folder.create("index/1/manifest/5", bytes)).toBe(true);
  expect(await folder.create("index/1/manifest/5", bytes)).toBe(false);
  await folder.create("index/1/segment/7", bytes);
  await folder.create("index/2/manifest/5", bytes);
  const keys = ["1/manifest/5", "1/segment/7", "2/manifest/5"].map((key) => folderOfA + key);
  expect(await store.list("")).toEqual(keys);
  expect(Buffer.from((await folder.read("index/1/segment/7", whole)) ?? [])).toEqual(bytes);
  const part = await folder.read("index/1/segment/7", { offset: 5, length: 5 });
  expect(Buffer.from(part ?? []).toString()).toBe("bytes");
  expect(await folder.list("index/")).toEqual([
    "index/1/manifest/5",
    "index/1/segment/7",
    "index/2/manifest/5",
  ]);
  expect(await folder.list("index/1/")).toEqual(["index/1/manifest/5", "index/1/segment/7"]);
  expect(await folder.list("index/", { limit: 1 })).toEqual(["index/1/manifest/5"]);
  expect(await folder.list("index/", { after: "index/1/manifest/5", limit: 1 })).toEqual([
    "index/1/segment/7",
  ]);
  await folder.delete(["index/1/segment/7", "index/2/manifest/5"]);
  expect(await store.list("")).toEqual([`${folderOfA}1/manifest/5`]);
});

test("indexes of other names are not seen, not even those with the same id", async () => {
  const store = createMemoryStore();
  const [a, b] = [openFolder(store, "a"), openFolder(store, "b")];
  await a.create("index/1/manifest/5", bytes);
  expect(await b.read("index/1/manifest/5", whole)).toBeNull();
  expect(await b.list("index/")).toEqual([]);
  expect(await b.create("index/1/manifest/5", bytes)).toBe(true);
  await a.delete(["index/1/manifest/5"]);
  expect(await store.list("")).toEqual([`${folderOfB}1/manifest/5`]);
});

test.each([
  { offset: 0, length: 2 ** 30 + 1 },
  { offset: 0, length: -1 },
  { offset: -1, length: 1 },
  { offset: 0, length: 0.5 },
  { offset: Number.NaN, length: 1 },
])("a part that no object can have is corrupt: $offset, $length", async (range) => {
  const folder = openFolder(createMemoryStore(), "a");
  await folder.create("index/1/segment/7", bytes);
  await expect(folder.read("index/1/segment/7", range)).rejects.toMatchObject({ code: "corrupt" });
});

test("closing it closes the store", async () => {
  let closed = 0;
  const store = { ...createMemoryStore(), close: async () => void closed++ };
  await openFolder(store, "a").close();
  expect(closed).toBe(1);
});
