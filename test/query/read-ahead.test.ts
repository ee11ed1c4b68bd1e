/** Reads that begin on the snapshot known here while storage is asked for a newer one. */

import { afterEach, beforeEach, expect, test } from "vitest";
import { SealdexError } from "../../src/errors.js";
import type { Snapshot } from "../../src/query/snapshot/snapshot.js";
import type { BlobStore } from "../../src/storage/blob-store.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { fixedRecord, keyOf, type Opened, openIndex } from "../protocol/open.js";
import { run } from "../../src/engine/threads/run.js";
import { nextTurn } from "../../src/async/event-loop.js";
import { StandingClock } from "../protocol/standing-clock.js";

let store: BlobStore;
let writer: Opened;
let reader: Opened;
/** What happens at a read of storage by the reader, before it is answered. */
let onRead: (name: string) => Promise<void> | void;
/** The versions on which reads began, and what happened then. */
let log: string[];

beforeEach(async () => {
  store = createMemoryStore();
  onRead = () => undefined;
  const read: BlobStore["read"] = async (name, ...rest) => {
    await onRead(name);
    return store.read(name, ...rest);
  };
  const clock = new StandingClock();
  writer = openIndex(fixedRecord(), store, clock);
  reader = openIndex(fixedRecord(), { ...store, read }, clock);
  log = [];
  await writer.inner.log.createFirst();
  await write("0");
});

afterEach(async () => {
  await writer.close();
  await reader.close();
});

const write = (id: string) => writer.index.upsert([{ id, vector: [1, 2] }]);
const gone = () => new SealdexError("missing_object", "stored object: it is gone");

/** How many segments a read saw, in the end. */
function readAhead(
  work: (snapshot: Snapshot, confirm: () => Promise<void>) => Promise<void> | void = () => undefined,
): Promise<number> {
  const read = reader.inner.snapshots.readAhead(function* (snapshot, confirm) {
    const { length } = snapshot.segments;
    log.push(`${length}`);
    const done = work(snapshot, confirm);
    if (done instanceof Promise) yield done;
    return length;
  });
  return run(read);
}

test("a read begins at once on what is known, and once if there is nothing newer", async () => {
  expect(await readAhead()).toBe(1);
  expect(await readAhead()).toBe(1);
  const reading = readAhead(async (_, confirm) => {
    await confirm();
    log.push("confirmed");
  });
  expect(log).toEqual(["1", "1", "1"]);
  expect(await reading).toBe(1);
  expect(log).toEqual(["1", "1", "1", "confirmed"]);
});

test("the first read begins at once too, if anything is known", async () => {
  await reader.inner.snapshots.newest();
  const reading = readAhead();
  expect(log).toEqual(["1"]);
  expect(await reading).toBe(1);
});

test("a read that began on an outdated snapshot begins again, and the next one waits for the newest", async () => {
  await readAhead();
  await write("1");
  expect(await readAhead()).toBe(2);
  expect(log).toEqual(["1", "1", "2"]);
  log.length = 0;
  await write("2");
  expect(await readAhead()).toBe(3);
  expect(log).toEqual(["3"]);
  log.length = 0;
  await write("3");
  expect(await readAhead()).toBe(4);
  expect(log).toEqual(["3", "4"]);
});

test("what must not happen twice happens on the newest snapshot alone", async () => {
  await readAhead();
  await write("1");
  const found = await readAhead(async ({ segments }, confirm) => {
    await confirm().catch((error: unknown) => {
      log.push("refused");
      throw error;
    });
    log.push(`confirmed ${segments.length}`);
  });
  expect(found).toBe(2);
  expect(log.slice(1).toSorted()).toEqual(["1", "2", "confirmed 2", "refused"]);
});

test("a read waits for what it began in vain, whose failure is ignored", async () => {
  await readAhead();
  await write("1");
  let hasEnded = false;
  const found = await readAhead(async ({ segments }) => {
    if (segments.length > 1) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
    hasEnded = true;
    throw new Error("in vain");
  });
  expect([found, hasEnded]).toEqual([2, true]);
});

test("a failure of a read is its caller's, whether it awaited anything or not", async () => {
  await readAhead();
  const thrown = readAhead(() => {
    throw new Error("at once");
  });
  await expect(thrown).rejects.toThrow("at once");
  log.length = 0;
  await expect(readAhead(async () => Promise.reject(new Error("later")))).rejects.toThrow("later");
  expect(log).toEqual(["1"]);
  // Nothing has dropped objects of this version.
  await expect(readAhead(() => Promise.reject(gone()))).rejects.toThrow("it is gone");
  await expect(reader.inner.snapshots.read(() => Promise.reject(gone()))).rejects.toThrow("it is gone");
});

test("a snapshot counts its reads while they last", async () => {
  await readAhead();
  const snapshot = await reader.inner.snapshots.newest();
  const uses: number[] = [];
  await readAhead(async ({ uses: before }) => {
    await Promise.resolve();
    uses.push(before, snapshot.uses);
  });
  await reader.inner.snapshots.read(async () => void uses.push(snapshot.uses));
  await readAhead(async () => Promise.reject(new Error("later"))).catch(() => undefined);
  expect([...uses, snapshot.uses]).toEqual([1, 1, 1, 0]);
});

