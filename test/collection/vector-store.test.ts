/** A vector store for LangChain on a collection, embedded and over HTTP: it does what the store of one index with the same documents does. */

import type { Document } from "@langchain/core/documents";
import { expect, test } from "vitest";
import type { Client } from "../../src/api/vector-index.js";
import { generateKey } from "../../src/core.js";
import { EncryptedByteStore } from "../../src/langchain/encrypted-byte-store.js";
import { EncryptedVectorStore } from "../../src/langchain/encrypted-vector-store.js";
import { EncryptedSaver } from "../../src/langchain/langgraph/encrypted-saver.js";
import { EncryptedStore } from "../../src/langchain/langgraph/encrypted-store.js";
import { startBoth } from "../http/both-clients.js";
import { DeterministicFakeEmbedding, standardTests } from "../langchain/standard.js";
import { refusal } from "../outcome.js";

const { clients } = await startBoth();
const embeddings = new DeterministicFakeEmbedding(8);
let made = 0;
const newAddress = () => ({ indexName: `documents ${made++}`, indexKey: generateKey() });

const words = ["river", "stone", "harbor", "lantern", "violet"];
/** A word that is in one document alone: others with equal scores would be in the order of secret fingerprints. */
const nameOf = (i: number) => `q${"abcdefgh"[Math.floor(i / 10)]}${"klmnopqrst"[i % 10]}x`;
const documents = Array.from({ length: 80 }, (_, i) => ({
  pageContent: `${words[i % 5]} ${words[(i * 3) % 5]} ${nameOf(i)}`,
  metadata: { i, even: i % 2 === 0, topic: words[i % 5] },
  id: `d${i}`,
}));

for (const [where, client] of Object.entries(clients)) {
  standardTests(
    `a collection, ${where}`,
    (own) => new EncryptedVectorStore(own, { ...newAddress(), client, shards: 3 }),
  );
}

/** The results of a call, by the store of one index and by those of a collection. */
async function onEach<T>(
  stores: readonly EncryptedVectorStore[],
  call: (store: EncryptedVectorStore) => Promise<T>,
) {
  const [expected, ...others] = await Promise.all(stores.map(call));
  for (const actual of others) expect(actual).toEqual(expected);
  return expected;
}

const withScores = (found: readonly [Document, number][]) => found.map(([{ id }, score]) => [id, score]);
/** Equal scores by words are in the order of secret fingerprints. */
const inOrder = (found: readonly [Document, number][]) =>
  withScores(found).toSorted(([a, x], [b, y]) => Number(y) - Number(x) || String(a).localeCompare(String(b)));

test("searches, filters, words, retrievers, listings and deletions give the same", async () => {
  const { embedded, "over HTTP": remote } = clients;
  const open = (client: Client, shards?: number) =>
    new EncryptedVectorStore(embeddings, { ...newAddress(), client, textIndex: true, shards });
  const stores = [open(embedded), open(embedded, 4), open(remote, 4)];
  expect(await onEach(stores, (store) => store.addDocuments(documents))).toHaveLength(80);
  await onEach(stores, (store) => store.addDocuments(documents.slice(0, 20), { skipUnchanged: true }));
  await onEach(stores, (store) =>
    store.addTexts(["violet river", "stone"], [{ i: 100 }, { i: 101 }], {
      ids: ["x", "y"],
      namespace: "ann",
    }),
  );
  const vector = await embeddings.embedQuery("a question");
  expect(await onEach(stores, (store) => store.similaritySearch("river", 6))).toHaveLength(6);
  await onEach(stores, (store) => store.similaritySearchWithScore("harbor", 7, { even: true }));
  await onEach(stores, (store) => store.similaritySearchVectorWithScore(vector, 5, { i: { $lt: 30 } }));
  await onEach(stores, (store) =>
    store.maxMarginalRelevanceSearch("stone", { k: 4, fetchK: 15, lambda: 0.3 }),
  );
  await onEach(stores, async (store) =>
    inOrder(await store.keywordSearchWithScore(`${nameOf(17)} ${nameOf(18)}`, 2)),
  );
  await onEach(stores, async (store) =>
    withScores(
      await store.hybridSearchWithScore(nameOf(17), 1, { even: false }, undefined, { recall: "exact" }),
    ),
  );
  await onEach(stores, (store) => store.asRetriever({ k: 3, filter: { topic: "violet" } }).invoke("lantern"));
  await onEach(stores, (store) =>
    store
      .asRetriever({ searchType: "mmr", searchKwargs: { fetchK: 9, lambda: 0.5 }, k: 3 })
      .invoke("lantern"),
  );
  await onEach(stores, (store) => store.asRetriever({ searchType: "keyword", k: 1 }).invoke(nameOf(33)));
  await onEach(stores, (store) => store.asRetriever({ namespace: "ann" }).invoke("river"));
  await onEach(stores, (store) => store.getByIds(["d7", "absent", "d3"]));
  await onEach(stores, async (store) => [await store.count(), await store.count({ filter: { even: true } })]);
  await onEach(stores, async (store) => {
    const { documents: page, cursor } = await store.listDocuments({ limit: 30 });
    const next = await store.listDocuments({ limit: 100, cursor });
    return [...page, ...next.documents];
  });
  await onEach(stores, async (store) => {
    const all: unknown[] = [];
    for await (const { id } of store.documents({ filter: { even: true } })) all.push(id);
    return all;
  });
  await onEach(stores, (store) =>
    store.addDocuments(documents.slice(0, 4), {
      deleteFilter: { topic: "stone" },
      expiresAt: new Date(2_000_000_000_000),
    }),
  );
  await onEach(stores, (store) => store.delete({ ids: ["d8", "absent"] }));
  await onEach(stores, (store) => store.delete({ filter: { even: true } }));
  expect(await onEach(stores, (store) => store.similaritySearchWithScore("stone", 100))).not.toEqual([]);
  expect(await onEach(stores, (store) => store.count({ namespace: "ann" }))).toBe(2);
  await onEach(stores, (store) => store.delete({ deleteAll: true }));
  expect(await onEach(stores, (store) => store.count())).toBe(0);
});

