/** `k` beyond the size of a store is all documents, also of a store that is larger than most queries. */

import { afterAll, expect, test } from "vitest";
import { createClient, generateKey } from "../../src/core.js";
import { EncryptedVectorStore } from "../../src/langchain/encrypted-vector-store.js";
import { startService } from "../http/service.js";

const count = 10_500;
const embeddings = {
  embedDocuments: async (texts: string[]) => texts.map((text) => [text.length, Number(text.slice(5)), 1]),
  embedQuery: async (text: string) => [text.length, 1, 1],
};
const texts = Array.from({ length: count }, (_, i) => `word ${i}`);
const service = await startService();
afterAll(() => service.close());

test.each([
  ["embedded", () => createClient({ indexLocation: { location: "memory" } })],
  ["over HTTP", () => createClient(service.address)],
])("every search gives all documents, %s", async (_, connect) => {
  await using client = connect();
  const args = { indexName: "all", indexKey: generateKey(), client, textIndex: true };
  const store = await EncryptedVectorStore.fromTexts(texts, {}, embeddings, args);
  for (const k of [count, 1e9, Infinity]) {
    expect(await store.similaritySearch("word 1", k)).toHaveLength(count);
    expect(await store.keywordSearch("word", k)).toHaveLength(count);
    expect(await store.hybridSearch("word", k)).toHaveLength(count);
    expect(await store.asRetriever({ k }).invoke("word 1")).toHaveLength(count);
  }
  expect(await store.similaritySearch("word 1", count - 1)).toHaveLength(count - 1);
  expect(await store.maxMarginalRelevanceSearch("word 1", { k: 2, fetchK: Infinity })).toHaveLength(2);
  await store.close();
});
