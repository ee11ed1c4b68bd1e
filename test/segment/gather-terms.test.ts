import { expect, test } from "vitest";
import { gatherTerms } from "../../src/segment/gather-terms.js";
import { encodeRecord } from "../../src/segment/row.js";
import type { DocumentTerms } from "../../src/text/document-terms.js";

/** Of a text that has none. */
function* noTerms(): Generator<void, undefined, void> {
  yield* [];
  return undefined;
}

function pausesWith(contentsBytes: number): number {
  const rows = Array.from({ length: 50 }, (_, i) => ({
    fingerprint: new Uint8Array(16).fill(i),
    record: encodeRecord({ id: `item ${i}`, metadataJson: "{}" }),
    contents: new Uint8Array(contentsBytes),
  }));
  const work = gatherTerms(rows, noTerms);
  let count = 0;
  while (work.next().done !== true) count++;
  return count;
}

test("texts of rows are analyzed with a pause after each large one", () => {
  expect(pausesWith(1024 * 1024) - pausesWith(100)).toBe(49);
});

test("terms, and their positions, are gathered in pieces, and sorted by their bytes", () => {
  const terms = Array.from({ length: 50_000 }, (_, i) => `${["𝒳", "\uffee", "z", "é"][i % 4]}${i}`);
  function* termsOf(): Generator<void, DocumentTerms, void> {
    yield;
    const counts = terms.map((_, i) => i + 1);
    return {
      terms,
      frequencies: counts,
      positions: counts,
      positionEnds: counts,
      length: terms.length,
    };
  }
  const row = {
    fingerprint: new Uint8Array(16),
    record: encodeRecord({ id: "a", metadataJson: "{}" }),
    contents: null,
  };
  const work = gatherTerms([row], termsOf);
  let pauses = 0;
  let step = work.next();
  for (; step.done !== true; step = work.next()) pauses++;
  // Terms numbered, positions added, sorted, ranked, counted, summed, ordered: 3 pauses each, and those of sorting.
  expect(pauses).toBeGreaterThan(6 * 3);
  const sorted = terms.map((term) => Buffer.from(term)).sort((a, b) => Buffer.compare(a, b));
  expect(step.value.terms).toEqual(sorted.map((term) => term.toString()));
  // The position of each term says which one it is.
  expect(
    step.value.terms.map((_, i) => terms[step.value.positions[step.value.positionStarts[i]] - 1]),
  ).toEqual(step.value.terms);
});
