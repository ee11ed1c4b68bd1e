/** The commit protocol, case by case: groups, stalled processes, and the meaning of "newest". */

import { expect, test } from "vitest";
import { generateKey } from "../../src/core.js";
import type { Clock } from "../../src/state/commit/clock.js";
import { gc } from "../../src/index/maintenance/gc.js";
import { EmbeddedClient } from "../../src/index/embedded-client.js";
import { historyMs } from "../../src/state/commit/retention.js";
import { sealManifest } from "../../src/state/commit/stored-manifest.js";
import { manifestName } from "../../src/state/commit/object-names.js";
import { SealdexError } from "../../src/errors.js";
import type { BlobStore } from "../../src/storage/blob-store.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { fixedRecord, keyOf, type Opened, openIndex } from "./open.js";
import { StandingClock } from "./standing-clock.js";
import { whole } from "../ranges.js";

const options = { indexName: "committed", indexKey: generateKey() };

/** Counts calls by purpose, and delays them on demand. */
function watched(store: BlobStore) {
  const counts = { read: 0, create: 0, list: 0, delete: 0 };
  let hold: { readonly matches: (key: string) => boolean; readonly until: Promise<void> } | undefined;
  const watchedStore: BlobStore = {
    ...store,
    read(key, range) {
      counts.read++;
      return store.read(key, range);
    },
    async create(key, bytes) {
      counts.create++;
      if (hold?.matches(key)) {
        const { until } = hold;
        hold = undefined;
        await until;
      }
      return store.create(key, bytes);
    },
    list(prefix, given) {
      counts.list++;
      return store.list(prefix, given);
    },
    delete(keys) {
      counts.delete++;
      return store.delete(keys);
    },
  };
  return {
    store: watchedStore,
    counts,
    /** Delays the next creation of such a key; returns a function that lets it continue. */
    holdCreate(matches: (key: string) => boolean): () => void {
      let release = () => {};
      hold = { matches, until: new Promise((resolve) => (release = resolve)) };
      return release;
    },
  };
}

async function newIndex(clock: Clock) {
  const store = createMemoryStore();
  const record = fixedRecord();
  await openIndex(record, store, clock).inner.log.createFirst();
  const open = (through: BlobStore = store, maxStalenessMs = 0): Opened =>
    openIndex(record, through, clock, maxStalenessMs);
  return { store, record, open };
}

const manifestsIn = async (store: BlobStore) =>
  (await store.list("index/")).filter((key) => key.includes("/manifest/"));
const isManifest = (key: string) => key.includes("/manifest/");

/** Lets time pass and others write, until manifests of the beginning are collected. */
async function letTimePass(clock: StandingClock, other: Opened, rounds = 3): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    clock.ms += historyMs + 1;
    await other.index.upsert([{ id: `time ${clock.ms}`, vector: [9, 9] }]);
  }
  await gc(other.inner);
}

test("upserts that wait at the same time share a manifest", async () => {
  const { store, open } = await newIndex(new StandingClock());
  const slow = watched(store);
  const { index } = open(slow.store);
  const goOn = slow.holdCreate(isManifest);
  const writes = Array.from({ length: 50 }, (_, i) => index.upsert([{ id: `${i}`, vector: [i, 1] }]));
  while (slow.counts.create < 51) await new Promise(setImmediate);
  goOn();
  await Promise.all(writes);
  expect(await index.count()).toBe(50);
  // The empty one, that of whoever came first, and that of all others.
  expect(await manifestsIn(store)).toHaveLength(3);
});

test("of upserts of one id that share a manifest the later stays", async () => {
  const { store, open } = await newIndex(new StandingClock());
  const slow = watched(store);
  const { index } = open(slow.store);
  const goOn = slow.holdCreate(isManifest);
  const first = index.upsert([{ id: "first", vector: [0, 0] }]);
  while (slow.counts.create < 2) await new Promise(setImmediate);
  const writes: Promise<unknown>[] = [first];
  for (const n of [1, 2, 3]) {
    writes.push(index.upsert([{ id: "a", vector: [n, 0] }]));
    while (slow.counts.create < 2 + n) await new Promise(setImmediate);
  }
  goOn();
  await Promise.all(writes);
  expect(await manifestsIn(store)).toHaveLength(3);
  expect((await index.get(["a"])).map(({ vector }) => vector?.[0])).toEqual([3]);
  expect(await index.count()).toBe(2);
});

test("a change that is refused does not take its group with it", async () => {
  const { open } = await newIndex(new StandingClock());
  const { index } = open();
  const results = await Promise.allSettled([
    index.upsert([{ id: "a", vector: [1, 2] }]),
    index.upsert([{ id: "b", vector: [1, 2, 3] }]),
    index.upsert([{ id: "c", vector: [3, 4] }]),
  ]);
  expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  expect(results[1]).toMatchObject({ reason: { code: "dimension_mismatch" } });
  expect(await index.listIds()).toEqual(["a", "c"]);
});