test("a store opens the collection that is there, and refuses another number of shards", async () => {
  for (const client of Object.values(clients)) {
    const address = newAddress();
    const existing = { ...address, client };
    await EncryptedVectorStore.fromDocuments(documents.slice(0, 9), embeddings, { ...existing, shards: 3 });
    const index = await client.loadCollection(address);
    expect(await index.describe()).toMatchObject({ shards: 3, metric: "cosine" });
    for (const shards of [undefined, 3]) {
      const store = await EncryptedVectorStore.fromExistingIndex(embeddings, { ...existing, shards });
      expect(await store.count()).toBe(9);
    }
    const plain = { ...newAddress(), client };
    await EncryptedVectorStore.fromTexts(["a"], {}, embeddings, plain);
    for (const [args, found] of [
      [existing, "3"],
      [plain, "none"],
    ] as const) {
      const opening = EncryptedVectorStore.fromExistingIndex(embeddings, { ...args, shards: 4 });
      const message = new RegExp(`^shards: expected 4, but .* was created with ${found}`);
      await expect(opening).rejects.toMatchObject(refusal("invalid_request", message));
    }
  }
});

test("stores that open at the same time make one collection", async () => {
  for (const client of Object.values(clients)) {
    const args = { ...newAddress(), client, shards: 2 };
    const stores = [1, 2, 3].map(() => new EncryptedVectorStore(embeddings, args));
    await Promise.all(stores.map((store, i) => store.addDocuments(documents.slice(5 * i, 5 * i + 5))));
    for (const store of stores) expect(await store.count()).toBe(15);
  }
});

test("a store with a filter of its own finds and deletes in a collection, and adds nothing", async () => {
  for (const client of Object.values(clients)) {
    const args = { ...newAddress(), client };
    await EncryptedVectorStore.fromDocuments(documents, embeddings, { ...args, shards: 3 });
    const store = new EncryptedVectorStore(embeddings, { ...args, filter: { topic: "stone" } });
    expect(await store.count()).toBe(16);
    expect(await store.similaritySearch("river", 100)).toHaveLength(16);
    await store.delete({ ids: ["d0", "d1"] });
    expect(await store.count()).toBe(15);
    const adding = store.addDocuments([{ ...documents[1], metadata: { topic: "stone" } }]);
    await expect(adding).rejects.toMatchObject({ code: "not_supported" });
    expect(await store.count()).toBe(15);
  }
});

test("what relies on commits of several items refuses a collection", async () => {
  const client = clients.embedded;
  const address = { ...newAddress(), client };
  await EncryptedVectorStore.fromTexts(["a"], {}, embeddings, { ...address, shards: 2 });
  const refused = refusal("not_supported", "it is a collection");
  const thread = { configurable: { thread_id: "1" } };
  await expect(new EncryptedByteStore(address).mget(["a"])).rejects.toMatchObject(refused);
  await expect(new EncryptedStore(address).get(["a"], "b")).rejects.toMatchObject(refused);
  await expect(new EncryptedSaver(address).getTuple(thread)).rejects.toMatchObject(refused);
  await expect(new EncryptedSaver(address).setup()).rejects.toMatchObject(refused);
  for (const Kind of [EncryptedByteStore, EncryptedStore, EncryptedSaver]) {
    const create = () => new Kind({ ...newAddress(), client, shards: 2 } as never);
    expect(create).toThrow("shards is only for vector stores");
  }
});

test.each([0, 4097, 1.5, "8", null])("%s shards are refused when the store is constructed", (shards) => {
  const create = () =>
    new EncryptedVectorStore(embeddings, {
      ...newAddress(),
      client: clients.embedded,
      shards: shards as number,
    });
  expect(create).toThrow(/^shards: expected an integer from 1 to 4096/);
});
