/** What training and compaction replaced is deleted when no reader can need it any more, also if nobody writes. */

import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import { type Client, createClient, generateKey, type IndexType, type VectorIndex } from "../../src/core.js";
import { historyMs } from "../../src/state/commit/retention.js";
import { DroppedObjects, usedPauseMs } from "../../src/index/open/dropped-objects.js";
import { JobRunner } from "../../src/index/open/job-runner.js";
import { EmbeddedClient } from "../../src/index/embedded-client.js";
import type { BlobStore } from "../../src/storage/blob-store.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { clustered } from "../engine/data.js";
import { rowsOf } from "../engine/oracle.js";
import { drain } from "../behavior/listing.js";
import { startChild } from "../protocol/child.js";
import { StandingClock } from "../protocol/standing-clock.js";
import { newFolder } from "../folder.js";

const d = 64;
const n = 3000;
const rows = rowsOf(clustered(n, d, 20, 6), d);
const items = rows.map((vector, i) => ({ id: `${i}`, vector }));
const access = { indexName: "retained", indexKey: generateKey() };

const clients: Client[] = [];
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
});

function local(path: string, retentionMs?: number): Client {
  const indexLocation = { location: "local", path } as const;
  const client = createClient({
    indexLocation,
    automaticTraining: false,
    ...(retentionMs !== undefined && { retentionMs }),
  });
  clients.push(client);
  return client;
}

async function bytesIn(folder: string): Promise<number> {
  let bytes = 0;
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) bytes += (await stat(join(entry.parentPath, entry.name))).size;
  }
  return bytes;
}

async function fill(index: VectorIndex): Promise<void> {
  for (let start = 0; start < n; start += 500) await index.upsert(items.slice(start, start + 500));
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await turn();
}

/** An index in memory whose time passes only when a test says so. */
async function begun() {
  const clock = new StandingClock();
  const store: BlobStore = createMemoryStore();
  const client = new EmbeddedClient({ indexLocation: store, automaticTraining: false }, clock);
  clients.push(client);
  const index = await client.createIndex(access);
  await fill(index);
  const objects = async () =>
    (await store.list("")).filter((key) => key.includes("/segment/") || key.includes("/model/"));
  return { clock, client, index, objects };
}

test.each<IndexType>(["ivfflat", "ivf", "ivfpq"])(
  "without retention an index of %s takes its live size after training, and after compaction",
  async (type) => {
    const folder = await newFolder();
    const index = await local(folder, 0).createIndex({ ...access, indexConfig: { type } });
    await fill(index);
    await index.train();
    const { storedBytes, reclaimableBytes } = await index.describe();
    expect(reclaimableBytes).toBe(0);
    expect(await bytesIn(folder)).toBeLessThan(1.1 * storedBytes);
    await index.upsert(items.slice(0, 1500));
    await index.compact();
    const compacted = await index.describe();
    expect(await bytesIn(folder)).toBeLessThan(1.1 * compacted.storedBytes);
    expect(await index.count()).toBe(n);
  },
);

test("an index in the memory of a client keeps nothing for readers that there cannot be", async () => {
  const client = createClient({ indexLocation: { location: "memory" }, automaticTraining: false });
  clients.push(client);
  const index = await client.createIndex(access);
  await fill(index);
  await index.train();
  expect((await index.describe()).reclaimableBytes).toBe(0);
  const loop = index.items({ pageSize: 100, include: [] });
  await loop.next();
  await index.upsert(items.slice(0, 1500));
  await index.compact();
  // Readers of the same client are waited for.
  expect((await index.describe()).reclaimableBytes).toBeGreaterThan(0);
  expect(await drain(loop)).toHaveLength(n - 1);
});

test("a loop that another object of the same client began keeps its state, too", async () => {
  const client = createClient({
    indexLocation: { location: "memory" },
    automaticTraining: false,
    cacheBytesMax: 0,
  });
  clients.push(client);
  const index = await client.createIndex(access);
  await fill(index);
  const loop = (await client.loadIndex(access)).items({ pageSize: 100 });
  await loop.next();
  await index.train();
  await index.compact();
  expect(await drain(loop)).toHaveLength(n - 1);
  await index.compact();
  expect((await index.describe()).reclaimableBytes).toBe(0);
});

test("without retention a cursor is good for 15 minutes all the same", async () => {
  const clock = new StandingClock();
  const client = new EmbeddedClient(
    { indexLocation: { location: "memory" }, automaticTraining: false },
    clock,
  );
  clients.push(client);
  const index = await client.createIndex(access);
  await fill(index);
  const { cursor = "" } = await (await client.loadIndex(access)).listItems({ limit: n - 100, include: [] });
  await index.train();
  await index.compact();
  clock.advance(historyMs - 1);
  await turn();
  const last = await index.listItems({ cursor, include: [] });
  expect(last.items).toHaveLength(100);
  expect((await index.describe()).reclaimableBytes).toBeGreaterThan(0);
  clock.advance(1);
  await until(async () => (await index.describe()).reclaimableBytes === 0);
  await expect(index.listItems({ cursor, include: [] })).rejects.toMatchObject({ code: "not_found" });
});

