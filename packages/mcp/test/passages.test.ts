/** How texts are split. */

import { expect, test } from "vitest";
import { splitIntoPassages } from "../src/documents/passages.js";

test("a section is a passage, under the headings above it", () => {
  const sections = Array.from({ length: 90 }, (_, i) => `## Section ${i}\n\nText ${i}`);
  const passages = splitIntoPassages(["# Title", ...sections].join("\n\n"));
  expect(passages).toHaveLength(91);
  expect(passages[90]).toEqual({ under: "Title", text: "## Section 89\n\nText 89" });
});

test("a text of headings alone becomes few passages, and none of it is left out", () => {
  const lines = Array.from({ length: 50_000 }, (_, i) => `# ${i}`);
  const text = lines.join("\n");
  const passages = splitIntoPassages(text);
  expect(passages.length).toBeLessThan(102 + text.length / 100);
  expect(passages.map((passage) => passage.text).join("\n")).toBe(text);
  expect(Math.max(...passages.map((passage) => passage.text.length))).toBeLessThan(1400);
});
