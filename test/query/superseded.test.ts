/** Snapshots that newer ones took the place of: whoever still reads one gets its answers, and nothing of it stays in memory. */

import { describe, expect, test } from "vitest";
import { systemClock } from "../../src/state/commit/clock.js";
import { compileFilter } from "../../src/api/filter/compile.js";
import type { CheckedQuery } from "../../src/query/query.js";
import { queryEach } from "./tasks.js";
import type { Snapshot } from "../../src/query/snapshot/snapshot.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { clustered } from "../engine/data.js";
import { rowsOf } from "../engine/oracle.js";
import { fixedRecord, openIndex, type Opened } from "../protocol/open.js";

const d = 16;
const rows = rowsOf(clustered(1200, d, 12, 4), d);
const asked: readonly Omit<CheckedQuery, "include" | "rawMetadata">[] = [
  { topK: 10, effort: { lists: 3 } },
  { topK: 10, effort: { lists: undefined, recall: undefined } },
  { topK: 10, effort: "exact" },
  { topK: 10, effort: { lists: 3 }, filter: compileFilter({ third: 1 }) },
  { topK: 10, effort: { lists: 3 }, filter: compileFilter({ i: { $lt: 900 } }) },
];

async function opened(): Promise<Opened> {
  const open = openIndex(fixedRecord(), createMemoryStore(), systemClock);
  await open.inner.log.createFirst();
  await upsert(open, 0, 1000);
  await open.index.train({ nLists: 10 });
  return open;
}

function upsert({ index }: Opened, start: number, end: number): Promise<unknown> {
  const items = rows.slice(start, end).map((vector, place) => {
    const i = start + place;
    return { id: `${i}`, vector, contents: `contents ${i}`, metadata: { i, third: i % 3 } };
  });
  return index.upsert(items);
}

/** Everything that is asked, one by one and together. */
async function answers({ inner }: Opened, snapshot: Snapshot): Promise<unknown[]> {
  const include = new Set(["distance", "metadata", "contents"] as const);
  const all: unknown[] = [];
  for (const options of asked) {
    for (const count of [1, 5]) {
      const vectors = rows.slice(0, count).map((row) => Float32Array.from(row));
      all.push(
        await queryEach(inner.searcher, snapshot, vectors, { ...options, include, rawMetadata: false }),
      );
    }
  }
  all.push(await snapshot.count());
  return all;
}

describe("a snapshot that a newer one took the place of", () => {
  const changes = {
    "after writes": (open: Opened) => upsert(open, 900, 1200),
    "after a deletion": ({ index }: Opened) => index.delete({ filter: { third: 1 } }),
    "after a compaction": async (open: Opened) => {
      await upsert(open, 900, 1200);
      await open.index.compact();
    },
    "after a training": ({ index }: Opened) => index.train({ nLists: 5 }),
  };
  for (const [name, change] of Object.entries(changes)) {
    test(`${name} answers as before, and leaves nothing in memory`, async () => {
      const open = await opened();
      const older = await open.inner.snapshots.newest();
      const before = await answers(open, older);
      await change(open);
      const newer = await open.inner.snapshots.newest();
      expect(newer).not.toBe(older);
      const newest = await answers(open, newer);
      const { cacheBytes } = (await open.index.describe()).memory;
      // The objects of the older one are still stored: garbage is collected later.
      expect(await answers(open, older)).toEqual(before);
      expect((await open.index.describe()).memory.cacheBytes).toBe(cacheBytes);
      expect(await answers(open, newer)).toEqual(newest);
      expect((await open.index.describe()).memory.cacheBytes).toBe(cacheBytes);
      await open.close();
    });
  }

  test("that is in use while it is superseded gives back what it pinned", async () => {
    const open = await opened();
    const older = await open.inner.snapshots.newest();
    const before = await answers(open, older);
    const shadow = await older.pinShadow(older.segments[0]);
    const reading = answers(open, older);
    await open.index.train({ nLists: 5 });
    const newer = await open.inner.snapshots.newest();
    expect(await reading).toEqual(before);
    shadow.release();
    await answers(open, newer);
    const { cacheBytes } = (await open.index.describe()).memory;
    expect(await answers(open, older)).toEqual(before);
    expect((await open.index.describe()).memory.cacheBytes).toBe(cacheBytes);
    await open.close();
    expect((await open.index.describe()).memory.cacheBytes).toBeLessThan(cacheBytes);
  });

  test("is opened once, whoever asks for it at the same time", async () => {
    const open = await opened();
    await upsert(open, 1000, 1100);
    const snapshots = await Promise.all(Array.from({ length: 5 }, () => open.inner.snapshots.newest()));
    expect(new Set(snapshots).size).toBe(1);
    await open.close();
  });
});
