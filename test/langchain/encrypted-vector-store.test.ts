import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { Document } from "@langchain/core/documents";
import { FakeEmbeddings, SyntheticEmbeddings } from "@langchain/core/utils/testing";
import { afterEach, beforeEach, describe, expect, expectTypeOf, test } from "vitest";
import type { VectorStore } from "@langchain/core/vectorstores";
import {
  createClient,
  EncryptedVectorStore,
  type EncryptedVectorStoreArgs,
  type Filter,
  generateKey,
  LexicalEmbeddings,
} from "../../src/index.js";
import type { BlobStore } from "../../src/storage/blob-store.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { newFolder } from "../folder.js";

const embeddings = new LexicalEmbeddings({ dimension: 256 });
const opened: EncryptedVectorStore[] = [];
let args: EncryptedVectorStoreArgs;

beforeEach(() => {
  const client = createClient({ indexLocation: { location: "memory" } });
  args = { indexName: "docs", indexKey: generateKey(), client };
});
afterEach(async () => {
  for (const store of opened.splice(0)) await store.close();
});

function open(more: object = {}): EncryptedVectorStore {
  const store = new EncryptedVectorStore(embeddings, { ...args, ...more });
  opened.push(store);
  return store;
}

const fish = new Document({
  pageContent: "The salmon swims up the river.",
  metadata: { topic: "nature", page: 1 },
});
const keys = new Document({
  pageContent: "Rotate the encryption keys.",
  metadata: { topic: "security", page: 2 },
});
const locks = new Document({
  pageContent: "Locks and keys for doors.",
  metadata: { topic: "security", page: 3 },
});

test("an empty store finds nothing and deletes nothing", async () => {
  const store = open();
  expect(await store.similaritySearch("anything", 1)).toEqual([]);
  await store.delete({ ids: ["nobody"] });
});

test("adds documents under new ids, finds them with ids, text and metadata, and leaves the originals alone", async () => {
  const store = open();
  const originals = [fish, keys].map((document) => structuredClone({ ...document }));
  const ids = await store.addDocuments([fish, keys]);
  expect(new Set(ids).size).toBe(2);
  for (const id of ids) expect(id).toMatch(/^[0-9a-f-]{36}$/);
  const [first, second] = await store.similaritySearch("rotate encryption keys", 2);
  expect(first).toEqual(new Document({ ...keys, id: ids[1] }));
  expect(second).toEqual(new Document({ ...fish, id: ids[0] }));
  expect([fish, keys].map((document) => ({ ...document }))).toEqual(originals);
});

test("chooses ids: those of the options, then the document's own, then random ones", async () => {
  const store = open();
  const named = new Document({ ...keys, id: "own" });
  expect(await store.addDocuments([named, fish], { ids: ["x", "y"] })).toEqual(["x", "y"]);
  const [own, random] = await store.addDocuments([named, fish]);
  expect(own).toBe("own");
  expect(random).not.toBe("y");
  await expect(store.addDocuments([fish, keys], { ids: ["one"] })).rejects.toMatchObject({
    code: "invalid_request",
  });
});

test("adding an id again replaces text, metadata and vector", async () => {
  const store = open();
  await store.addDocuments([fish], { ids: ["1"] });
  await store.addDocuments([keys], { ids: ["1"] });
  const found = await store.similaritySearch("salmon river", 5);
  expect(found).toEqual([new Document({ ...keys, id: "1" })]);
});

test("adds texts with metadata of their own, one for all, or none", async () => {
  const store = open();
  await store.addTexts(["one apple", "two pears"], [{ n: 1 }, { n: 2 }]);
  await store.addTexts(["three plums"], { n: 3 }, { ids: ["plums"] });
  await store.addTexts(["four figs"]);
  expect((await store.similaritySearch("two pears", 1))[0].metadata).toEqual({ n: 2 });
  expect((await store.similaritySearch("three plums", 1))[0]).toMatchObject({
    id: "plums",
    metadata: { n: 3 },
  });
  expect((await store.similaritySearch("four figs", 1))[0].metadata).toEqual({});
  await expect(store.addTexts(["a", "b"], [{ n: 1 }])).rejects.toMatchObject({ code: "invalid_request" });
});

