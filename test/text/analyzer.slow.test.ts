import fc from "fast-check";
import { expect, test } from "vitest";
import { finish } from "../engine/finish.js";
import { createAnalyzer } from "../../src/text/analyzer.js";
import { documentTerms, type FieldText, noPosition, type TermSink } from "../../src/text/document-terms.js";
import { type AnalyzerDefinition, languages } from "../../src/text/text-options.js";

const plain: AnalyzerDefinition = { version: 1, language: "none", stemming: true, stopWords: true };
const english: AnalyzerDefinition = { ...plain, language: "english" };

function wordsOf(text: string, definition: AnalyzerDefinition = english): readonly string[] {
  return createAnalyzer(definition).analyze(text).words;
}

/** What the ranking compares, without the mark of stems. */
function termsOf(text: string, definition: AnalyzerDefinition = english): readonly string[] {
  const { terms } = createAnalyzer(definition).analyze(text);
  return terms.filter((term) => term !== "").map((term) => term.replace(/~$/, ""));
}

test.each([
  ["getUserById(x)", ["getuserbyid", "get", "user", "id", "x"]],
  ["ERR_ASSERTION", ["err_assertion", "err", "assert"]],
  ["10.1016/j.cell", ["10.1016/j.cell", "10", "1016", "j", "cell"]],
  ["std::vector", ["std::vector", "std", "vector"]],
  ["C++ and F#, not C", ["c++", "c", "f#", "f", "c"]],
  ["HTTPServer URLs iPhone", ["httpserver", "http", "server", "url", "iphon", "phone"]],
  ["sha256 1990s B12", ["sha256", "sha", "256", "1990s", "b12", "b", "12"]],
  ["jane.doe@example.com", ["jane.doe@example.com", "jane", "doe", "exampl", "com"]],
  ["__init__ _id ____", ["init", "id"]],
  ["U.S.A. and e.g. this", ["usa", "u", "s", "eg", "e", "g"]],
  ["1,000,000 and 1,2 and 1,000.5", ["1000000", "1", "2", "1000.5", "1000", "5"]],
  ["well-known client/server", ["wellknown", "well", "known", "client", "server"]],
  ["covid-19 2020-01-02", ["covid19", "covid", "19", "2020-01-02", "2020", "01", "02"]],
  ["sign-offs signoffs", ["signoff", "sign", "off", "signoff"]],
  ["RULE-A002 RULEA002", ["rulea002", "rule", "a002", "002", "rulea002", "rulea", "002"]],
  ["v1.2.3 H264", ["v1.2.3", "v1", "v", "1", "2", "3", "h264", "h", "264"]],
  ["O'Neill’s don't", ["oneil"]],
])("%s is found by its parts and whole", (text, terms) => {
  expect(termsOf(text)).toEqual(terms);
});

test.each([
  ["Élève naïve STRASSE Straße Ærø ﬁnal ａｂｃ", "eleve naive strasse strasse aero final abc"],
  ["İstanbul ΣΊΣΥΦΟΣ Ёлка", "istanbul σισυφοσ елка"],
  ["مُحَمَّد الســلام שָׁלוֹם", "محمد السلام שלום"],
])("case, accents and compatibility forms of %s do not count", (text, terms) => {
  expect(termsOf(text, plain).join(" ")).toBe(terms);
});

const pairs = [
  "resume résumé",
  "Schrodinger Schrödinger",
  "elite élite",
  "Strasse Straße",
  "Angstrom Ångström",
  "creme brulee crème brûlée",
  "facade façade",
  "naive naïve",
  "nacion nación",
  "informacion información",
  "hablo habló",
  "mangee mangée",
  "kitabin kitabın",
  "soguk soğuk",
  "Lodz Łódź",
  "smorrebrod smørrebrød",
  "coeur cœur",
  "acoes ações",
  "noeud nœud",
  "hazaiert házaiért",
  "ёлками елками",
].map((pair) => {
  const words = pair.split(" ");
  return [words.slice(0, words.length / 2).join(" "), words.slice(words.length / 2).join(" ")];
});

