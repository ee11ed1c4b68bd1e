/** The reader of services' XML, with answers of services and of an attacker. */

import fc from "fast-check";
import { expect, test } from "vitest";
import { childText, parseXml } from "../../src/storage/xml.js";

test("reads elements, attributes, references and text", () => {
  const root = parseXml(
    `\uFEFF<?xml version='1.0' encoding='UTF-8'?>\n<List xmlns='http://x/' a="&lt;b>">` +
      `<Key>a&amp;b&lt;&gt;&quot;&apos;&#65;&#x1F600;</Key> <Empty/><Empty2 x='1' /><Key>second</Key></List>\n`,
  );
  expect(root.name).toBe("List");
  expect(root.children.map(({ name }) => name)).toEqual(["Key", "Empty", "Empty2", "Key"]);
  expect(childText(root, "Key")).toBe(`a&b<>"'A😀`);
  expect(childText(root, "Empty")).toBe("");
  expect(childText(root, "Absent")).toBeUndefined();
  expect(parseXml("<a/>")).toEqual({ name: "a", text: "", children: [] });
  expect(parseXml("<a>x<b>y</b>z</a>").text).toBe("xz");
});

test.each([
  ["nothing", ""],
  ["text", "hello"],
  ["white space", " \n"],
  ["an element without an end", "<a>"],
  ["an end too many", "<a></a></a>"],
  ["an end of another", "<a><b></a></b>"],
  ["an end without a beginning", "</a>"],
  ["two roots", "<a/><b/>"],
  ["text before the root", "x<a/>"],
  ["text after the root", "<a/>x"],
  ["a document type", '<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>'],
  ["a document type within", "<a><!DOCTYPE a></a>"],
  ["an entity of its own", "<a>&x;</a>"],
  ["an entity of an object's prototype", "<a>&constructor;</a>"],
  ["a bare ampersand", "<a>x & y</a>"],
  ["a reference that does not end", "<a>&amp</a>"],
  ["a NUL", "<a>&#0;</a>"],
  ["half a surrogate pair", "<a>&#xD800;</a>"],
  ["a character beyond all", "<a>&#x110000;</a>"],
  ["a number that is none", "<a>&#x;</a>"],
  ["a comment", "<a><!-- x --></a>"],
  ["CDATA", "<a><![CDATA[x]]></a>"],
  ["a processing instruction", "<a><?php x ?></a>"],
  ["an attribute without quotation marks", "<a b=c/>"],
  ["an attribute without an end", '<a b="c/>'],
  ["a tag without an end", "<a"],
  ["a tag without a name", "<>x</>"],
  ["a name with a number first", "<1/>"],
  ["an end with attributes", "<a></a b='c'>"],
  ["too many levels", "<a>".repeat(17) + "</a>".repeat(17)],
])("refuses %s", (_, text) => {
  expect(() => parseXml(text)).toThrow(SyntaxError);
});

test("errors do not repeat the refused text", () => {
  expect(() => parseXml("<a>saffron &saffron; </a>")).not.toThrow(/saffron/);
  expect(() => parseXml("<saffron><b></saffron>")).not.toThrow(/saffron/);
});

test("any text is read back, and any bytes are read or refused in time that grows with their length", () => {
  const escape = (text: string) => text.replace(/[&<>]/g, (c) => `&#${c.charCodeAt(0)};`);
  const wellFormed = fc.string({ unit: "grapheme", maxLength: 50 });
  fc.assert(
    fc.property(fc.array(wellFormed, { maxLength: 5 }), (texts) => {
      const xml = `<r>${texts.map((text) => `<k>${escape(text)}</k>`).join("")}</r>`;
      expect(parseXml(xml).children.map(({ text }) => text)).toEqual(texts);
    }),
  );
  const pieces = fc.constantFrom(
    "<",
    ">",
    "/",
    "a",
    "</a>",
    "<a>",
    "&",
    ";",
    "&amp;",
    "=",
    "'",
    '"',
    " ",
    "<a b='c'>",
    "!",
    "?",
  );
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 60 }), (parts) => {
      try {
        parseXml(parts.join(""));
      } catch (error) {
        expect(error).toBeInstanceOf(SyntaxError);
      }
    }),
    { numRuns: 2000 },
  );
  for (const hostile of [
    "<a ".repeat(100_000),
    "&".repeat(300_000),
    "<a>".repeat(100_000),
    `<a${" b='c'".repeat(50_000)}`,
    `<a${" ".repeat(300_000)}`,
  ]) {
    expect(() => parseXml(hostile)).toThrow(SyntaxError);
  }
});
