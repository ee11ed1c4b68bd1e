/** Collection: the deleted objects, the time, the process, and that no other process is disturbed. */

import { describe, expect, test } from "vitest";
import {
  collectGarbage,
  copyIndex,
  createClient,
  type EmbeddedClientOptions,
  generateKey,
} from "../../src/core.js";
import { deleteOrphans } from "../../src/index/maintenance/orphans.js";
import { gc } from "../../src/index/maintenance/gc.js";
import { compactAll } from "../../src/index/maintenance/compact.js";
import { liveBlocks } from "../../src/index/maintenance/live-blocks.js";
import { EmbeddedClient } from "../../src/index/embedded-client.js";
import { historyMs, uploadMs } from "../../src/state/commit/retention.js";
import { namedObjects } from "../../src/state/commit/manifest.js";
import { SealdexError } from "../../src/errors.js";
import type { BlobStore } from "../../src/storage/blob-store.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { fixedRecord, keyOf, type Opened, openIndex } from "./open.js";
import { StandingClock } from "./standing-clock.js";
import { whole } from "../ranges.js";

const options = { indexName: "collected", indexKey: generateKey() };

async function newIndex() {
  const clock = new StandingClock();
  const store = createMemoryStore();
  const record = fixedRecord();
  await openIndex(record, store, clock).inner.log.createFirst();
  const open = (through: BlobStore = store): Opened => openIndex(record, through, clock);
  return { clock, store, open };
}

const fill = async ({ index }: Opened, count: number) => {
  for (let i = 0; i < count; i++) await index.upsert([{ id: `${i}`, vector: [i, 1], metadata: { i } }]);
};
const matching = async (store: BlobStore, part: string) =>
  (await store.list("")).filter((key) => key.includes(part));

/** Objects that the newest manifest does not name. */
async function unnamed(store: BlobStore, { inner }: Opened): Promise<string[]> {
  const named = new Set(Array.from(namedObjects(await inner.log.newest()), keyOf));
  const objects = [...(await matching(store, "/segment/")), ...(await matching(store, "/model/"))];
  return objects.filter((name) => !named.has(name));
}

test("foreign objects among records and objects of indexes are skipped and kept", async () => {
  const store = createMemoryStore();
  const client = createClient({ indexLocation: store });
  const kept = await client.createIndex(options);
  await kept.upsert([{ id: "a", vector: [1] }]);
  const [record] = await store.list("names/");
  const [manifest] = await matching(store, "/manifest/");
  const folderOf = (key: string) => key.slice(0, key.lastIndexOf("/"));
  const foreign = [
    "names/readme",
    "names/0000/0000000000000001",
    "names/040g/0000000000000001",
    "names/readme/0000000000000001",
    `${folderOf(record)}/0`,
    `${folderOf(record)}/readme`,
    `${folderOf(manifest)}/0`,
    `${folderOf(manifest)}/zz`,
    "index/readme",
    "index/zz/manifest/0000000000000001",
    "index/ab1/x",
    `${folderOf(folderOf(folderOf(manifest)))}/0`,
    `${folderOf(folderOf(folderOf(manifest)))}/00/manifest/0000000000000001`,
    `${folderOf(folderOf(folderOf(manifest)))}/zz/segment/0`,
    `index/${"07".repeat(16)}/manifest/0000000000000001`,
  ];
  for (const key of foreign) await store.create(key, Buffer.from("not ours"));
  expect(await client.listIndexes()).toEqual(["collected"]);
  expect(await collectGarbage(client)).toEqual([]);
  const again = createClient({ indexLocation: store });
  const index = await again.loadIndex(options);
  await index.upsert([{ id: "b", vector: [2] }]);
  await index.compact();
  expect(await index.listIds()).toEqual(["a", "b"]);
  await again.deleteIndex(options);
  expect(await again.listIndexes()).toEqual([]);
  for (const key of foreign.filter((name) => !name.startsWith(folderOf(folderOf(manifest))))) {
    expect(await store.read(key, whole), key).not.toBeNull();
  }
  await client.close();
  await again.close();
});

