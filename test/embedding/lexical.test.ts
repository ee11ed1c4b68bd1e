/** The lexical embedder: its vectors are what its documentation says, for ever, and near where wording is near. */

import { createHash } from "node:crypto";
import { Embeddings } from "@langchain/core/embeddings";
import { FakeEmbeddings } from "@langchain/core/utils/testing";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { builtInEmbedder, lexicalEmbedder } from "../../src/embedding/built-in.js";
import { Models } from "../../src/embedding/models.js";
import type { Embedder } from "../../src/embedding/embedder.js";
import { SealdexError } from "../../src/errors.js";
import { LexicalEmbeddings } from "../../src/langchain/embeddings.js";
import { lexicalVector, lexicalVectorInPieces } from "../../src/embedding/lexical.js";
import { turnsDuring } from "../engine/turns.js";

function embedderByName(name: string): Embedder {
  return builtInEmbedder(name) ?? new Models().embedder(name, "embedding model");
}

function norm(vector: ArrayLike<number>): number {
  return Math.sqrt(Array.from(vector).reduce((sum, x) => sum + x * x, 0));
}

/** Cosine, for vectors of norm 1. */
function similarity(a: string, b: string, dimension = 512): number {
  const other = lexicalVector(b, dimension);
  return lexicalVector(a, dimension).reduce((sum, x, i) => sum + x * other[i], 0);
}

function rejection(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    expect(error).toBeInstanceOf(SealdexError);
    expect((error as SealdexError).code).toBe("invalid_request");
    return (error as SealdexError).message;
  }
  return "accepted";
}

/** So that no common English word but "the" comes up by chance. */
function withoutLatin(text: string): string {
  return text.normalize("NFKC").replace(/[a-z]/gi, "7");
}

/** Texts of every kind: words, all scripts, emoji, and single UTF-16 units, lone surrogates among them. */
const anyText = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        "the ",
        "Index",
        "indexes ",
        "é",
        "ﬁne ",
        "東京",
        "ー",
        "가나",
        " x1 ",
        "👩‍👩‍👧",
        "❤️",
        "\u{20000}",
      ),
      fc.string({ unit: "binary", maxLength: 4 }).map(withoutLatin),
      fc.integer({ min: 0, max: 0xffff }).map((unit) => withoutLatin(String.fromCharCode(unit))),
    ),
    { maxLength: 30 },
  )
  .map((parts) => parts.join(""));

describe("vectors never change", () => {
  test("golden vectors", () => {
    expect([...lexicalVector("The quick brown fox", 16)]).toEqual([
      0, 0.31195393204689026, 0, -0.40455418825149536, 0.38707447052001953, 0, 0.190964013338089,
      -0.0926002636551857, 0.190964013338089, 0.38707447052001953, 0, -0.31195393204689026,
      0.11576226353645325, -0.31195393204689026, 0, -0.38707447052001953,
    ]);
    expect([...lexicalVector("東京タワー: 333 m", 16)]).toEqual([
      -0.10512445122003555, -0.35150477290153503, 0, 0, -0.015873461961746216, -0.7030095458030701,
      0.35150477290153503, 0, 0, 0.35150477290153503, -0.015873461961746216, 0, 0, 0, 0, 0.35150477290153503,
    ]);
  });

  test("golden digest", () => {
    const texts = [
      "",
      "Encrypted vectors, nearest neighbours.",
      "Größe ÜBER Straße",
      "ｆｕｌｌ ｗｉｄｔｈ",
      "भारत 가나다 ไทย",
      "🙂 \ud800 x",
    ];
    const hash = createHash("sha256");
    for (const text of texts)
      for (const dimension of [16, 512, 8192]) hash.update(lexicalVector(text, dimension));
    expect(hash.digest("hex")).toBe("c840be43cba7b5ff7060eef6388c6f1f33cacc17196a2517e1e3562062c3e9a7");
  });

  test("they are what the documented steps give", () => {
    const property = fc.property(anyText, fc.integer({ min: 16, max: 600 }), (text, dimension) => {
      expect(lexicalVector(text, dimension)).toEqual(documented(text, dimension));
    });
    fc.assert(property, { numRuns: 1000 });
    const long = Array.from({ length: 3000 }, (_, i) => `word${i * i}`).join(" ");
    expect(lexicalVector(long, 512)).toEqual(documented(long, 512));
  });

  test.each([
    ["words of all scripts", "naïve ΣΑΣ e\u0301 \u{20000}東京 भारत ".repeat(6000)],
    ["one word", "x1é".repeat(40_000)],
    ["letters that compose across every position", "\u1100\u1161\u11a8".repeat(40_000)],
    ["letters with marks", "e\u0301\u0316".repeat(40_000)],
    ["characters that stand for 18", "\ufdfa".repeat(20_000)],
    ["ideographs", "東京都".repeat(40_000)],
    ["surrogates", "\ud800\udc00\udc00\ud800".repeat(25_000)],
    ["marks, of which 30 count", `q ${"\u0301\u0316".repeat(500)}e${"\u0316\u0301".repeat(500)} z`],
  ])("of a long text of %s they are the same, with pauses", (_, text) => {
    const work = lexicalVectorInPieces(text, 64);
    let pauses = 0;
    let step = work.next();
    for (; !step.done; step = work.next()) pauses++;
    expect(step.value).toEqual(documented(text, 64));
    expect(pauses).toBeGreaterThanOrEqual(Math.floor(text.normalize("NFKC").length / 40_000));
  });
});

