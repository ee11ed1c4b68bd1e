import fc from "fast-check";
import { expect, test } from "vitest";
import { finish } from "../engine/finish.js";
import { createAnalyzer } from "../../src/text/analyzer.js";
import { highlights } from "../../src/text/highlights.js";
import { parseTextQuery } from "../../src/text/text-query.js";

const analyzer = createAnalyzer({ version: 1, language: "english", stemming: true, stopWords: true });
const parse = (text: string) => parseTextQuery(text, analyzer);
const termsOf = (text: string) => parse(text).terms.map(({ term }) => term.replace(/~$/, ""));

test("words, phrases, required, excluded and prefix terms", () => {
  expect(parse('the quick "brown foxes" +jumping -dogs lazy* quickly')).toEqual({
    terms: [
      { term: "quick~", weight: 2 },
      { term: "brown~", weight: 1 },
      { term: "fox~", weight: 1 },
      { term: "jump~", weight: 1 },
    ],
    prefixes: [{ kind: "prefix", prefix: "lazy" }],
    required: [phraseOf("brown", "foxes"), phraseOf("jumping")],
    excluded: [phraseOf("dogs")],
  });
});

function phraseOf(...words: readonly string[]) {
  return { kind: "phrase", words: words.map((word, offset) => ({ word, offset })) };
}

test("a compound is required as its parts in their order or as itself, a name with signs as itself", () => {
  expect(parse("+getUserById").required).toEqual([
    { ...phraseOf("get", "user", "by", "id"), whole: "getuserbyid" },
  ]);
  expect(parse('+sign-off "the sign-off"').required).toEqual([
    { ...phraseOf("sign", "off"), whole: "signoff" },
    phraseOf("the", "sign", "off"),
  ]);
  expect(parse("+C++ -F#")).toMatchObject({ required: [phraseOf("c++")], excluded: [phraseOf("f#")] });
});

test("stop words are words of phrases, and terms of a phrase or a query that has no others", () => {
  expect(parse('"to be" or not')).toMatchObject({
    required: [phraseOf("to", "be")],
    terms: [
      { term: "to", weight: 1 },
      { term: "be", weight: 1 },
    ],
  });
  expect(termsOf('"logged in" is it')).toEqual(["log"]);
  expect(termsOf("the who")).toEqual(["the", "who"]);
  expect(termsOf("the concert")).toEqual(["concert"]);
  expect(termsOf("it pref*")).toEqual([]);
});

test("a compound with hyphens counts less than its parts", () => {
  expect(parse("sign-off C++").terms).toEqual([
    { term: "signoff~", weight: 0.25 },
    { term: "sign~", weight: 1 },
    { term: "c++", weight: 1 },
    { term: "c~", weight: 1 },
  ]);
});

test("a lone character of a script without spaces stands for the pairs that it begins", () => {
  expect(parse("猫").prefixes).toEqual([{ kind: "prefix", prefix: "猫" }]);
  expect(termsOf("日本語")).toEqual(["日本", "本語"]);
});

test("a prefix is as it is written", () => {
  expect(parse("ERR_* 10.1016/* (getU* Élè*").prefixes.map(({ prefix }) => prefix)).toEqual([
    "err_",
    "10.1016/",
    "getu",
    "ele",
  ]);
});

test.each([
  ['12" pipe and 5" pipe', ["12", "pipe", "5"], 0],
  ['an "open quote', ["open", "quot"], 0],
  ['- + * ** "" \'\' -- ++ +* -""', [], 0],
  ["+the -of", ["the"], 1],
  ["well - known", ["well", "known"], 0],
  ["--flag ++x", ["flag", "x"], 0],
  ["“smart quotes”", ["smart", "quot"], 1],
  ['("in parentheses")', ["parenthes"], 1],
])("%s is a query", (text, terms, required) => {
  expect(termsOf(text)).toEqual(terms);
  expect(parse(text).required.length).toBe(required);
});

const texts = fc.string({
  unit: fc.oneof(
    fc.constantFrom(...'ab Z0_.-/+-*"“”„# 日本ก\u0301'),
    fc.string({ unit: "binary", maxLength: 1 }),
  ),
  maxLength: 60,
});

test("any text is a query whose terms are distinct, and whose highlights in itself are pieces of it in order", () => {
  fc.assert(
    fc.property(texts, (text) => {
      const query = parse(text);
      expect(new Set(query.terms.map(({ term }) => term)).size).toBe(query.terms.length);
      for (const condition of [...query.required, ...query.excluded]) {
        if (condition.kind !== "phrase") continue;
        expect(condition.words.length).toBeGreaterThan(0);
        expect(condition.words[0].offset).toBe(0);
      }
      let end = 0;
      for (const piece of finish(highlights(text, query, analyzer))) {
        expect(piece.start).toBeGreaterThanOrEqual(end);
        expect(piece.end).toBeGreaterThan(piece.start);
        end = piece.end;
      }
      expect(end).toBeLessThanOrEqual(text.length);
    }),
  );
});

test.each([
  ["words", (i: number) => `w${i} `],
  ["required words", (i: number) => `+w${i} `],
  ["excluded words", (i: number) => `-w${i} `],
  ["prefixes", (i: number) => `w${i}* `],
  ["phrases", (i: number) => `"a${i} b" `],
  ["quotes", () => '"'],
  ["opening quotes", () => "“ "],
  ["signs", () => "+-"],
])("a query of 1 MiB of %s is cut to the limits", (_, unit) => {
  const text = Array.from({ length: 2 ** 17 }, (_each, i) => unit(i))
    .join("")
    .slice(0, 2 ** 20);
  const { terms, prefixes, required, excluded } = parse(text);
  expect(terms.length).toBeLessThanOrEqual(128);
  expect(prefixes.length).toBeLessThanOrEqual(16);
  expect(required.length).toBeLessThanOrEqual(32);
  expect(excluded.length).toBeLessThanOrEqual(32);
});

test("highlights are the words that match, by stem, part, prefix and pair, in UTF-16 code units", () => {
  const pieces = (text: string, query: string) =>
    finish(highlights(text, parse(query), analyzer)).map(({ start, end }) => text.slice(start, end));
  expect(pieces("😀 Running runs, and a runner", "run")).toEqual(["Running", "runs"]);
  expect(pieces("call getUserById(user)", "user")).toEqual(["User", "user"]);
  expect(pieces("call getUserById(user)", "getuserbyid")).toEqual(["getUserById"]);
  expect(pieces("prefixes and prefer", "pref*")).toEqual(["prefixes", "prefer"]);
  expect(pieces("日本語の本", "日本語")).toEqual(["日本語"]);
});

test("highlights of a text of 1 MiB pause after each piece, and end once there are 1,000", () => {
  const pausesOf = (text: string) => {
    const work = highlights(text, parse("word"), analyzer);
    for (let pauses = 0; ; pauses++) {
      const step = work.next();
      if (step.done === true) return { pauses, found: step.value.length };
    }
  };
  expect(pausesOf("other ".repeat(2 ** 20 / 6))).toEqual({ pauses: 63, found: 0 });
  expect(pausesOf("word ".repeat(2 ** 20 / 5))).toEqual({ pauses: 0, found: 1000 });
});
