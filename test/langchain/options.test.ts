/** The LangChain and LangGraph stores refuse an option that they do not take, and drop no filter. */

import { afterAll, describe, expect, test } from "vitest";
import {
  createClient,
  EncryptedSemanticCache,
  EncryptedVectorStore,
  generateKey,
  LexicalEmbeddings,
  SealdexEmbeddings,
  SealdexReranker,
} from "../../src/index.js";
import { EncryptedStore } from "../../src/langchain/langgraph/encrypted-store.js";

const embeddings = new LexicalEmbeddings({ dimension: 16 });
const client = createClient({ indexLocation: { location: "memory" } });
afterAll(() => client.close());
let made = 0;
const args = () => ({ indexName: `store ${made++}`, indexKey: generateKey(), client });

const unknown = { code: "invalid_request", message: expect.stringContaining("unknown property") };

test.each([
  ["a misspelled name", { filters: { a: 1 } }],
  ["an option of another place", { baseUrl: "http://127.0.0.1:1" }],
  ["a name of another library", { collectionName: "a" }],
  ["indexConfigParams of another kind", { indexType: "ivfpq", indexConfigParams: { dimension: 3 } }],
])("a store refuses %s", (_, more) => {
  expect(() => new EncryptedVectorStore(embeddings, { ...args(), ...more } as never)).toThrow(
    expect.objectContaining(unknown) as Error,
  );
});

test.each([
  ["precision", { precision: "int8" }],
  ["spilling", { spilling: true }],
])("%s is refused if the type is not ivfflat", (name, indexConfigParams) => {
  for (const indexType of ["ivf", "ivfpq"] as const) {
    const given = { ...args(), indexType, indexConfigParams };
    expect(() => new EncryptedVectorStore(embeddings, given as never)).toThrow(
      `expected ${name} only if indexType is ivfflat`,
    );
  }
});

test("pqDim and pqBits are refused if the type is not ivfpq", () => {
  for (const indexConfigParams of [{ pqDim: 8 }, { pqBits: 8 }]) {
    const given = { ...args(), indexType: "ivf" as const, indexConfigParams };
    expect(() => new EncryptedVectorStore(embeddings, given as never)).toThrow(/only if indexType is ivfpq/);
  }
});

test("a store takes an API key with storage locations, as the specification has it", async () => {
  const { client: _, ...own } = args();
  const indexLocation = { location: "memory" } as const;
  const store = new EncryptedVectorStore(embeddings, { ...own, indexLocation, apiKey: "any" });
  expect(await store.addTexts(["a"])).toHaveLength(1);
  await store.close();
});

describe("methods", () => {
  test.each<[string, (store: EncryptedVectorStore, more: object) => unknown]>([
    ["addTexts", (store, more) => store.addTexts(["a"], {}, more)],
    ["addDocuments", (store, more) => store.addDocuments([{ pageContent: "a", metadata: {} }], more)],
    ["delete", (store, more) => store.delete({ ids: ["a"], ...more } as never)],
    ["maxMarginalRelevanceSearch", (store, more) => store.maxMarginalRelevanceSearch("a", { k: 1, ...more })],
    ["asRetriever", async (store, more) => store.asRetriever({ k: 1, ...more })],
    [
      "searchKwargs",
      async (store, more) => store.asRetriever({ searchType: "mmr", searchKwargs: more } as never),
    ],
    ["EncryptedSemanticCache", async (store, more) => new EncryptedSemanticCache(store, more)],
    ["LexicalEmbeddings", async (_, more) => new LexicalEmbeddings(more)],
    ["SealdexEmbeddings", async (_, more) => new SealdexEmbeddings(more)],
    ["SealdexReranker", async (_, more) => new SealdexReranker({ model: "a", ...more })],
    ["models", async (_, more) => new EncryptedVectorStore("default", { ...args(), models: more })],
  ])("%s refuses an option that it does not take", async (_, call) => {
    const store = new EncryptedVectorStore(embeddings, args());
    await expect((async () => call(store, { filters: { a: 1 } }))()).rejects.toMatchObject(unknown);
  });
});

