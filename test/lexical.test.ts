import { describe, expect, expectTypeOf, test } from "vitest";
import type { EmbeddingsInterface } from "@langchain/core/embeddings";
import { type Embedder, embedderByName } from "../src/embedder.js";
import { LexicalEmbeddings } from "../src/langchain/lexical-embeddings.js";
import { lexicalVector } from "../src/lexical.js";
import { dot } from "./engine/oracle.js";

function similarity(a: string, b: string, dimension = 512): number {
  return dot(lexicalVector(a, dimension), lexicalVector(b, dimension));
}

describe("lexical embedding", () => {
  test("gives the same numbers for ever", () => {
    const vector = lexicalVector("Rotate the encryption keys, naïve fox: 東京", 64);
    const digest = Array.from(vector, (value) => value.toFixed(6));
    expect(digest).toMatchInlineSnapshot(`
      [
        "0.000000",
        "0.000000",
        "0.186623",
        "0.000000",
        "0.000000",
        "0.000000",
        "0.137688",
        "0.000000",
        "0.000000",
        "0.000000",
        "0.000000",
        "0.000000",
        "0.000000",
        "-0.242020",
        "0.000000",
        "0.000000",
        "0.231563",
        "0.000000",
        "0.000000",
        "0.000000",
        "0.000000",
        "-0.231563",
        "-0.231563",
        "0.000000",
        "0.000000",
        "0.231563",
        "0.000000",
        "-0.072381",
        "-0.171642",
        "-0.242020",
        "0.000000",
        "0.000000",
        "0.000000",
        "0.231563",
        "-0.231563",
        "-0.072381",
        "0.171642",
        "0.000000",
        "0.000000",
        "0.231563",
        "0.000000",
        "-0.207882",
        "0.000000",
        "0.000000",
        "0.000000",
        "0.021259",
        "0.000000",
        "-0.207882",
        "-0.137688",
        "0.069254",
        "-0.358266",
        "0.000000",
        "0.000000",
        "-0.137688",
        "0.000000",
        "0.000000",
        "0.186623",
        "0.000000",
        "0.000000",
        "0.000000",
        "-0.137688",
        "0.137688",
        "0.231563",
        "0.000000",
      ]
    `);
  });

  test.each([16, 100, 512, 8192])("gives %i numbers of Euclidean norm 1", (dimension) => {
    const vector = lexicalVector("The salmon swims up the river to spawn.", dimension);
    expect(vector).toHaveLength(dimension);
    expect(dot(vector, vector)).toBeCloseTo(1, 6);
  });

  test("does not tell apart case, width and composition of characters", () => {
    expect(lexicalVector("ＮＡÏＶＥ Fox", 256)).toEqual(lexicalVector("nai\u0308ve fox", 256));
  });

  test("does not tell apart punctuation and spacing", () => {
    expect(lexicalVector("keys;  rotate\n(yearly)", 256)).toEqual(lexicalVector("keys rotate yearly", 256));
  });

  test("brings texts of similar wording together, whatever the ending of a word", () => {
    const question = "How are encryption keys rotated?";
    const right = similarity(question, "Rotation of the encryption key happens every year.");
    expect(right).toBeGreaterThan(0.3);
    expect(similarity(question, "The salmon swims up the river to spawn.")).toBeLessThan(0.1);
    expect(similarity("authentication", "authenticate")).toBeGreaterThan(0.6);
    expect(similarity("misspelled", "mispelled")).toBeGreaterThan(0.4);
  });

  test("is hardly moved by function words", () => {
    expect(similarity("what is the key of an index", "index key")).toBeGreaterThan(0.7);
  });

  test("reads scripts without spaces by ideographs and their neighbours", () => {
    expect(similarity("東京都の天気", "京都の天気")).toBeGreaterThan(
      similarity("東京都の天気", "大阪の電車") + 0.2,
    );
  });

  test.each(["", "   ", "?!… — 🐟", "\u0301"])("gives zeros for a text without words (%#)", (text) => {
    expect(lexicalVector(text, 32)).toEqual(new Float32Array(32));
  });

  test.each(["\ud800", "a\udfffb \ud83d", "🐟fish🐟", "x".repeat(100_000)])("takes any text (%#)", (text) => {
    for (const value of lexicalVector(text, 128)) expect(Number.isFinite(value)).toBe(true);
  });
});

describe("models by name", () => {
  test("sealdex/lexical-<dimension> embeds documents and queries alike", async () => {
    const embedder = embedderByName("sealdex/lexical-128");
    expect(embedder.dimension).toBe(128);
    const [vector] = await embedder.embedDocuments(["a pike"]);
    expect(vector).toEqual(Array.from(lexicalVector("a pike", 128)));
    expect(await embedder.embedQuery("a pike")).toEqual(vector);
    expect(await embedder.embedDocuments([])).toEqual([]);
  });

  test.each([
    "",
    "lexical-512",
    "sealdex/lexical",
    "sealdex/lexical-15",
    "sealdex/lexical-8193",
    "sealdex/lexical-0512",
  ])("%j is refused, and the known ones named", (name) => {
    expect(() => embedderByName(name)).toThrow(expect.objectContaining({ code: "invalid_request" }));
    expect(() => embedderByName(name)).toThrow(/sealdex\/lexical-512/);
  });

  test("LangChain's embeddings are embedders", () => {
    expectTypeOf<EmbeddingsInterface>().toExtend<Embedder>();
    expectTypeOf<LexicalEmbeddings>().toExtend<EmbeddingsInterface>();
  });
});

test("LexicalEmbeddings gives arrays of the dimension asked for, 512 by default", async () => {
  expect(await new LexicalEmbeddings().embedQuery("a pike")).toHaveLength(512);
  const vectors = await new LexicalEmbeddings({ dimension: 64 }).embedDocuments(["a pike", "a perch"]);
  expect(vectors.map((vector) => vector.length)).toEqual([64, 64]);
  expect(() => new LexicalEmbeddings({ dimension: 5 })).toThrow(
    expect.objectContaining({ code: "invalid_request" }),
  );
});

test("embedding many texts lets other work of the process run", async () => {
  let turns = 0;
  const timer = setInterval(() => turns++, 0);
  await new LexicalEmbeddings().embedDocuments(
    Array.from({ length: 2000 }, (_, i) => `text ${i} `.repeat(100)),
  );
  clearInterval(timer);
  expect(turns).toBeGreaterThan(5);
});
