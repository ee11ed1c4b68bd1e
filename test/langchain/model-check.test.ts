/** A store refuses an index of another embedding model, with the reason, and takes the same model in every form. */

import { Embeddings } from "@langchain/core/embeddings";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createClient, generateKey, type StorageLocation } from "../../src/core.js";
import {
  EncryptedVectorStore,
  type EncryptedVectorStoreArgs,
  LexicalEmbeddings,
  SealdexEmbeddings,
} from "../../src/index.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { type RunningService, startService } from "../http/service.js";

let service: RunningService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

const model = "sealdex/lexical-64";

/** The same dimension, other vectors. */
class Reversed extends Embeddings {
  calls = 0;
  readonly #own = new LexicalEmbeddings({ dimension: 64 });
  constructor() {
    super({});
  }
  async embedDocuments(texts: string[]): Promise<number[][]> {
    this.calls++;
    return (await this.#own.embedDocuments(texts)).map((vector) => vector.reverse());
  }
  async embedQuery(text: string): Promise<number[]> {
    this.calls++;
    return (await this.#own.embedQuery(text)).reverse();
  }
}

function address() {
  const indexLocation = createMemoryStore() as unknown as StorageLocation;
  return { indexName: "notes", indexKey: generateKey(), indexLocation };
}

test("an index that a store made is refused to a store of another model, and open to the same one", async () => {
  const args = address();
  const first = new EncryptedVectorStore(model, args);
  await first.addTexts(["salmon swim", "keys are rotated"]);
  for (const same of [model, new SealdexEmbeddings({ model }), new LexicalEmbeddings({ dimension: 64 })]) {
    const store = new EncryptedVectorStore(same, args);
    expect(await store.similaritySearch("salmon", 1)).toMatchObject([{ pageContent: "salmon swim" }]);
  }
  const other = new EncryptedVectorStore(new Reversed(), args);
  const reason =
    /^embedding: index "notes" was created with sealdex\/lexical-64; this is another model or revision/;
  await expect(other.similaritySearch("salmon", 1)).rejects.toThrow(reason);
  await expect(other.addTexts(["a"])).rejects.toThrow(reason);
  const wider = new EncryptedVectorStore("sealdex/lexical-128", args);
  await expect(wider.addTexts(["a"])).rejects.toMatchObject({ code: "dimension_mismatch" });
  // Calls without vectors need no model.
  await other.delete({ deleteAll: true });
  expect(await other.getByIds(["a"])).toEqual([]);
});

test("an index that the library made with a model is refused to a store of another one", async () => {
  const args = address();
  const own = createClient({ indexLocation: args.indexLocation });
  await own.createIndex({
    indexName: args.indexName,
    indexKey: args.indexKey,
    embeddingModel: model,
    metric: "cosine",
  });
  await expect(new EncryptedVectorStore(new Reversed(), args).addTexts(["a"])).rejects.toThrow(
    /another model/,
  );
  expect(await new EncryptedVectorStore(model, args).addTexts(["a"])).toHaveLength(1);
  await own.close();
});

test("an index without a model takes every store of its dimension, without another call of the model", async () => {
  const args = address();
  await using client = createClient({ indexLocation: args.indexLocation });
  await client.createIndex({ indexName: args.indexName, indexKey: args.indexKey, metric: "cosine" });
  const embeddings = new Reversed();
  const store = new EncryptedVectorStore(embeddings, args);
  await store.addTexts(["a"]);
  await store.similaritySearch("a", 1);
  expect(embeddings.calls).toBe(2);
});

test("over HTTP an index of another model is refused by its name", async () => {
  await using client = createClient(service.address);
  const index = { indexName: "http", indexKey: generateKey() };
  await client.createIndex({ ...index, embeddingModel: model, metric: "cosine" });
  const args: EncryptedVectorStoreArgs = { ...index, ...service.address };
  await expect(new EncryptedVectorStore("sealdex/lexical-32", args).addTexts(["a"])).rejects.toThrow(
    'embeddings: index "http" was created with sealdex/lexical-64, this store embeds with sealdex/lexical-32',
  );
  expect(await new EncryptedVectorStore(model, args).addTexts(["a"])).toHaveLength(1);
});

test("a store keeps anchors where it is told to", async () => {
  const anchors = createMemoryStore();
  const store = new EncryptedVectorStore(model, {
    ...address(),
    anchorLocation: anchors as unknown as StorageLocation,
  });
  await store.addTexts(["a"]);
  expect((await anchors.list("")).length).toBeGreaterThan(0);
});
