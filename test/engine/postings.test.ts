/** Postings of any rows, frequencies and positions are read as they were written. */

import fc from "fast-check";
import { expect, test } from "vitest";
import { BitReader } from "../../src/engine/bit-reader.js";
import { BitWriter } from "../../src/engine/bit-writer.js";
import { endOfRows, PostingCursor } from "../../src/engine/posting-cursor.js";
import { chunkBytes, type PostingList, PostingStream } from "../../src/engine/postings.js";

interface Posting {
  readonly row: number;
  readonly length: number;
  readonly weight: number;
  readonly positions: readonly number[];
}

const uint32 = fc.integer({ min: 0, max: 2 ** 32 - 1 });
const integers = fc.oneof(
  fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 300 }),
  fc.array(fc.integer({ min: 0, max: 2 ** 20 }), { maxLength: 300 }),
  fc.array(fc.oneof({ weight: 20, arbitrary: fc.constant(1) }, uint32), { maxLength: 300 }),
  fc.array(uint32, { maxLength: 20 }),
);

test("vectors of any integers, one after the other from any bit on", () => {
  fc.assert(
    fc.property(fc.array(integers, { maxLength: 4 }), fc.integer({ min: 0, max: 9 }), (vectors, start) => {
      const writer = new BitWriter();
      writer.put(0, start);
      for (const values of vectors) writer.putVector(Uint32Array.from(values), values.length);
      const reader = new BitReader(writer.view());
      let at = start;
      for (const values of vectors) {
        const found = new Uint32Array(values.length).fill(7);
        at = reader.vector(at, values.length, found);
        expect([...found]).toEqual(values);
      }
      expect(Math.ceil(at / 8)).toBe(writer.length);
    }),
  );
});

test("a vector takes a bit per integer more than its values need, at most", () => {
  const sizeOf = (values: readonly number[]) => {
    const writer = new BitWriter();
    writer.putVector(Uint32Array.from(values), values.length);
    return 8 * writer.length;
  };
  expect(sizeOf(Array.from({ length: 128 }, (_, i) => i))).toBeLessThanOrEqual(7 * 128 + 8);
  expect(sizeOf(Array.from({ length: 128 }, () => 0))).toBe(8);
  // One outlier does not widen the others.
  expect(sizeOf(Array.from({ length: 128 }, (_, i) => (i === 5 ? 1000 : i % 4)))).toBeLessThan(6 * 128);
});

/** Lists whose rows have gaps of a kind, some rows with many positions. */
const lists = fc
  .record({
    gapMax: fc.constantFrom(1, 5, 1000, 100_000),
    weightMax: fc.constantFrom(1, 16),
    many: fc.constantFrom(1, 3, 400),
    draws: fc.array(fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.nat(2 ** 20), fc.nat(2 ** 20)), {
      minLength: 1,
      maxLength: 500,
    }),
  })
  .map(({ gapMax, weightMax, many, draws }) => {
    let row = -1;
    return draws.map(([share, a, b]): Posting => {
      row += 1 + Math.floor(share * (gapMax - 1));
      const count = 1 + (a % many);
      const positions = Array.from({ length: count }, (_, i) => (b % 100) + i * (1 + (b % 7)));
      return { row, length: 1 + (b % 1000), weight: 1 + (a % weightMax), positions };
    });
  });

function write(stream: PostingStream, postings: readonly Posting[]): PostingList {
  for (const { row, length, weight, positions } of postings) {
    stream.addRow(row, length);
    for (const position of positions) stream.addOccurrence(weight, position);
  }
  return stream.endList();
}

function cursorOf(list: PostingList, chunks: readonly BitReader[]): PostingCursor {
  return new PostingCursor(
    list,
    chunks.slice(Math.floor(list.start / chunkBytes), Math.ceil(list.end / chunkBytes)),
    2 ** 31,
  );
}

test("any lists in one stream are walked and skipped to as they were written", () => {
  fc.assert(
    fc.property(
      fc.array(lists, { minLength: 1, maxLength: 6 }),
      fc.integer({ min: 1, max: 50 }),
      (all, step) => {
        const stream = new PostingStream();
        const written = all.map((postings) => write(stream, postings));
        const chunks = stream.finish().map((chunk) => new BitReader(chunk));
        for (const [i, postings] of all.entries()) {
          const list = written[i];
          const frequencyOf = ({ weight, positions }: Posting) => weight * positions.length;
          expect(list.rows).toBe(postings.length);
          expect(list.frequencyMax).toBe(Math.max(...postings.map(frequencyOf)));
          expect(list.lengthMin).toBe(Math.min(...postings.map(({ length }) => length)));
          const cursor = cursorOf(list, chunks);
          for (const [k, posting] of postings.entries()) {
            cursor.advance(k === 0 ? 0 : cursor.row + 1);
            expect(cursor.row).toBe(posting.row);
            expect(cursor.frequency).toBe(frequencyOf(posting));
            expect(cursor.frequencyMax).toBeGreaterThanOrEqual(cursor.frequency);
            expect(cursor.lengthMin).toBeLessThanOrEqual(posting.length);
            if (k % 3 === 0) expect([...cursor.positions()]).toEqual(posting.positions.slice(0, 255));
          }
          cursor.advance(cursor.row + 1);
          expect(cursor.row).toBe(endOfRows);
          const skipping = cursorOf(list, chunks);
          for (let target = 0; skipping.row !== endOfRows; target = skipping.row + step) {
            skipping.advance(target);
            expect(skipping.row).toBe(postings.find(({ row }) => row >= target)?.row ?? endOfRows);
          }
        }
      },
    ),
    { numRuns: 60 },
  );
});

test("the largest rows, lengths and positions there can be", () => {
  const postings = Array.from({ length: 300 }, (_, i) => ({
    row: 2 ** 28 - 300 + i,
    length: 2 ** 31,
    weight: 16,
    positions: Array.from({ length: 300 }, (_each, k) => 2 ** 24 + 100_000 * k),
  }));
  const stream = new PostingStream();
  const list = write(stream, postings);
  const chunks = stream.finish().map((chunk) => new BitReader(chunk));
  const cursor = cursorOf(list, chunks);
  for (const { row, positions } of postings) {
    cursor.advance(row);
    expect(cursor).toMatchObject({ row, frequency: 4800 });
    expect([...cursor.positions()]).toEqual(positions.slice(0, 255));
  }
});