test.each([
  ["a text", ["salmon"], /^documents\[0\]: .*pageContent.* got undefined/],
  ["nothing", [fish, undefined], /^documents\[1\]: .*pageContent/],
  ["a document without a text", [{ metadata: {} }], /^documents\[0\]: .*pageContent/],
  [
    "a document whose text is a number",
    [fish, { pageContent: 5, metadata: {} }],
    /^documents\[1\]: .* got number/,
  ],
  ["no list", "salmon", /^documents: expected an array, got string/],
])("refuses %s instead of documents, and says which", async (_, documents, message) => {
  const store = open();
  const adding = store.addDocuments(documents as never);
  await expect(adding).rejects.toMatchObject({
    code: "invalid_request",
    message: expect.stringMatching(message),
  });
  expect(await store.count()).toBe(0);
});

test("adds vectors that the caller has", async () => {
  const store = open();
  const vectors = await embeddings.embedDocuments(["completely other words", "salmon"]);
  await store.addVectors(vectors, [fish, keys], { ids: ["f", "k"] });
  expect((await store.similaritySearch("other words", 1))[0].id).toBe("f");
  const [[document, score]] = await store.similaritySearchVectorWithScore(vectors[1], 1);
  expect([document.id, score]).toEqual(["k", expect.closeTo(1, 6)]);
  await expect(store.addVectors(vectors, [fish])).rejects.toMatchObject({ code: "invalid_request" });
});

test("deletes by id, by filter and all; anything else is an error", async () => {
  const store = open();
  const ids = await store.addDocuments([fish, keys, locks]);
  const left = async () =>
    (await store.similaritySearch("keys", 9)).map(({ metadata }) => metadata.page).sort();
  await store.delete({ ids: [ids[0], "unknown"] });
  expect(await left()).toEqual([2, 3]);
  await store.delete({ filter: { page: { $gt: 2 } } });
  expect(await left()).toEqual([2]);
  for (const nothing of [undefined, {}, { ids: ["a"], filter: {} }, { deleteAll: false }]) {
    await expect(store.delete(nothing as never)).rejects.toMatchObject({ code: "invalid_request" });
  }
  await store.delete({ deleteAll: true });
  expect(await left()).toEqual([]);
});

test("a store with a filter deletes by id only items that match it at the moment of the deletion", async () => {
  const store = createMemoryStore();
  let disturb: (() => Promise<unknown>) | undefined;
  const disturbed: BlobStore = {
    ...store,
    async create(key, bytes) {
      const work = key.includes("/manifest/") ? disturb : undefined;
      disturb = key.includes("/manifest/") ? undefined : disturb;
      await work?.();
      return store.create(key, bytes);
    },
  };
  const options = { indexName: "limited", indexKey: generateKey(), metric: "cosine" } as const;
  const everything = new EncryptedVectorStore("sealdex/lexical-512", { ...options, indexLocation: store });
  const limited = new EncryptedVectorStore("sealdex/lexical-512", {
    ...options,
    indexLocation: disturbed,
    filter: { classified: { $ne: true } },
  });
  const ids = ["a", "b"];
  await everything.addTexts(["one", "two"], [{}, {}], { ids });
  expect(await limited.getByIds(ids)).toHaveLength(2);
  // Between the reads of the deletion and its commit, "a" stops matching the store's filter.
  disturb = () => everything.addTexts(["one"], [{ classified: true }], { ids: ["a"] });
  await limited.delete({ ids });
  expect((await everything.getByIds(ids)).map(({ id }) => id)).toEqual(["a"]);
  await Promise.all([everything.close(), limited.close()]);
});

test("k defaults to 4, gives all where there are fewer, and none for 0", async () => {
  const store = open();
  await store.addTexts(["a key", "b key", "c key", "d key", "e key", "f key"]);
  expect(await store.similaritySearch("key")).toHaveLength(4);
  expect(await store.similaritySearch("key", 50)).toHaveLength(6);
  expect(await store.similaritySearch("key", 0)).toEqual([]);
});

