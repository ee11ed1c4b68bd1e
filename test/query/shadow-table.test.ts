/** The table of newer entries: what it has of each item, and that it takes no item for another. */

import { afterAll, beforeAll, expect, test } from "vitest";
import { systemClock } from "../../src/state/commit/clock.js";
import { fingerprint } from "../../src/crypto/keys.js";
import { ShadowTable } from "../../src/query/snapshot/shadow-table.js";
import type { OpenSegment } from "../../src/query/snapshot/snapshot.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { fixedRecord, type Opened, openIndex } from "../protocol/open.js";

const record = fixedRecord();
let open: Opened;
let segments: readonly OpenSegment[];
let table: ShadowTable;

const idsOf = (start: number, end: number) => Array.from({ length: end - start }, (_, i) => `${start + i}`);
const wordsOf = (id: string) => [...new Uint32Array(fingerprint(record.keys.id, id).slice().buffer)];

beforeAll(async () => {
  open = openIndex(record, createMemoryStore(), systemClock);
  await open.inner.log.createFirst();
  const upsert = (ids: readonly string[]) => open.index.upsert(ids.map((id) => ({ id, vector: [1, 2] })));
  await upsert(idsOf(0, 300));
  await upsert(idsOf(200, 260));
  await open.index.delete({ ids: idsOf(240, 280) });
  segments = (await open.inner.snapshots.newest()).segments;
  table = await ShadowTable.build(segments);
});

afterAll(() => open.close());

const isNewer = (sequence: number, [w0, w1, w2, w3]: readonly number[]) =>
  table.isNewer(sequence, w0, w1, w2, w3);

test("each item is visited once, with whether its newest entry is a row", async () => {
  const visited = new Map<string, boolean>();
  let visits = 0;
  await table.forEach((words, isRow) => {
    visits++;
    visited.set(`${[...words]}`, isRow);
  });
  expect([visits, table.count]).toEqual([300, 300]);
  const expected = idsOf(0, 300).map((id) => [`${wordsOf(id)}`, Number(id) < 240 || Number(id) >= 280]);
  expect(visited).toEqual(new Map(expected as [string, boolean][]));
});

test("an item is newer than the segments before the one that has it last", () => {
  const [first, second, third] = segments.map(({ ref }) => ref.sequence);
  for (const id of idsOf(0, 310)) {
    const i = Number(id);
    const last = i >= 300 ? -1 : i >= 240 && i < 280 ? third : i >= 200 && i < 260 ? second : first;
    for (const sequence of [first - 1, first, second, third]) {
      expect([id, sequence, isNewer(sequence, wordsOf(id))]).toEqual([id, sequence, last > sequence]);
    }
  }
});

test("an item that differs in one word of its fingerprint is another one", () => {
  const [{ ref }] = segments;
  for (const id of idsOf(0, 300)) {
    const words = wordsOf(id);
    expect(isNewer(ref.sequence - 1, words)).toBe(true);
    for (const [at, bit] of [
      [0, 31],
      [1, 0],
      [2, 0],
      [3, 0],
    ]) {
      const other = words.with(at, (words[at] ^ (1 << bit)) >>> 0);
      expect(isNewer(ref.sequence - 1, other)).toBe(false);
    }
    // What has one word in common alone.
    for (const at of [0, 1, 2, 3]) {
      expect(
        isNewer(
          ref.sequence - 1,
          words.map((word, i) => (i === at || i === 0 ? word : ~word >>> 0)),
        ),
      ).toBe(false);
    }
  }
});

test("a table of no segments has nothing", async () => {
  const empty = await ShadowTable.build([]);
  expect([empty.count, empty.isNewer(-1, 0, 0, 0, 0), empty.isNewer(0, 1, 2, 3, 4)]).toEqual([
    0,
    false,
    false,
  ]);
});
