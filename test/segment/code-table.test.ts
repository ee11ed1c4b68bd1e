/** The table of the code blocks of a segment. */

import fc from "fast-check";
import { expect, test } from "vitest";
import { ByteWriter } from "../../src/engine/byte-writer.js";
import { systemClock } from "../../src/state/commit/clock.js";
import { CodeTable, writeCodeEntries } from "../../src/state/segment/code-table.js";
import { EntryReader } from "../../src/state/segment/block-table.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { clustered } from "../engine/data.js";
import { rowsOf } from "../engine/oracle.js";
import { fixedRecord, openIndex } from "../protocol/open.js";

const offset = 76;

interface Written {
  readonly length: number;
  readonly rows: number;
  readonly list: number;
  readonly radius?: number;
}

function tableOf(blocks: readonly Written[]): CodeTable {
  const entries = new ByteWriter();
  writeCodeEntries(
    entries,
    blocks.map((block) => ({ radius: 1, ...block })),
  );
  const rows = blocks.reduce((sum, block) => sum + block.rows, 0);
  return new CodeTable(new EntryReader(entries.view().slice(), 0), blocks.length, rows, offset);
}

test("blocks know their list, and are found by number and by row", () => {
  const table = tableOf([
    { length: 1100, rows: 64, list: 0, radius: 2 },
    { length: 800, rows: 7, list: 0, radius: 3 },
    { length: 1070, rows: 64, list: 2 },
  ]);
  expect([...table]).toEqual([
    { number: 0, offset, length: 1100, firstRow: 0, rows: 64, list: 0, radius: 2 },
    { number: 1, offset: offset + 1100, length: 800, firstRow: 64, rows: 7, list: 0, radius: 3 },
    { number: 2, offset: offset + 1900, length: 1070, firstRow: 71, rows: 64, list: 2, radius: 1 },
  ]);
  expect(table.lists).toBe(3);
  expect(table.at(0)).toBe(table.at(0));
  expect([0, 63, 64, 70, 71, 134].map((row) => table.ofRow(row).number)).toEqual([0, 0, 1, 1, 2, 2]);
});

test.each([
  { d: 64, n: 3000, blocks: 7, most: 480 },
  { d: 1536, n: 100, blocks: 4, most: 32 },
])("$n rows of $d numbers are written in blocks of $most rows, and the rest of each list", async (shape) => {
  const { d, n, blocks, most } = shape;
  const { index, inner, close } = openIndex(fixedRecord(), createMemoryStore(), systemClock);
  await inner.log.createFirst();
  await index.upsert(rowsOf(clustered(n, d, 3, 1), d).map((vector, i) => ({ id: `${i}`, vector })));
  const rowsIn = async () => {
    const { segments } = await inner.snapshots.newest();
    return [...segments[0].reader.footer.codes];
  };
  const untrained = await rowsIn();
  expect(untrained.map(({ rows }) => rows)).toEqual([
    ...Array.from({ length: blocks - 1 }, () => most),
    n - (blocks - 1) * most,
  ]);
  await index.train({ nLists: 3 });
  const trained = await rowsIn();
  for (const [i, { list, rows, length }] of trained.entries()) {
    expect(rows % 32 === 0 || trained[i + 1]?.list !== list).toBe(true);
    expect(length <= 136 * 1024 || rows <= 32).toBe(true);
  }
  await close();
});

test("of a segment without rows there are none", () => {
  const table = tableOf([]);
  expect(table.length).toBe(0);
  expect([...table]).toEqual([]);
});

test("a radius grows by a 256th at most and never shrinks, and is the same when it is stored again", () => {
  const radiusOf = (radius: number) => tableOf([{ length: 16, rows: 1, list: 7, radius }]).at(0).radius;
  fc.assert(
    fc.property(fc.double({ min: 2 ** -126, max: 3e38, noNaN: true }), (radius) => {
      const stored = radiusOf(radius);
      expect(stored).toBeGreaterThanOrEqual(radius);
      expect(stored).toBeLessThanOrEqual(radius * (1 + 2 ** -8));
      expect(radiusOf(stored)).toBe(stored);
    }),
  );
  for (const exact of [0, 1, 1.5, 2 ** -126, 2 ** 127, Infinity]) expect(radiusOf(exact)).toBe(exact);
  for (const radius of [3.4e38, Number.MAX_VALUE]) expect(radiusOf(radius)).toBe(Infinity);
  for (const radius of [2 ** -149, Number.MIN_VALUE]) expect(radiusOf(radius)).toBe(2 ** -134);
});

test("it is corrupt with a block that has no rows, no room for them, or a list or radius that no number stands for", () => {
  const isCorrupt = expect.objectContaining({ code: "corrupt" });
  const one = { length: 16, rows: 1, list: 0 };
  expect(() => tableOf([one, { ...one, rows: 0 }])).toThrow(isCorrupt);
  expect(() => tableOf([one, { ...one, rows: 2 }])).toThrow(isCorrupt);
  expect(tableOf([{ ...one, list: 2 ** 32 - 1 }]).lists).toBe(2 ** 32);
  expect(() =>
    tableOf([
      { ...one, list: 2 ** 32 - 1 },
      { ...one, list: 2 ** 32 },
    ]),
  ).toThrow(isCorrupt);
  const entries = new ByteWriter();
  for (const value of [1, 16, 0]) entries.varint(value);
  for (const byte of [0x01, 0xff]) entries.byte(byte);
  expect(() => new CodeTable(new EntryReader(entries.view().slice(), 0), 1, 1, offset)).toThrow(isCorrupt);
});
