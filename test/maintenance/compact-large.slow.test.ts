/** Merges of large segments: in the background, and in nobody's way. */

import { setImmediate as turn } from "node:timers/promises";
import { beforeAll, expect, inject, test } from "vitest";
import { systemClock } from "../../src/state/commit/clock.js";
import { namedObjects } from "../../src/state/commit/manifest.js";
import { fanIn } from "../../src/index/open/merge-policy.js";
import { pauseMs, pauseMsMax } from "../../src/index/open/maintenance.js";
import type { OpenIndex } from "../../src/index/open/open-index.js";
import type { BlobStore } from "../../src/storage/blob-store.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { fixedRecord, keyOf, type Opened, openIndex } from "../protocol/open.js";
import { StandingClock } from "../protocol/standing-clock.js";
import { whole } from "../ranges.js";

/** Of a write, more than 16 MiB in all. */
const itemsPerWrite = 17;
const contents = "x".repeat(2 ** 20);
/** A merge of eight writes stores such segments, a write does not. */
const largestWriteBytes = 2 ** 26;

/** What the index is stored as before each test: without the write that makes a merge due. */
const stored = new Map<string, Uint8Array>();

beforeAll(async () => {
  const store = createMemoryStore();
  const opened = openIndex(fixedRecord(), store, systemClock);
  await opened.inner.log.createFirst();
  for (let n = 0; n < fanIn - 1; n++) await write(opened, n);
  await opened.close();
  for (const key of await store.list("")) stored.set(key, (await store.read(key, whole)) ?? new Uint8Array());
});

/** An index that one write separates from a merge of large segments, whose first segment is held up before it is stored. */
async function nearlyDueIndex() {
  const store = createMemoryStore();
  for (const [key, bytes] of stored) await store.create(key, bytes);
  let release = () => {};
  let reached = () => {};
  const until = new Promise<void>((resolve) => (release = resolve));
  const isReached = new Promise<void>((resolve) => (reached = resolve));
  const held: BlobStore = {
    ...store,
    async create(key, bytes, options) {
      if (bytes.length > largestWriteBytes) {
        reached();
        await until;
      }
      return store.create(key, bytes, options);
    },
  };
  const clock = new StandingClock();
  const own = openIndex(fixedRecord(), held, clock);
  const other = openIndex(fixedRecord(), store, clock);
  return { store, own, other, clock, isReached, release };
}

async function write({ index }: Opened, n: number): Promise<void> {
  await index.upsert(
    Array.from({ length: itemsPerWrite }, (_, i) => ({ id: `${n} ${i}`, vector: [n, i], contents })),
  );
}

/** Whether this process is to merge large segments. */
function owesLargeMerge({ log, maintenance }: OpenIndex): boolean {
  return maintenance.isMergeDue("large", log.known?.segments ?? []);
}

async function segmentsOf({ inner }: Opened) {
  return (await inner.log.newest()).segments;
}

test("a write does not wait for a merge of large segments, which loses nothing and brings nothing back", async () => {
  const { own, other, clock, isReached, release } = await nearlyDueIndex();
  expect(owesLargeMerge(own.inner)).toBe(false);
  await write(own, fanIn - 1);
  clock.advance(pauseMs);
  await isReached;
  expect(owesLargeMerge(own.inner)).toBe(true);
  // While it runs, this process and another one go on; the other one leaves it alone.
  await own.index.upsert([{ id: "0 0", vector: [9, 9], contents: "replaced" }]);
  await other.index.delete({ ids: ["1 1"] });
  await other.index.upsert([{ id: "new", vector: [9, 9] }]);
  expect(owesLargeMerge(other.inner)).toBe(false);
  expect(await segmentsOf(own)).toHaveLength(fanIn + 3);
  release();
  while (owesLargeMerge(own.inner)) await turn();
  const segments = await segmentsOf(own);
  expect(new Set(segments.map(({ sequence }) => sequence)).size).toBe(4);
  for (const { index } of [own, other]) {
    expect(await index.count()).toBe(fanIn * itemsPerWrite);
    const found = await index.get(["0 0", "1 1", "2 2", "new"], { include: ["contents"] });
    expect(found.map((item) => [item.id, item.contents?.slice(0, 8)])).toEqual([
      ["0 0", "replaced"],
      ["2 2", "xxxxxxxx"],
      ["new", undefined],
    ]);
  }
  await Promise.all([own.close(), other.close()]);
});

test("a load in many writes is not merged meanwhile, nor if a training ends it", async () => {
  const { store, own, clock, release } = await nearlyDueIndex();
  for (let n = fanIn - 1; n < 2 * fanIn; n++) {
    await write(own, n);
    clock.advance(pauseMs - 1);
  }
  expect(owesLargeMerge(own.inner)).toBe(true);
  expect(await segmentsOf(own)).toHaveLength(2 * fanIn);
  release();
  await own.index.train({ nLists: 3 });
  clock.advance(pauseMsMax);
  expect(owesLargeMerge(own.inner)).toBe(false);
  const objects = (await store.list("")).filter((key) => key.includes("/segment/"));
  expect(objects).toHaveLength(2 * fanIn + (await segmentsOf(own)).length);
  await own.close();
});

test("a load that never pauses is merged after half a minute", async () => {
  const { own, clock, isReached, release } = await nearlyDueIndex();
  const seconds = pauseMsMax / 1000;
  for (let n = 0; n <= seconds; n++) {
    await (n === 0 ? write(own, fanIn - 1) : own.index.upsert([{ id: "again", vector: [n, n] }]));
    clock.advance(n < seconds ? 1000 - 1 : seconds);
  }
  await isReached;
  release();
  while (owesLargeMerge(own.inner)) await turn();
  await own.close();
});

const rewrites = inject("tier") === "fast" ? (["train"] as const) : (["train", "compact"] as const);

test.each(rewrites)("a merge of large segments gives way to %s", async (operation) => {
  const { store, own, clock, isReached, release } = await nearlyDueIndex();
  await write(own, fanIn - 1);
  clock.advance(pauseMs);
  await isReached;
  const running = operation === "train" ? own.index.train({ nLists: 3 }) : own.index.compact();
  release();
  await running;
  const manifest = await own.inner.log.newest();
  expect(manifest.model === undefined).toBe(operation === "compact");
  expect(new Set(manifest.segments.map(({ sequence }) => sequence)).size).toBe(1);
  expect(await own.index.count()).toBe(fanIn * itemsPerWrite);
  // Of the merge, nothing is left.
  const written = fanIn;
  const objects = (await store.list("")).filter((key) => key.includes("/segment/"));
  expect(objects).toHaveLength(written + manifest.segments.length);
  expect(
    [...namedObjects(manifest)].every((name) => name.includes("/model/") || objects.includes(keyOf(name))),
  ).toBe(true);
  await own.close();
});

test("closing ends a merge of large segments", async () => {
  const { own, clock, isReached, release } = await nearlyDueIndex();
  await write(own, fanIn - 1);
  clock.advance(pauseMs);
  await isReached;
  const closing = own.close();
  release();
  await closing;
  expect(await segmentsOf(own)).toHaveLength(fanIn);
});