const ideographs = String.raw`[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}]`;
const letters = String.raw`[[\p{L}\p{N}]--${ideographs}]`;
const words = new RegExp(
  String.raw`(?<ideograph>[[\p{L}\p{N}]&&${ideographs}])|${letters}[${letters}\p{M}]*`,
  "gv",
);

/** The steps in the header of lexical.ts, written for clarity. */
function documented(text: string, dimension: number): Float32Array {
  const sums = new Map<string, number>();
  const add = (kind: number, characters: string, weight: number) => {
    const feature = kind + characters;
    sums.set(feature, (sums.get(feature) ?? 0) + weight);
  };
  const normal = text.replace(/\p{M}+/gu, (marks) => [...marks].slice(0, 30).join("")).normalize("NFKC");
  let ideographEnd = -1;
  let ideographText = "";
  for (const { 0: word, index, groups } of normal.toLowerCase().matchAll(words)) {
    if (groups?.ideograph !== undefined) {
      add(1, word, 1);
      if (ideographEnd === index) add(2, ideographText + word, 1);
      ideographEnd = index + word.length;
      ideographText = word;
      continue;
    }
    const share = word === "the" ? 0.2 : 1;
    add(1, word.slice(0, 5), share);
    const marked = `<${word}>`;
    const grams = marked.length - 3;
    for (let i = 0; i < grams; i++) add(2, marked.slice(i, i + 4), (share * 1.5) / Math.sqrt(grams));
  }
  const vector = new Float64Array(dimension);
  for (const [feature, sum] of sums) {
    let hash = feature[0] === "1" ? 0x811c9dc5 : 0x2f0b4c47;
    for (let i = 1; i < feature.length; i++) hash = Math.imul(hash ^ feature.charCodeAt(i), 16777619);
    hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
    hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
    hash = (hash ^ (hash >>> 16)) >>> 0;
    const weight = Math.sqrt(sum) * Math.sqrt(Math.sqrt(sum));
    vector[Math.floor((hash * dimension) / 2 ** 32)] += hash % 2 === 1 ? -weight : weight;
  }
  const length = norm(vector);
  return Float32Array.from(vector, (x) => (length === 0 ? 0 : x / length));
}

