/** Postings of any rows, frequencies and positions are read as they were written. */

import fc from "fast-check";
import { expect, test } from "vitest";
import { BitReader } from "../../src/text/bit-reader.js";
import { BitWriter } from "../../src/text/bit-writer.js";
import { endOfRows, PostingCursor } from "../../src/text/posting-cursor.js";
import { blockRowsMax, chunkBytes, type PostingList, PostingStream } from "../../src/text/postings.js";
import { SealdexError } from "../../src/errors.js";

interface Posting {
  readonly row: number;
  readonly length: number;
  readonly weight: number;
  readonly positions: readonly number[];
  /** Whether its positions are left out. Default false. */
  readonly isStem?: boolean;
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
    stems: fc.constantFrom("none", "some", "all"),
    draws: fc.array(fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.nat(2 ** 20), fc.nat(2 ** 20)), {
      minLength: 1,
      maxLength: 500,
    }),
  })
  .map(({ gapMax, weightMax, many, stems, draws }) => {
    let row = -1;
    return draws.map(([share, a, b]): Posting => {
      row += 1 + Math.floor(share * (gapMax - 1));
      const count = 1 + (a % many);
      const positions = Array.from({ length: count }, (_, i) => (b % 100) + i * (1 + (b % 7)));
      const isStem = stems === "all" || (stems === "some" && b % 2 === 0);
      return { row, length: 1 + (b % 1000), weight: 1 + (a % weightMax), positions, isStem };
    });
  });

function write(stream: PostingStream, postings: readonly Posting[]): PostingList {
  for (const { row, length, weight, positions, isStem = false } of postings) {
    stream.addRow(row, length);
    for (const position of positions) {
      if (isStem) stream.addFrequency(weight);
      else stream.addOccurrence(weight, position);
    }
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
            const kept = posting.isStem ? [] : posting.positions.slice(0, 4095);
            if (k % 3 === 0) expect([...cursor.positions()]).toEqual(kept);
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
  const postings = Array.from({ length: 40 }, (_, i) => ({
    row: 2 ** 28 - 40 + i,
    length: 2 ** 31,
    weight: 16,
    positions: Array.from({ length: 5000 }, (_each, k) => 2 ** 24 + 100_000 * k),
  }));
  const stream = new PostingStream();
  const list = write(stream, postings);
  const chunks = stream.finish().map((chunk) => new BitReader(chunk));
  const cursor = cursorOf(list, chunks);
  for (const { row, positions } of postings) {
    cursor.advance(row);
    expect(cursor).toMatchObject({ row, frequency: 80_000 });
    expect([...cursor.positions()]).toEqual(positions.slice(0, 4095));
  }
});

/** Everything that a walk over a list reads; throws unless its rows ascend below `end`, and it ends. */
function walkAll(list: PostingList, chunks: readonly BitReader[], end: number): void {
  const cursor = new PostingCursor(list, chunks, end);
  let before = -1;
  for (let seen = 0; cursor.row !== endOfRows; cursor.skipBlock()) {
    cursor.decode();
    for (;;) {
      cursor.positions();
      const { row } = cursor;
      if (row <= before || row >= end || ++seen > list.rows) throw new Error(`row ${row} after ${before}`);
      before = row;
      if (row === cursor.lastRow) break;
      cursor.next();
    }
  }
}

test("whatever chunks hold, the rows of a list ascend and end below those of the segment, or they are corrupt", () => {
  const end = 50_000;
  const stream = new PostingStream();
  const written = [1, 100, 1000].map((n) =>
    write(
      stream,
      Array.from({ length: n }, (_, i) => ({
        row: 7 * i + (i % 3),
        length: 1 + i,
        weight: 1 + (i % 5),
        positions: Array.from({ length: 1 + (i % 40) }, (__, k) => k * k),
      })),
    ),
  );
  const chunk = stream.finish()[0];
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 600, size: "max" }),
    fc
      .array(fc.tuple(fc.nat(chunk.length - 1), fc.nat(255)), { minLength: 1, maxLength: 20 })
      .map((changes) => {
        const changed = chunk.slice();
        for (const [at, byte] of changes) changed[at] = byte;
        return changed;
      }),
    fc.nat(chunk.length).map((length) => chunk.slice(0, length)),
  );
  const any = fc.record({
    rows: fc.oneof(fc.nat(300), fc.nat(2 ** 30 - 1)),
    start: fc.oneof(fc.nat(600), fc.nat(2 ** 32 - 1)),
    end: fc.constant(chunkBytes),
    hasHeads: fc.boolean(),
    frequencyMax: fc.nat(2 ** 32 - 1),
    lengthMin: fc.nat(2 ** 32 - 1),
  });
  const outcomes = { walked: 0, corrupt: 0 };
  for (const list of written) walkAll(list, [new BitReader(chunk)], end);
  fc.assert(
    fc.property(
      fc.array(bytes, { maxLength: 3 }),
      fc.oneof(fc.constantFrom(...written), any),
      (chunks, list) => {
        try {
          walkAll(
            list,
            chunks.map((each) => new BitReader(each)),
            end,
          );
          outcomes.walked++;
        } catch (error) {
          if (!(error instanceof SealdexError) || error.code !== "corrupt") throw error;
          outcomes.corrupt++;
        }
      },
    ),
    { numRuns: 2000 },
  );
  expect(outcomes.walked).toBeGreaterThan(0);
  expect(outcomes.corrupt).toBeGreaterThan(0);
});

test("a list of more rows than a block has, but without heads, or of none, is not walked without end", () => {
  const chunks = [new BitReader(new Uint8Array(1000))];
  const list = { start: 0, end: 1000, hasHeads: false, frequencyMax: 1, lengthMin: 1 };
  for (const rows of [blockRowsMax + 1, 2 ** 30]) {
    expect(() => walkAll({ ...list, rows }, chunks, 2 ** 31)).toThrow(
      expect.objectContaining({ code: "corrupt" }),
    );
  }
  walkAll({ ...list, rows: 0 }, [], 0);
});
