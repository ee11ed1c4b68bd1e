import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { seededRandom } from "../../src/engine/random.js";
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

function push(top: TopK, { score, block, row, tie }: Offer): void {
  top.push(score, block, row, ...tie);
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
  test("keeps what sorting by score and tie key puts first, after every push", () => {
    fc.assert(
      fc.property(offers, fc.nat({ max: 20 }), (candidates, k) => {
        const top = new TopK(k);
        const seen: Offer[] = [];
        for (const candidate of candidates) {
          push(top, candidate);
          seen.push(candidate);
          const expected = nearest(seen, k);
          expect(top.sorted()).toEqual(expected);
          const full = expected.length === k;
          expect(top.threshold).toBe(k === 0 ? -Infinity : full ? expected[k - 1].score : Infinity);
        }
      }),
      { numRuns: 300 },
    );
  });

  test("keeps the same candidates in whatever order they come", () => {
    fc.assert(
      fc.property(
        offers.chain((list) =>
          fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length })),
        ),
        ([candidates, shuffled]) => {
          const [a, b] = [new TopK(7), new TopK(7)];
          candidates.forEach((candidate) => push(a, candidate));
          shuffled.forEach((candidate) => push(b, candidate));
          expect(b.sorted()).toEqual(a.sorted());
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
    const top = new TopK(20_000);
    candidates.forEach((candidate) => push(top, candidate));
    expect(top.sorted()).toEqual(nearest(candidates, 20_000));
  });

  test("keeps nothing when it holds nothing", () => {
    const top = new TopK(0);
    top.push(-Infinity, 1, 2, 0, 0, 0, 0);
    expect(top.sorted()).toEqual([]);
    expect(top.threshold).toBe(-Infinity);
  });
});
