/**
 * `snowball-stems.json`: words and their stems from the Python package snowballstemmer 3.0.1, which Snowball generates from the same
 * sources. The stemmers here take words without accents.
 */

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { stemmers, stopWords } from "../../src/text/snowball.js";
import { createStemmer } from "../../src/text/stem.js";
import { languages } from "../../src/text/text-options.js";

const reference = JSON.parse(readFileSync(new URL("snowball-stems.json", import.meta.url), "utf8")) as Record<
  (typeof languages)[number],
  string
>;

/** Of these no ending has an accent. */
const unaccented: readonly string[] = ["danish", "english", "german", "norwegian", "russian"];

test.each(languages)("%s: the stems are Snowball's, whatever was stemmed before", (language) => {
  const pairs = reference[language]
    .split(" ")
    .map((pair) => pair.split(":"))
    .filter(([word]) => !/[^а-яa-z']/.test(word));
  expect(pairs.length).toBeGreaterThan(100);
  const stemmer = new stemmers[language]();
  let others = 0;
  for (const [word, stem] of [...pairs, ...pairs.toReversed()]) {
    if (stemmer.stemWord(word) !== stem) others++;
  }
  // The others end as words with accents do: Spanish `belencia` may be `belencía`.
  expect(others / (2 * pairs.length)).toBeLessThanOrEqual(unaccented.includes(language) ? 0 : 0.06);
});

test.each(languages)("%s: words of one stem in Snowball have one, with accents and without", (language) => {
  const stem = createStemmer({ version: 1, language, stemming: true, stopWords: false });
  const groups = new Map<string, string[]>();
  for (const pair of reference[language].split(" ")) {
    const [word, stemmed] = pair.split(":");
    if (!word.includes("~")) groups.set(stemmed, [...(groups.get(stemmed) ?? []), word]);
  }
  let pairs = 0;
  let together = 0;
  for (const words of groups.values()) {
    for (const [i, first] of words.entries()) {
      for (const second of words.slice(i + 1)) {
        pairs++;
        if (stem(first).term === stem(second).term) together++;
      }
    }
  }
  expect(together / pairs).toBeGreaterThan(0.85);
});

test("every language with stop words of its own leaves them out, and only those", () => {
  for (const language of languages) {
    const all = createStemmer({ version: 1, language, stemming: true, stopWords: true });
    const none = createStemmer({ version: 1, language, stemming: true, stopWords: false });
    for (const word of stopWords[language]?.split(" ") ?? []) {
      expect(all(word).term, `${language}: ${word}`).toBe("");
      expect(none(word).term, `${language}: ${word}`).not.toBe("");
    }
    expect(all("sealdex").term).not.toBe("");
  }
});

test("stop words of the caller's own take the place of the language's, in any case and with any accents", () => {
  const stem = createStemmer({ version: 1, language: "french", stemming: true, stopWords: ["Été", "foo"] });
  expect(["été", "ÉTÉ", "ete", "FOO", "le"].map((word) => stem(word).term)).toEqual(["", "", "", "", "le~"]);
});

test("a stop word with an apostrophe does not exclude the same letters without one", () => {
  const stem = createStemmer({ version: 1, language: "english", stemming: false, stopWords: true });
  expect(["hell", "shell", "id", "well", "he'll"].map((word) => stem(word).term)).toEqual([
    "hell",
    "shell",
    "id",
    "well",
    "",
  ]);
});
