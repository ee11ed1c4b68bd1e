/** The table of list blocks in memory: of the newest snapshot that was searched, and of no other. */

import { expect, test } from "vitest";
import { Residency } from "../../src/query/residency.js";
import { BlockCache } from "../../src/state/cache/block-cache.js";
import { IndexCache } from "../../src/state/cache/index-cache.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { fixedRecord, openIndex } from "../protocol/open.js";
import { StandingClock } from "../protocol/standing-clock.js";

test("a table is made once per snapshot with a model, and never again of an older one", async () => {
  const clock = new StandingClock();
  const { index, inner, close } = openIndex(fixedRecord(), createMemoryStore(), clock);
  await inner.log.createFirst();
  const items = (first: number, count: number) =>
    Array.from({ length: count }, (_, i) => ({ id: `${first + i}`, vector: [first + i, i % 5] }));
  await index.upsert(items(0, 100));
  const blockCache = new BlockCache(1_000_000);
  const cache = new IndexCache(blockCache);
  const residency = new Residency(cache);
  expect(residency.ensureTable(await inner.snapshots.newest())).toBeUndefined();
  expect(cache.blocks.bytes).toBe(0);
  await index.train({ nLists: 5 });
  const first = (await inner.snapshots.hold()).snapshot;
  const table = residency.ensureTable(first);
  expect(table).toBeDefined();
  expect(residency.ensureTable(first)).toBe(table);
  await index.upsert([...items(100, 20), { id: "short", vector: [1, 1], expiresAt: clock.wall() + 10 }]);
  const second = (await inner.snapshots.hold()).snapshot;
  const newer = residency.ensureTable(second);
  expect(newer).toBeDefined();
  expect(newer).not.toBe(table);
  // An older snapshot has to do without.
  expect(residency.ensureTable(first)).toBeUndefined();
  expect(residency.ensureTable(second)).toBe(newer);
  clock.advance(10);
  const expired = (await inner.snapshots.hold()).snapshot;
  expect(expired.manifest.version).toBe(second.manifest.version);
  const latest = residency.ensureTable(expired);
  expect(latest).toBeDefined();
  expect(latest).not.toBe(newer);
  expect(residency.ensureTable(second)).toBeUndefined();
  expect(residency.tick()).toBeLessThan(residency.tick());
  // A table that was evicted is made again.
  await blockCache.clear();
  expect(residency.ensureTable(expired)).toBeDefined();
  // After a compaction nothing is left that expires.
  await index.compact();
  const compacted = (await inner.snapshots.hold()).snapshot;
  expect(compacted.expired.asOf).toBeLessThan(expired.expired.asOf);
  expect(residency.ensureTable(compacted)).toBeDefined();
  const crowded = new Residency(new IndexCache(new BlockCache(1)));
  expect(crowded.ensureTable(compacted)).toBeUndefined();
  await close();
  await blockCache.close();
});

test("a table for which the cache has no room evicts blocks once per snapshot, and is made if there is room", async () => {
  const { index, inner, close } = openIndex(fixedRecord(), createMemoryStore(), new StandingClock());
  await inner.log.createFirst();
  await index.upsert(Array.from({ length: 100 }, (_, i) => ({ id: `${i}`, vector: [i, i % 5] })));
  await index.train({ nLists: 5 });
  const { snapshot } = await inner.snapshots.hold();
  const ample = new IndexCache(new BlockCache(1_000_000));
  new Residency(ample).ensureTable(snapshot);
  const room = ample.blocks.bytes;
  const blockCache = new BlockCache(10 * room);
  const cache = new IndexCache(blockCache);
  const holding = cache.groupOf({});
  holding.hold(Math.ceil(9.1 * room));
  const blocks = cache.groupOf(blockCache);
  const block = { bytes: 1 };
  const residency = new Residency(cache);
  blocks.put("block", block);
  expect(residency.ensureTable(snapshot)).toBeUndefined();
  expect(blocks.peek("block")).toBeUndefined();
  blocks.put("block", block);
  expect(residency.ensureTable(snapshot)).toBeUndefined();
  expect(blocks.peek("block")).toBe(block);
  holding.close();
  expect(residency.ensureTable(snapshot)).toBeDefined();
  expect(blocks.peek("block")).toBe(block);
  // What evicts a table that had room gives way to it again.
  const small = { bytes: Math.floor(room / 10) };
  for (let i = 0; i < 400 || cache.blocks.bytes + room <= cache.blocks.bytesMax; i++)
    blocks.put(`${i}`, small);
  expect(residency.ensureTable(snapshot)).toBeDefined();
  await close();
  await blockCache.close();
});
