/** The table of a section, compared with an array of the same blocks. */

import { expect, test } from "vitest";
import { seededRandom } from "../../src/engine/random.js";
import type { PageBlock } from "../../src/state/segment/block.js";
import { BlockTable, type BlockWords, rowWords } from "../../src/state/segment/block-table.js";

const pageWords: BlockWords<PageBlock> = { count: rowWords, make: (page) => page };

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

function tableOf(pages: readonly PageBlock[]): BlockTable<PageBlock> {
  const words = Uint32Array.from(pages.flatMap(({ length, firstRow, rows }) => [length, firstRow, rows]));
  return new BlockTable(words, pageWords, firstNumber, firstOffset);
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
  const table = new BlockTable(Uint32Array.from([2 ** 32 - 1, 0, 1, 2 ** 32 - 1, 1, 1]), pageWords, 0, 76);
  expect(table.at(1).offset).toBe(76 + 2 ** 32 - 1);
  expect(table.end).toBe(76 + 2 * (2 ** 32 - 1));
});

test("a block has the values of its own words, beside those of any block", () => {
  const listWords: BlockWords<PageBlock & { readonly list: number }> = {
    count: rowWords + 1,
    make: (block, words, at) => ({ ...block, list: words[at + rowWords] }),
  };
  const table = new BlockTable(Uint32Array.from([10, 0, 3, 21, 20, 3, 4, 22]), listWords, 5, 100);
  expect([...table]).toEqual([
    { number: 5, offset: 100, length: 10, firstRow: 0, rows: 3, list: 21 },
    { number: 6, offset: 110, length: 20, firstRow: 3, rows: 4, list: 22 },
  ]);
  expect(table.ofRow(3).list).toBe(22);
});
