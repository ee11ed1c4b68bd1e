/** Stores that tell at once that there is no blob, and wrappers that pass this on. */

import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { openFolder } from "../../src/state/commit/index-folder.js";
import { absenceCheckOf, withAbsenceCheckOf } from "../../src/storage/absence.js";
import type { BlobStore } from "../../src/storage/blob-store.js";
import { openLocation } from "../../src/storage/location.js";
import { whole } from "../ranges.js";
import { newFolder } from "../folder.js";

const bytes = Buffer.from("some bytes");
let path: string;
beforeEach(async () => void (path = await newFolder()));

const openers: [string, () => BlobStore][] = [
  ["memory", () => openLocation({ location: "memory" })],
  ["a local disk", () => openLocation({ location: "local", path })],
];

test.each(openers)("%s tells that a blob is absent, like a read", async (_, open) => {
  const store = open();
  await store.create("a/b", bytes);
  await store.read("a/b", whole);
  const isAbsent = absenceCheckOf(store);
  for (const key of ["a/b", "a/c", "c"])
    expect(isAbsent?.(key), key).toBe((await store.read(key, whole)) === null);
  await store.create("a/c", bytes);
  expect(isAbsent?.("a/c")).toBe(false);
  await store.delete(["a/b"]);
  expect(isAbsent?.("a/b")).toBe(true);
});

test("a local disk of which nothing was read yet leaves it to a read", async () => {
  const store = openLocation({ location: "local", path: join(path, "not yet there") });
  expect(absenceCheckOf(store)?.("a")).toBe(false);
});

test("a read reports refusals of the file system", async () => {
  const store = openLocation({ location: "local", path });
  await store.create("a", bytes);
  await store.read("a", whole);
  const isAbsent = absenceCheckOf(store);
  // A name too long for any file system.
  expect(isAbsent?.("b".repeat(300))).toBe(false);
  await writeFile(join(path, "file"), "");
  expect(isAbsent?.("file/below")).toBe(await isReadAsAbsent(store, "file/below"));
  await mkdir(join(path, "closed"));
  await chmod(join(path, "closed"), 0);
  expect(isAbsent?.("closed/below")).toBe(await isReadAsAbsent(store, "closed/below"));
  await chmod(join(path, "closed"), 0o700);
});

async function isReadAsAbsent(store: BlobStore, key: string): Promise<boolean> {
  return store.read(key, whole).then(
    (read) => read === null,
    () => false,
  );
}

test("objects in the folder of an index are requested by their keys", async () => {
  const store = openLocation({ location: "memory" });
  const folder = openFolder(store, "a");
  await folder.create("index/1/manifest/5", bytes);
  expect(absenceCheckOf(folder)?.("index/1/manifest/5")).toBe(false);
  expect(absenceCheckOf(folder)?.("index/1/manifest/4")).toBe(true);
});

test("a store that wraps another one, and does not say that it may be passed over, is always read", async () => {
  const store = openLocation({ location: "memory" });
  const wrapper = { ...store, read: async () => bytes };
  expect(absenceCheckOf(wrapper)).toBeUndefined();
  expect(absenceCheckOf(openFolder(wrapper, "a"))).toBeUndefined();
  expect(absenceCheckOf(withAbsenceCheckOf(wrapper, wrapper))).toBeUndefined();
  expect(absenceCheckOf(withAbsenceCheckOf(wrapper, store))?.("a")).toBe(true);
});
