/** `sealdex-model`: its tokens and vectors are those of the reference, and `sealdex/semantic-<d>` is built on them. */

import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname } from "node:path";
import type * as SealdexModel from "sealdex-model";
import { dimension, embed, embedInPieces, tokenIds } from "sealdex-model";
import { describe, expect, test } from "vitest";
import { Models } from "../../src/embedding/models.js";
import { lexicalVector } from "../../src/embedding/lexical.js";
import { reference } from "./reference-data.js";

const testOnReference = existsSync(reference("texts.json")) ? test : () => undefined;

function norm(vector: ArrayLike<number>): number {
  return Math.sqrt(Array.from(vector).reduce((sum, x) => sum + x * x, 0));
}

function similarity(a: string, b: string): number {
  const other = embed(b);
  return embed(a).reduce((sum, x, i) => sum + x * other[i], 0);
}

/** The package as a program sees it that has not used it yet. */
function freshModel(): typeof SealdexModel {
  const require = createRequire(import.meta.url);
  for (const file of Object.keys(require.cache)) {
    if (file.startsWith(dirname(require.resolve("sealdex-model")))) delete require.cache[file];
  }
  return require("sealdex-model") as typeof SealdexModel;
}

/** Texts of words and characters of all planes, the same ones for ever. */
function fuzzedTexts(count: number): string[] {
  let state = 1;
  const random = (below: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return (state >>> 8) % below;
  };
  const ranges = [
    [0x20, 0x7e],
    [0x61, 0x7a],
    [0, 0xff],
    [0x100, 0x24f],
    [0x300, 0x36f],
    [0x250, 0xd7ff],
    [0xe000, 0xffff],
    [0x2000, 0x206f],
    [0x3000, 0x9fff],
    [0x10000, 0x10ffff],
  ];
  const words = ["the", "embedding", "naïve", "İstanbul", "ΣΑΣ", "[UNK]", "don't", "unbelievably", "ﬁne"];
  words.push("\u200b", " ", "\t", "\u00a0", " ");
  return Array.from({ length: count }, () => {
    let text = "";
    for (let parts = random(20); parts > 0; parts--) {
      if (random(2) > 0) text += words[random(words.length)];
      else {
        const [first, last] = ranges[random(ranges.length)];
        for (let characters = 1 + random(4); characters > 0; characters--) {
          text += String.fromCodePoint(first + random(last - first + 1));
        }
      }
    }
    return text;
  });
}

describe("tokens", () => {
  test("of 20,000 fuzzed texts are those that the Python library tokenizers 0.23 gives", () => {
    const ids = JSON.stringify(fuzzedTexts(20_000).map(tokenIds));
    expect(createHash("sha256").update(ids).digest("hex")).toBe(
      "d98872b33ac5060355a7a85ae3aa38cfc7ec98f3c34f483022f743b65e370faf",
    );
  });

  testOnReference("of the reference's 200 texts are the reference's", () => {
    const texts = JSON.parse(readFileSync(reference("texts.json"), "utf8")) as string[];
    const expected: unknown = JSON.parse(readFileSync(reference("static-minilm-256-tokens.json"), "utf8"));
    expect(texts.map(tokenIds)).toEqual(expected);
  });

  test("of words beyond the vocabulary are the longest pieces from the left, or the unknown token", () => {
    const pieces = tokenIds("unaffable");
    expect(pieces.length).toBeGreaterThan(1);
    expect(pieces).not.toContain(0);
    expect(tokenIds("embedding東京")).toEqual([...tokenIds("embedding"), 0, 0]);
    expect(tokenIds("x".repeat(101))).toEqual([0]);
    expect(tokenIds("x".repeat(100))).not.toEqual([0]);
    expect(tokenIds("")).toEqual([]);
  });
});

