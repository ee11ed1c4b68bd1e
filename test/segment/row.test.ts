/** Ids as records hold them. */

import fc from "fast-check";
import { expect, test } from "vitest";
import { encodeRecord, recordId, recordIdAt } from "../../src/state/segment/row.js";

const anyId = fc.oneof(
  fc.string({ minLength: 1, maxLength: 40 }),
  fc.string({ unit: "grapheme", minLength: 1, maxLength: 20 }),
  fc.constantFrom(
    "é",
    "a".repeat(16),
    "a".repeat(17),
    `${"a".repeat(15)}é`,
    "\0",
    "\u007F",
    "\u0080",
    "\uFEFFa",
  ),
);

test("an id is the same wherever its record lies in a page", () => {
  fc.assert(
    fc.property(anyId, fc.nat(50), fc.option(fc.nat()), (id, start, time) => {
      const record = encodeRecord({ id, metadataJson: '{"é":1}', expiresAt: time ?? undefined });
      const page = new Uint8Array(start + record.length + 3).fill(0xff);
      page.set(record, start);
      expect(recordIdAt(page, start)).toBe(id);
      expect(recordId(record)).toBe(id);
    }),
  );
});
