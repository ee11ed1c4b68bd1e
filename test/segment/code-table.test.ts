/** Which sealed blocks of codes are one block. */

import fc from "fast-check";
import { expect, test } from "vitest";
import { ByteWriter } from "../../src/engine/byte-writer.js";
import { codeBlockBytesMax, CodeTable, writeCodeEntries } from "../../src/state/segment/code-table.js";
import { EntryReader } from "../../src/state/segment/block-table.js";

const offset = 76;

interface Sealed {
  readonly length: number;
  readonly rows: number;
  readonly list: number;
  readonly radius?: number;
}

function tableOf(sealed: readonly Sealed[]): CodeTable {
  const entries = new ByteWriter();
  writeCodeEntries(
    entries,
    sealed.map((block) => ({ radius: 1, ...block })),
  );
  const rows = sealed.reduce((sum, block) => sum + block.rows, 0);
  return new CodeTable(new EntryReader(entries.view().slice(), 0), sealed.length, rows, offset);
}

const sealedCounts = (table: CodeTable) => Array.from(table, ({ sealed }) => sealed);

test("sealed blocks of one list that follow one another are one block", () => {
  const table = tableOf([
    { length: 1100, rows: 64, list: 0, radius: 2 },
    { length: 900, rows: 32, list: 0, radius: 5 },
    { length: 800, rows: 7, list: 0, radius: 3 },
    { length: 1070, rows: 64, list: 2 },
    { length: 60, rows: 1, list: 3 },
  ]);
  expect(table.length).toBe(3);
  expect(table.at(0)).toEqual({
    number: 0,
    offset,
    length: 2800,
    firstRow: 0,
    rows: 103,
    list: 0,
    radius: 5,
    sealed: 3,
  });
  expect(table.at(1)).toMatchObject({ number: 3, offset: offset + 2800, firstRow: 103, rows: 64, sealed: 1 });
  expect(table.sealedOf(table.at(0)).map(({ firstRow, rows, sealed }) => [firstRow, rows, sealed])).toEqual([
    [0, 64, 1],
    [64, 32, 1],
    [96, 7, 1],
  ]);
  expect(table.sealedOf(table.at(1))).toEqual([table.at(1)]);
  expect(table.at(0)).toBe(table.at(0));
  expect([0, 63, 64, 102, 103, 166, 167].map((row) => table.ofRow(row))).toEqual(
    [0, 0, 0, 0, 1, 1, 2].map((i) => table.at(i)),
  );
  expect([0, 1, 2, 3, 4].map((number) => table.positionOf(number))).toEqual([0, 0, 0, 1, 2]);
});

test("after a number of rows that kernels cannot continue, another block begins", () => {
  const rows = (counts: readonly number[]) =>
    tableOf(counts.map((count) => ({ length: 2000, rows: count, list: 4 })));
  expect(sealedCounts(rows([32, 33, 64, 1, 1]))).toEqual([2, 2, 1]);
});

test("a block has as many bytes as may be, whatever a sealed one has", () => {
  const lengths = (all: readonly number[]) => tableOf(all.map((length) => ({ length, rows: 32, list: 0 })));
  const half = codeBlockBytesMax / 2;
  expect(sealedCounts(lengths([half, half, 512]))).toEqual([2, 1]);
  expect(sealedCounts(lengths([half, half + 1, half - 1, 512]))).toEqual([1, 2, 1]);
  expect(sealedCounts(lengths([3 * half, 512, 3 * half]))).toEqual([1, 1, 1]);
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
