import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { rabitqLayout } from "../../src/engine/codes/rabitq-quantizer.js";
import {
  blockBytes,
  codewordAt,
  packBlock,
  productLayout,
  putCodeword,
  rowCodeBytes,
  unpackBlock,
} from "../../src/engine/codes/code-layout.js";
import { cases } from "../tier.js";

const widths = cases({ fast: [1, 4, 7, 8, 16], all: Array.from({ length: 16 }, (_, i) => i + 1) });

function layoutOf(pqDim: number, pqBits: number) {
  return productLayout({ type: "ivfpq", metric: "euclidean", nLists: 1, pqDim, pqBits });
}

describe.each(widths)("words of %i bits", (bits) => {
  test("come back as they were put, side by side", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 2 ** bits - 1 }), { minLength: 1, maxLength: 50 }),
        (given) => {
          const bytes = new Uint8Array(Math.ceil((given.length * bits) / 8));
          given.forEach((word, i) => putCodeword(bytes, i * bits, word));
          expect(given.map((_, i) => codewordAt(bytes, i * bits, bits))).toEqual(given);
        },
      ),
    );
  });

  test("make blocks that unpack to the rows they were packed from", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 100 }),
        fc.integer({ min: 1, max: 19 }),
        fc.infiniteStream(fc.integer({ min: 0, max: 255 })),
        (n, parts, stream) => {
          const layout = layoutOf(parts, bits);
          const rowBytes = rowCodeBytes(layout);
          const rows = Uint8Array.from({ length: n * rowBytes }, () => stream.next().value);
          // A half byte beyond an odd number of nibbles holds nothing.
          if (layout.nibbles % 2 === 1) for (let i = 1; i <= n; i++) rows[i * rowBytes - 1] &= 15;
          const block = packBlock(layout, rows);
          expect(block.length).toBe(blockBytes(layout, n));
          expect(unpackBlock(layout, block, n)).toEqual(rows);
        },
      ),
    );
  });

  test("take no more room than they need, short ones several to a nibble", () => {
    const { bitBytes } = layoutOf(12, bits);
    const perNibble = Math.floor(4 / bits);
    expect(bitBytes).toBe(Math.ceil(perNibble > 0 ? 6 / perNibble : (12 * bits) / 8));
  });
});

test.each([1, 2, 64, 100, 256, 384, 784, 1536, 8192])(
  "a block of ivf takes at most d / 8 + 40 bytes a row, d = %i",
  (d) => {
    const layout = rabitqLayout(d);
    expect(layout.nibbles * 4).toBeGreaterThanOrEqual(d);
    for (const n of [39, 40, 63, 64, 65, 1000]) {
      expect(blockBytes(layout, n)).toBeLessThanOrEqual(n * (d / 8 + 37) + layout.nibbles);
      // Sealing, the footer's entry, and what reading needs beyond the end.
      expect(blockBytes(layout, n) + 16 + 20 + 16).toBeLessThanOrEqual(n * (d / 8 + 40) + layout.nibbles);
    }
  },
);