test("without grace everything is collected that the newest manifest does not name", async () => {
  const { store, open } = await newIndex();
  const one = open();
  await fill(one, 40);
  await one.index.train({ nLists: 3 });
  await one.index.train({ nLists: 2 });
  await fill(one, 3);
  expect((await unnamed(store, one)).length).toBeGreaterThan(20);
  const { objects } = await gc(one.inner, { graceMs: 0 });
  expect(objects).toBeGreaterThan(20);
  expect(await unnamed(store, one)).toEqual([]);
  expect(await open().index.count()).toBe(40);
});

test("within the grace period nothing is collected that an open snapshot needs", async () => {
  const { clock, open } = await newIndex();
  const writer = open();
  await fill(writer, 5);
  const reader = open();
  const snapshot = await reader.inner.snapshots.newest();
  await fill(writer, 30);
  await compactAll(writer.inner, undefined);
  for (const ms of [0, historyMs - 1]) {
    clock.ms += ms;
    await writer.index.upsert([{ id: `at ${ms}`, vector: [1, 1] }]);
    await gc(writer.inner);
    expect(await snapshot.count()).toBe(5);
    for await (const { kept } of liveBlocks(snapshot, snapshot.segments))
      expect(kept.length).toBeGreaterThan(0);
  }
});

test("a reader that is slower than the grace period begins again, and sees the index as it is", async () => {
  const { store, open } = await newIndex();
  const writer = open();
  await fill(writer, 5);
  let collected = false;
  const slow: BlobStore = {
    ...store,
    async read(key, range) {
      if (key.includes("/segment/") && !collected) {
        collected = true;
        await fill(writer, 20);
        await compactAll(writer.inner, undefined);
        await gc(writer.inner, { graceMs: 0 });
      }
      return store.read(key, range);
    },
  };
  for (const ask of [
    async ({ index }: Opened) => (await index.listIds()).length,
    ({ index }: Opened) => index.count(),
    async ({ index }: Opened) => (await index.query({ queryVector: [0, 0] })).length,
    async ({ index }: Opened) => (await index.get(Array.from({ length: 20 }, (_, i) => `${i}`))).length,
  ]) {
    collected = false;
    expect(await ask(open(slow))).toBe(20);
    expect(collected).toBe(true);
  }
});

test("an object that is truly gone is an error, however often the index changes", async () => {
  const { store, open } = await newIndex();
  const writer = open();
  await fill(writer, 5);
  const [{ name }] = (await writer.inner.log.newest()).segments;
  await store.delete([keyOf(name)]);
  await expect(open().index.count()).rejects.toMatchObject({ code: "missing_object" });
});

test("objects stored before a fence are stored again rather than committed", async () => {
  const { store, open } = await newIndex();
  const collector = open();
  await fill(collector, 2);
  const taken: string[] = [];
  const slow: BlobStore = {
    ...store,
    async create(key, bytes) {
      const created = await store.create(key, bytes);
      if (key.includes("/segment/") && taken.length === 0) {
        taken.push(key);
        // The collector takes it for a leftover of a crashed writer, before its writer commits it.
        await gc(collector.inner, { graceMs: 0 });
        expect(await store.read(key, whole)).toBeNull();
      }
      return created;
    },
  };
  const writer = open(slow);
  for (const write of [
    () => writer.index.upsert([{ id: "late", vector: [5, 5] }]),
    () => writer.index.delete({ ids: ["0"] }),
    () => writer.index.delete({ filter: { i: 1 } }),
    () => writer.index.train({ nLists: 1 }),
  ]) {
    taken.length = 0;
    await write();
    expect(taken).toHaveLength(1);
  }
  expect(await open().index.listIds()).toEqual(["late"]);
});

