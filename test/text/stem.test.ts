/** `snowball-stems.json`: words and their stems from the Python package snowballstemmer 3.0.1, which Snowball generates from the same sources. */

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { stemmers, stopWords } from "../../src/text/snowball.js";
import { createStemmer } from "../../src/text/stem.js";
import { languages } from "../../src/text/text-options.js";

const reference = JSON.parse(readFileSync(new URL("snowball-stems.json", import.meta.url), "utf8")) as Record<
  (typeof languages)[number],
  string
>;

test.each(languages)("%s: the stems are Snowball's, whatever was stemmed before", (language) => {
  const pairs = reference[language].split(" ").map((pair) => pair.split(":"));
  expect(pairs.length).toBeGreaterThan(220);
  const stemmer = new stemmers[language]();
  for (const [word, stem] of [...pairs, ...pairs.toReversed()]) {
    expect(stemmer.stemWord(word), word).toBe(stem);
  }
});

test("every language with stop words of its own leaves them out, and only those", () => {
  for (const language of languages) {
    const all = createStemmer({ version: 1, language, stemming: true, stopWords: true });
    const none = createStemmer({ version: 1, language, stemming: true, stopWords: false });
    for (const word of stopWords[language]?.split(" ") ?? []) {
      expect(all(word), `${language}: ${word}`).toBe("");
      expect(none(word), `${language}: ${word}`).not.toBe("");
    }
    expect(all("sealdex")).not.toBe("");
  }
});

test("stop words of the caller's own take the place of the language's, in any case and with any accents", () => {
  const stem = createStemmer({ version: 1, language: "french", stemming: true, stopWords: ["Été", "foo"] });
  expect(["été", "ÉTÉ", "ete", "FOO", "le"].map(stem)).toEqual(["", "", "", "", "le"]);
});

test("a stop word with an apostrophe does not exclude the same letters without one", () => {
  const stem = createStemmer({ version: 1, language: "english", stemming: false, stopWords: true });
  expect(["hell", "shell", "id", "well", "he'll"].map(stem)).toEqual(["hell", "shell", "id", "well", ""]);
});