test("objects that are missing because others dropped them let a read start again on a newer snapshot", async () => {
  await write("1");
  const { snapshots } = reader.inner;
  const before = await snapshots.newest();
  let tries = 0;
  const found = await snapshots.read(async (snapshot) => {
    if (++tries > 1) return snapshot;
    await writer.index.compact();
    throw gone();
  });
  expect(tries).toBe(2);
  expect(found).not.toBe(before);
  expect(found.segments.length).toBe(1);
  expect(await snapshots.wasSuperseded(before.manifest, gone())).toBe(true);
  expect(await snapshots.wasSuperseded(before.manifest, new Error("else"))).toBe(false);
  expect(await snapshots.wasSuperseded(before.manifest, new SealdexError("corrupt", "else"))).toBe(false);
  expect(await snapshots.wasSuperseded(found.manifest, gone())).toBe(false);
  const wrong = snapshots.read(() => Promise.reject(new Error("else")));
  await expect(wrong).rejects.toThrow("else");
});

test("a read ahead of objects that were dropped while it lasted starts again too", async () => {
  await write("1");
  await readAhead();
  log.length = 0;
  let tries = 0;
  const found = await readAhead(async (_, confirm) => {
    if (++tries > 1) return;
    await confirm();
    await writer.index.compact();
    throw gone();
  });
  expect(log).toEqual(["2", "1"]);
  expect(found).toBe(1);
});

test("the manifest that is chosen for a scope is that of the index as a whole", async () => {
  const { snapshots } = reader.inner;
  const { manifest } = await snapshots.newest();
  expect(await snapshots.select(manifest)).toBe(manifest);
  expect((await snapshots.recentModel()).manifest.version).toBe(manifest.version);
  expect((await snapshots.recentModel()).model).toBeUndefined();
});

/** Once the reader asks for a segment, a compaction has replaced it, and it is gone. */
async function replaceWhenRead(): Promise<void> {
  await write("1");
  const names = (await writer.inner.snapshots.newest()).segments.map(({ ref }) => keyOf(ref.name));
  onRead = async (name) => {
    if (!names.includes(name)) return;
    onRead = () => undefined;
    await writer.index.compact();
    await store.delete(names);
  };
}

test("a snapshot whose objects are gone before it is open is replaced by a newer one", async () => {
  await replaceWhenRead();
  expect((await reader.inner.snapshots.newest()).segments.length).toBe(1);
});

test("a snapshot that is held is a newer one if objects of the first are gone, unless it was asked for", async () => {
  const { manifest } = await writer.inner.snapshots.newest();
  await replaceWhenRead();
  const held = await reader.inner.snapshots.hold();
  expect(held.snapshot.segments.length).toBe(1);
  expect(held.snapshot.manifest.version).toBeGreaterThan(manifest.version);
  held.release();
  await expect(reader.inner.snapshots.hold(manifest)).rejects.toMatchObject({ code: "missing_object" });
});

test("a snapshot whose objects are gone although the newest manifest names them is an error", async () => {
  const { segments } = await writer.inner.snapshots.newest();
  await store.delete(segments.map(({ ref }) => keyOf(ref.name)));
  await expect(reader.inner.snapshots.hold()).rejects.toMatchObject({ code: "missing_object" });
  await expect(reader.inner.snapshots.newest()).rejects.toMatchObject({ code: "missing_object" });
});

test("what is known is opened while storage is asked for a newer manifest", async () => {
  await reader.inner.log.newest();
  const order: string[] = [];
  onRead = async (name) => {
    const kind = name.includes("/segment/") ? "segment" : "manifest";
    order.push(kind);
    for (let turn = 0; turn < 5; turn++) await nextTurn();
    order.push(`${kind} read`);
  };
  await reader.inner.snapshots.newest();
  expect(order.indexOf("segment")).toBeLessThan(order.indexOf("manifest read"));
});

test("a trained snapshot was superseded when a part of its objects is gone, and its model is replaced", async () => {
  await writer.index.upsert(Array.from({ length: 100 }, (_, i) => ({ id: `${i}`, vector: [i, i % 7] })));
  await writer.index.train({ nLists: 2 });
  await write("100");
  await reader.inner.log.newest();
  const { manifest: trained } = await writer.inner.snapshots.newest();
  await writer.index.compact();
  // The model is still named.
  expect(await reader.inner.snapshots.wasSuperseded(trained, gone())).toBe(true);
  const outdated = openIndex(fixedRecord(), store, new StandingClock());
  await outdated.inner.log.newest();
  await writer.index.train({ nLists: 3 });
  await store.delete([keyOf(trained.model?.name ?? "")]);
  const recent = await outdated.inner.snapshots.recentModel();
  expect(recent.manifest.model?.name).not.toBe(trained.model?.name);
  expect(recent.model?.centroids.length).toBe(3 * 2);
  await outdated.close();
});