test.each(pairs)("%s and %s are the same in every analyzer", (plainText, text) => {
  for (const language of ["none" as const, ...languages]) {
    for (const stemming of [true, false]) {
      const analyzer = createAnalyzer({ version: 1, language, stemming, stopWords: true });
      const { words, terms } = analyzer.analyze(text);
      expect(analyzer.analyze(plainText), language).toMatchObject({ words, terms });
    }
  }
});

test("words stay as they are written, but for case and accents", () => {
  expect(wordsOf("The Elephants' café logged IN: don't")).toEqual([
    "the",
    "elephants",
    "cafe",
    "logged",
    "in",
    "don't",
  ]);
});

test("Turkish has an i without a dot", () => {
  const definition: AnalyzerDefinition = { ...plain, language: "turkish" };
  expect(termsOf("İSTANBUL", definition)).toEqual(termsOf("istanbul", definition));
});

test("elided articles are words of their own", () => {
  expect(termsOf("l'école d’histoire", { ...plain, language: "french" })).toEqual(["ecol", "histoir"]);
});

test("of scripts without spaces, each two neighbors and the last character are terms", () => {
  expect(termsOf("日本語、猫 한국어")).toEqual(["日本", "本語", "語", "猫", "한국", "국어", "어"]);
  expect(termsOf("ﾃｷｽﾄ ｶﾞｲﾄﾞ")).toEqual(termsOf("テキスト ガイド"));
});

test("stop words have positions, and do not count in lengths", () => {
  const { words, positions, length } = createAnalyzer(english).analyze("the state of getUserById now");
  expect(words.map((word, i) => `${word}@${positions[i]}`)).toEqual([
    "the@0",
    "state@1",
    "of@2",
    "getuserbyid@3",
    "get@3",
    "user@4",
    "by@5",
    "id@6",
    "now@7",
  ]);
  expect(length).toBe(5);
});

/** Texts with what matters to boundaries in them. */
const texts = fc.string({
  unit: fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(..."abzAZ019 _'’,-./:@#&+\\~\u0301\u200d日ぁ한ก𝒳é") },
    { weight: 1, arbitrary: fc.string({ unit: "binary", minLength: 1, maxLength: 1 }) },
    { weight: 1, arbitrary: fc.constantFrom("\ud800", "\udc00", "İ", "ß", "ﷺ", "\u0000", "word", "1,000") },
  ),
  maxLength: 80,
});
const definitions = fc.record({
  version: fc.constant(1 as const),
  language: fc.constantFrom("none" as const, ...languages),
  stemming: fc.boolean(),
  stopWords: fc.boolean(),
});

test("any text gives terms of 1 to 64 code units at ascending positions and places within the text", () => {
  fc.assert(
    fc.property(texts, definitions, (text, definition) => {
      const found = createAnalyzer(definition).locate(text);
      const { words, terms, positions, starts, ends, length } = found;
      expect(length).toBeLessThanOrEqual(terms.length);
      words.forEach((word, i) => {
        expect(word.length).toBeGreaterThan(0);
        expect(word.endsWith("~")).toBe(false);
        for (const each of [word, terms[i]]) {
          expect(each.length).toBeLessThanOrEqual(64);
          expect(isWellFormed(each)).toBe(true);
        }
        expect(starts[i]).toBeGreaterThanOrEqual(0);
        expect(starts[i]).toBeLessThan(ends[i]);
        expect(ends[i]).toBeLessThanOrEqual(text.length);
        if (i > 0) expect(positions[i]).toBeGreaterThanOrEqual(positions[i - 1]);
      });
    }),
  );
});

/** Whether it has no half of a surrogate pair: two of these would be the same term once they are stored. */
function isWellFormed(term: string): boolean {
  return Buffer.from(term).toString() === term;
}

