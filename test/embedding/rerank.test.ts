/** Reranking by a cross-encoder, a LangChain compressor or a function: in a query, and on a retriever. */

import { rm } from "node:fs/promises";
import { ContextualCompressionRetriever } from "@langchain/classic/retrievers/contextual_compression";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createClient, generateKey, type VectorIndex } from "../../src/core.js";
import { EncryptedVectorStore, SealdexReranker } from "../../src/index.js";
import { buildModels } from "./small-models.js";

let localFolder: string;
let index: VectorIndex;

const texts = ["keys are rotated", "salmon swim upstream", "sealed vectors in storage", "the dog jumps"];
const client = createClient({ indexLocation: { location: "memory" } });

beforeAll(async () => {
  localFolder = await buildModels();
  const own = createClient({ indexLocation: { location: "memory" }, models: { localFolder, offline: true } });
  index = await own.createIndex({ indexName: "n", indexKey: generateKey(), embeddingModel: "default" });
  await index.upsert(texts.map((contents, i) => ({ id: `${i}`, contents, metadata: { i } })));
  await index.upsert([{ id: "none", vector: Array(1024).fill(1) }]);
});

afterAll(async () => {
  await client.close();
  await rm(localFolder, { recursive: true });
});

test("a function orders what is near, and its scores come back", async () => {
  const found = await index.query({
    queryContents: "keys",
    topK: 2,
    rerank: (_query, documents) => documents.map((text) => text.length),
  });
  expect(found).toEqual([
    { id: "2", distance: expect.any(Number), score: 25 },
    { id: "1", distance: expect.any(Number), score: 20 },
  ]);
});

test("a cross-encoder by name puts the text first that shares the query's words", async () => {
  const queryContents = "sealed vectors in storage";
  const rerank = "small-cross-encoder";
  const found = await index.query({ queryContents, topK: 4, include: ["contents"], rerank });
  expect(found[0]).toMatchObject({ id: "2", contents: texts[2] });
  for (const { score } of found) expect(score).toBeGreaterThan(0);
  expect(found.map(({ score }) => score)).toEqual(found.map(({ score }) => score).sort((a, b) => b - a));
});

test("a LangChain compressor ranks, and leaves out what it does not keep", async () => {
  const reranker = new SealdexReranker({
    model: (_, documents) => documents.map((text) => -text.length),
    topN: 2,
  });
  const found = await index.query({ queryContents: "keys", rerank: reranker });
  expect(found.map(({ id, score }) => [id, score])).toEqual([
    ["3", -13],
    ["0", -16],
  ]);
});

test("a retriever is reranked by LangChain's own retriever", async () => {
  const store = new EncryptedVectorStore("default", { indexName: "l", indexKey: generateKey(), client });
  await store.addTexts(texts);
  const retriever = new ContextualCompressionRetriever({
    baseRetriever: store.asRetriever(4),
    baseCompressor: new SealdexReranker({
      model: "small-cross-encoder",
      localFolder,
      offline: true,
      topN: 1,
    }),
  });
  const [document, ...others] = await retriever.invoke("the dog jumps");
  expect(others).toEqual([]);
  expect(document.pageContent).toBe("the dog jumps");
  expect(document.metadata.relevanceScore).toBeGreaterThan(0);
  await store.close();
});

test("what does not score, or has no text to score for, is refused", async () => {
  const wrong = [() => [1], () => [Number.NaN, 1, 2, 3], () => "scores"] as unknown as (() => number[])[];
  for (const rerank of wrong) {
    await expect(index.query({ queryContents: "keys", rerank })).rejects.toThrow(
      /^rerank: expected 4 numbers/,
    );
  }
  await expect(index.query({ queryContents: "keys", rerank: {} as unknown as string })).rejects.toThrow(
    /^rerank:/,
  );
  const byVector = { queryVector: Array(1024).fill(1), rerank: wrong[0] } as unknown as {
    queryContents: string;
  };
  await expect(index.query(byVector)).rejects.toThrow("rerank: requires queryContents");
});
