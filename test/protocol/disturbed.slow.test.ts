/** Compaction, training and deletes by filter next to other writers: they finish, and neither side loses anything. */

import { expect, test } from "vitest";
import { createClient, generateKey, type VectorIndex } from "../../src/core.js";
import { type Clock, systemClock } from "../../src/state/commit/clock.js";
import { compactAll, regroup } from "../../src/index/maintenance/compact.js";
import { reservationMsMax } from "../../src/state/commit/manifest.js";
import { commitRewrite, rewrite } from "../../src/index/maintenance/rewrite.js";
import type { BlobStore } from "../../src/storage/blob-store.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { type Line, startChild } from "./child.js";
import { prepareLocation } from "./locations.js";
import { fixedRecord, type Opened, openIndex } from "./open.js";

const item = (id: string, stamp: string) => ({ id, vector: [stamp.length, id.length], metadata: { stamp } });

/** An index of 60 items in 12 segments, its store, and another process that has it open. */
async function disturbedIndex() {
  const store = createMemoryStore();
  const record = fixedRecord();
  let disturb: (() => Promise<unknown>) | undefined;
  let created: string[] = [];
  const disturbedStore: BlobStore = {
    ...store,
    async create(key, bytes) {
      created.push(key);
      if (key.includes("/manifest/")) await disturb?.();
      return store.create(key, bytes);
    },
  };
  const other = openIndex(record, store, systemClock);
  await other.inner.log.createFirst();
  const expected = new Map<string, string>();
  const write = async (id: string, stamp: string) => {
    await other.index.upsert([item(id, stamp)]);
    expected.set(id, stamp);
  };
  for (let part = 0; part < 12; part++) {
    const ids = Array.from({ length: 5 }, (_, i) => `${5 * part + i}`);
    await other.index.upsert(ids.map((id) => item(id, "first")));
    for (const id of ids) expected.set(id, "first");
  }
  const own = openIndex(record, disturbedStore, systemClock);
  return {
    store,
    own,
    other,
    expected,
    write,
    /** Runs before each of the next `times` manifests that `own` creates, which then lose the race. */
    disturbNext(times: number, work: (n: number) => Promise<unknown>): void {
      created = [];
      let n = 0;
      disturb = () => (n < times ? work(n++) : Promise.resolve());
    },
    created: (kind: string) => created.filter((key) => key.includes(`/${kind}/`)).length,
  };
}

/** Merges the newest `count` segments, as writers do. */
async function mergeNewest({ inner }: Opened, count: number): Promise<void> {
  const snapshot = await inner.snapshots.newest();
  const { manifest, model } = snapshot;
  const name = manifest.model?.name;
  const segments = snapshot.segments.slice(-count);
  const plan = { snapshot, segments, order: "by segment", segmentBytes: 2 ** 20 } as const;
  const replacement = await rewrite(inner, { ...plan, target: { model, name } });
  expect(await commitRewrite(inner, replacement, [], (_, replaced) => replaced)).not.toBeNull();
}

async function stateOf(index: VectorIndex): Promise<Map<string, string>> {
  const ids = await index.listIds();
  const items = await index.get(ids, { include: ["metadata"] });
  expect(await index.count()).toBe(ids.length);
  const found = await index.query({ queryVector: [1, 1], topK: 1000, greedy: true });
  expect(found.map(({ id }) => id).sort()).toEqual(ids);
  return new Map(items.map(({ id, metadata }) => [id, String(metadata?.stamp)]));
}

const sorted = (map: ReadonlyMap<string, string>) => [...map].sort();

