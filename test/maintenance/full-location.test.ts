/** A location that is full of what earlier commits replaced: writing collects it first, since deleting items writes, too. */

import { statfs } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createClient, type Item, SealdexError, type VectorIndex } from "../../src/core.js";
import type { BlobStore } from "../../src/storage/blob-store.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { fillFileSystem, needsRoot, removeFileSystem, smallFileSystem } from "../small-file-system.js";

const indexKey = new Uint8Array(32).fill(1);
const open = (indexLocation: BlobStore | { location: "local"; path: string }) =>
  createClient({ indexLocation, automaticTraining: false });
const item = (i: number): Item => ({ id: `i${i}`, vector: [i, 1], contents: `${i} `.repeat(2000) });

/** A store in memory with a limit of bytes, as a file system or a server has one. */
function limitedStore() {
  const store = createMemoryStore();
  const sizes = new Map<string, number>();
  const limited = {
    bytesMax: Infinity,
    used: () => [...sizes.values()].reduce((sum, size) => sum + size, 0),
  };
  const driver: BlobStore = {
    ...store,
    async create(key, bytes) {
      if (limited.used() + bytes.length > limited.bytesMax) {
        const cause = Object.assign(new Error(), { code: "ENOSPC" });
        throw new SealdexError("storage_unavailable", "it is full", { cause });
      }
      const created = await store.create(key, bytes);
      if (created) sizes.set(key, bytes.length);
      return created;
    },
    async delete(keys) {
      await store.delete(keys);
      for (const key of keys) sizes.delete(key);
    },
  };
  return { driver, limited };
}

/** Fills `place` with items one at a time, whose segments writers merge and replace. Returns how many. */
async function fill(place: Parameters<typeof open>[0], isEnough: (i: number) => Promise<boolean>) {
  const client = open(place);
  const index = await client.createIndex({ indexName: "a", indexKey });
  let count = 0;
  while (!(await isEnough(count))) await index.upsert([item(count++)]);
  await client.close();
  return count;
}

async function idsOf(index: VectorIndex): Promise<number> {
  return (await index.listIds()).length;
}

const verbs: Record<string, (index: VectorIndex) => Promise<unknown>> = {
  delete: (index) => index.delete({ ids: ["i0"] }),
  "delete of all": (index) => index.delete({ deleteAll: true }),
  compact: (index) => index.compact(),
  upsert: (index) => index.upsert([item(0)]),
  train: (index) => index.train({ nLists: 2 }),
};

test.each(Object.entries(verbs))("%s makes room in a store that is full", async (_, verb) => {
  const { driver, limited } = limitedStore();
  const count = await fill(driver, async (i) => i === 20);
  const full = limited.used();
  limited.bytesMax = full;
  // Another process, which replaced nothing itself, and keeps what was replaced for 15 minutes.
  const client = open(driver);
  const index = await client.loadIndex({ indexName: "a", indexKey });
  expect(await idsOf(index)).toBe(count);
  await verb(index);
  expect(limited.used()).toBeLessThan(full);
  await client.close();
});

test("a store that is full of what is needed refuses to write, loses nothing, and goes on when there is room", async () => {
  const { driver, limited } = limitedStore();
  const client = open(driver);
  const index = await client.createIndex({ indexName: "a", indexKey });
  await index.upsert([item(0)]);
  limited.bytesMax = limited.used();
  const refused = { code: "storage_unavailable", message: "it is full" };
  await expect(index.upsert([item(1)])).rejects.toMatchObject(refused);
  await expect(index.delete({ ids: ["i0"] })).rejects.toMatchObject(refused);
  expect(await index.listIds()).toMatchObject(["i0"]);
  limited.bytesMax = Infinity;
  await index.upsert([item(1)]);
  expect(await idsOf(index)).toBe(2);
  await client.close();
});

test("items are deleted where there is room for tombstones, but none to merge the small segments that are due", async () => {
  const { driver, limited } = limitedStore();
  const client = open(driver);
  const index = await client.createIndex({ indexName: "a", indexKey });
  // The eighth makes a merge due, which the next write does.
  for (let i = 0; i < 8; i++) await index.upsert([item(i)]);
  limited.bytesMax = limited.used() + 8 * 1024;
  const merging = { code: "storage_unavailable", message: "it is full" };
  await expect(index.upsert([{ id: "small", vector: [1, 1] }])).rejects.toMatchObject(merging);
  await index.delete({ ids: ["i0"] });
  await index.delete({ deleteAll: true });
  expect(await idsOf(index)).toBe(0);
  await index.upsert([item(8)]);
  expect(await index.listIds()).toEqual(["i8"]);
  await client.close();
});

test("readers of this process keep what they read", async () => {
  const { driver, limited } = limitedStore();
  const count = await fill(driver, async (i) => i === 20);
  const client = open(driver);
  const index = await client.loadIndex({ indexName: "a", indexKey });
  const pages = index.items({ include: ["contents"] })[Symbol.asyncIterator]();
  const items = [(await pages.next()).value as Item];
  await index.compact();
  limited.bytesMax = limited.used();
  await index.delete({ ids: ["i3"] });
  for (let next = await pages.next(); !next.done; next = await pages.next()) items.push(next.value as Item);
  expect(items).toHaveLength(count);
  await client.close();
});

test("a disk that is full is emptied by compacting and deleting", async ({ skip }) => {
  const folder = await smallFileSystem("3m");
  if (folder === undefined) return skip(needsRoot);
  try {
    const free = async () => {
      const { bavail, bsize } = await statfs(folder);
      return bavail * bsize;
    };
    const place = { location: "local", path: join(folder, "data") } as const;
    const count = await fill(place, async () => (await free()) < 2 ** 20);
    await fillFileSystem(folder);
    expect(await free()).toBe(0);
    const client = open(place);
    const index = await client.loadIndex({ indexName: "a", indexKey });
    expect(await idsOf(index)).toBe(count);
    await index.delete({ ids: ["i0", "i1"] });
    await index.compact();
    expect(await free()).toBeGreaterThan(0);
    expect(await idsOf(index)).toBe(count - 2);
    await client.close();
  } finally {
    await removeFileSystem(folder);
  }
});