describe("what is near", () => {
  test("every vector has norm 1, but that of a text without words", () => {
    const property = fc.property(anyText, fc.integer({ min: 16, max: 1024 }), (text, dimension) => {
      const vector = lexicalVector(`${text} vector`, dimension);
      expect(vector).toHaveLength(dimension);
      expect(norm(vector)).toBeCloseTo(1, 5);
    });
    fc.assert(property, { numRuns: 500 });
    for (const text of ["", "  \n", "?! ... --", "🙂", "\ud800", "\udc00\ud800", "\u0301"]) {
      expect(norm(lexicalVector(text, 512))).toBe(0);
    }
  });

  test("case, width, ligatures, composition and punctuation make no difference", () => {
    const vector = lexicalVector("the café offers fine 123 options", 512);
    expect(lexicalVector("THE CAFÉ OFFERS FINE 123 OPTIONS", 512)).toEqual(vector);
    expect(lexicalVector("the cafe\u0301 offers ﬁne １２３ ｏｐｔｉｏｎｓ", 512)).toEqual(vector);
    expect(lexicalVector("“The café” (offers): fine_123\toptions!", 512)).toEqual(vector);
  });

  test("repeating a text does not change its direction", () => {
    const text = "Vectors are encrypted before they leave the process.";
    expect(similarity(text, `${text} ${text} ${text}`)).toBeCloseTo(1, 5);
  });

  test("near duplicates are nearer than texts on one topic, and those nearer than unrelated ones", () => {
    const text = "The index encrypts every vector before it is written to the storage location.";
    const edited = "The index encrypts each vector before it's written to a storage location";
    const related = "Which storage locations can an encrypted index write its vectors to?";
    const unrelated = "Simmer the tomatoes with garlic and basil until the sauce thickens.";
    expect(similarity(text, edited)).toBeGreaterThan(0.85);
    expect(similarity(text, related)).toBeGreaterThan(0.35);
    expect(similarity(text, related)).toBeLessThan(similarity(text, edited));
    expect(Math.abs(similarity(text, unrelated))).toBeLessThan(0.2);
  });

  test("forms and misspellings of a word are near it, words of the same meaning are not", () => {
    expect(similarity("encryption", "encrypted")).toBeGreaterThan(0.4);
    expect(similarity("neighbour", "neighbours")).toBeGreaterThan(0.6);
    expect(similarity("retrieval", "retreival")).toBeGreaterThan(0.2);
    expect(Math.abs(similarity("automobile", "car"))).toBeLessThan(0.15);
  });

  test("function words count little", () => {
    const bare = "compact segments";
    expect(similarity(bare, "how do I compact the segments of it?")).toBeGreaterThan(0.85);
    expect(similarity("how do I use it?", "how do I see it?")).toBeGreaterThan(0.5);
  });

  test("languages without spaces are matched too", () => {
    const tokyo = "東京タワーは東京都港区にある電波塔である";
    expect(similarity(tokyo, "東京タワーの高さ")).toBeGreaterThan(0.3);
    expect(Math.abs(similarity(tokyo, "量子力学入門"))).toBeLessThan(0.2);
  });

  test("more dimensions keep texts apart that have nothing in common", () => {
    const texts = Array.from({ length: 30 }, (_, i) => createHash("sha256").update(`${i}`).digest("base64"));
    const spread = (dimension: number) =>
      Math.sqrt(
        texts.slice(1).reduce((sum, text) => sum + similarity(texts[0], text, dimension) ** 2, 0) / 29,
      );
    expect(spread(16)).toBeGreaterThan(2 * spread(512));
    expect(spread(512)).toBeGreaterThan(2 * spread(8192));
  });
});