test.each(["compact", "train"] as const)(
  "%s keeps its work while another process writes, deletes and merges before each of its commits",
  async (operation) => {
    const { own, other, expected, write, disturbNext, created } = await disturbedIndex();
    disturbNext(8, async (n) => {
      // Replaced, new, deleted and, all in all, merged: in the rows that the operation has read, and beyond.
      await write(`${5 * n}`, `replaced ${n}`);
      await write(`new ${n}`, "new");
      await other.index.delete({ ids: [`${5 * n + 1}`, `new ${n - 1}`] });
      expected.delete(`${5 * n + 1}`);
      expected.delete(`new ${n - 1}`);
      await mergeNewest(other, 4);
    });
    await (operation === "compact" ? own.index.compact() : own.index.train({ nLists: 3 }));
    expect(created("segment")).toBe(1);
    expect(created("model")).toBe(operation === "compact" ? 0 : 1);
    expect(sorted(await stateOf(own.index))).toEqual(sorted(expected));
    expect(sorted(await stateOf(other.index))).toEqual(sorted(expected));
    // The next one merges the remaining segments, and no deleted item comes back.
    await own.index.compact();
    expect((await own.inner.snapshots.newest()).segments.length).toBe(1);
    expect(sorted(await stateOf(own.index))).toEqual(sorted(expected));
  },
);

test("a rewrite whose oldest segments are gone starts again", async () => {
  const { own, other, expected, disturbNext, created } = await disturbedIndex();
  disturbNext(1, () => compactAll(other.inner, undefined));
  await own.index.train({ nLists: 2 });
  expect(created("model")).toBe(2);
  expect(sorted(await stateOf(other.index))).toEqual(sorted(expected));
});

test("rows that others write during a training are grouped by its lists if no write would merge them", async () => {
  const { own, other, disturbNext } = await disturbedIndex();
  const contents = "x".repeat(2 ** 20);
  const many = Array.from({ length: 20 }, (_, i) => ({ ...item(`many ${i}`, "many"), contents }));
  disturbNext(1, () => other.index.upsert(many));
  await own.index.train({ nLists: 2 });
  const { segments, model } = await own.inner.log.newest();
  expect(segments.map((segment) => segment.model)).toEqual(segments.map(() => model?.name));
  expect(await own.index.count()).toBe(80);
  // There is nothing left for it to do.
  expect(await regroup(own.inner, await own.inner.snapshots.newest(), { signal: undefined })).toBeNull();
});

test("a delete by filter finishes next to writers that never pause, and deletes the items that match at its end", async () => {
  const { store, own, other, expected } = await disturbedIndex();
  const writers = [other, ...Array.from({ length: 3 }, () => openIndex(fixedRecord(), store, systemClock))];
  let writing = true;
  const written = writers.map(async ({ index }, w) => {
    let n = 0;
    for (; writing; n++) {
      // Items that match, that match no longer, and that match again.
      await index.upsert([item(`${w}`, n % 2 === 0 ? "first" : "kept"), item(`new ${w} ${n}`, "first")]);
    }
    return n;
  });
  await own.index.delete({ filter: { stamp: "first" } });
  const after = await own.inner.log.newest();
  writing = false;
  await Promise.all(written);
  // All that was there before matched, unless it was replaced.
  const left = await stateOf(own.index);
  for (const id of expected.keys()) if (Number(id) >= writers.length) expect(left.has(id), id).toBe(false);
  expect(after.reservation).toBeUndefined();
});

test.each(["compact", "train"] as const)(
  "%s finishes although another process rewrites the whole index during each attempt, until it is asked to wait",
  async (operation) => {
    const { store, expected } = await disturbedIndex();
    let waits = () => {};
    // It waits for another process for as long as that needs.
    const clock: Clock = {
      ...systemClock,
      wall: () => 1_800_000_000_000,
      steady: () => 0,
      pause: (ms) => {
        waits();
        return systemClock.pause(ms);
      },
    };
    const other = openIndex(fixedRecord(), store, clock);
    const rewriting: Promise<void>[] = [];
    let rewritten = 0;
    const own = openIndex(
      fixedRecord(),
      {
        ...store,
        async create(key, bytes) {
          if (key.includes("/segment/")) {
            const isWaiting = new Promise<void>((resolve) => (waits = resolve));
            const added = [item(`during ${rewriting.length}`, "first")];
            const work = compactAll(other.inner, undefined)
              .then(() => other.index.upsert(added))
              .then(() => void rewritten++);
            rewriting.push(work);
            await Promise.race([work, isWaiting]);
          }
          return store.create(key, bytes);
        },
      },
      systemClock,
    );
    await own.index[operation]();
    expect(rewritten).toBeLessThan(rewriting.length);
    await Promise.all(rewriting);
    expect(await own.index.count()).toBe(expected.size + rewriting.length);
  },
);