describe("a writer whose clock is years ahead", () => {
  /** Objects that are left over, an index that goes on with the right time, and its clock. */
  async function afterAhead() {
    const { clock, store, open } = await newIndex();
    const years = 10 * 365 * uploadMs;
    clock.ms += years;
    const ahead = open();
    await fill(ahead, 20);
    await compactAll(ahead.inner, undefined);
    clock.ms -= years;
    const index = open();
    expect((await unnamed(store, index)).length).toBeGreaterThan(0);
    return { clock, store, index };
  }

  test("does not end collection by later commits, whose grace begins again", async () => {
    const { clock, store, index } = await afterAhead();
    const upsert = () => index.index.upsert([{ id: "later", vector: [1, 1] }]);
    const left = await unnamed(store, index);
    await upsert();
    clock.ms += historyMs - 1;
    await upsert();
    await gc(index.inner);
    expect(await unnamed(store, index)).toEqual(expect.arrayContaining(left));
    for (let i = 0; i < 3; i++) {
      clock.ms += historyMs;
      await upsert();
    }
    await gc(index.inner);
    const still = new Set(await unnamed(store, index));
    expect(left.filter((name) => still.has(name))).toEqual([]);
  });

  test("does not end collection on demand, though nobody commits", async () => {
    const { clock, store, index } = await afterAhead();
    for (let i = 0; i < 3; i++) {
      await gc(index.inner);
      clock.ms += uploadMs;
    }
    expect(await unnamed(store, index)).toEqual([]);
  });

  test("does not end collection without grace", async () => {
    const { store, index } = await afterAhead();
    await gc(index.inner, { graceMs: 0 });
    expect(await unnamed(store, index)).toEqual([]);
  });
});

test("leftovers of a crashed writer are deleted after a day, and not before", async () => {
  const { clock, store, open } = await newIndex();
  const dying: BlobStore = {
    ...store,
    async create(key, bytes) {
      if (key.includes("/manifest/")) throw new SealdexError("storage_unavailable", "the process is gone");
      return store.create(key, bytes);
    },
  };
  const writer = open();
  await fill(writer, 1);
  await expect(open(dying).index.upsert([{ id: "x", vector: [1, 1] }])).rejects.toThrow("gone");
  expect(await unnamed(store, writer)).toHaveLength(1);
  for (let hours = 0; hours < 23; hours++) {
    clock.ms += uploadMs / 24;
    await gc(writer.inner);
    expect(await unnamed(store, writer)).toHaveLength(1);
  }
  for (let hours = 0; hours < 30; hours++) {
    clock.ms += uploadMs / 24;
    await gc(writer.inner);
  }
  expect(await unnamed(store, writer)).toEqual([]);
});

test("writers collect in passing: manifests and dropped objects do not pile up", async () => {
  const { clock, store, open } = await newIndex();
  const writer = open();
  let most = 0;
  for (let minute = 0; minute < 240; minute++) {
    clock.ms += 60_000;
    await writer.index.upsert([{ id: `${minute % 50}`, vector: [minute, 1] }]);
    most = Math.max(most, (await matching(store, "/manifest/")).length);
  }
  await writer.close();
  // Two grace periods' worth, and the segments of compaction.
  expect(most).toBeLessThan(45);
  expect((await unnamed(store, writer)).length).toBeLessThan(45);
  expect(await open().index.count()).toBe(50);
});

test("a collection that fails in the background fails no write, and the next one makes up for it", async () => {
  const { clock, store, open } = await newIndex();
  let failing = true;
  let refused = 0;
  const flaky: BlobStore = {
    ...store,
    async delete(keys) {
      if (failing && keys.some((key) => key.includes("/manifest/"))) {
        refused++;
        throw new SealdexError("storage_unavailable", "no connection");
      }
      return store.delete(keys);
    },
  };
  const writer = open(flaky);
  const manifests = async () => (await matching(store, "/manifest/")).length;
  const writeUntil = async (isSo: () => Promise<boolean>) => {
    while (!(await isSo())) {
      clock.ms += historyMs;
      await writer.index.upsert([{ id: "a", vector: [1, 1] }]);
      await new Promise(setImmediate);
    }
  };
  await writeUntil(async () => refused >= 3);
  const before = await manifests();
  failing = false;
  await writeUntil(async () => (await manifests()) < before);
  await writer.close();
});

test("a manifest stays as small as the index is, whatever was written to it", async () => {
  const { store, open } = await newIndex();
  const writer = open();
  const sizes: number[] = [];
  for (let i = 0; i < 320; i++) {
    await writer.index.upsert([{ id: `${i % 20}`, vector: [i, 1] }]);
    const [newest] = await matching(store, "/manifest/");
    sizes.push(((await store.read(newest, whole)) as Uint8Array).length);
  }
  const { segments } = await writer.inner.log.newest();
  expect(segments.length).toBeLessThan(20);
  expect(Math.max(...sizes.slice(160))).toBeLessThan(1.5 * Math.max(...sizes.slice(0, 160)));
  expect(Math.max(...sizes)).toBeLessThan(10_000);
});

