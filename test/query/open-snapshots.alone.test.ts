/** Snapshots that are opened, shared, superseded, held and closed, and what of them stays in memory. */

import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Model } from "../../src/engine/model.js";
import { createClient, generateKey } from "../../src/core.js";
import { compileFilter } from "../../src/api/filter/compile.js";
import { allocatedBytes } from "../../src/engine/kernels/memory.js";
import { resultNow } from "../../src/engine/threads/run.js";
import type { Snapshots } from "../../src/query/snapshot/snapshots.js";
import { immediately, isModelOpen, queryEach } from "./tasks.js";
import type { Snapshot } from "../../src/query/snapshot/snapshot.js";
import type { BlobStore } from "../../src/storage/blob-store.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { fixedRecord, keyOf, type Opened, openIndex } from "../protocol/open.js";
import { StandingClock } from "../protocol/standing-clock.js";
import { whole } from "../ranges.js";

const record = fixedRecord();
let clock: StandingClock;
let inner: BlobStore;
/** Whether a read of this object fails now. */
let fails: (name: string) => boolean;
/** Called with the name of each object that is read, before it is. */
let beforeRead: (name: string) => Promise<void> | undefined;
let store: BlobStore;
let open: Opened;
let opened: Opened[];
let bytesBefore: number;

beforeEach(async () => {
  bytesBefore = allocatedBytes();
  clock = new StandingClock();
  inner = createMemoryStore();
  fails = () => false;
  beforeRead = () => undefined;
  store = {
    ...inner,
    read: async (name, range, options) => {
      await beforeRead(name);
      if (fails(name)) throw new Error("no answer");
      return inner.read(name, range, options);
    },
  };
  opened = [];
  open = another();
  await open.inner.log.createFirst();
});

afterEach(async () => {
  for (const { close } of opened) await close();
  // What was pinned was released: a closed cache keeps what is in use.
  expect(allocatedBytes()).toBe(bytesBefore);
});

/** The same index, opened as by another process. */
function another(maxStalenessMs = 0): Opened {
  const other = openIndex(record, store, clock, maxStalenessMs);
  opened.push(other);
  return other;
}

const items = (start: number, end: number, expiresAt?: number) =>
  Array.from({ length: end - start }, (_, i) => ({
    id: `${start + i}`,
    vector: [start + i, (start + i) % 7],
    metadata: { i: start + i },
    ...(expiresAt !== undefined && { expiresAt }),
  }));

const cacheBytes = ({ inner: { searcher } }: Opened) => searcher.memory().cacheBytes;

function closest({ inner: { searcher } }: Opened, snapshot: Snapshot, filter?: unknown) {
  const include = new Set(["distance"] as const);
  const more = filter === undefined ? {} : { filter: compileFilter(filter) };
  const options = { topK: 3, effort: { lists: 3 }, include, rawMetadata: false, ...more };
  return queryEach(searcher, snapshot, [Float32Array.of(3, 3), Float32Array.of(9, 1)], options);
}

