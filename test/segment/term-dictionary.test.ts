import fc from "fast-check";
import { expect, test } from "vitest";
import type { PostingList } from "../../src/text/postings.js";
import { encodeTerms } from "../../src/state/segment/words/term-dictionary.js";
import { TermPage } from "../../src/state/segment/words/term-page.js";
import { finish } from "../engine/finish.js";

const utf8 = (text: string) => Buffer.from(text, "utf8");

/** Lists one after the other, of all kinds. */
function listsOf(count: number): PostingList[] {
  let start = 0;
  return Array.from({ length: count }, (_, i) => {
    const from = start;
    start += 1 + ((i * 7919) % 300);
    const frequencyMax = i % 3 === 0 ? 1 + (i % 1000) : 1;
    return {
      rows: 1 + (i % (i % 5 === 0 ? 500 : 128)),
      start: from,
      end: start,
      hasHeads: i % 5 === 0,
      frequencyMax,
      lengthMin: i % 400,
    };
  });
}

function pagesOf(terms: readonly string[], lists: readonly PostingList[]) {
  return finish(encodeTerms(terms, lists)).map(({ plaintext, firstTerm }) => ({
    plaintext,
    firstTerm,
    page: new TermPage(plaintext, { firstTerm, rows: 500, streamBytes: 2 ** 31 }),
  }));
}

const sorted = (terms: Iterable<string>) =>
  [...new Set(terms)].sort((a, b) => Buffer.compare(utf8(a), utf8(b)));

test("any terms are found with their lists, others are not, and the terms from one on are in order", () => {
  const term = fc.string({ unit: fc.constantFrom("a", "b", "é", "日", "𝒳"), minLength: 1, maxLength: 32 });
  fc.assert(
    fc.property(fc.array(term, { minLength: 1, maxLength: 100 }), term, (some, other) => {
      const terms = sorted(some);
      const lists = listsOf(terms.length);
      const [{ page, firstTerm }] = pagesOf(terms, lists);
      expect(firstTerm).toBe(terms[0]);
      for (const [i, each] of terms.entries()) expect(page.find(utf8(each))).toEqual(lists[i]);
      if (!terms.includes(other)) expect(page.find(utf8(other))).toBeUndefined();
      const from = [...page.termsFrom(utf8(other))].map((bytes) => Buffer.from(bytes).toString());
      expect(from).toEqual(terms.filter((each) => Buffer.compare(utf8(each), utf8(other)) >= 0));
    }),
  );
});

test("many terms take several pages, none longer than 32 KiB and its head", () => {
  const terms = sorted(Array.from({ length: 30_000 }, (_, i) => `${"日".repeat(i % 64)}${i}`.slice(0, 64)));
  const lists = listsOf(terms.length);
  const pages = pagesOf(terms, lists);
  expect(pages.length).toBeGreaterThan(5);
  let next = 0;
  for (const { plaintext, page, firstTerm } of pages) {
    expect(plaintext.length).toBeLessThanOrEqual(32 * 1024 + 15);
    expect(firstTerm).toBe(terms[next]);
    const own = [...page.termsFrom(new Uint8Array())].map((bytes) => Buffer.from(bytes).toString());
    expect(own).toEqual(terms.slice(next, next + own.length));
    for (const [i, each] of own.entries()) expect(page.find(utf8(each))).toEqual(lists[next + i]);
    next += own.length;
  }
  expect(next).toBe(terms.length);
});