describe("embedders", () => {
  test("a name gives the embedder of its dimension", async () => {
    for (const dimension of [16, 512, 1000, 8192]) {
      const embedder = embedderByName(`sealdex/lexical-${dimension}`);
      const expected = lexicalVector("some text", dimension);
      expect(await embedder.embedQuery("some text")).toEqual(expected);
      expect(await embedder.embedDocuments(["", "some text"])).toEqual([
        new Float32Array(dimension),
        expected,
      ]);
    }
    expect(await embedderByName("sealdex/lexical-512").embedDocuments([])).toEqual([]);
  });

  test("a name of sealdex/ that is not built in is an error that lists what is", () => {
    const names = ["sealdex/lexical", "sealdex/lexical-15", "sealdex/lexical-8193", "sealdex/semantic-271"];
    const more = ["sealdex/lexical-0512", "sealdex/lexical-512 ", "sealdex/lexical-1e3", "", " "];
    for (const name of [...names, ...more]) {
      expect(rejection(() => embedderByName(name))).toBe(
        "embedding model: expected default, sealdex/semantic-<d> with d from 272 to 8192, sealdex/lexical-<d> with d " +
          `from 16 to 8192, the name of a model of the Hugging Face hub, or the path of a folder; got "${name}"`,
      );
    }
    expect(rejection(() => embedderByName(512 as unknown as string))).toMatch(/got number$/);
  });

  test("a text after a long one has the vector that it has alone", () => {
    const short = "Keys are rotated every year.";
    const alone = lexicalVector(short, 512);
    lexicalVector(Array.from({ length: 20_000 }, (_, i) => `word${i * i}`).join(" "), 512);
    expect(lexicalVector(short, 512)).toEqual(alone);
  });

  test("dimensions outside 16 to 8,192 are refused", () => {
    for (const dimension of [15, 8193, 100.5, Number.NaN, -512, "512" as unknown as number]) {
      expect(rejection(() => lexicalEmbedder(dimension))).toMatch(/^dimension: expected an integer from 16/);
      expect(rejection(() => new LexicalEmbeddings({ dimension }))).toMatch(
        /^dimension: expected an integer/,
      );
    }
  });

  test("what is no text is refused, and named by its position", async () => {
    const embedder = lexicalEmbedder(16);
    await expect(embedder.embedDocuments(["a", 3 as unknown as string])).rejects.toThrow(
      "texts[1]: expected a string, got number",
    );
    await expect(embedder.embedQuery(undefined as unknown as string)).rejects.toThrow(SealdexError);
  });

  test("other work gets its turn between the texts of a batch, and within long ones", async () => {
    const short = Array.from({ length: 240 }, (_, i) => `one kilobyte of text ${i} `.repeat(40));
    const long = Array.from({ length: 200_000 }, (_, i) => `word${i}`).join(" ");
    const embedder = lexicalEmbedder(64);
    let vectors: readonly ArrayLike<number>[] = [];
    const embed = (texts: string[]) => async () => {
      vectors = await embedder.embedDocuments(texts);
    };
    // A millisecond per look at the clock, of which there is one per text, and one per 32,768 characters of a long one.
    expect(await turnsDuring(embed(short), 1)).toBeGreaterThanOrEqual(240 / 9);
    expect(vectors).toHaveLength(240);
    expect(vectors[239]).toEqual(lexicalVector(short[239], 64));
    expect(await turnsDuring(embed([long, `${long}é`]), 8)).toBeGreaterThanOrEqual(
      (2 * long.length) / 32_768,
    );
    expect(vectors[0]).toEqual(lexicalVector(long, 64));
    expect(vectors[1]).toEqual(lexicalVector(`${long}é`, 64));
  });

  test("the nearest of a few passages answers the question", async () => {
    const passages = [
      "A key is 64 hexadecimal characters or 32 bytes; generateKey makes one.",
      "Filters compare metadata with operators such as $gte and $in.",
      "Training clusters the items into inverted lists and makes queries faster.",
    ];
    const embeddings = new LexicalEmbeddings();
    const vectors = await embeddings.embedDocuments(passages);
    for (const [question, answer] of [
      ["How do I generate a new key?", 0],
      ["Can I filter by metadata?", 1],
      ["When are the inverted lists trained?", 2],
    ] as const) {
      const query = await embeddings.embedQuery(question);
      const scores = vectors.map((vector) => vector.reduce((sum, x, i) => sum + x * query[i], 0));
      expect(scores.indexOf(Math.max(...scores))).toBe(answer);
    }
  });

  test("LexicalEmbeddings is a LangChain Embeddings, and those are Embedders", async () => {
    const embeddings = new LexicalEmbeddings();
    expect(embeddings).toBeInstanceOf(Embeddings);
    expect(embeddings.dimension).toBe(512);
    const query = await embeddings.embedQuery("text");
    expect(Array.isArray(query)).toBe(true);
    expect(query).toEqual([...(await embedderByName("sealdex/lexical-512").embedQuery("text"))]);
    expect(await new LexicalEmbeddings({ dimension: 20 }).embedDocuments(["text"])).toEqual([
      [...lexicalVector("text", 20)],
    ]);

    const embedders: Embedder[] = [embeddings, new FakeEmbeddings()];
    for (const each of embedders) expect(await each.embedDocuments([])).toEqual([]);
  });
});