test("k beyond the results that an index gives at a time still means all", async () => {
  const store = open();
  await store.addTexts(["a key", "b key", "c key"]);
  expect(await store.similaritySearch("key", 20_000)).toHaveLength(3);
  expect(await store.similaritySearch("key", Number.POSITIVE_INFINITY)).toHaveLength(3);
  for (const k of [-1, 1.5, Number.NaN]) {
    await expect(store.similaritySearch("key", k)).rejects.toMatchObject({ code: "invalid_request" });
  }
});

test("gets documents by id, in the order asked for, without those that are missing", async () => {
  const store = open();
  expect(await store.getByIds(["nobody"])).toEqual([]);
  await store.addDocuments([fish, keys, locks], { ids: ["f", "k", "l"] });
  expect(await store.getByIds(["l", "nobody", "f"])).toEqual([
    new Document({ ...locks, id: "l" }),
    new Document({ ...fish, id: "f" }),
  ]);
  expect(await store.getByIds([])).toEqual([]);
});

test("every way to a document gives its id", async () => {
  const store = open();
  const [id] = await store.addDocuments([fish]);
  const vector = await embeddings.embedQuery("salmon");
  const found = [
    await store.similaritySearch("salmon"),
    (await store.similaritySearchWithScore("salmon")).map(([document]) => document),
    (await store.similaritySearchWithDistance("salmon")).map(([document]) => document),
    (await store.similaritySearchVectorWithScore(vector, 1)).map(([document]) => document),
    (await store.similaritySearchVectorWithDistance(vector, 1)).map(([document]) => document),
    await store.maxMarginalRelevanceSearch("salmon", { k: 1 }),
    await store.asRetriever().invoke("salmon"),
    await store.asRetriever({ searchType: "mmr" }).invoke("salmon"),
    await store.getByIds([id]),
  ];
  expect(found).toEqual(found.map(() => [new Document({ ...fish, id })]));
});

test("is made from one object as well", async () => {
  const store = new EncryptedVectorStore({ embeddings, ...args });
  await store.addTexts(["a pike"], {}, { ids: ["pike"] });
  const named = new EncryptedVectorStore({ embeddings: "sealdex/lexical-256", ...args });
  expect((await named.similaritySearch("pike"))[0].id).toBe("pike");
});

test("refuses embeddings that are none, and takes those of another copy of LangChain", async () => {
  for (const wrong of [undefined, null, 7, {}, { embedQuery: () => [1] }]) {
    expect(() => new EncryptedVectorStore(wrong as never, args)).toThrow(/^embeddings: expected/);
    expect(() => new EncryptedVectorStore({ embeddings: wrong as never, ...args })).toThrow(
      /^embeddings: expected/,
    );
  }
  const bare = {
    embedQuery: async () => [1, 0],
    embedDocuments: async (texts: string[]) => texts.map(() => [1, 0]),
  };
  const store = new EncryptedVectorStore(bare, args);
  await store.addTexts(["a pike"]);
  expect(await store.similaritySearch("x")).toHaveLength(1);
  const short = { ...bare, embedDocuments: async () => [] };
  await expect(new EncryptedVectorStore(short, args).addTexts(["a pike"])).rejects.toMatchObject({
    code: "invalid_request",
    message: "vectors: expected one for each of the 1 documents, got 0",
  });
});

describe.each([
  ["cosine", (a: number[], b: number[]) => 1 - dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b))],
  ["euclidean", (a: number[], b: number[]) => Math.hypot(...a.map((x, i) => x - b[i]))],
  ["squared_euclidean", (a: number[], b: number[]) => Math.hypot(...a.map((x, i) => x - b[i])) ** 2],
] as const)("raw distances under %s", (metric, distance) => {
  test("are those of the metric, ascending, in the order of the scores", async () => {
    const vectors = [
      [1, 2],
      [-3, 0.5],
      [0.25, 4],
      [1, 2.5],
    ];
    const query = [1, 1.75];
    const store = new EncryptedVectorStore(embeddings, { ...args, metric });
    await store.addVectors(
      vectors,
      vectors.map((_, i) => new Document({ pageContent: "", id: `${i}` })),
    );
    const found = await store.similaritySearchVectorWithDistance(query, 9);
    const expected = vectors
      .map((vector, i) => ({ id: `${i}`, distance: distance(query, vector) }))
      .sort((a, b) => a.distance - b.distance);
    expect(found.map(([{ id }]) => id)).toEqual(expected.map(({ id }) => id));
    found.forEach(([, raw], i) => expect(raw).toBeCloseTo(expected[i].distance, 5));
    const scored = await store.similaritySearchVectorWithScore(query, 9);
    expect(scored.map(([{ id }]) => id)).toEqual(expected.map(({ id }) => id));
  });
});