test("the reservation of a holder that never comes delays others once", async () => {
  let ms = 0;
  const clock: Clock = {
    ...systemClock,
    wall: () => 1_800_000_000_000 + ms,
    steady: () => ms,
    pause: async (most: number) => {
      ms += most;
    },
  };
  const store = createMemoryStore();
  const record = fixedRecord();
  const [holder, writer] = [openIndex(record, store, clock), openIndex(record, store, clock)];
  await holder.inner.log.createFirst();
  await holder.inner.log.reserveNextCommit(500);
  await writer.index.upsert([item("a", "first")]);
  expect(ms).toBeGreaterThanOrEqual(500);
  expect(ms).toBeLessThan(600);
  await writer.index.upsert([item("b", "first")]);
  await holder.index.upsert([item("c", "first")]);
  expect(ms).toBeLessThan(600);
  expect(await writer.index.listIds()).toEqual(["a", "b", "c"]);
});

test("a released reservation delays no writer", async () => {
  const { own, other } = await disturbedIndex();
  const reservation = await own.inner.log.reserveNextCommit(reservationMsMax);
  const write = other.index.upsert([item("waits", "first")]);
  await own.inner.log.releaseReservation(reservation);
  await write;
  expect((await other.index.get(["waits"])).length).toBe(1);
});

test("compaction, training and deletes by filter finish while four processes write, and nothing is lost", async () => {
  const { location, empty } = await prepareLocation("local");
  const options = { indexName: "disturbed", indexKey: generateKey() };
  const client = createClient({ indexLocation: location, automaticTraining: false });
  const index = await client.createIndex(options);
  for (let part = 0; part < 10; part++) {
    await index.upsert(
      Array.from({ length: 200 }, (_, i) => ({ ...item(`${200 * part + i}`, "base"), vector: [part, i, 1] })),
    );
  }
  const children = Array.from({ length: 4 }, (_, w) =>
    startChild({ location, ...options, role: "writer", writer: `w${w}`, batchItems: 1 }),
  );
  const acknowledgedBy = (lines: readonly Line[]) => lines.filter(({ ended }) => ended !== undefined);
  let round = 0;
  // However slowly the writers come to run.
  for (; round < 2 || children.some(({ lines }) => acknowledgedBy(lines).length < 2); round++) {
    await index.compact();
    await index.train({ nLists: 4 });
    await index.delete({ filter: { stamp: "base" } });
    await index.upsert([{ ...item(`round ${round}`, "base"), vector: [1, 1, 1] }]);
  }
  for (const child of children) child.finish();
  const reports = await Promise.all(children.map((child) => child.ended));
  const acknowledged = acknowledgedBy(reports.flat());
  const ids = await index.listIds();
  expect(ids).toEqual([...acknowledged.flatMap((line) => line.ids), `round ${round - 1}`].sort());
  expect(await index.count()).toBe(ids.length);
  await client.close();
  await empty();
}, 120_000);

test("ids are deleted under a filter at one moment: an item that another process replaces meanwhile is checked again", async () => {
  const { own, other, expected, disturbNext } = await disturbedIndex();
  disturbNext(2, async (n) => {
    // Out of the filter's reach, and into it.
    await other.index.upsert([item(`${n}`, "classified"), item(`new ${n}`, "first")]);
    expected.set(`${n}`, "classified");
  });
  await own.index.delete({ ids: ["0", "1", "2", "new 0", "new 1", "unknown"], filter: { stamp: "first" } });
  expected.delete("2");
  expect(sorted(await stateOf(other.index))).toEqual(sorted(expected));
});