test.each([
  ["𝑨𒾐 𝑨𝒃𝒄 𝒃1 1𝒃 𝐇𝐓𝐓𝐏𝐒𝐞𝐫𝐯𝐞𝐫", "a𒾐 abc b1 b 1 1b httpserver http server"],
  ["a\ud800b \udc00", "a b"],
])("characters of two code units, as in %s, are whole, and count as one", (text, terms) => {
  expect(termsOf(text, plain).join(" ")).toBe(terms);
});

const accented = fc.string({
  unit: fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(..."aéÉxÑñÅZ09 _'-./,") },
    { weight: 1, arbitrary: fc.constantFrom(..."ệǅΰЙ각ガ가") },
  ),
  maxLength: 20,
});

test("accents count the same whether they are code points of their own or not", () => {
  fc.assert(
    fc.property(accented, definitions, (text, definition) => {
      expect(termsOf(text.normalize("NFD"), definition)).toEqual(termsOf(text.normalize("NFC"), definition));
    }),
    { numRuns: 1000 },
  );
});

test("an analyzer that has seen other texts gives the same terms as a new one", () => {
  const used = createAnalyzer(english);
  fc.assert(
    fc.property(texts, (text) => {
      const { words, terms, positions } = createAnalyzer(english).analyze(text);
      expect(used.analyze(text)).toMatchObject({ words, terms, positions });
      expect(used.locate(text)).toMatchObject({ words, terms, positions });
    }),
  );
});

test("a text that is scanned in pieces, of any length, gives the same terms at the same places", () => {
  fc.assert(
    fc.property(texts, definitions, fc.integer({ min: 1, max: 80 }), (text, definition, units) => {
      const analyzer = createAnalyzer(definition);
      const whole = analyzer.locate(text);
      const scan = analyzer.begin(text, true);
      while (!scan.advance(units));
      for (const field of ["words", "terms", "positions", "starts", "ends", "length"] as const) {
        expect(scan[field]).toEqual(whole[field]);
      }
    }),
  );
});

test.each(["a.", "ab-", "語", "x1/", "aB.c++ ", "a://b::", "語a."])(
  "pieces cut 1,000 times %j wherever they end",
  (unit) => {
    const analyzer = createAnalyzer(english);
    const text = unit.repeat(1000);
    const whole = analyzer.locate(text);
    for (const units of [1, 7, 63, 64, 65, 1000]) {
      const scan = analyzer.begin(text, true);
      let pieces = 0;
      while (!scan.advance(units)) pieces++;
      for (const field of ["words", "terms", "positions", "starts", "ends", "length"] as const) {
        expect(scan[field]).toEqual(whole[field]);
      }
      // No compound and no row is longer than a piece by more than what a term can be.
      expect(pieces).toBeGreaterThanOrEqual(Math.floor(text.length / (units + 70)) - 1);
    }
  },
);

test("words between spaces are analyzed each by itself", () => {
  fc.assert(
    fc.property(fc.array(texts, { maxLength: 5 }), (parts) => {
      expect(termsOf(parts.join(" \n "))).toEqual(parts.flatMap((part) => termsOf(part)));
    }),
  );
});

/** 1 MiB each, of what makes naive tokenizers quadratic. */
test.each([
  ["one word", "a"],
  ["one compound", "a."],
  ["joiners", "."],
  ["capitals", "aB"],
  ["underscores", "a_"],
  ["digits in groups", "1,000,"],
  ["combining marks", "\u0301"],
  ["marks after a letter of an unspaced script", "ก\u0e31\u0e31\u0e31"],
  ["ideographs", "語"],
  ["pairs", "𝒳"],
  ["halves of pairs", "\ud800"],
  ["apostrophes", "a'"],
  ["pluses", "c++"],
])("a text of 1 MiB of %s gives no more terms than it has characters", (_, unit) => {
  const text = unit.repeat(Math.ceil(2 ** 20 / unit.length));
  const { terms } = createAnalyzer(english).locate(text);
  expect(terms.length).toBeLessThanOrEqual(text.length);
  expect(terms.reduce((sum, term) => sum + term.length, 0)).toBeLessThanOrEqual(3 * text.length);
});

