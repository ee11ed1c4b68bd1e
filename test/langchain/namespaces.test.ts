/** Stores of one namespace, and calls about one. */

import { Document } from "@langchain/core/documents";
import { FakeEmbeddings } from "@langchain/core/utils/testing";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  type Client,
  createClient,
  EncryptedVectorStore,
  type EncryptedVectorStoreArgs,
  generateKey,
  SealdexError,
} from "../../src/index.js";

let client: Client;
let args: EncryptedVectorStoreArgs;
const refused = { code: "invalid_request" };

function open(namespace?: string): EncryptedVectorStore {
  return new EncryptedVectorStore(new FakeEmbeddings(), { ...args, namespace });
}

/** Texts of the owner, sorted. */
function textsOf(documents: readonly { readonly pageContent: string }[]): string[] {
  return documents.map(({ pageContent }) => pageContent).sort();
}

beforeEach(() => {
  client = createClient({ indexLocation: { location: "memory" } });
  args = { indexName: "notes", indexKey: generateKey(), client, textIndex: true };
});

afterEach(() => client.close());

test("a store of a namespace finds, counts, lists and deletes its documents alone", async () => {
  const [ann, bob, all] = [open("ann"), open("bob"), open()];
  await ann.addTexts(["keys of ann", "more of ann"], [{}, {}], { ids: ["1", "2"] });
  await bob.addTexts(["keys of bob"], {}, { ids: ["1"] });
  await all.addTexts(["keys of nobody"], {}, { ids: ["1"] });
  const own = ["keys of ann", "more of ann"];
  expect(textsOf(await ann.similaritySearch("keys", 10))).toEqual(own);
  expect(textsOf(await ann.maxMarginalRelevanceSearch("keys", { k: 10 }))).toEqual(own);
  expect(textsOf(await ann.hybridSearch("keys more", 10))).toEqual(own);
  expect(textsOf(await ann.keywordSearch("keys", 10))).toEqual(["keys of ann"]);
  expect(textsOf(await ann.getByIds(["1"]))).toEqual(["keys of ann"]);
  expect(textsOf((await ann.listDocuments()).documents)).toEqual(own);
  const listed: Document[] = [];
  for await (const document of ann.documents()) listed.push(document);
  expect(textsOf(listed)).toEqual(own);
  expect([await ann.count(), await bob.count(), await all.count()]).toEqual([2, 1, 4]);
  await ann.delete({ ids: ["1"] });
  expect([await ann.count(), await bob.count(), await all.count()]).toEqual([1, 1, 3]);
  await ann.delete({ deleteAll: true });
  expect([await ann.count(), await bob.count(), await all.count()]).toEqual([0, 1, 2]);
});

test("a call names the namespace that it is about", async () => {
  const store = open();
  for (const namespace of ["ann", "bob"]) {
    await store.addDocuments([new Document({ pageContent: `keys of ${namespace}` })], {
      ids: ["1"],
      namespace,
    });
    await store.addVectors([[1, 0, 0, 0]], [{ pageContent: `more of ${namespace}`, metadata: {} }], {
      ids: ["2"],
      namespace,
    });
  }
  const ann = { namespace: "ann" };
  const own = ["keys of ann", "more of ann"];
  expect(textsOf(await store.similaritySearch("keys", 10, undefined, undefined, ann))).toEqual(own);
  expect(textsOf(await store.maxMarginalRelevanceSearch("keys", { k: 10, ...ann }))).toEqual(own);
  expect(textsOf(await store.hybridSearch("keys more", 10, undefined, undefined, ann))).toEqual(own);
  expect(textsOf(await store.keywordSearch("keys", 10, undefined, ann))).toEqual(["keys of ann"]);
  expect(textsOf(await store.getByIds(["1"], ann))).toEqual(["keys of ann"]);
  expect(textsOf((await store.listDocuments(ann)).documents)).toEqual(own);
  expect(await store.count(ann)).toBe(2);
  await store.delete({ ids: ["1"], ...ann });
  await store.delete({ filter: { missing: { $exists: false } }, ...ann });
  expect(await store.count(ann)).toBe(0);
  expect(await store.count({ namespace: "bob" })).toBe(2);
});

