import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { seededRandom } from "../../src/engine/random.js";
import { allocate, free, wordsAt } from "../../src/engine/kernels/memory.js";
import { TopK } from "../../src/engine/top-k.js";

interface Offer {
  readonly score: number;
  readonly block: number;
  readonly row: number;
  readonly tie: readonly [number, number, number, number];
}

function compare(a: Offer, b: Offer): number {
  if (a.score !== b.score) return a.score < b.score ? -1 : 1;
  const word = a.tie.findIndex((value, i) => value !== b.tie[i]);
  return word < 0 ? 0 : a.tie[word] - b.tie[word];
}

function nearest(offers: readonly Offer[], k: number) {
  const sorted = offers.filter(({ score }) => !Number.isNaN(score)).toSorted(compare);
  return sorted.slice(0, k).map(({ score, block, row }) => ({ score, block, row }));
}

/** What is kept of the offers, and the threshold after the last. */
function keep(offers: readonly Offer[], k: number) {
  const top = new TopK(k);
  const at = allocate(16);
  for (const { score, block, row, tie } of offers) {
    wordsAt(at, 4).set(tie);
    top.offer(score, block, row, at);
  }
  free(at);
  const { threshold } = top;
  const kept = top.finish();
  top.free();
  return { kept, threshold };
}

const word = fc.oneof(fc.constantFrom(0, 1, 2 ** 31, 2 ** 32 - 1), fc.nat({ max: 2 }));
const offer = fc.record({
  score: fc.oneof(
    fc.integer({ min: -2, max: 2 }),
    fc.double({ noNaN: true }),
    fc.constantFrom(Infinity, -Infinity, NaN),
  ),
  block: fc.nat({ max: 2 ** 32 - 1 }),
  row: fc.nat({ max: 2 ** 32 - 1 }),
  tie: fc.tuple(word, word, word, word),
});
const offers = fc.uniqueArray(offer, { maxLength: 80, selector: ({ tie }) => tie.join() });

describe("TopK", () => {
  test("keeps what sorting by score and tie key puts first, after every offer", () => {
    fc.assert(
      fc.property(offers, fc.nat({ max: 20 }), (candidates, k) => {
        for (let count = 0; count <= candidates.length; count++) {
          const seen = candidates.slice(0, count);
          const expected = nearest(seen, k);
          const { kept, threshold } = keep(seen, k);
          expect(kept).toEqual(expected);
          expect(threshold).toBe(
            k === 0 ? -Infinity : expected.length === k ? expected[k - 1].score : Infinity,
          );
        }
      }),
      { numRuns: 100 },
    );
  });

  test("keeps the same candidates in whatever order they come", () => {
    fc.assert(
      fc.property(
        offers.chain((list) =>
          fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length })),
        ),
        ([candidates, shuffled]) => {
          expect(keep(shuffled, 7)).toEqual(keep(candidates, 7));
        },
      ),
    );
  });

  test("holds 20,000 of 100,000", () => {
    const random = seededRandom(3);
    const candidates = Array.from({ length: 100_000 }, (_, row): Offer => {
      const score = Math.floor(random() * 5_000);
      return { score, block: row >>> 10, row, tie: [Math.floor(random() * 2 ** 32), row, 0, 0] };
    });
    expect(keep(candidates, 20_000).kept).toEqual(nearest(candidates, 20_000));
  });

  test("keeps nothing when it holds nothing", () => {
    const nothing = { score: -Infinity, block: 1, row: 2, tie: [0, 0, 0, 0] } as const;
    expect(keep([nothing], 0)).toEqual({ kept: [], threshold: -Infinity });
  });
});
