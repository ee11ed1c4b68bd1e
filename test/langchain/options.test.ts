/** The LangChain and LangGraph stores refuse an option that they do not take, and drop no filter. */

import { afterAll, describe, expect, test } from "vitest";
import {
  type Client,
  createClient,
  EncryptedSemanticCache,
  EncryptedVectorStore,
  generateKey,
  LexicalEmbeddings,
  SealdexEmbeddings,
  SealdexReranker,
} from "../../src/index.js";
import { EncryptedStore } from "../../src/langchain/langgraph/encrypted-store.js";
import { startService } from "../http/service.js";
import { refusal } from "../outcome.js";

const embeddings = new LexicalEmbeddings({ dimension: 16 });
const client = createClient({ indexLocation: { location: "memory" } });
const service = await startService();
const remote = createClient(service.address);
afterAll(async () => {
  await Promise.all([client.close(), remote.close()]);
  await service.close();
});
let made = 0;
const args = (own: Client = client) => ({
  indexName: `store ${made++}`,
  indexKey: generateKey(),
  client: own,
});

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

test("pqDim and pqBits are checked for every type, and unused unless it is ivfpq", async () => {
  for (const indexType of ["ivfflat", "ivf", "ivfpq"] as const) {
    const indexConfigParams = { nLists: 4, pqDim: 8, pqBits: 4 };
    const place = args();
    const store = new EncryptedVectorStore(embeddings, { ...place, indexType, indexConfigParams });
    await store.addTexts(["a"]);
    const { indexName, indexKey } = place;
    const { pqDim } = await (await client.loadIndex({ indexName, indexKey })).describe();
    expect(pqDim).toBe(indexType === "ivfpq" ? 8 : undefined);
    for (const wrong of [{ pqDim: 0 }, { pqDim: "8" }, { pqBits: 17 }]) {
      const given = { ...args(), indexType, indexConfigParams: wrong } as never;
      expect(() => new EncryptedVectorStore(embeddings, given)).toThrow(/^indexConfigParams: pq(Dim|Bits)/);
    }
  }
});

describe.each([
  ["embedded", client],
  ["over HTTP", remote],
])("%s", (_where, own) => {
  test.each([
    ["indexType", { indexType: "ivf" }, /^indexType: expected ivf, but index ".*" was created with ivfflat/],
    ["precision", { indexConfigParams: { precision: "int8" } }, /^precision: expected int8, .* with float32/],
    ["metric", { metric: "euclidean" }, /^metric: expected euclidean, .* with cosine/],
    ["textIndex", { textIndex: true }, /^textIndex: expected true, .* with false/],
  ])("a store refuses an index with another %s than it defines", async (_, more, message) => {
    const place = args(own);
    await new EncryptedVectorStore(embeddings, place).addTexts(["a"]);
    const other = new EncryptedVectorStore(embeddings, { ...place, ...more } as never);
    await expect(other.similaritySearch("a")).rejects.toMatchObject({ code: "invalid_request" });
    await expect(other.addTexts(["b"])).rejects.toThrow(message);
    const open = EncryptedVectorStore.fromExistingIndex(embeddings, { ...place, ...more } as never);
    await expect(open).rejects.toThrow(message);
  });

  test("a store with the definition of its index opens it, and so does one with none", async () => {
    const place = args(own);
    const definition = { indexType: "ivfflat", metric: "cosine", textIndex: true } as const;
    const defined = { ...place, ...definition, indexConfigParams: { precision: "float32" } } as const;
    await new EncryptedVectorStore(embeddings, defined).addTexts(["a"]);
    for (const given of [defined, place]) {
      expect(await new EncryptedVectorStore(embeddings, given).similaritySearch("a")).toHaveLength(1);
    }
    const without = new EncryptedVectorStore(embeddings, { ...place, textIndex: false });
    await expect(without.addTexts(["b"])).rejects.toThrow("textIndex: expected false");
  });
});

test.each([
  ["collectionName", '"indexName"'],
  ["colectionName", '"indexName"'],
  ["tableName", '"indexName"'],
  ["scoreThreshold", "ScoreThresholdRetriever of @langchain/classic"],
  ["localFolder", '"models.localFolder"'],
  ["indexname", '"indexName"'],
  ["caller", "new EncryptedVectorStore(embeddings, options)"],
])("the name %s of another place is named in the message with ours", (name, ours) => {
  const given = { ...args(), [name]: "a" } as never;
  expect(() => new EncryptedVectorStore(embeddings, given)).toThrow(
    `unknown property "${name}"; did you mean ${ours}?`,
  );
});

test("embeddings without options, or after them, are answered with the order of the two", () => {
  const order = "did you mean new EncryptedVectorStore(embeddings, options)?";
  expect(() => new EncryptedVectorStore(embeddings as never)).toThrow(order);
  expect(() => new EncryptedVectorStore(args() as never, embeddings as never)).toThrow(order);
});

test("a name that is like no other has no suggestion", () => {
  const given = { ...args(), vectorSize: 3 } as never;
  expect(() => new EncryptedVectorStore(embeddings, given)).toThrow(
    'store: unknown property "vectorSize". Expected indexName, ',
  );
  const fields = { ...args(), embedding: embeddings } as never;
  expect(() => new EncryptedVectorStore(embeddings, fields)).toThrow(
    'unknown property "embedding"; did you mean "embeddings"?',
  );
});

test.each([undefined, null, ""])("a store without a key (%s) is refused when it is made", (indexKey) => {
  expect(() => new EncryptedVectorStore(embeddings, { ...args(), indexKey } as never)).toThrow(
    /^indexKey: expected the key of the index, got .*environment variable/,
  );
});

test("a factory without options is refused with what it needs", async () => {
  const call = EncryptedVectorStore.fromTexts(["text"], {}, embeddings, undefined as never);
  await expect(call).rejects.toMatchObject(refusal("invalid_request", /^indexKey: expected the key/));
});

test("a location that is a text is refused with one that is not", () => {
  const { client: _, ...own } = args();
  expect(() => new EncryptedVectorStore(embeddings, { ...own, indexLocation: "./data" } as never)).toThrow(
    'expected an object, such as { location: "local", path: "./data" }, got a string',
  );
});

test("k is called k in messages", async () => {
  const store = new EncryptedVectorStore(embeddings, { ...args(), textIndex: true });
  await store.addTexts(["a"]);
  for (const k of ["4", -1, 1.5, Number.NaN] as never[]) {
    const message = /^k: expected a number of documents, got /;
    await expect(store.similaritySearch("a", k)).rejects.toThrow(message);
    await expect(store.keywordSearch("a", k)).rejects.toThrow(message);
  }
});

test.each(["Hybrid", "semantic", "similarity_score_threshold", 7])(
  "asRetriever refuses the searchType %s",
  (searchType) => {
    const store = new EncryptedVectorStore(embeddings, args());
    expect(() => store.asRetriever({ searchType } as never)).toThrow(
      /^searchType: expected "similarity", "mmr", "hybrid" or "keyword", got /,
    );
  },
);

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