describe("a snapshot", () => {
  test("is opened once, and stays open until there is a newer one", async () => {
    const { snapshots } = open.inner;
    await open.index.upsert(items(0, 20));
    const [first, second] = await Promise.all([snapshots.newest(), snapshots.newest()]);
    expect(second).toBe(first);
    expect(await snapshots.newest()).toBe(first);
    await open.index.upsert(items(20, 30));
    const newer = await snapshots.newest();
    expect(newer).not.toBe(first);
    expect(newer.manifest.version).toBeGreaterThan(first.manifest.version);
    expect(newer.segments[0].reader).toBe(first.segments[0].reader);
    expect((await closest(open, newer)).map((found) => found.length)).toEqual([3, 3]);
  });

  test("that is older and opened late takes the place of nothing", async () => {
    await open.index.upsert(items(0, 20));
    await open.index.upsert(items(20, 30));
    const { snapshots } = another().inner;
    let [begin, resume] = [() => {}, () => {}];
    const begun = new Promise<void>((resolve) => (begin = resolve));
    const resumed = new Promise<void>((resolve) => (resume = resolve));
    beforeRead = (name) => {
      if (!name.includes("/segment/")) return;
      begin();
      return resumed;
    };
    const older = snapshots.newest();
    await begun;
    beforeRead = () => undefined;
    await open.index.compact();
    const newer = await snapshots.newest();
    resume();
    expect((await older).manifest.version).toBeLessThan(newer.manifest.version);
    expect(await snapshots.newest()).toBe(newer);
  });

  test("is at hand without asking storage as long as the client allows", async () => {
    const patient = another(1000);
    await open.index.upsert(items(0, 20));
    const openedOf = ({ snapshots }: { readonly snapshots: Snapshots }) =>
      resultNow(snapshots.readAhead((snapshot) => immediately(snapshot)));
    expect(openedOf(open.inner)).toBeUndefined();
    const snapshot = await patient.inner.snapshots.newest();
    expect(openedOf(patient.inner)).toBe(snapshot);
    await open.index.upsert(items(20, 30));
    expect(await patient.inner.snapshots.read((read) => read)).toBe(snapshot);
    expect((await patient.inner.snapshots.readNewest(async (read) => read)).segments.length).toBe(2);
    clock.advance(1001);
    expect(openedOf(patient.inner)).toBeUndefined();
  });

  test("that has no items with a time is current for ever; one that has, until the first expires", async () => {
    const { snapshots } = open.inner;
    await open.index.upsert(items(0, 20));
    const lasting = await snapshots.newest();
    clock.advance(1e9);
    expect(await snapshots.newest()).toBe(lasting);
    await open.index.upsert(items(20, 25, clock.wall() + 100));
    await open.index.upsert(items(25, 28, clock.wall() + 200), { namespace: "ann" });
    const before = await snapshots.newest();
    expect([before.expired.next, before.expired.asOf]).toEqual([clock.wall() + 100, clock.wall()]);
    expect(before.expired.items.size).toBe(0);
    expect(before.segments.length).toBe(3);
    clock.advance(99);
    expect(await snapshots.newest()).toBe(before);
    clock.advance(1);
    const between = await snapshots.newest();
    expect(between).not.toBe(before);
    expect(await snapshots.newest()).toBe(between);
    expect(between.expired.next).toBe(clock.wall() + 100);
    expect([between.stored.length, between.segments.length]).toEqual([3, 4]);
    expect([...between.expired.items.values()].map((prints) => prints.length)).toEqual([5]);
    const [hiding] = between.segments.slice(3);
    expect([hiding.ref.rows, hiding.ref.deleted, hiding.ref.namespace]).toEqual([0, 5, undefined]);
    expect(Math.min(...between.stored.map(({ ref }) => hiding.ref.sequence - ref.sequence))).toBeGreaterThan(
      0,
    );
    expect(await between.count()).toBe(23);
    expect(await before.count()).toBe(28);
    clock.advance(100);
    const after = await snapshots.newest();
    expect(after.expired.next).toBe(Infinity);
    expect(after.segments.slice(3).map(({ ref, namespace }) => [ref.deleted, namespace])).toEqual([
      [5, undefined],
      [3, "ann"],
    ]);
    expect(after.segments[4].ref.namespace).toBe(after.segments[2].ref.namespace);
    expect(await after.count()).toBe(20);
    clock.advance(1e9);
    expect(await snapshots.newest()).toBe(after);
  });

  test("of items that expired or were replaced hides just those that are still there", async () => {
    const { snapshots } = open.inner;
    await open.index.upsert(items(0, 10, clock.wall() + 10));
    await open.index.upsert(items(0, 4));
    await open.index.upsert(items(20, 22, clock.wall() + 5));
    await open.index.delete({ ids: ["20", "21"] });
    clock.advance(10);
    const snapshot = await snapshots.newest();
    expect([...snapshot.expired.items].map(([segment, prints]) => [segment, prints.length])).toEqual([
      [snapshot.stored[0], 6],
    ]);
    expect(await snapshot.count()).toBe(4);
  });
});