function dot(a: number[], b: number[]): number {
  return a.reduce((sum, x, i) => sum + x * b[i], 0);
}

describe.each(["cosine", "euclidean", "squared_euclidean"] as const)("scores under %s", (metric) => {
  test("are 1 for a perfect match, fall with distance, stay in [0, 1], and are never NaN", async () => {
    const store = new EncryptedVectorStore(embeddings, { ...args, metric });
    const components = [1, 0.5, 0.01, 0, -1, -100];
    await store.addVectors(
      components.map((x) => [x, 0.2]),
      components.map((x) => new Document({ pageContent: `${x}` })),
    );
    const found = await store.similaritySearchVectorWithScore([1, 0.2], 9);
    const scores = found.map(([, score]) => score);
    expect(scores).toHaveLength(6);
    expect(scores[0]).toBeCloseTo(1, 7);
    for (const score of scores) expect(score).toSatisfy((value: number) => value >= 0 && value <= 1);
    expect(scores).toEqual(scores.toSorted((a, b) => b - a));
    const zero = await store.similaritySearchVectorWithScore([0, 0], 9);
    for (const [, score] of zero) expect(Number.isFinite(score)).toBe(true);
  });
});

test("filters restrict a search; the store's own filter is required beside each call's", async () => {
  const everything = open();
  await everything.addDocuments([fish, keys, locks]);
  const pages = async (store: EncryptedVectorStore, filter?: Filter) =>
    (await store.similaritySearch("keys", 9, filter)).map(({ metadata }) => metadata.page as number).sort();
  expect(await pages(everything, { topic: "security" })).toEqual([2, 3]);
  expect(await pages(everything, {})).toEqual([1, 2, 3]);
  const security = open({ filter: { topic: "security" } });
  expect(await pages(security)).toEqual([2, 3]);
  expect(await pages(security, { page: { $lte: 2 } })).toEqual([2]);
  expect(await pages(security, { topic: "nature" })).toEqual([]);
  expect(await pages(security, { $or: [{ topic: "nature" }, { page: 3 }] })).toEqual([3]);
  await security.delete({ deleteAll: true });
  expect(await pages(everything)).toEqual([1]);
  await expect(everything.similaritySearch("x", 1, { page: { $near: 1 } } as never)).rejects.toMatchObject({
    code: "invalid_request",
  });
});

test("the store's own filter hides a document whose metadata have more keys than columns, whatever is asked", async () => {
  const wide = Object.fromEntries(Array.from({ length: 64 }, (_, i) => [`k${i}`, i]));
  const secret = new Document({ id: "s", pageContent: "secret", metadata: { ...wide, classified: true } });
  const plain = ["a", "b"].map(
    (id) => new Document({ id, pageContent: id, metadata: { classified: false, team: "x" } }),
  );
  const everything = open();
  await everything.addDocuments([secret, ...plain]);
  const limited = open({ filter: { classified: { $ne: true } } });
  const found = async (store: EncryptedVectorStore, filter?: Filter) =>
    (await store.similaritySearch("secret", 9, filter)).map(({ id }) => id).sort();
  expect(await found(limited)).toEqual(["a", "b"]);
  expect(await found(limited, { team: null })).toEqual([]);
  expect(await found(everything, { classified: true })).toEqual(["s"]);
  expect(await found(everything, { classified: { $exists: false } })).toEqual([]);
  expect(await found(everything, { team: { $exists: false } })).toEqual(["s"]);
  await limited.delete({ filter: { k1: 1 } });
  await limited.delete({ deleteAll: true });
  expect(await found(everything)).toEqual(["s"]);
});