test("of many writers one merges the segments that are due", async () => {
  const { store, open } = await newIndex();
  let stored = 0;
  const counting: BlobStore = {
    ...store,
    async create(key, bytes) {
      if (key.includes("/segment/")) stored++;
      return store.create(key, bytes);
    },
  };
  const writers = Array.from({ length: 6 }, () => open(counting));
  for (let round = 0; round < 12; round++) {
    await Promise.all(
      writers.map(({ index }, w) => index.upsert([{ id: `${w} ${round}`, vector: [w, round] }])),
    );
  }
  expect(await open().index.count()).toBe(72);
  // One segment an upsert, and one for each eight of them, with some merged twice where no process was in time.
  expect(stored).toBeLessThan(72 + 24);
});

/** The store through which a process works that dies after its first deletion. */
function cutShort(store: BlobStore): BlobStore {
  const died = () => Promise.reject(new Error("the process died"));
  const cut: BlobStore = {
    ...store,
    delete: async (keys) => {
      await store.delete(keys);
      Object.assign(cut, { read: died, create: died, list: died, delete: died });
    },
  };
  return cut;
}

async function deleteInPart(
  locations: { readonly indexLocation: BlobStore; readonly configLocation: BlobStore },
  clock: StandingClock,
): Promise<void> {
  const client = new EmbeddedClient(
    { ...locations, configLocation: cutShort(locations.configLocation) },
    clock,
  );
  await expect(client.deleteIndex(options)).rejects.toThrow("the process died");
  await client.close();
}

test("the remains of a deleted index are deleted a day later, and a live one is kept", async () => {
  const clock = new StandingClock();
  const store = createMemoryStore();
  const client = new EmbeddedClient({ indexLocation: store }, clock);
  const living = await client.createIndex({ ...options, indexName: "living" });
  await living.upsert([{ id: "a", vector: [1] }]);
  const index = await client.createIndex(options);
  await index.upsert([{ id: "a", vector: [1] }]);
  const stale = await new EmbeddedClient({ indexLocation: store }, clock).loadIndex(options);
  const before = (await store.list("")).length;
  await client.deleteIndex(options);
  await expect(stale.count()).rejects.toMatchObject({ code: "not_found" });
  await expect(stale.upsert([{ id: "b", vector: [1] }])).rejects.toMatchObject({ code: "not_found" });
  expect(await deleteOrphans({ indexStore: store, configStore: store }, clock)).toEqual([]);
  clock.ms += uploadMs;
  expect(await deleteOrphans({ indexStore: store, configStore: store }, clock)).toHaveLength(1);
  expect((await store.list("")).length).toBeLessThan(before);
  expect(await matching(store, "index/")).toHaveLength(3);
  expect(await matching(store, "orphans/")).toEqual([]);
  expect(await living.count()).toBe(1);
});

test("the remains of an interrupted deletion are deleted a day later", async () => {
  const clock = new StandingClock();
  const [indexLocation, configLocation] = [createMemoryStore(), createMemoryStore()];
  const client = new EmbeddedClient({ indexLocation, configLocation }, clock);
  const index = await client.createIndex(options);
  await index.upsert([{ id: "a", vector: [1] }]);
  // Foreign objects in the place of folders and marks hide nothing.
  const [, name, id] = (await configLocation.list("index/"))[0].split("/");
  const foreign = [`index/${name}`, `index/${name}/${id}`, `orphans/${name}`, `orphans/${name}/${id}/later`];
  for (const key of foreign) await configLocation.create(key, Buffer.of(1));
  await deleteInPart({ indexLocation, configLocation }, clock);
  const stores = { indexStore: indexLocation, configStore: configLocation };
  for (let day = 0; day < 2; day++) {
    expect(await matching(indexLocation, "/segment/")).toHaveLength(1);
    expect(await deleteOrphans(stores, clock)).toEqual([]);
    clock.ms += uploadMs / 2;
  }
  // A segment and two manifests.
  const found = [{ indexName: options.indexName, objects: 3 }];
  expect(await deleteOrphans(stores, clock)).toEqual(found);
  expect(await indexLocation.list("")).toEqual([]);
  expect(await configLocation.list("")).toEqual(foreign);
});

