import { expect, test } from "vitest";
import { gatherTerms } from "../../src/segment/gather-terms.js";
import { encodeRecord } from "../../src/segment/row.js";

function pauses(contentsBytes: number): number {
  const rows = Array.from({ length: 50 }, (_, i) => ({
    fingerprint: new Uint8Array(16).fill(i),
    record: encodeRecord(`item ${i}`, "{}"),
    contents: new Uint8Array(contentsBytes),
  }));
  const work = gatherTerms(rows, () => undefined);
  let count = 0;
  while (work.next().done !== true) count++;
  return count;
}

test("texts of rows are analyzed with a pause after each large one", () => {
  expect(pauses(1024 * 1024) - pauses(100)).toBe(49);
});
