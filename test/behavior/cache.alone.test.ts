/** Decrypted data in memory is bounded, and an index larger than the bound still works. */

import { totalmem } from "node:os";
import { describe, expect, test } from "vitest";
import { createClient, generateKey } from "../../src/core.js";
import { allocatedBytes } from "../../src/engine/kernels/memory.js";
import { BlockCache, type SharedLimit } from "../../src/state/cache/block-cache.js";
import { type CachedValue, entryBytes, namedKey } from "../../src/state/cache/cache-group.js";
import { IndexCache } from "../../src/state/cache/index-cache.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { clustered } from "../engine/data.js";
import { rowsOf } from "../engine/oracle.js";
import { heldBytes as collectGarbage } from "../random/held-bytes.js";

test("an index many times larger than the limit answers as with room for all", async () => {
  const d = 64;
  const rows = rowsOf(clustered(12_000, d, 30, 8), d);
  const store = createMemoryStore();
  const options = { indexName: "large", indexKey: generateKey() };
  const roomy = createClient({ indexLocation: store });
  const index = await roomy.createIndex(options);
  for (let start = 0; start < rows.length; start += 2000) {
    const items = rows
      .slice(start, start + 2000)
      .map((vector, i) => ({ id: `${start + i}`, vector, metadata: { i } }));
    await index.upsert(items);
  }
  await index.train({ nLists: 40 });
  const cacheBytesMax = 256 * 1024;
  const tight = createClient({ indexLocation: store, cacheBytesMax });
  const small = await tight.loadIndex(options);
  const before = allocatedBytes();
  const include = ["distance", "metadata"] as const;
  for (let i = 0; i < 20; i++) {
    const query = { queryVector: rows[i * 500], topK: 20, nProbes: i % 2 === 0 ? 40 : 5, include };
    expect(await small.query(query)).toEqual(await index.query(query));
  }
  await roomy.close();
  // The limit, the query's own memory, and rounding of many small allocations.
  expect(allocatedBytes() - before).toBeLessThan(4 * cacheBytesMax);
  await tight.close();
  expect(allocatedBytes()).toBeLessThanOrEqual(before);
});

test("the limit is a share of the machine's memory or the client's option, and describe shows the memory in use", async () => {
  const store = createMemoryStore();
  const options = { indexName: "measured", indexKey: generateKey() };
  const client = createClient({ indexLocation: store });
  const index = await client.createIndex(options);
  await index.upsert(rowsOf(clustered(500, 16, 3, 1), 16).map((vector, i) => ({ id: `${i}`, vector })));
  const empty = (await index.describe()).memory;
  expect(empty.cacheBytesMax).toBeGreaterThan(0);
  expect(empty.cacheBytesMax).toBeLessThanOrEqual(Math.min(2 * 2 ** 30, totalmem() / 4));
  await index.query({ queryVector: Array.from({ length: 16 }, () => 1), topK: 3 });
  const { rssBytes, kernelBytes, cacheBytes } = (await index.describe()).memory;
  expect(cacheBytes).toBeGreaterThan(500 * 16 * 4);
  expect(kernelBytes).toBeGreaterThan(empty.kernelBytes);
  await index.get(["7"]);
  const cold = (await index.describe()).memory;
  expect(cold.cacheMisses).toBeGreaterThan(empty.cacheMisses);
  await index.query({ queryVector: Array.from({ length: 16 }, () => 1), topK: 3 });
  await index.get(["7"]);
  const warm = (await index.describe()).memory;
  expect(warm.cacheMisses).toBe(cold.cacheMisses);
  expect(warm.cacheLookups).toBeGreaterThan(cold.cacheLookups);
  expect(rssBytes).toBeGreaterThan(kernelBytes);
  await client.close();

  const tight = createClient({ indexLocation: store, cacheBytesMax: 12_345 });
  expect((await (await tight.loadIndex(options)).describe()).memory.cacheBytesMax).toBe(12_345);
  await tight.close();
  const ample = createClient({ indexLocation: store, cacheBytesMax: 64 * 2 ** 30 });
  expect((await (await ample.loadIndex(options)).describe()).memory.cacheBytesMax).toBe(3 * 2 ** 30);
  await ample.close();
  for (const cacheBytesMax of [-1, 0.5, Number.NaN]) {
    expect(() => createClient({ indexLocation: store, cacheBytesMax })).toThrow(/^cacheBytesMax: expected/);
  }
});