/** A commit under way, behind which a change waits and then one that answers `first` when it is asked for the first time. */
async function changesInOneGroup(first: () => null) {
  const { store, open } = await newIndex(new StandingClock());
  const slow = watched(store);
  let failing = false;
  const create: BlobStore["create"] = async (key, bytes) => {
    if (failing) throw new SealdexError("storage_unavailable", "no connection");
    return slow.store.create(key, bytes);
  };
  const { log } = open({ ...slow.store, create }).inner;
  await log.newest();
  const goOn = slow.holdCreate(isManifest);
  const underWay = log.commit((latest) => ({ ...latest }));
  while (slow.counts.create < 1) await new Promise(setImmediate);
  const seen: number[] = [];
  const waiting = log.commit((latest) => {
    seen.push(latest.version);
    failing = true;
    return { ...latest };
  });
  const last = log.commit((latest) => {
    seen.push(latest.version);
    if (seen.length === 2) return first();
    failing = false;
    return { ...latest };
  });
  const results = Promise.allSettled([underWay, waiting, last]);
  goOn();
  return { results: await results, seen, store };
}

test.each<[string, () => null]>([
  ["declines", () => null],
  [
    "is refused",
    () => {
      throw new Error("refused");
    },
  ],
])("a change that %s because of another's pending change is asked again if that fails", async (_, first) => {
  const { results, seen, store } = await changesInOneGroup(first);
  expect(results).toMatchObject([
    { status: "fulfilled", value: { version: 2 } },
    { status: "rejected", reason: { code: "storage_unavailable" } },
    { status: "fulfilled", value: { version: 3 } },
  ]);
  expect(seen).toEqual([2, 2, 2]);
  expect(await manifestsIn(store)).toHaveLength(3);
});

test("a change that declines the stored state is answered, and stores nothing", async () => {
  const { store, open } = await newIndex(new StandingClock());
  const { log } = open().inner;
  expect(await log.commit(() => null)).toBeNull();
  expect(await manifestsIn(store)).toHaveLength(1);
});

test("a writer whose place in the sequence was deleted while it slept commits at the end of it", async () => {
  const clock = new StandingClock();
  const { store, open } = await newIndex(clock);
  const slow = watched(store);
  const sleeper = open(slow.store);
  await sleeper.index.upsert([{ id: "before", vector: [0, 0] }]);
  const other = open();
  await other.index.upsert([{ id: "other", vector: [1, 1] }]);

  const wake = slow.holdCreate(isManifest);
  const written = sleeper.index.upsert([{ id: "slept", vector: [2, 2] }]);
  while (slow.counts.create < 4) await new Promise(setImmediate);
  await letTimePass(clock, other, 4);
  wake();
  await written;
  expect(await other.index.listIds()).toContain("slept");
  expect(await open().index.listIds()).toContain("slept");
});

test("a commit that was made before its writer slept is not made again", async () => {
  const clock = new StandingClock();
  const { store, open } = await newIndex(clock);
  const other = open();
  await other.index.upsert([{ id: "x", vector: [0, 0], metadata: { by: "nobody" } }]);
  let slept = false;
  const sleepy: BlobStore = {
    ...store,
    async create(key, bytes) {
      const created = await store.create(key, bytes);
      if (isManifest(key) && !slept) {
        slept = true;
        await other.index.upsert([{ id: "x", vector: [0, 0], metadata: { by: "other" } }]);
        await letTimePass(clock, other, 4);
        throw new Error("the acknowledgement was lost");
      }
      return created;
    },
  };
  const sleeper = open(sleepy);
  const write = sleeper.index.upsert([{ id: "x", vector: [0, 0], metadata: { by: "sleeper" } }]);
  // Its outcome is unknown: an error is right, a second commit would not be.
  await expect(write).rejects.toThrow();
  expect((await other.index.get(["x"])).map(({ metadata }) => metadata)).toEqual([{ by: "other" }]);
});

test("a reader that slept does not take a deleted manifest for one not yet written", async () => {
  const clock = new StandingClock();
  const { open } = await newIndex(clock);
  const writer = open();
  const reader = open();
  await writer.index.upsert([{ id: "first", vector: [1, 1] }]);
  expect(await reader.index.count()).toBe(1);
  await letTimePass(clock, writer, 4);
  expect(await reader.index.count()).toBe(5);
});

test("objects dropped by a manifest that never counted are not deleted", async () => {
  const clock = new StandingClock();
  const { store, record, open } = await newIndex(clock);
  const writer = open();
  await writer.index.upsert([{ id: "alive", vector: [1, 1] }]);
  const [alive] = (await writer.inner.log.newest()).segments;
  await letTimePass(clock, writer, 4);
  const { keys, indexId } = record;
  const newest = await writer.inner.log.newest();
  // Left by a stalled compaction: version 2, long deleted, created again by a writer that slept.
  const zombie = sealManifest(keys, indexId, {
    ...newest,
    version: 2,
    segments: [],
    droppedObjects: [alive.name],
  });
  expect(await store.create(keyOf(manifestName(indexId, 2)), zombie.bytes)).toBe(true);
  await letTimePass(clock, writer, 1);
  expect(await store.read(keyOf(manifestName(indexId, 2)), whole)).toBeNull();
  expect(await open().index.listIds()).toContain("alive");
  expect((await open().index.get(["alive"])).length).toBe(1);
});