test("retrievers of every kind are about one namespace", async () => {
  const store = open();
  for (const namespace of ["ann", "bob"]) await store.addTexts([`keys of ${namespace}`], {}, { namespace });
  const retrievers = [
    store.asRetriever({ namespace: "ann" }),
    store.asRetriever({ namespace: "ann", recall: "exact", k: 5 }),
    store.asRetriever({ namespace: "ann", searchType: "mmr" }),
    store.asRetriever({ namespace: "ann", searchType: "hybrid" }),
    store.asRetriever({ namespace: "ann", searchType: "keyword" }),
    open("ann").asRetriever(),
    open("ann").asRetriever({ searchType: "mmr", searchKwargs: { fetchK: 9 } }),
    open("ann").asRetriever({ searchType: "keyword" }),
  ];
  for (const retriever of retrievers) {
    expect(textsOf(await retriever.invoke("keys"))).toEqual(["keys of ann"]);
  }
  expect(await store.asRetriever().invoke("keys")).toHaveLength(2);
});

test.each(["similarity", "mmr", "hybrid", "keyword"] as const)(
  "a %s retriever of a namespace stores documents there",
  async (searchType) => {
    const store = open();
    const retriever = store.asRetriever({ namespace: "ann", searchType } as { searchType: "similarity" });
    await retriever.addDocuments([new Document({ pageContent: "keys of ann" })], { ids: ["1"] });
    expect(textsOf(await retriever.invoke("keys"))).toEqual(["keys of ann"]);
    expect(await store.count({ namespace: "ann" })).toBe(1);
    await retriever.addDocuments([new Document({ pageContent: "keys of bob" })], { namespace: "bob" });
    expect(await store.count({ namespace: "bob" })).toBe(1);
  },
);

test("a store of a namespace refuses every call about another one, and stores nothing there", async () => {
  const ann = open("ann");
  await ann.addTexts(["keys of ann"], {});
  const namespace = "bob";
  const calls: (() => unknown)[] = [
    () => ann.addTexts(["x"], {}, { namespace }),
    () => ann.addVectors([[1, 0, 0, 0]], [{ pageContent: "x", metadata: {} }], { namespace }),
    () => ann.similaritySearch("x", 1, undefined, undefined, { namespace }),
    () => ann.similaritySearchVectorWithDistance([1, 0, 0, 0], 1, undefined, { namespace }),
    () => ann.maxMarginalRelevanceSearch("x", { k: 1, namespace }),
    () => ann.hybridSearch("x", 1, undefined, undefined, { namespace }),
    () => ann.keywordSearch("x", 1, undefined, { namespace }),
    () => ann.getByIds(["1"], { namespace }),
    () => ann.listDocuments({ namespace }),
    () => ann.documents({ namespace }).next(),
    () => ann.count({ namespace }),
    () => ann.delete({ deleteAll: true, namespace }),
    () => ann.asRetriever({ namespace }).invoke("x"),
    () => ann.asRetriever({ searchType: "keyword", namespace }).invoke("x"),
    () => ann.count({ namespace: null as never }),
  ];
  for (const call of calls) await expect((async () => call())()).rejects.toMatchObject(refused);
  expect(await ann.count()).toBe(1);
  expect(await open().count()).toBe(1);
});

test("an unknown search option is refused: an ignored one would show all namespaces", async () => {
  const store = open();
  const wrong = { namspace: "ann" } as object;
  const calls: (() => unknown)[] = [
    () => store.similaritySearch("x", 1, undefined, undefined, wrong),
    () => store.similaritySearchWithDistance("x", 1, undefined, wrong),
    () => store.hybridSearch("x", 1, undefined, undefined, wrong),
    () => store.keywordSearch("x", 1, undefined, wrong),
    () => store.getByIds(["x"], wrong),
    () => store.delete({ deleteAll: true, ...wrong }),
  ];
  for (const call of calls) await expect((async () => call())()).rejects.toBeInstanceOf(SealdexError);
});

test("an erased namespace is empty in every store", async () => {
  const ann = open("ann");
  await ann.addTexts(["keys of ann"], {});
  const { indexName, indexKey } = args;
  const index = await client.loadIndex({ indexName, indexKey });
  expect(await index.erase("ann")).toMatchObject({ rows: 1 });
  expect(await ann.similaritySearch("keys", 10)).toEqual([]);
  await ann.addTexts(["new keys"], {});
  expect(textsOf(await ann.similaritySearch("keys", 10))).toEqual(["new keys"]);
});
