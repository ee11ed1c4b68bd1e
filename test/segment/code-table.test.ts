/** Which sealed blocks of codes are one block. */

import { expect, test } from "vitest";
import { codeBlockBytesMax, CodeTable } from "../../src/segment/code-table.js";

const offset = 76;

interface Sealed {
  readonly length: number;
  readonly rows: number;
  readonly list: number;
  readonly radius?: number;
}

function tableOf(sealed: readonly Sealed[]): CodeTable {
  const bits = new DataView(new ArrayBuffer(4));
  let firstRow = 0;
  const words = sealed.flatMap(({ length, rows, list, radius = 1 }) => {
    bits.setFloat32(0, radius);
    const own = [length, firstRow, rows, list, bits.getUint32(0)];
    firstRow += rows;
    return own;
  });
  return new CodeTable(Uint32Array.from(words), offset);
}

const sealedCounts = (table: CodeTable) => Array.from(table, ({ sealed }) => sealed);

test("sealed blocks of one list that follow one another are one block", () => {
  const table = tableOf([
    { length: 100, rows: 64, list: 0, radius: 2 },
    { length: 90, rows: 32, list: 0, radius: 5 },
    { length: 80, rows: 7, list: 0, radius: 3 },
    { length: 70, rows: 64, list: 2 },
    { length: 60, rows: 1, list: 3 },
  ]);
  expect(table.length).toBe(3);
  expect(table.at(0)).toEqual({
    number: 0,
    offset,
    length: 270,
    firstRow: 0,
    rows: 103,
    list: 0,
    radius: 5,
    sealed: 3,
  });
  expect(table.at(1)).toMatchObject({ number: 3, offset: offset + 270, firstRow: 103, rows: 64, sealed: 1 });
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
    tableOf(counts.map((count) => ({ length: 1, rows: count, list: 4 })));
  expect(sealedCounts(rows([32, 33, 64, 1, 1]))).toEqual([2, 2, 1]);
});

test("a block has as many bytes as may be, whatever a sealed one has", () => {
  const lengths = (all: readonly number[]) => tableOf(all.map((length) => ({ length, rows: 32, list: 0 })));
  const half = codeBlockBytesMax / 2;
  expect(sealedCounts(lengths([half, half, 1]))).toEqual([2, 1]);
  expect(sealedCounts(lengths([half, half + 1, half - 1, 1]))).toEqual([1, 2, 1]);
  expect(sealedCounts(lengths([3 * half, 1, 3 * half]))).toEqual([1, 1, 1]);
});

test("of a segment without rows there are none", () => {
  const table = tableOf([]);
  expect(table.length).toBe(0);
  expect([...table]).toEqual([]);
});
