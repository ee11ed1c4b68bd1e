import { expect, test } from "vitest";
import type { Work } from "../../src/engine/work.js";
import { gatherTerms, type RowTexts, sortedTerms } from "../../src/state/segment/words/gather-terms.js";
import { encodeRecord, type Row, rowsOf } from "../../src/state/segment/row.js";
import { createAnalyzer } from "../../src/text/analyzer.js";

const analyzer = createAnalyzer({ version: 1, language: "none", stemming: false, stopWords: false });

function rowOf(number: number, contents: Uint8Array | null = null): Row {
  return {
    fingerprint: new Uint8Array(16).fill(number),
    record: encodeRecord({ id: `item ${number}`, metadataJson: "{}" }),
    contents,
  };
}

function pausesWith(contentsBytes: number): number {
  const rows = Array.from({ length: 50 }, (_, i) => rowOf(i, new Uint8Array(contentsBytes)));
  const work = gatherTerms(rowsOf(rows), { analyzer, of: () => [] });
  let count = 0;
  while (work.next().done !== true) count++;
  return count;
}

test("texts of rows are analyzed with a pause after each large one", () => {
  expect(pausesWith(1024 * 1024) - pausesWith(100)).toBe(49);
});

function countPauses<T>(work: Work<T>): { readonly pauses: number; readonly value: T } {
  let pauses = 0;
  let step = work.next();
  for (; step.done !== true; step = work.next()) pauses++;
  return { pauses, value: step.value };
}

test("the occurrences of a long text are gathered and sorted in pieces", () => {
  const words = Array.from({ length: 50_000 }, (_, i) => `${"ab".repeat(i % 30)}x${(7 * i) % 40_000}`);
  const texts: RowTexts = { analyzer, of: () => [{ text: words.join(" "), weight: 2 }] };
  const { pauses, value } = countPauses(gatherTerms(rowsOf([rowOf(1), rowOf(2)]), texts));
  expect(pauses).toBeGreaterThan(50);
  const { terms, pairs, ends, lengths } = value;
  const { terms: expected, positions } = analyzer.analyze(words.join(" "));
  const occurrences = expected.map((term, i) => ({ term, position: positions[i] }));
  expect(pairs.length).toBe(2 * 2 * occurrences.length);
  expect(new Set(terms)).toEqual(new Set(expected));
  for (const term of ["x", "ab", words[12345], words[0]]) {
    const place = terms.indexOf(term);
    const own = occurrences.filter((each) => each.term === term).map(({ position }) => position);
    const found = pairs.slice(place === 0 ? 0 : 2 * ends[place - 1], 2 * ends[place]);
    // 16 row + weight - 1, and the position.
    expect([...found]).toEqual([0, 1].flatMap((row) => own.flatMap((position) => [16 * row + 1, position])));
  }
  expect([...lengths]).toEqual([2 * analyzer.analyze(words.join(" ")).length, lengths[0]]);
});

test.each([
  ["of all scripts", (i: number) => `${["𝒳", "\uffee", "z", "é"][i % 4]}${i}`],
  ["that begin alike", (i: number) => `beginning${i}`],
  ["that begin alike, of all scripts", (i: number) => `${["é𝒳", "é\uffee", "éz", "éé"][i % 4]}${i}`],
  ["of few characters and many", (i: number) => "ab".repeat(i % 30) + (i % 3 === 0 ? "" : i)],
])("terms %s are sorted by their bytes, in pieces", (_, termOf) => {
  const terms = [...new Set(Array.from({ length: 50_000 }, (_each, i) => termOf(i)))];
  const { pauses, value: order } = countPauses(sortedTerms(terms));
  expect(pauses).toBeGreaterThan(30);
  const bytes = terms.map((term) => Buffer.from(term)).sort((a, b) => Buffer.compare(a, b));
  expect(Array.from(order, (place) => terms[place])).toEqual(bytes.map(String));
});
