/** The LangChain store over HTTP: the same store, with `{ baseUrl, apiKey }` instead of locations. */

import { Document } from "@langchain/core/documents";
import { expect, test } from "vitest";
import { EncryptedVectorStore, generateKey, LexicalEmbeddings } from "../../src/index.js";
import { startService } from "./service.js";

test("a store over HTTP takes documents, finds them with scores, and deletes them", async () => {
  const { baseUrl, apiKey, close } = await startService();
  const args = { indexName: "documents", indexKey: generateKey(), baseUrl, apiKey };
  const store = new EncryptedVectorStore(new LexicalEmbeddings(), args);
  const ids = await store.addDocuments([
    new Document({
      pageContent: "Rotate encryption keys every year.",
      metadata: { year: 2025, _content: 1 },
    }),
    new Document({ pageContent: "The salmon swims up the river.", metadata: { year: 2021 } }),
    new Document({
      pageContent: "Encryption keys open doors in this novel.",
      metadata: { year: 2019 },
      id: "n",
    }),
  ]);
  expect(ids[2]).toBe("n");
  const [[first, score], [second]] = await store.similaritySearchWithScore("rotating encryption keys", 2);
  expect(first).toMatchObject({
    id: ids[0],
    pageContent: "Rotate encryption keys every year.",
    metadata: { year: 2025, _content: 1 },
  });
  expect(score).toBeGreaterThan(0.5);
  expect(score).toBeLessThanOrEqual(1);
  expect(second.id).toBe("n");
  const old = await store.similaritySearch("encryption keys", 4, { year: { $lt: 2020 } });
  expect(old.map(({ id }) => id)).toEqual(["n"]);

  const again = await EncryptedVectorStore.fromExistingIndex(new LexicalEmbeddings(), args);
  await again.delete({ ids: [ids[0]] });
  expect((await store.asRetriever(3).invoke("encryption keys")).map(({ id }) => id)).not.toContain(ids[0]);
  const wrong = { ...args, indexKey: generateKey() };
  await expect(EncryptedVectorStore.fromExistingIndex(new LexicalEmbeddings(), wrong)).rejects.toMatchObject({
    code: "wrong_index_key",
  });
  await close();
});