describe("memory", () => {
  test("of a snapshot that was superseded is given back, and in use until its reads end", async () => {
    const { snapshots, scopes } = open.inner;
    await open.index.upsert(items(0, 300));
    const first = await snapshots.newest();
    await closest(open, first, { i: { $lt: 100 } });
    let end: () => void = () => undefined;
    const reading = snapshots.read(
      () =>
        new Promise<void>((resolve) => {
          end = resolve;
        }),
    );
    await snapshots.newest();
    const { name } = first.segments[0].ref;
    expect([...scopes.namesInUse()]).toEqual([name]);
    await open.index.upsert(items(0, 300));
    await open.index.compact();
    const newer = await snapshots.newest();
    expect(newer.manifest.segments.some((ref) => ref.name === name)).toBe(false);
    expect([...scopes.namesInUse()]).toEqual([name]);
    end();
    await reading;
    expect([...scopes.namesInUse()]).toEqual([]);
  });

  test("of everything is given back when nothing is named any more", async () => {
    const { snapshots, scopes } = open.inner;
    await open.index.upsert(items(0, 50));
    await open.index.upsert(items(40, 60, clock.wall() + 1));
    clock.advance(1);
    const snapshot = await snapshots.newest();
    expect(snapshot.segments.length).toBe(3);
    for (const filter of [undefined, { i: { $lt: 30 } }]) await closest(open, snapshot, filter);
    expect(cacheBytes(open)).toBeGreaterThan(1000);
    const { manifest } = snapshot;
    scopes.refresh({ ...manifest, version: manifest.version + 1, segments: [] });
    await new Promise((resolve) => setImmediate(resolve));
    expect(cacheBytes(open)).toBe(0);
  });

  test("of a held snapshot is given back on release, and its objects are in use until then", async () => {
    const { snapshots, scopes } = open.inner;
    await open.index.upsert(items(0, 50));
    const { manifest } = await snapshots.newest();
    const before = cacheBytes(open);
    const held = await snapshots.hold();
    const again = await snapshots.hold(manifest);
    expect([held.snapshot.uses, again.snapshot.manifest]).toEqual([1, manifest]);
    expect(held.snapshot.listBlocks.all.length).toBe(1);
    expect(cacheBytes(open)).toBeGreaterThan(before);
    expect(scopes.namesInUse().size).toBe(1);
    held.release();
    expect(scopes.namesInUse().size).toBe(1);
    again.release();
    expect(scopes.namesInUse().size).toBe(0);
    expect(held.snapshot.uses).toBe(0);
    expect(cacheBytes(open)).toBe(before);
    expect((await closest(open, await snapshots.newest()))[0].length).toBe(3);
  });

  test("of a model is given back when another is trained, and the one in use stays", async () => {
    const { snapshots } = open.inner;
    await open.index.upsert(items(0, 200));
    await open.index.train({ nLists: 8 });
    const isOpened = (of: Model) => isModelOpen(open.inner.searcher, of);
    const first = await snapshots.newest();
    await closest(open, first);
    const model = (await snapshots.recentModel()).model;
    expect(model).toBe(first.model);
    expect(await isOpened(first.model as NonNullable<typeof model>)).toBe(true);
    await open.index.upsert(items(200, 210));
    const second = await snapshots.newest();
    expect(second.model).toBe(first.model);
    expect(await isOpened(first.model as NonNullable<typeof model>)).toBe(true);
    await open.index.train({ nLists: 5 });
    const third = await snapshots.newest();
    expect(third.model).not.toBe(first.model);
    expect((await snapshots.recentModel()).model).toBe(third.model);
    await new Promise((resolve) => setImmediate(resolve));
    expect(await isOpened(first.model as NonNullable<typeof model>)).toBe(false);
    expect((await closest(open, third))[0].length).toBe(3);
  });
});