test("a deletion that was cut short before the record was gone leaves the index as it was", async () => {
  const clock = new StandingClock();
  const store = createMemoryStore();
  const client = new EmbeddedClient({ indexLocation: store }, clock);
  await (await client.createIndex(options)).upsert([{ id: "a", vector: [1] }]);
  const kept = await store.list("");
  const died = () => Promise.reject(new Error("the process died"));
  const dying = new EmbeddedClient({ indexLocation: { ...store, delete: died } }, clock);
  await expect(dying.deleteIndex(options)).rejects.toThrow("the process died");
  expect(await matching(store, "orphans/")).toHaveLength(1);
  clock.ms += uploadMs;
  expect(await collectGarbage(client, { dryRun: true })).toEqual([]);
  expect(await collectGarbage(client)).toEqual([]);
  // The mark does not wait for a day on which the record cannot be seen.
  expect(await store.list("")).toEqual(kept);
  expect(await (await client.loadIndex(options)).count()).toBe(1);
});

test("garbage of a place is collected on demand, without a key, through a client or by its locations", async () => {
  const clock = new StandingClock();
  const store = createMemoryStore();
  const client = new EmbeddedClient({ indexLocation: store }, clock);
  const living = await client.createIndex({ ...options, indexName: "living" });
  await living.upsert([{ id: "a", vector: [1] }]);
  const kept = await store.list("");
  await client.createIndex(options);
  await deleteInPart({ indexLocation: store, configLocation: store }, clock);
  expect(await collectGarbage(client)).toEqual([]);
  clock.ms += uploadMs - 1;
  expect(await collectGarbage(client)).toEqual([]);
  const aborted = collectGarbage(client, { signal: AbortSignal.abort(new Error("not now")) });
  await expect(aborted).rejects.toThrow("not now");
  clock.ms += 1;
  const left = await store.list("");
  const found = [{ indexName: options.indexName, objects: 1 }];
  expect(await collectGarbage(client, { dryRun: true })).toEqual(found);
  expect(await store.list("")).toEqual(left);
  expect(await collectGarbage(client)).toEqual(found);
  expect(await store.list("")).toEqual(kept);
  expect(await collectGarbage({ indexLocation: store })).toEqual([]);
  expect(await store.list("")).toEqual(kept);
  expect(await living.count()).toBe(1);
  await expect(collectGarbage({} as never)).rejects.toMatchObject({ code: "invalid_request" });
  await expect(collectGarbage(client, { dryRun: 1 } as never)).rejects.toMatchObject({
    message: "dryRun: expected a boolean, got number",
  });
  await client.close();
  await expect(collectGarbage(client)).rejects.toMatchObject({ code: "invalid_request" });
});

