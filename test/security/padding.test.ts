import fc from "fast-check";
import { expect, test } from "vitest";
import { paddedLength, paddingFor, withoutPadding } from "../../src/crypto/sealed-object.js";

test("lengths are those of the paper's definition", () => {
  // From the reference implementation in Python that the paper gives.
  const padme = (length: number) => {
    const exponent = Math.floor(Math.log2(length));
    const lastBits = exponent - Math.floor(Math.log2(exponent)) - 1;
    const mask = 2n ** BigInt(Math.max(lastBits, 0)) - 1n;
    return Number((BigInt(length) + mask) & ~mask);
  };
  const lengths = Array.from({ length: 70_000 }, (_, i) => 4 + i);
  expect(lengths.filter((length) => paddedLength(length) !== padme(length))).toEqual([]);
  fc.assert(fc.property(fc.integer({ min: 4, max: 2 ** 40 }), (n) => paddedLength(n) === padme(n)));
});

test("padding is at most 12 % and the least that its length allows", () => {
  fc.assert(
    fc.property(fc.integer({ min: 4, max: 2 ** 40 }), (length) => {
      const padded = paddedLength(length);
      expect(padded).toBeGreaterThanOrEqual(length);
      expect(padded).toBeLessThanOrEqual(Math.ceil(length * 1.12));
      expect(paddedLength(padded)).toBe(padded);
    }),
  );
});

test("a length tells one of few: of 16 in a doubling up to 64 KiB, of 32 beyond", () => {
  for (const [exponent, lengths] of [
    [12, 16],
    [15, 16],
    [16, 32],
    [20, 32],
  ]) {
    const within = Array.from({ length: 2 ** exponent }, (_, i) => paddedLength(2 ** exponent + i));
    expect(new Set(within).size).toBeLessThanOrEqual(lengths + 1);
  }
});

test("padded bytes come back, whatever their end", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 5000 }), fc.nat(40), (bytes, zeros) => {
      const plaintext = Buffer.concat([bytes, new Uint8Array(zeros)]);
      const padded = Buffer.concat([plaintext, paddingFor(plaintext.length)]);
      expect(padded.length).toBe(paddedLength(plaintext.length + 4));
      expect(withoutPadding(padded)?.equals(plaintext)).toBe(true);
    }),
  );
});

test("bytes that no padding ends are refused", () => {
  expect(withoutPadding(Buffer.alloc(0))).toBeUndefined();
  expect(withoutPadding(Buffer.alloc(3))).toBeUndefined();
  expect(withoutPadding(Buffer.alloc(4))).toHaveLength(0);
  expect(withoutPadding(Buffer.of(0, 2, 0, 0, 0))).toBeUndefined();
  expect(withoutPadding(Buffer.of(0, 1, 0, 0, 0))).toHaveLength(0);
});