test("nothing drops the store's own filter: not ids, not null, not a change of the object it came from", async () => {
  const everything = open();
  await everything.addDocuments([fish, keys, locks], { ids: ["f", "k", "l"] });
  const filter: { topic: unknown } = { topic: "security" };
  const given = { ...args, filter: filter as Filter };
  const security = new EncryptedVectorStore(embeddings, given);
  filter.topic = { $in: ["nature", "security"] };
  Object.assign(given, { filter: undefined });
  const found = async (dropping?: unknown) =>
    (await security.similaritySearch("x", 9, dropping as Filter)).map(({ id }) => id).sort();
  for (const dropping of [undefined, null, {}, { $or: [{}, { topic: "nature" }] }]) {
    expect(await found(dropping)).toEqual(["k", "l"]);
  }
  expect((await security.getByIds(["l", "f", "k"])).map(({ id }) => id)).toEqual(["l", "k"]);
  await security.delete({ ids: ["f", "k", "nobody"] });
  expect((await everything.getByIds(["f", "k", "l"])).map(({ id }) => id)).toEqual(["f", "l"]);
  expect(() => open({ filter: { topic: { $like: "s" } } })).toThrow(/topic\.\$like: unknown operator/);
});

test("metadata come back as they went in, and neither way shares an object with the caller", async () => {
  const metadata: Record<string, unknown> = {
    nested: { list: [1, [2, { three: null }], "four"], empty: {} },
    id: 7,
    text: "not the text",
    _content: ["x"],
    pageContent: false,
    "a.b": 1,
    $x: { $eq: 2 },
    "": "empty key",
    "ключ 🔑": "\u0000 \ud83d\ude00 \u2028",
    numbers: [-0.5, 1e300, 5e-324, 9007199254740991],
    constructor: "c",
    toString: null,
  };
  Object.defineProperty(metadata, "__proto__", { value: { polluted: true }, enumerable: true });
  const before = JSON.stringify(metadata);
  const store = open();
  await store.addDocuments([{ pageContent: "salmon", metadata }], { ids: ["s"] });
  (metadata.nested as { list: unknown[] }).list.push("late");
  const [found] = await store.similaritySearch("salmon");
  expect(JSON.stringify(found.metadata)).toBe(before);
  expect(found.metadata).not.toHaveProperty("polluted");
  found.metadata.nested.list.length = 0;
  const [again] = await store.getByIds(["s"]);
  expect(JSON.stringify(again.metadata)).toBe(before);
  const [bare] = await store.addDocuments([{ pageContent: "no metadata" } as never]);
  expect((await store.getByIds([bare]))[0].metadata).toEqual({});
});

test("works as a retriever", async () => {
  const store = open();
  await store.addDocuments([fish, keys, locks]);
  const retriever = store.asRetriever({ k: 1, filter: { page: { $ne: 2 } } });
  const [document] = await retriever.invoke("encryption keys");
  expect(document.metadata.page).toBe(3);
  expect(await retriever.batch(["salmon", "doors"])).toMatchObject([
    [{ metadata: { page: 1 } }],
    [{ metadata: { page: 3 } }],
  ]);
  await retriever.addDocuments([new Document({ pageContent: "late doors", id: "late" })]);
  expect((await store.similaritySearch("late doors", 1))[0].id).toBe("late");
});

test("is made from texts, from documents, and from an index that exists", async () => {
  const fromTexts = await EncryptedVectorStore.fromTexts(
    ["a pike", "a perch"],
    { kind: "fish" },
    embeddings,
    {
      ...args,
      ids: ["pike", "perch"],
    },
  );
  expect(fromTexts).toBeInstanceOf(EncryptedVectorStore);
  expect((await fromTexts.similaritySearch("perch", 1))[0]).toMatchObject({
    id: "perch",
    metadata: { kind: "fish" },
  });
  const fromDocuments = await EncryptedVectorStore.fromDocuments([keys], embeddings, args);
  expect(await fromDocuments.similaritySearch("keys", 9)).toHaveLength(3);
  const existing = await EncryptedVectorStore.fromExistingIndex(embeddings, args);
  expect(await existing.similaritySearch("pike", 9)).toHaveLength(3);
  const missing = EncryptedVectorStore.fromExistingIndex(embeddings, { ...args, indexName: "nobody" });
  await expect(missing).rejects.toMatchObject({ code: "not_found" });
  const wrongKey = EncryptedVectorStore.fromExistingIndex(embeddings, { ...args, indexKey: generateKey() });
  await expect(wrongKey).rejects.toMatchObject({ code: "wrong_index_key" });
});