describe("a client of the wrong locations deletes nothing that is in use", () => {
  const clock = new StandingClock();
  const collectForDays = async (locations: EmbeddedClientOptions) => {
    for (let day = 0; day < 3; day++) {
      const client = new EmbeddedClient(locations, clock);
      const scratch = { indexName: "scratch", indexKey: generateKey() };
      await client.createIndex(scratch);
      await client.deleteIndex(scratch);
      await collectGarbage(client);
      await client.close();
      clock.ms += uploadMs;
    }
  };
  const newStores = () => [createMemoryStore(), createMemoryStore(), createMemoryStore()];

  test("whatever it takes for the configuration location", async () => {
    const [bucket, config, other] = newStores();
    const right = new EmbeddedClient({ indexLocation: bucket, configLocation: config }, clock);
    const index = await right.createIndex(options);
    await index.upsert([{ id: "a", vector: [1] }]);
    const before = await bucket.list("index/");
    for (const locations of [
      { indexLocation: bucket },
      { indexLocation: bucket, configLocation: other },
      { indexLocation: config },
      { indexLocation: config, configLocation: bucket },
      { indexLocation: other, configLocation: config },
    ]) {
      await collectForDays(locations);
      expect(await bucket.list("index/")).toEqual(expect.arrayContaining(before));
      expect(await (await right.loadIndex(options)).get(["a"])).toHaveLength(1);
    }
  });

  test("nor after its records are gone from the configuration location, and only there", async () => {
    const [bucket, config, other] = newStores();
    const right = new EmbeddedClient({ indexLocation: bucket, configLocation: config }, clock);
    await (await right.createIndex(options)).upsert([{ id: "a", vector: [1] }]);
    // Moved by hand, or not yet brought back from a backup.
    for (const key of await config.list("names/")) {
      await other.create(key, (await config.read(key, whole)) as Uint8Array);
      await config.delete([key]);
    }
    await collectForDays({ indexLocation: bucket, configLocation: config });
    for (const key of await other.list("names/")) {
      await config.create(key, (await other.read(key, whole)) as Uint8Array);
    }
    expect(await (await right.loadIndex(options)).get(["a"])).toHaveLength(1);
  });

  test("after a copy of the index was deleted elsewhere", async () => {
    const [bucket, config] = newStores();
    const [otherBucket, otherConfig] = newStores();
    const right = new EmbeddedClient({ indexLocation: bucket, configLocation: config }, clock);
    await (await right.createIndex(options)).upsert([{ id: "a", vector: [1] }]);
    const staging = { indexLocation: otherBucket, configLocation: otherConfig };
    await copyIndex({ from: right, to: staging, ...options });
    const copy = new EmbeddedClient(staging, clock);
    await copy.deleteIndex(options);
    await copy.close();
    clock.ms += uploadMs;
    // The manifests that the deletion left at the other place go, and no object of this one.
    const wrong = { indexLocation: bucket, configLocation: otherConfig };
    await collectForDays(wrong);
    expect(await (await right.loadIndex(options)).get(["a"])).toHaveLength(1);
  });
});

describe("a copy", () => {
  const setUp = async () => {
    const clock = new StandingClock();
    const [source, target] = [createMemoryStore(), createMemoryStore()];
    const from = new EmbeddedClient({ indexLocation: source }, clock);
    const index = await from.createIndex(options);
    for (let i = 0; i < 3; i++) await index.upsert([{ id: `${i}`, vector: [i] }]);
    const copyTo = (store: BlobStore) =>
      copyIndex({ from, to: new EmbeddedClient({ indexLocation: store }, clock), ...options });
    const collect = () => deleteOrphans({ indexStore: target, configStore: target }, clock);
    /** Lets only `count` segments be stored. */
    const failing = (count: number): BlobStore => ({
      ...target,
      create: (key, bytes) =>
        key.includes("/segment/") && count-- === 0
          ? Promise.reject(new Error("the process died"))
          : target.create(key, bytes),
    });
    return { clock, target, copyTo, collect, failing };
  };

  test("that was cut short goes a day later, unless it is continued", async () => {
    const { clock, target, copyTo, collect, failing } = await setUp();
    await expect(copyTo(failing(2))).rejects.toThrow("the process died");
    clock.ms += uploadMs - 1;
    await expect(copyTo(failing(0))).rejects.toThrow("the process died");
    clock.ms += uploadMs - 1;
    expect(await collect()).toEqual([]);
    clock.ms += 1;
    expect(await collect()).toEqual([{ indexName: options.indexName, objects: 2 }]);
    expect(await target.list("")).toEqual([]);
    await copyTo(target);
    expect(await matching(target, "orphans/")).toEqual([]);
    clock.ms += uploadMs;
    expect(await collect()).toEqual([]);
    expect(await (await createClient({ indexLocation: target }).loadIndex(options)).count()).toBe(3);
  });

  test("that takes days is no garbage meanwhile", async () => {
    const { clock, target, copyTo, collect } = await setUp();
    const passing =
      <A extends unknown[], T>(work: (key: string, ...rest: A) => Promise<T>) =>
      async (key: string, ...rest: A): Promise<T> => {
        if (key.includes("/segment/")) {
          clock.ms += 0.3 * uploadMs;
          expect(await collect()).toEqual([]);
        }
        return work(key, ...rest);
      };
    const slow: BlobStore = { ...target, create: passing(target.create), read: passing(target.read) };
    await copyTo(slow);
    expect(await (await createClient({ indexLocation: target }).loadIndex(options)).count()).toBe(3);
  });
});
