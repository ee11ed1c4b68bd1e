/** Which rows of a segment newer ones hide, compared with a plain model of what was written. */

import { describe, expect, test } from "vitest";
import { hiddenRows } from "../../src/query/words/hidden-rows.js";
import type { Snapshot } from "../../src/query/snapshot/snapshot.js";
import { hasRow } from "../../src/state/segment/row-bits.js";
import { idsOf, indexesOfSuite, named, type Write, write } from "./histories.js";

const { newIndex } = indexesOfSuite();

/** Per row of segment `number`: whether a later write has its item. */
async function expectHidden(snapshot: Snapshot, number: number, later: readonly Write[]): Promise<void> {
  const segment = snapshot.segments[number];
  const names = new Set(later.flatMap(({ stored, deleted }) => [...stored, ...deleted]));
  const { bits, count, bytes } = await hiddenRows(snapshot, segment);
  const ids = await idsOf(segment);
  const found = ids.filter((_, row) => hasRow(bits, row));
  const expected = ids.filter((id) => names.has(id));
  expect(found.toSorted()).toEqual(expected.toSorted());
  expect(count).toBe(expected.length);
  expect(bytes).toBe(bits.byteLength + 128 * later.length);
  for (let row = ids.length; row < 32 * bits.length; row++) expect(hasRow(bits, row)).toBe(false);
}

describe("rows that newer segments hide", () => {
  const writes: readonly Write[] = [
    { stored: named(0, 300), deleted: [] },
    { stored: named(5, 9), deleted: [] },
    { stored: [], deleted: [...named(100, 108), "unknown"] },
    { stored: named(50, 180), deleted: [] },
    { stored: ["0", "x"], deleted: [] },
    { stored: [], deleted: named(280, 299) },
  ];

  test("are those of items in them, however many, first found in this snapshot or in an older one", async () => {
    const atOnce = await newIndex();
    const stepwise = await newIndex();
    for (const [n, each] of writes.entries()) {
      await write(atOnce, each);
      await write(stepwise, each);
      const snapshot = await stepwise.inner.snapshots.newest();
      for (let number = 0; number <= n; number++) {
        await expectHidden(snapshot, number, writes.slice(number + 1, n + 1));
      }
    }
    const snapshot = await atOnce.inner.snapshots.newest();
    for (const number of writes.keys()) await expectHidden(snapshot, number, writes.slice(number + 1));
  });

  test("are kept for newer snapshots, which add to them, and older ones do not see those", async () => {
    const open = await newIndex();
    await write(open, writes[0]);
    const first = await open.inner.snapshots.hold();
    const [segment] = first.snapshot.segments;
    const none = await hiddenRows(first.snapshot, segment);
    expect(none.count).toBe(0);
    expect(await hiddenRows(first.snapshot, segment)).toBe(none);
    await write(open, writes[1]);
    const second = await open.inner.snapshots.hold();
    expect(second.snapshot.segments[0].reader).toBe(segment.reader);
    const some = await hiddenRows(second.snapshot, second.snapshot.segments[0]);
    expect(some.count).toBe(4);
    expect(none.count).toBe(0);
    expect(none.bits.every((word) => word === 0)).toBe(true);
    expect(await hiddenRows(second.snapshot, second.snapshot.segments[0])).toBe(some);
    // An older snapshot has its own answer, and leaves the newer one.
    await expectHidden(first.snapshot, 0, []);
    expect(await hiddenRows(second.snapshot, second.snapshot.segments[0])).toBe(some);
    // A newer snapshot without newer rows for this segment has the same.
    await expectHidden(second.snapshot, 0, writes.slice(1, 2));
    first.release();
    second.release();
  });

  test("are found in a large segment by few entries, and by very many", async () => {
    const open = await newIndex();
    const large = named(0, 24_000);
    await write(open, { stored: large, deleted: [] });
    const later: Write[] = [{ stored: named(23_000, 23_000 + 1400), deleted: [] }];
    await write(open, later[0]);
    await expectHidden(await open.inner.snapshots.newest(), 0, later);
    later.push({ stored: [], deleted: named(10, 1200) });
    await write(open, later[1]);
    await expectHidden(await open.inner.snapshots.newest(), 0, later);
    expect(await open.index.count()).toBe(24_400 - 1190);
  });

  test.each<[number, number, boolean]>([
    [20, 0, false],
    [21, 0, true],
    [9, 11, false],
    [10, 11, true],
    [0, 21, true],
  ])(
    "of %i newer rows and %i deletions are found (in the whole table: %s)",
    async (rows, deletions, isWhole) => {
      const open = await newIndex();
      const stored = { stored: named(0, 320), deleted: [] };
      const later = [
        { stored: named(0, rows), deleted: [] },
        { stored: [], deleted: named(300, 300 + deletions) },
      ].filter(({ stored: more, deleted }) => more.length + deleted.length > 0);
      for (const each of [stored, ...later]) await write(open, each);
      const snapshot = await open.inner.snapshots.newest();
      const [{ reader }] = snapshot.segments;
      for (const { evict } of reader.cache.idle()) evict();
      await expectHidden(snapshot, 0, later);
      expect(reader.openedTable() !== undefined).toBe(isWhole);
    },
  );
});
