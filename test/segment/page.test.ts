/** Pages: entries side by side, with lengths of as few bytes as they need. */

import { expect, test } from "vitest";
import { encodedPageBytes, encodePage, Page } from "../../src/state/segment/page.js";
import { contentEntries } from "../../src/state/segment/row.js";

const ofLength = (length: number) => new Uint8Array(length).fill(length);

test.each([
  ["none", [], 1],
  ["empty ones and absent ones", [0, null, 0, null], 1],
  ["the longest of one byte", [3, 254, null, 0], 1],
  ["the shortest of two", [3, 255, null, 0], 2],
  ["the longest of two", [0, 65_534, null], 2],
  ["the shortest of four", [65_535, null, 7], 4],
])("entries come back: %s", (_, lengths: readonly (number | null)[], width) => {
  const entries = lengths.map((length) => (length === null ? null : ofLength(length)));
  const page = encodePage(entries);
  const present = lengths.map((length) => length ?? 0);
  const bytes = present.reduce((sum, length) => sum + length, 0);
  expect(page.length).toBe(1 + width * lengths.length + bytes);
  expect(encodedPageBytes(lengths.length, Math.max(0, ...present), bytes)).toBe(page.length);
  const opened = new Page(page, lengths.length, contentEntries);
  entries.forEach((entry, i) => {
    expect(opened.entry(i)).toEqual(entry);
    if (entry !== null && entry.length > 0) expect(opened.plaintext[opened.startOf(i)]).toBe(entry[0]);
  });
});

test("a page whose lengths do not fit it is refused", () => {
  const page = encodePage([ofLength(3), ofLength(300), null]);
  const hostile: [Uint8Array, number][] = [
    [new Uint8Array(0), 0],
    [page.subarray(0, 4), 3],
    [page.subarray(0, -1), 3],
    [Buffer.concat([page, ofLength(1)]), 3],
    [page, 2],
    [page, 4],
    [Uint8Array.from(page).fill(3, 0, 1), 3],
    [Uint8Array.from(page).fill(0, 0, 1), 3],
  ];
  for (const [bytes, n] of hostile) {
    expect(() => new Page(bytes, n, contentEntries)).toThrow(expect.objectContaining({ code: "corrupt" }));
  }
});
