import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { finish } from "../engine/finish.js";
import { buildEntries, findEntry, fingerprintWords, tombstone } from "../../src/state/segment/id-table.js";

function find(entries: Uint32Array, fingerprint: Uint8Array): number {
  const [w0, w1, w2, w3] = fingerprintWords([fingerprint]);
  return findEntry(entries, w0, w1, w2, w3);
}

// Few values for each byte, so that beginnings coincide.
const fingerprints = fc.uniqueArray(
  fc
    .array(fc.constantFrom(0, 1, 255), { minLength: 16, maxLength: 16 })
    .map((bytes) => Uint8Array.from(bytes)),
  { selector: (bytes) => bytes.join(), maxLength: 40 },
);

test("a table gives every row and tombstone that was put in, and nothing else", () => {
  fc.assert(
    fc.property(fingerprints, fc.nat(40), fc.nat(40), (all, rows, deleted) => {
      const entries = finish(
        buildEntries(fingerprintWords(all.slice(0, rows)), all.slice(rows, rows + deleted)),
      );
      all.forEach((fingerprint, i) => {
        const inTable = i < rows + deleted;
        expect(find(entries, fingerprint)).toBe(inTable ? (i < rows ? i : tombstone) : -1);
      });
    }),
  );
});

test("a table of more than two million rows finds each of them", () => {
  const n = 2 ** 21 + 1000;
  const bytes = Uint8Array.from(randomBytes(16 * n));
  const rows = Array.from({ length: n }, (_, i) => bytes.subarray(16 * i, 16 * i + 16));
  const entries = finish(buildEntries(new Uint32Array(bytes.buffer), []));
  let wrong = 0;
  for (let row = 0; row < n; row += 7) if (find(entries, rows[row]) !== row) wrong++;
  expect(wrong).toBe(0);
  expect(find(entries, Uint8Array.from(randomBytes(16)))).toBe(-1);
});

test("a block of a table finds its entries, and only those", () => {
  const bytes = Uint8Array.from(randomBytes(16 * 5000));
  const rows = Array.from({ length: 5000 }, (_, i) => bytes.subarray(16 * i, 16 * i + 16));
  const entries = finish(buildEntries(new Uint32Array(bytes.buffer), []));
  const block = entries.subarray(5 * 2000, 5 * 3000);
  const inBlock = new Set(Array.from({ length: 1000 }, (_, i) => block[5 * i + 4]));
  rows.forEach((fingerprint, row) => expect(find(block, fingerprint)).toBe(inBlock.has(row) ? row : -1));
});