describe("reads that fail", () => {
  test("leave nothing in memory, and are made again", async () => {
    await open.index.upsert(items(0, 300));
    await open.index.train({ nLists: 4 });
    await open.index.upsert(items(100, 150));
    await open.index.delete({ ids: ["1", "299"] });
    const filters = [undefined, { i: { $lt: 30 } }, { i: { $gte: 0 } }];
    const expected: unknown[] = [];
    for (const filter of filters)
      expected.push(await closest(open, await open.inner.snapshots.newest(), filter));
    for (let failing = 1; ; failing++) {
      const fresh = another();
      let reads = 0;
      let hasFailed = false;
      fails = (name) => {
        const isIt = name.startsWith(keyOf("")) && ++reads === failing;
        hasFailed ||= isIt;
        return isIt;
      };
      for (const [i, filter] of filters.entries()) {
        const ask = async () => closest(fresh, await fresh.inner.snapshots.newest(), filter);
        const found = await ask().catch((error: Error) => {
          expect(error.message).toContain("no answer");
          return ask();
        });
        expect(found).toEqual(expected[i]);
      }
      fails = () => false;
      if (!hasFailed) break;
      expect(failing).toBeLessThan(100);
    }
  });

  test("of a model that is gone or was replaced say so", async () => {
    await open.index.upsert(items(0, 200));
    await open.index.train({ nLists: 4 });
    const { manifest } = await open.inner.snapshots.newest();
    const name = manifest.model?.name as string;
    const model = (await inner.read(keyOf(name), whole)) as Uint8Array;
    expect(model).not.toBeNull();
    await inner.delete([keyOf(name)]);
    const gone = another();
    await expect(gone.inner.snapshots.newest()).rejects.toMatchObject({
      code: "missing_object",
      message: expect.stringContaining(`${name}: it is gone`) as string,
    });
    await expect(gone.inner.snapshots.recentModel()).rejects.toMatchObject({ code: "missing_object" });
    const other = model.slice();
    other[5] ^= 1;
    await inner.create(keyOf(name), other);
    const replaced = another();
    await expect(replaced.inner.snapshots.newest()).rejects.toMatchObject({
      code: "corrupt",
      message: expect.stringContaining(`${name}: it was replaced or damaged`) as string,
    });
  });
});

describe("an index that is read obliviously", () => {
  test("is read whole into memory, of which it needs as much as is stored", async () => {
    const location = createMemoryStore();
    const access = { indexName: "whole", indexKey: generateKey() };
    const clients = [createClient({ indexLocation: location, automaticTraining: false })];
    const write = await clients[0].createIndex(access);
    await write.upsert(items(0, 100));
    await write.upsert(items(50, 150));
    const client = (cacheBytesMax: number) => {
      const options = { indexLocation: location, oblivious: true, cacheBytesMax, automaticTraining: false };
      clients.push(createClient(options));
      return clients[clients.length - 1];
    };
    const index = await client(10_000_000).loadIndex(access);
    const asked = { queryVector: [3, 3], topK: 5, filter: { i: { $lt: 120 } } };
    expect(await index.query(asked)).toEqual(await write.query(asked));
    expect((await index.describe()).memory.cacheBytes).toBeGreaterThan(2000);
    const small = await client(2000)
      .loadIndex(access)
      .then((loaded) => loaded.query(asked))
      .catch((error: unknown) => error);
    expect(small).toMatchObject({
      code: "too_large",
      message: expect.stringMatching(
        /oblivious: expected an index of at most cacheBytesMax, 2000, stored bytes, got \d+$/,
      ) as string,
    });
    for (const each of clients) await each.close();
  });
});