test("clients that are dropped without being closed give back their kernel memory", async () => {
  const before = allocatedBytes();
  const drop = async () => {
    const client = createClient({ indexLocation: createMemoryStore(), automaticTraining: false });
    const index = await client.createIndex({ indexName: "dropped", indexKey: generateKey() });
    await index.upsert(rowsOf(clustered(500, 16, 3, 1), 16).map((vector, i) => ({ id: `${i}`, vector })));
    await index.query({ queryVector: Array.from({ length: 16 }, () => 1), topK: 3 });
  };
  await drop();
  expect(allocatedBytes()).toBeGreaterThan(before);
  for (let i = 0; i < 20 && allocatedBytes() > before; i++) await collectGarbage();
  expect(allocatedBytes()).toBeLessThanOrEqual(before);
});

describe("the block cache", () => {
  interface Numbered extends CachedValue {
    readonly i: number;
  }
  const keys = Array.from({ length: 6 }, (_, i) => ({ i }));
  const bytes = 1000;
  const heldBytes = bytes + entryBytes;

  function newCache(bytesMax: number, shared?: SharedLimit) {
    const freed: number[] = [];
    const read: number[] = [];
    const owner = {};
    const cache = new BlockCache(bytesMax, shared);
    const index = new IndexCache(cache);
    const group = index.groupOf(owner);
    const open = async (missing: readonly { i: number }[]): Promise<Numbered[]> =>
      missing.map(({ i }) => {
        read.push(i);
        return { i, bytes, free: () => freed.push(i) };
      });
    const pin = (wanted: readonly { i: number }[]) => group.pin(wanted, open);
    return { cache, index, group, owner, freed, read, open, pin };
  }

  test("reads a block once, also when asked for it twice at the same time", async () => {
    const { pin, read } = newCache(100 * heldBytes);
    const [first, second] = await Promise.all([pin(keys.slice(0, 3)), pin(keys.slice(1, 4))]);
    expect(first.map(({ i }) => i)).toEqual([0, 1, 2]);
    expect(second.map(({ i }) => i)).toEqual([1, 2, 3]);
    expect(read.toSorted()).toEqual([0, 1, 2, 3]);
  });

  test("tells the use of memory: its own, that of the kernels and of the process", async () => {
    const { cache, pin } = newCache(100 * heldBytes);
    await pin(keys.slice(0, 2));
    await pin(keys.slice(0, 2));
    const { rssBytes, ...rest } = cache.memory();
    expect(rest).toEqual({
      kernelBytes: allocatedBytes(),
      cacheBytes: 2 * heldBytes,
      cacheBytesMax: 100 * heldBytes,
      cacheLookups: 2,
      cacheMisses: 1,
    });
    expect(rssBytes).toBeGreaterThan(2 ** 20);
  });

  test("evicts the least recently used entries, never pinned ones", async () => {
    const { cache, group, pin, freed } = newCache(3 * heldBytes);
    await pin(keys.slice(0, 3));
    group.unpin(keys.slice(1, 3));
    await pin([keys[1]]);
    group.unpin([keys[1]]);
    await pin(keys.slice(3, 5));
    expect(freed).toEqual([2, 1]);
    group.unpin([keys[0], keys[3], keys[4]]);
    expect(cache.bytes).toBe(3 * heldBytes);
    await cache.close();
    expect(cache.bytes).toBe(0);
    expect(freed.toSorted()).toEqual([0, 1, 2, 3, 4]);
  });

  test("caches of several clients stay within a shared limit: the largest evicts its least recently used entries", async () => {
    const shared = { bytesMax: 5 * heldBytes, bytes: 0, caches: new Set<BlockCache>() };
    const one = newCache(100 * heldBytes, shared);
    const other = newCache(100 * heldBytes, shared);
    expect(one.cache.bytesMax).toBe(5 * heldBytes);
    await one.pin(keys.slice(0, 4));
    one.group.unpin(keys.slice(0, 4));
    await other.pin(keys.slice(0, 1));
    expect([one.freed, other.freed]).toEqual([[], []]);
    await other.pin(keys.slice(1, 2));
    expect([one.freed, other.freed]).toEqual([[0, 1], []]);
    // Pinned entries stay, however large; unpinned ones go.
    await other.pin(keys.slice(2, 6));
    expect([one.freed, other.freed]).toEqual([[0, 1, 2, 3], []]);
    expect(other.cache.bytes).toBe(6 * heldBytes);
    other.group.unpin(keys.slice(2, 6));
    expect(other.cache.bytes).toBeLessThanOrEqual(5 * heldBytes);
    await one.cache.close();
    other.group.unpin(keys.slice(0, 2));
    await other.pin([keys[0]]);
    other.group.unpin([keys[0]]);
    await other.cache.close();
    expect([one.cache.bytes, other.cache.bytes]).toEqual([0, 0]);
  });

  test("a read that fails leaves nothing behind, and is tried again", async () => {
    const { cache, group, pin } = newCache(100 * heldBytes);
    const failing = group.pin(keys.slice(0, 2), () => Promise.reject(new Error("no connection")));
    await expect(failing).rejects.toThrow("no connection");
    expect(cache.bytes).toBe(0);
    expect(await pin(keys.slice(0, 2))).toHaveLength(2);
  });

  test("equal keys are read once, and pinned as often as they are given", async () => {
    const { cache, group, pin, read, freed } = newCache(0);
    const [first, again, , last] = await pin([keys[0], keys[0], keys[1], keys[0]]);
    expect(read).toEqual([0, 1]);
    expect(again).toBe(first);
    expect(last).toBe(first);
    group.unpin([keys[0], keys[1], keys[0]]);
    expect(freed).toEqual([1]);
    group.unpin([keys[0]]);
    expect(freed).toEqual([1, 0]);
    expect(cache.bytes).toBe(0);
  });

  test("entries of a closed group are evicted at once, or when they are no longer in use", async () => {
    const { cache, index, group, pin, read, freed } = newCache(100 * heldBytes);
    const other = index.groupOf({});
    other.put("kept", { bytes });
    group.hold(5000);
    await pin(keys.slice(0, 2));
    group.unpin([keys[1]]);
    group.put(namedKey("table"), { bytes, free: () => freed.push(9) });
    group.close();
    expect(freed).toEqual([1, 9]);
    // A running reader gets its entries; none of them stays.
    expect((await pin([keys[0], keys[1]])).map(({ i }) => i)).toEqual([0, 1]);
    expect(read).toEqual([0, 1, 1]);
    group.unpin([keys[0], keys[1]]);
    expect(freed).toEqual([1, 9, 1]);
    group.unpin([keys[0]]);
    expect(freed).toEqual([1, 9, 1, 0]);
    group.put(namedKey("table"), { bytes, free: () => freed.push(9) });
    expect(freed).toEqual([1, 9, 1, 0, 9]);
    expect(cache.bytes).toBe(heldBytes);
  });

  test("a group that is closed while something is read for it keeps nothing of it", async () => {
    const { cache, group, pin, freed } = newCache(100 * heldBytes);
    const pinning = pin([keys[0]]);
    group.close();
    expect(await pinning).toHaveLength(1);
    expect(freed).toEqual([]);
    group.unpin([keys[0]]);
    expect(freed).toEqual([0]);
    expect(cache.bytes).toBe(0);
  });

  test("a value that another one pins is evicted after it", async () => {
    const { cache, group, pin, freed } = newCache(3 * heldBytes);
    await pin([keys[0]]);
    group.put(namedKey("made of it"), { bytes, free: () => group.unpin([keys[0]]) });
    await pin([keys[1]]);
    await pin([keys[2]]);
    expect(freed).toEqual([0]);
    expect(cache.bytes).toBe(2 * heldBytes);
  });

  test("an index's epoch ends when a value of it leaves kernel memory, and not when those of others do", async () => {
    const { cache, index, group, pin } = newCache(100 * heldBytes);
    const other = new IndexCache(cache);
    const [epoch, otherEpoch] = [index.epoch, other.epoch];
    group.put(namedKey("page"), { bytes });
    group.put(namedKey("page"), { bytes });
    expect(index.epoch).toBe(epoch);
    await pin([keys[0]]);
    group.unpin([keys[0]]);
    group.close();
    expect(index.epoch).not.toBe(epoch);
    expect(other.epoch).toBe(otherEpoch);
  });
});