test("compaction without retention deletes what an earlier client replaced, too", async () => {
  const folder = await newFolder();
  const index = await local(folder).createIndex(access);
  await fill(index);
  await index.train();
  const { storedBytes, reclaimableBytes } = await index.describe();
  expect(reclaimableBytes).toBeGreaterThan(0.5 * storedBytes);
  expect(await bytesIn(folder)).toBeGreaterThan(1.5 * storedBytes);
  await index.compact();
  expect(await bytesIn(folder)).toBeGreaterThan(1.5 * storedBytes);
  const alone = await local(folder, 0).loadIndex(access);
  await alone.compact();
  expect(await bytesIn(folder)).toBeLessThan(1.1 * storedBytes);
  expect(await alone.count()).toBe(n);
});

test("what was replaced goes after the retention, though nobody writes any more", async () => {
  const { clock, index, objects } = await begun();
  await index.train();
  const { reclaimableBytes } = await index.describe();
  expect(reclaimableBytes).toBeGreaterThan(n * d * 4);
  const before = await objects();
  clock.advance(historyMs - 1);
  await turn();
  expect(await objects()).toEqual(before);
  clock.advance(1);
  await until(async () => (await index.describe()).reclaimableBytes === 0);
  const { segments } = await index.describe();
  expect(await objects()).toHaveLength(segments + 1);
  expect(clock.timers).toBe(0);
  expect(await index.count()).toBe(n);
});

test("what a busy writer replaces goes in few requests, and none of it is kept in mind", async () => {
  const clock = new StandingClock();
  const store = createMemoryStore();
  const deleted: number[] = [];
  const counting: BlobStore = {
    ...store,
    delete: async (keys) => void deleted.push(keys.length),
  };
  const runner = new JobRunner(clock);
  const dropped = new DroppedObjects(
    counting,
    { namesInUse: () => new Set(), haveCursor: () => false },
    {
      retentionMs: historyMs,
      clock,
      runner,
    },
  );
  const commits = 4000;
  for (let i = 0; i < commits; i++) {
    dropped.add([{ name: `segment ${i}`, header: "", length: 1 }]);
    clock.advance(1000);
    await turn();
  }
  // One a second; what was kept for 15 minutes goes nine at a time.
  expect(dropped.bytes).toBeLessThanOrEqual(historyMs / 1000 + 10);
  expect(deleted.length).toBeLessThanOrEqual(commits / 9);
  for (let i = 0; i < 3; i++) {
    clock.advance(historyMs);
    await turn();
  }
  expect(dropped.bytes).toBe(0);
  expect(deleted.reduce((sum, count) => sum + count)).toBe(commits);
  await runner.close();
});

test("a loop over items keeps its state as long as it runs", async () => {
  const { clock, index, objects } = await begun();
  const loop = index.items({ pageSize: 100, include: [] });
  await loop.next();
  await index.train();
  const before = await objects();
  clock.advance(historyMs);
  await turn();
  for (let i = 0; i < 3; i++) clock.advance(usedPauseMs);
  await turn();
  expect(await objects()).toEqual(before);
  expect(await drain(loop)).toHaveLength(n - 1);
  clock.advance(usedPauseMs);
  await until(async () => (await index.describe()).reclaimableBytes === 0);
});

test("a client that is closed keeps no timer and deletes nothing more", async () => {
  const { clock, client, index, objects } = await begun();
  await index.train();
  const before = await objects();
  await client.close();
  expect(clock.timers).toBe(0);
  clock.advance(historyMs);
  await turn();
  expect(await objects()).toEqual(before);
});

test("a retention that is too long, or no number, is refused", () => {
  const indexLocation = { location: "memory" } as const;
  for (const retentionMs of [-1, 1.5, historyMs + 1, "1" as never]) {
    expect(() => createClient({ indexLocation, retentionMs })).toThrow(/^retentionMs: /);
  }
});

test("processes that read while others train and compact without retention miss nothing", async () => {
  const location = { location: "local", path: await newFolder() } as const;
  const index = await local(location.path, 0).createIndex(access);
  await index.upsert(Array.from({ length: 300 }, (_, i) => ({ id: `${i}`, vector: [i, 1, 1] })));
  const ids = Array.from({ length: 300 }, (_, i) => `${i}`).sort();
  const common = { location, ...access };
  const reading = (["reader", "querier", "querier"] as const).map((role) =>
    startChild({ ...common, role, client: { cacheBytesMax: 0 } }),
  );
  const rewriting = (["trainer", "compacter"] as const).map((role) =>
    startChild({ ...common, role, client: { retentionMs: 0 } }),
  );
  const all = [...reading, ...rewriting];
  // Each has done its work some times next to the others.
  while (!all.every(({ lines }) => lines.length >= 10)) {
    await Promise.race(all.map(async (child) => (await child.next(), child.lines)));
    if (await Promise.race([...all.map(({ ended }) => ended.then(() => true)), turn(false)])) break;
  }
  for (const child of all) child.finish();
  const [listed, ...queried] = await Promise.all(reading.map(({ ended }) => ended));
  for (const line of [listed, ...queried].flat()) expect(line.ids).toEqual(ids);
  await Promise.all(rewriting.map(({ ended }) => ended));
});