interface Occurrence {
  readonly term: string;
  readonly position: number;
  readonly weight: number;
}

function occurrencesIn(fields: readonly FieldText[]) {
  const analyzer = createAnalyzer(english);
  const { vocabulary } = analyzer;
  const occurrences: Occurrence[] = [];
  const sink: TermSink = {
    add: (number, position, weight) => {
      occurrences.push({ term: vocabulary.text(number), position, weight });
    },
  };
  const length = finish(documentTerms(analyzer, vocabulary, fields, sink));
  return { occurrences, length };
}

test("the words and stems of an item are those of its fields, weighted, with a gap between fields", () => {
  const fields = [
    { text: "wings and a wing", weight: 1 },
    { text: "the", weight: 2 },
    { text: "Wing lift", weight: 3 },
  ];
  expect(occurrencesIn(fields)).toEqual({
    occurrences: [
      { term: "wings", position: 0, weight: 1 },
      { term: "wing~", position: noPosition, weight: 1 },
      { term: "and", position: 1, weight: 1 },
      { term: "a", position: 2, weight: 1 },
      { term: "wing", position: 3, weight: 1 },
      { term: "wing~", position: noPosition, weight: 1 },
      { term: "the", position: 103, weight: 2 },
      { term: "wing", position: 203, weight: 3 },
      { term: "wing~", position: noPosition, weight: 3 },
      { term: "lift", position: 204, weight: 3 },
      { term: "lift~", position: noPosition, weight: 3 },
    ],
    length: 8,
  });
  expect(occurrencesIn([{ text: "to be", weight: 2 }]).length).toBe(1);
  expect(occurrencesIn([{ text: "", weight: 2 }]).length).toBe(0);
});

test("any fields: the occurrences of each one by one, at ascending positions, all lengths summed", () => {
  const fields = fc.array(fc.record({ text: texts, weight: fc.integer({ min: 1, max: 16 }) }), {
    maxLength: 4,
  });
  fc.assert(
    fc.property(fields, (input) => {
      const { occurrences, length } = occurrencesIn(input);
      const each = input.map(({ text, weight }) => ({ weight, ...createAnalyzer(english).analyze(text) }));
      const sum = each.reduce((all, field) => all + field.length * field.weight, 0);
      expect(length).toBe(each.some(({ words }) => words.length > 0) ? Math.max(1, sum) : 0);
      const placed = occurrences.filter(({ position }) => position !== noPosition);
      expect(placed.map(({ term, weight }) => ({ term, weight }))).toEqual(
        each.flatMap(({ words, weight }) => words.map((term) => ({ term, weight }))),
      );
      const positions = placed.map(({ position }) => position);
      expect(positions).toEqual(positions.toSorted((x, y) => x - y));
    }),
  );
});

test("an analyzer whose vocabulary is full begins another, and who holds the first keeps its numbers", () => {
  const analyzer = createAnalyzer(plain);
  const { vocabulary: first } = analyzer;
  const scan = analyzer.begin("alpha beta", false, first);
  scan.advance(Infinity);
  // Words of 56 letters: the memory of a vocabulary is that of less than 200,000.
  const wordOf = (i: number) =>
    `${"x".repeat(50)}${[...String(100_000 + i)].map((d) => "abcdefghij"[Number(d)]).join("")}`;
  analyzer.analyze(Array.from({ length: 100_000 }, (_, i) => wordOf(i)).join(" "));
  expect(analyzer.vocabulary).toBe(first);
  analyzer.analyze(Array.from({ length: 100_000 }, (_, i) => wordOf(100_000 + i)).join(" "));
  expect(analyzer.vocabulary).not.toBe(first);
  expect(scan.terms).toEqual(["alpha", "beta"]);
  expect(analyzer.analyze("beta alpha").terms).toEqual(["beta", "alpha"]);
});
