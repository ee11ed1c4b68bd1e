/** Rows that take their words from where they were stored give the bytes that analyzing their texts gives. */

import fc from "fast-check";
import { expect, test } from "vitest";
import { BitReader } from "../../src/engine/bit-reader.js";
import { type Row, rowsOf } from "../../src/segment/row.js";
import { analyzedTerms, encodeTermIndex } from "../../src/segment/term-index.js";
import { noPlace, type TermSource } from "../../src/segment/term-source.js";
import { createAnalyzer } from "../../src/text/analyzer.js";
import type { FieldText } from "../../src/text/document-terms.js";
import { repeats } from "../tier.js";
import { finish } from "../engine/finish.js";

const analyzer = createAnalyzer({ version: 1, language: "english", stemming: true, stopWords: true });
const runs = repeats("SEALDEX_TERM_MERGES", { fast: 60, all: 2000 });

/** A row of the test: its texts are looked up by its fingerprint. */
function world(texts: readonly (readonly FieldText[])[]) {
  const rows = texts.map((_, i): Row => {
    const fingerprint = Buffer.alloc(16, 7);
    fingerprint.writeUInt32LE(i);
    return { fingerprint, record: new Uint8Array(2), contents: null };
  });
  const of = ({ fingerprint }: Row) => texts[Buffer.from(fingerprint).readUInt32LE()];
  return { rows, texts: { analyzer, of } };
}

/** The words of rows as a segment of these holds them; `placeOf`: where each row goes. */
function sourceOf(
  { rows, texts }: ReturnType<typeof world>,
  own: readonly number[],
  placeOf: ReadonlyMap<number, number>,
): TermSource {
  const { lengths, postings, dictionary } = finish(analyzedTerms(rowsOf(own.map((row) => rows[row])), texts));
  return {
    lengths,
    postings: postings.map((chunk) => new BitReader(chunk)),
    dictionary: dictionary.map(({ plaintext }) => plaintext),
    places: Uint32Array.from(own, (row) => placeOf.get(row) ?? noPlace),
  };
}

/** `sources`: the rows of each segment. `written`: the rows to write, in their order. */
function expectSameBytes(
  texts: readonly (readonly FieldText[])[],
  sources: readonly (readonly number[])[],
  written: readonly number[],
): void {
  const all = world(texts);
  const placeOf = new Map(written.map((row, place) => [row, place]));
  const rows = rowsOf(written.map((row) => all.rows[row]));
  const known = sources.map((own) => sourceOf(all, own, placeOf));
  const merged = finish(encodeTermIndex(rows, { texts: all.texts, known }));
  expect(merged).toEqual(finish(encodeTermIndex(rows, { texts: all.texts, known: [] })));
}

const word = fc.oneof(
  { weight: 8, arbitrary: fc.nat(30).map((i) => `w${i}x`) },
  { weight: 2, arbitrary: fc.nat(5000).map((i) => `rare${i}`) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      "the",
      "the.of",
      "10.1016/j",
      "getUserById",
      "Läufer's",
      "日本語",
      "𝒳𝒴",
      "a\ud800b",
      "\udc00",
    ),
  },
  { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 80 }) },
);
/** Some have a word more often than positions of it are kept. */
const text = fc.oneof(
  { weight: 10, arbitrary: fc.array(word, { maxLength: 40 }).map((words) => words.join(" ")) },
  {
    weight: 1,
    arbitrary: fc.tuple(word, fc.integer({ min: 250, max: 700 })).map(([each, n]) => `${each} `.repeat(n)),
  },
);
const fields = fc.array(fc.record({ text, weight: fc.integer({ min: 1, max: 16 }) }), { maxLength: 3 });

test("any rows of any segments, in any order, some dropped and some new", () => {
  fc.assert(
    fc.property(
      fc.array(fields, { maxLength: 60 }),
      fc.integer({ min: 0, max: 5 }),
      fc.infiniteStream(fc.nat(1000)),
      (texts, segments, draws) => {
        const draw = (n: number) => (draws.next().value ?? 0) % n;
        // In the last of them are the new rows.
        const placed: number[][] = Array.from({ length: segments + 1 }, () => []);
        texts.forEach((_, row) => placed[draw(segments + 1)].push(row));
        const isDropping = draw(2) === 0;
        const kept = Array.from(texts.keys()).filter(() => !isDropping || draw(3) > 0);
        if (draw(2) === 0) kept.sort((a, b) => ((a * 7919) % 61) - ((b * 7919) % 61));
        expectSameBytes(texts, placed.slice(0, segments), kept);
      },
    ),
    { numRuns: runs },
  );
});

test("terms of one row each are merged in pieces", () => {
  const texts = Array.from({ length: 400 }, (_, i) => {
    return [{ text: Array.from({ length: 50 }, (__, j) => `w${i}x${j}`).join(" "), weight: 1 }];
  });
  const all = world(texts);
  const rows = Array.from(texts.keys());
  const known = [sourceOf(all, rows, new Map(rows.map((row) => [row, row])))];
  const work = encodeTermIndex(rowsOf(all.rows), { texts: all.texts, known });
  let pauses = 0;
  while (work.next().done !== true) pauses++;
  // 20,000 terms.
  expect(pauses).toBeGreaterThanOrEqual(8);
});

test("lists of many blocks, dictionaries of many pages, and long texts", () => {
  const wordOf = (i: number, j: number) =>
    `w${Math.floor(60_000 * (((i * 7919 + j * 104_729) % 10_007) / 10_007) ** 4)}x`;
  const texts = Array.from({ length: 1500 }, (_, i) => {
    const words = Array.from({ length: i % 700 === 0 ? 20_000 : 20 }, (__, j) => wordOf(i, j));
    return [{ text: `all of them ${words.join(" ")} unique${i * 7}`, weight: 1 + (i % 3) }];
  });
  const rows = Array.from(texts.keys());
  const sources = [0, 1, 2].map((n) => rows.filter((row) => row % 4 === n));
  expectSameBytes(texts, sources, rows);
  expectSameBytes(texts, [rows], rows.filter((row) => row % 5 === 0).reverse());
});
