/** The table of a segment's pages, compared with an array of the same pages. */

import { expect, test } from "vitest";
import { seededRandom } from "../../src/engine/random.js";
import type { PageBlock } from "../../src/segment/block.js";
import { PageTable } from "../../src/segment/page-table.js";

const firstNumber = 7;
const firstOffset = 1000;

function randomPages(count: number, seed: number): PageBlock[] {
  const random = seededRandom(seed);
  let offset = firstOffset;
  let firstRow = 0;
  return Array.from({ length: count }, (_, i) => {
    const page = {
      number: firstNumber + i,
      offset,
      length: 1 + Math.floor(5000 * random()),
      firstRow,
      rows: 1 + Math.floor(20 * random()),
    };
    offset += page.length;
    firstRow += page.rows;
    return page;
  });
}

function tableOf(pages: readonly PageBlock[]): PageTable {
  const words = Uint32Array.from(pages.flatMap(({ length, firstRow, rows }) => [length, firstRow, rows]));
  return new PageTable(words, firstNumber, firstOffset);
}

test.each([0, 1, 2, 300])("a table of %i pages says where each lies and which row is in which", (count) => {
  const pages = randomPages(count, count + 1);
  const table = tableOf(pages);
  expect(table.length).toBe(count);
  expect([...table]).toEqual(pages);
  expect(table.end).toBe(pages.reduce((end, { length }) => end + length, firstOffset));
  for (const [i, page] of pages.entries()) {
    expect(table.at(i)).toEqual(page);
    for (let row = page.firstRow; row < page.firstRow + page.rows; row++)
      expect(table.ofRow(row)).toEqual(page);
  }
});

test("a page is the same object each time it is asked for", () => {
  const table = tableOf(randomPages(20, 5));
  const [, second] = table;
  expect(table.at(1)).toBe(second);
  expect(table.ofRow(second.firstRow)).toBe(second);
  expect([...table.from(1)][0]).toBe(second);
});

test("a section may end beyond 4 GiB", () => {
  const table = new PageTable(Uint32Array.from([2 ** 32 - 1, 0, 1, 2 ** 32 - 1, 1, 1]), 0, 76);
  expect(table.at(1).offset).toBe(76 + 2 ** 32 - 1);
  expect(table.end).toBe(76 + 2 * (2 ** 32 - 1));
});