test("a model's name stands for its embeddings", async () => {
  const store = await EncryptedVectorStore.fromTexts(["a pike"], {}, "sealdex/lexical-512", args);
  expect(await store.similaritySearch("pike", 1)).toHaveLength(1);
  for (const name of ["sealdex/lexical-1", "sealdex/nothing"]) {
    expect(() => new EncryptedVectorStore(name, args)).toThrow(/sealdex\/lexical/);
  }
});

test("refuses an index of another metric, and scores by the index's own", async () => {
  const euclidean = open({ metric: "euclidean" });
  await euclidean.addTexts(["a pike"]);
  await expect(open({ metric: "cosine" }).similaritySearch("pike", 1)).rejects.toMatchObject({
    code: "invalid_request",
  });
  const unsaid = open();
  const query = await embeddings.embedQuery("perch");
  expect(await unsaid.similaritySearchVectorWithScore(query, 1)).toEqual(
    await euclidean.similaritySearchVectorWithScore(query, 1),
  );
});

test("two stores that open a new index at the same time share it", async () => {
  const stores = [open(), open(), open()];
  await Promise.all(stores.map((store, i) => store.addTexts([`text number ${i}`])));
  expect(await stores[0].similaritySearch("text", 9)).toHaveLength(3);
});

test("an open that failed is tried again", async () => {
  await open().addTexts(["a pike"]);
  const store = open({ indexKey: generateKey() });
  await expect(store.similaritySearch("pike", 1)).rejects.toMatchObject({ code: "wrong_index_key" });
  await expect(store.similaritySearch("pike", 1)).rejects.toMatchObject({ code: "wrong_index_key" });
});

test("LangChain's own test embeddings work: equal vectors, zero vectors, a clear error for empty ones", async () => {
  const ties = new EncryptedVectorStore(new FakeEmbeddings(), { ...args, indexName: "ties" });
  await ties.addTexts(["a", "b", "c", "d", "e"]);
  const once = await ties.similaritySearch("x", 3);
  expect(once).toHaveLength(3);
  expect(await ties.similaritySearch("y", 3)).toEqual(once);
  const zero = new EncryptedVectorStore(new SyntheticEmbeddings({ vectorSize: 8 }), {
    ...args,
    indexName: "zero",
  });
  await zero.addTexts(["words", " "]);
  for (const [, score] of await zero.similaritySearchWithScore(" ", 2)) expect(score).toBe(0.5);
  await expect(zero.addTexts([""])).rejects.toMatchObject({ code: "dimension_mismatch" });
});

test("is typed as a LangChain vector store, and a wrong operator does not compile", () => {
  expectTypeOf<EncryptedVectorStore>().toExtend<VectorStore>();
  expectTypeOf<typeof EncryptedVectorStore>().toExtend<typeof VectorStore>();
  const filters = (store: EncryptedVectorStore) => [
    store.asRetriever({ filter: { year: { $gte: 2000 } } }),
    // @ts-expect-error $regex is not an operator
    store.asRetriever({ filter: { year: { $regex: "2" } } }),
  ];
  expectTypeOf(filters).toBeFunction();
});

test("another process opens the store with the key and finds its documents", async () => {
  const folder = await newFolder();
  const indexKey = generateKey();
  const location = { location: "local", path: folder } as const;
  const store = new EncryptedVectorStore("sealdex/lexical-512", {
    indexName: "two",
    indexKey,
    indexLocation: location,
  });
  await store.addDocuments([fish, keys, locks], { ids: ["fish", "keys", "locks"] });
  const found = await store.similaritySearchWithScore("encryption keys", 3);
  await store.close();
  const program = join(import.meta.dirname, "search-process.mjs");
  const { stdout } = await promisify(execFile)(process.execPath, [program, indexKey, folder]);
  expect(JSON.parse(stdout)).toEqual(JSON.parse(JSON.stringify(found)));
});