describe("vectors", () => {
  testOnReference("are the reference's to one part in a million", () => {
    const texts = JSON.parse(readFileSync(reference("texts.json"), "utf8")) as string[];
    const bytes = readFileSync(reference("static-minilm-256-int4.f32"));
    const expected = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
    texts.forEach((text, i) => {
      const row = expected.subarray(i * dimension, (i + 1) * dimension);
      const error = Math.max(...embed(text).map((x, j) => Math.abs(x - row[j])));
      expect(error, text).toBeLessThan(1e-6);
    });
  });

  test("never change", () => {
    const hash = createHash("sha256");
    for (const text of fuzzedTexts(300)) hash.update(embed(text));
    expect(hash.digest("hex")).toBe("96622c645f5ed199deff7a6df0f9e21ac04080b2147a35588c20d34dac982a3f");
  });

  test("have norm 1, or 0 if the model knows no word of the text", () => {
    for (const text of ["key", "Keys are rotated every year.", "word ".repeat(100_000)]) {
      expect(norm(embed(text))).toBeCloseTo(1, 6);
    }
    for (const text of ["", "  \n", "東京", "\ud800", "[UNK]"]) expect(norm(embed(text))).toBe(0);
  });

  test.each([
    ["plain words", "unbelievably naive ".repeat(20_000)],
    ["words of other alphabets", "naïve ΣΑΣ e\u0301 東京 ".repeat(20_000)],
    ["words that have to be cut", Array.from({ length: 4000 }, (_, i) => `${i}`.repeat(20)).join(" ")],
    ["one word", "é".repeat(300_000)],
    ["marks", `key ${"\u0301\u0316".repeat(260_000)}`],
  ])("of a long text of %s are computed with pauses", (_, text) => {
    const work = embedInPieces(text);
    let pauses = 0;
    let step = work.next();
    for (; !step.done; step = work.next()) pauses++;
    expect(step.value).toEqual(embed(text));
    expect(pauses).toBeGreaterThan(3);
  });

  test("of the first texts, embedded at once, are computed with pauses while the table is read", () => {
    const fresh = freshModel();
    const pending = ["Keys are rotated every year.", "Salmon swim upstream."].map((text) => ({
      text,
      work: fresh.embedInPieces(text),
      vector: undefined as Float32Array | undefined,
    }));
    let pauses = 0;
    while (pending.some(({ vector }) => vector === undefined)) {
      for (const one of pending.filter(({ vector }) => vector === undefined)) {
        const step = one.work.next();
        if (step.done) one.vector = step.value;
        else pauses++;
      }
    }
    for (const { text, vector } of pending) expect(vector).toEqual(embed(text));
    expect(pauses).toBeGreaterThan(20);
  });

  test("of words of one meaning are near, of other words are not", () => {
    expect(similarity("automobile", "car")).toBeGreaterThan(0.5);
    expect(similarity("How often are keys changed?", "Key rotation happens yearly.")).toBeGreaterThan(0.4);
    expect(similarity("How often are keys changed?", "Salmon swim upstream.")).toBeLessThan(0.2);
  });
});

describe("the embedder sealdex/semantic-<d>", () => {
  const embedder = (name: string) => new Models().embedder(name, "embedding model");

  test("puts the model's vector and a lexical one side by side, each of half the weight", async () => {
    const text = "Keys are rotated every year.";
    const expected = [...embed(text), ...lexicalVector(text, 512)].map((x) => x * Math.SQRT1_2);
    const vector = Array.from(await embedder("sealdex/semantic-768").embedQuery(text));
    expect(Math.max(...vector.map((x, i) => Math.abs(x - expected[i])))).toBeLessThan(1e-6);
  });

  test("is the default, with 1,024 components", async () => {
    const text = "Keys are rotated every year.";
    const [vector] = await embedder("default").embedDocuments([text]);
    expect(vector).toHaveLength(1024);
    expect(vector).toEqual(await embedder("sealdex/semantic-1024").embedQuery(text));
  });

  test("gives norm 1 also if only the lexical half knows the text", async () => {
    expect(norm(await embedder("default").embedQuery("東京タワー"))).toBeCloseTo(1, 6);
    expect(norm(await embedder("default").embedQuery(""))).toBe(0);
  });
});