test("a store that forgot the newest manifests is found out", async () => {
  const clock = new StandingClock();
  const { store, open } = await newIndex(clock);
  const { index, inner } = open();
  for (let i = 0; i < 5; i++) await index.upsert([{ id: `${i}`, vector: [i, 1] }]);
  const { version } = await inner.log.newest();
  await store.delete([version, version - 1].map((one) => keyOf(manifestName(inner.indexId, one))));
  clock.ms += historyMs;
  await expect(index.count()).rejects.toMatchObject({ code: "rollback_detected" });
});

test("a stale read asks nothing of the store, sees its own writes, and ends with its time", async () => {
  const clock = new StandingClock();
  const { store, open } = await newIndex(clock);
  const writer = open();
  await writer.index.upsert([{ id: "a", vector: [1, 1] }]);
  const { store: through, counts } = watched(store);
  const relaxed = open(through, 1000);
  expect(await relaxed.index.listIds()).toEqual(["a"]);
  await writer.index.upsert([{ id: "b", vector: [2, 2] }]);
  const before = counts.read;
  clock.ms += 1000;
  expect(await relaxed.index.count()).toBe(1);
  expect(counts.read).toBe(before);
  clock.ms += 1;
  expect(await relaxed.index.count()).toBe(2);
  await relaxed.index.upsert([{ id: "c", vector: [3, 3] }]);
  expect(await relaxed.index.listIds()).toEqual(["a", "b", "c"]);
});

test("maxStalenessMs is a whole number of milliseconds", () => {
  const open = (maxStalenessMs: unknown) => () =>
    new EmbeddedClient({ indexLocation: createMemoryStore(), maxStalenessMs: maxStalenessMs as number });
  for (const wrong of [-1, 0.5, Number.NaN, "1"]) {
    expect(open(wrong), String(wrong)).toThrow(/maxStalenessMs: expected an integer/);
  }
});

test("a writer next to another one looks before it commits, and loses one race; alone, it does not look", async () => {
  const store = createMemoryStore();
  const record = fixedRecord();
  const { store: watchedStore, counts } = watched(store);
  const clock = new StandingClock();
  const [own, other] = [openIndex(record, watchedStore, clock), openIndex(record, store, clock)];
  await own.inner.log.createFirst();
  const write = ({ inner }: Opened) => inner.log.commit((latest) => latest);
  await write(own);
  counts.create = 0;
  for (let n = 0; n < 10; n++) {
    await write(other);
    await write(own);
  }
  expect(counts.create).toBe(11);
  // The first look finds that the other one has stopped.
  await write(own);
  [counts.create, counts.read] = [0, 0];
  for (let n = 0; n < 10; n++) await write(own);
  // Each makes sure that the known manifest is still there.
  expect(counts).toMatchObject({ create: 10, read: 10 });
});

test("a deletion of several ids and an upsert of them go one after the other", async () => {
  const { store, open } = await newIndex(new StandingClock());
  const other = open();
  await other.index.upsert([{ id: "x", vector: [1, 1] }]);
  const slow = watched(store);
  const deleter = open(slow.store);
  await deleter.index.count();
  const goOn = slow.holdCreate((key) => key.includes("/segment/"));
  const deleted = deleter.index.delete({ ids: ["x", "y"] });
  while (slow.counts.create < 1) await new Promise(setImmediate);
  await other.index.upsert(["x", "y"].map((id) => ({ id, vector: [2, 2] })));
  goOn();
  await deleted;
  // Deletion last: both are gone. Upsert last: both are there. One of them alone is neither.
  expect(await other.index.listIds()).toEqual([]);
});

test("an index whose record was stored is created, though the acknowledgement was lost", async () => {
  const store = createMemoryStore();
  const forgetful: BlobStore = {
    ...store,
    async create(key, bytes) {
      await store.create(key, bytes);
      throw new Error("the acknowledgement was lost");
    },
  };
  await new EmbeddedClient({ indexLocation: forgetful }).createIndex(options);
  const index = await new EmbeddedClient({ indexLocation: store }).loadIndex(options);
  expect(await index.count()).toBe(0);
});

test("an index whose creation took a day does not come to be without its manifest", async () => {
  const clock = new StandingClock();
  const store = createMemoryStore();
  const slow = watched(store);
  const wake = slow.holdCreate((key) => key.startsWith("names/"));
  const creating = new EmbeddedClient({ indexLocation: slow.store }, clock).createIndex(options);
  while (slow.counts.create < 2) await new Promise(setImmediate);
  clock.ms += 3 * historyMs;
  await store.delete(await manifestsIn(store));
  wake();
  await expect(creating).rejects.toMatchObject({ code: "storage_unavailable" });
  expect(await store.list("names/")).toEqual([]);
});