test("a filter reaches the retriever in every form that the types accept", async () => {
  const store = new EncryptedVectorStore(embeddings, args());
  await store.addTexts(["a pike", "a perch"], [{ n: 1 }, { n: 2 }]);
  for (const retriever of [
    store.asRetriever({ filter: { n: 2 } }),
    store.asRetriever(4, { n: 2 }),
    store.asRetriever(undefined, { n: 2 }),
    store.asRetriever({ k: 4 }, { n: 2 }),
    store.asRetriever({ searchType: "mmr", searchKwargs: { fetchK: 9 }, filter: { n: 2 } }),
  ]) {
    expect((await retriever.invoke("fish")).map(({ metadata }) => metadata.n)).toEqual([2]);
  }
  expect(() => store.asRetriever({ filter: { n: 1 } }, { n: 2 })).toThrow(/one filter, got two/);
  expect(() => store.asRetriever({ searchKwargs: { fetchK: 9 } } as never)).toThrow(/searchType "mmr"/);
});

test("an empty filter deletes nothing; deleteAll deletes items that match the store's own filter", async () => {
  const place = args();
  const all = new EncryptedVectorStore(embeddings, place);
  await all.addTexts(["a", "b", "c"], [{ n: 1 }, { n: 1 }, { n: 2 }]);
  const some = new EncryptedVectorStore(embeddings, { ...place, filter: { n: 1 } });
  for (const store of [all, some, new EncryptedVectorStore(embeddings, { ...place, filter: {} })]) {
    await expect(store.delete({ filter: {} })).rejects.toMatchObject({ code: "invalid_request" });
    await expect(store.delete()).rejects.toMatchObject({ code: "invalid_request" });
  }
  expect(await all.similaritySearch("a", 9)).toHaveLength(3);
  await some.delete({ deleteAll: true });
  expect((await all.similaritySearch("a", 9)).map(({ metadata }) => metadata.n)).toEqual([2]);
  await new EncryptedVectorStore(embeddings, { ...place, filter: {} }).delete({ deleteAll: true });
  expect(await all.similaritySearch("a", 9)).toEqual([]);
});

test("a LangGraph store refuses unknown options", async () => {
  const place = args();
  for (const more of [
    { filter: { a: 1 } },
    { metric: "euclidean" },
    { filters: {} },
    { index: { dim: 3 } },
  ]) {
    expect(() => new EncryptedStore({ ...place, ...more } as never)).toThrow(
      /unknown property|only for vector stores/,
    );
  }
  const store = new EncryptedStore(place);
  await expect(store.search(["a"], { filters: { a: 1 } } as never)).rejects.toMatchObject(unknown);
  await expect(store.listNamespaces({ prefixes: ["a"] } as never)).rejects.toMatchObject(unknown);
});

test("a batch of a store for LangGraph with an unknown property of an operation is refused, and writes nothing", async () => {
  const { indexName, indexKey } = args();
  const store = new EncryptedStore({ indexName, indexKey, client });
  const put = { namespace: ["a"], key: "k", value: { n: 1 } };
  for (const operation of [
    { namespacePrefix: ["a"], filters: { n: 1 } },
    { ...put, ttl: 5 },
    { namespace: ["a"], key: "k", index: false },
    { prefix: ["a"], limit: 10, offset: 0 },
  ]) {
    await expect(store.batch([put, operation] as never)).rejects.toMatchObject(unknown);
  }
  expect(await store.search(["a"])).toEqual([]);
  await store.batch([put, { namespacePrefix: ["a"], filter: { n: 1 } }]);
  expect(await store.listNamespaces({ prefix: ["a"], maxDepth: 1 })).toEqual([["a"]]);
});
