/** The ids of a segment in their order, page by page. */

import { beforeAll, describe, expect, test } from "vitest";
import { systemClock } from "../../src/state/commit/clock.js";
import { fingerprint } from "../../src/crypto/keys.js";
import { IdCursor } from "../../src/index/listing/live-ids.js";
import type { SegmentReader } from "../../src/state/segment/segment-reader.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { fixedRecord, openIndex } from "../protocol/open.js";

const record = fixedRecord();
/** Long ones, so that a page has few. */
const ids = Array.from({ length: 400 }, (_, i) => `${String(2 * i).padStart(4, "0")} ${"x".repeat(500)}`);
let reader: SegmentReader;
let perPage: number;

beforeAll(async () => {
  const { index, inner } = openIndex(record, createMemoryStore(), systemClock);
  await inner.log.createFirst();
  await index.upsert(ids.toReversed().map((id, i) => ({ id, vector: [i, 1] })));
  const { segments } = await inner.snapshots.newest();
  reader = segments[0].reader;
  perPage = reader.footer.sortedIds[0].rows;
  expect(reader.footer.sortedIds.length).toBeGreaterThan(2);
});

/** Opened at an id; undefined: at the first one. */
async function opened(after: string | undefined, count: number): Promise<IdCursor> {
  const cursor = new IdCursor(reader, after);
  await cursor.fill(count, after);
  return cursor;
}

const stored = (id: string) => Buffer.concat([fingerprint(record.keys.id, id), Buffer.from(id)]);

describe("a cursor over ids", () => {
  test("stands before the first id that is greater, wherever it is opened", async () => {
    const borders = [0, 1, perPage - 2, perPage - 1, perPage, perPage + 1, 2 * perPage, 398, 399];
    for (const i of borders) {
      for (const [after, first] of [
        [ids[i], i + 1],
        // Between two ids.
        [`${ids[i]}!`, i + 1],
        [ids[i].slice(0, 4), i],
      ] as const) {
        const cursor = await opened(after, 1);
        expect(cursor.ready > 0).toBe(first < ids.length);
        if (first < ids.length) expect(cursor.at(0)).toBe(ids[first]);
        else expect(cursor.isComplete).toBe(true);
      }
    }
    expect((await opened(undefined, 1)).at(0)).toBe(ids[0]);
    expect((await opened("", 1)).at(0)).toBe(ids[0]);
    expect((await opened("9", 1)).ready).toBe(0);
  });

  test("reads no more pages than are needed, and nothing before it is filled", async () => {
    const cursor = new IdCursor(reader, undefined);
    expect([cursor.ready, cursor.isComplete]).toEqual([0, false]);
    await cursor.fill(0, undefined);
    expect(cursor.ready).toBe(0);
    await cursor.fill(1, undefined);
    expect(cursor.ready).toBe(perPage);
    await cursor.fill(perPage, undefined);
    expect([cursor.ready, cursor.isComplete]).toEqual([perPage, false]);
    await cursor.fill(perPage + 1, undefined);
    expect(cursor.ready).toBe(perPage + reader.footer.sortedIds[1].rows);
    expect(cursor.at(perPage)).toBe(ids[perPage]);
    await cursor.fill(10_000, undefined);
    expect([cursor.ready, cursor.isComplete]).toEqual([ids.length, true]);
    expect(Array.from(ids, (_, i) => cursor.at(i))).toEqual(ids);
  });

  test("takes ids up to one, or so many, as they are stored, and goes on behind them", async () => {
    for (const step of [1, 7, perPage - 1, perPage, perPage + 1, 1000]) {
      const cursor = await opened(undefined, step);
      const taken: Uint8Array[] = [];
      while (cursor.ready > 0) {
        const ready = cursor.ready;
        const some = cursor.take("~", step);
        expect(some.length).toBe(Math.min(step, ready));
        expect(cursor.ready).toBe(ready - some.length);
        taken.push(...some);
        await cursor.fill(step, undefined);
      }
      expect(taken.map((entry) => Buffer.from(entry))).toEqual(ids.map(stored));
    }
    const cursor = await opened(undefined, 20);
    expect(cursor.take(ids[4], 100).length).toBe(5);
    expect(cursor.at(0)).toBe(ids[5]);
    expect(cursor.take(ids[4], 100)).toEqual([]);
    expect(cursor.take(`${ids[5]}!`, 100).length).toBe(1);
    expect(cursor.take(ids[6].slice(0, 4), 100)).toEqual([]);
  });

  test("knows no ids beyond those that were read", async () => {
    const cursor = await opened(undefined, 1);
    expect(() => cursor.at(perPage)).toThrow(`id cursor: ${perPage} is beyond what was read`);
    expect(cursor.at(perPage - 1)).toBe(ids[perPage - 1]);
  });
});
