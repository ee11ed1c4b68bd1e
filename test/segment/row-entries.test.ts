/** Entries of a footer: they are read as written, in few bytes, and forged ones are refused. */

import fc from "fast-check";
import { expect, test } from "vitest";
import { ByteWriter } from "../../src/engine/byte-writer.js";
import { SealdexError } from "../../src/errors.js";
import { CodeTable, writeCodeEntries } from "../../src/state/segment/code-table.js";
import { EntryReader, writeEntries } from "../../src/state/segment/block-table.js";

const u32 = fc.integer({ min: 1, max: 2 ** 32 - 1 });
const few = fc.integer({ min: 1, max: 3 });

test("rows and sealed lengths of any blocks are read as they were written", () => {
  const block = fc.record({
    rows: fc.oneof(few, fc.integer({ min: 1, max: 2 ** 20 })),
    length: fc.oneof(few, u32),
  });
  fc.assert(
    fc.property(fc.array(block), (blocks) => {
      const entries = new ByteWriter();
      writeEntries(entries, blocks);
      const reader = new EntryReader(entries.view(), 0);
      const rows = blocks.reduce((sum, own) => sum + own.rows, 0);
      let firstRow = 0;
      const expected = blocks.flatMap((own) => {
        firstRow += own.rows;
        return [own.length, firstRow - own.rows, own.rows];
      });
      expect([...reader.words({ count: blocks.length, rows })]).toEqual(expected);
      expect(reader.at).toBe(entries.length);
    }),
  );
});

test("a block of codes with as many rows as one before takes five bytes", () => {
  const entries = new ByteWriter();
  const blocks = Array.from({ length: 1000 }, (_, i) => {
    const rows = i % 3 === 2 ? 1 + (i % 64) : 64;
    return { rows, length: 1000 * rows + 16, list: Math.floor(i / 3), radius: 0.5 + i / 1000 };
  });
  writeCodeEntries(entries, blocks);
  expect(entries.length).toBeLessThan(5 * blocks.length + 3 * 64);
});

test("entries that do not fit are corrupt, whatever they are", () => {
  const isRefused = (read: () => unknown) => {
    try {
      read();
      return false;
    } catch (error) {
      expect(error).toBeInstanceOf(SealdexError);
      expect((error as SealdexError).code).toBe("corrupt");
      return true;
    }
  };
  const wordsOf = (bytes: readonly number[], count: number, rows: number) => () =>
    new EntryReader(Uint8Array.from(bytes), 0).words({ count, rows });
  expect(isRefused(wordsOf([7, 9, 7, 0], 2, 14))).toBe(false);
  // Other rows than there are; no block before with as many; cut off; more blocks than bytes; an integer without an end.
  expect(isRefused(wordsOf([7, 9, 7, 0], 2, 15))).toBe(true);
  expect(isRefused(wordsOf([7, 9, 6, 0], 2, 13))).toBe(true);
  expect(isRefused(wordsOf([7, 9, 7], 2, 14))).toBe(true);
  expect(isRefused(wordsOf([7, 9, 7, 0], 2 ** 32 - 1, 14))).toBe(true);
  expect(isRefused(wordsOf([...Array.from({ length: 12 }, () => 0xff), 0], 1, 1))).toBe(true);
  fc.assert(
    fc.property(fc.uint8Array(), fc.nat(20), fc.nat(300), (bytes, count, rows) => {
      isRefused(() => [...new CodeTable(new EntryReader(bytes, 0), count, rows, 76)]);
    }),
  );
});
