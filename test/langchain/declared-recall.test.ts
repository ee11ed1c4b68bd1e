import { EncryptedStore } from "../../src/langchain/langgraph/encrypted-store.js";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  type Client,
  createClient,
  EncryptedVectorStore,
  type EncryptedVectorStoreArgs,
  generateKey,
} from "../../src/index.js";
import { clustered } from "../engine/data.js";
import { rowsOf } from "../engine/oracle.js";
import { refusal } from "../outcome.js";

const n = 2000;
const d = 24;
const k = 20;
const vectors = rowsOf(clustered(n + 10, d, 15, 4), d).map((row) => [...row]);
const queries = vectors.slice(n);
/** Embeds the text of a number as the query of that number. */
const embeddings = {
  embedQuery: async (text: string) => queries[Number(text)],
  embedDocuments: async (texts: string[]) => texts.map((_, i) => vectors[i]),
};

let client: Client;
let args: EncryptedVectorStoreArgs;
/** Ids of the `k` nearest rows of each query. */
let nearest: string[][];
const opened: EncryptedVectorStore[] = [];

function open(more: object): EncryptedVectorStore {
  const store = new EncryptedVectorStore(embeddings as never, { ...args, ...more });
  opened.push(store);
  return store;
}

beforeEach(async () => {
  client = createClient({ indexLocation: { location: "memory" }, automaticTraining: false });
  const access = { indexName: "declared", indexKey: generateKey() };
  args = { ...access, client, textIndex: true };
  const index = await client.createIndex({ ...access, metric: "cosine", textIndex: true });
  await index.upsert(vectors.slice(0, n).map((vector, i) => ({ id: `${i}`, vector, contents: `${i}` })));
  await index.train({ nLists: 50 });
  const found = await index.query({ queryVectors: queries, topK: k, nProbes: 50, include: [] });
  nearest = found.map((matches) => matches.map(({ id }) => id));
});

afterEach(async () => {
  for (const store of opened.splice(0)) await store.close();
  await client.close();
});

/** Ids of the results of a search, per query. */
const idsOf = (search: (query: string) => Promise<{ readonly id?: string | undefined }[]>) =>
  Promise.all(queries.map(async (_, i) => (await search(`${i}`)).map(({ id }) => id)));

test("a store of one probe finds everything in searches that declare it", async () => {
  const store = open({ nProbes: 1 });
  const exact = { recall: "exact" } as const;
  expect(await idsOf((text) => store.similaritySearch(text, k))).not.toEqual(nearest);
  expect(await idsOf((text) => store.similaritySearch(text, k, undefined, undefined, exact))).toEqual(
    nearest,
  );
  const documentsOf = (found: [{ id?: string | undefined }, number][]) => found.map(([document]) => document);
  expect(
    await idsOf(async (text) =>
      documentsOf(await store.similaritySearchVectorWithScore(queries[Number(text)], k, undefined, exact)),
    ),
  ).toEqual(nearest);
  expect(
    await idsOf(async (text) =>
      documentsOf(await store.similaritySearchWithDistance(text, k, undefined, exact)),
    ),
  ).toEqual(nearest);
  const diverse = (recall?: "exact") =>
    idsOf((text) => store.maxMarginalRelevanceSearch(text, { k, fetchK: k, lambda: 1, recall }));
  expect(await diverse("exact")).toEqual(nearest);
  expect(await diverse()).not.toEqual(nearest);
  const vectorsAlone = { method: "scores", alpha: 1 } as const;
  expect(await idsOf((text) => store.hybridSearch(text, k, undefined, vectorsAlone, exact))).toEqual(nearest);
});

test("the recall of a store is that of its searches, unless these declare another", async () => {
  const store = open({ recall: "exact" });
  expect(await idsOf((text) => store.similaritySearch(text, k))).toEqual(nearest);
  const least = { recall: 0.8 };
  expect(await idsOf((text) => store.similaritySearch(text, k, undefined, undefined, least))).not.toEqual(
    nearest,
  );
});

test("retrievers have a recall of their own", async () => {
  const store = open({ nProbes: 1 });
  const searchKwargs = { fetchK: k, lambda: 1 };
  for (const retriever of [
    store.asRetriever({ k, recall: "exact" }),
    store.asRetriever({ k, recall: "exact", searchType: "mmr", searchKwargs }),
    store.asRetriever({
      k,
      recall: "exact",
      searchType: "hybrid",
      searchKwargs: { fusion: { method: "scores", alpha: 1 } },
    }),
  ]) {
    expect(await idsOf((text) => retriever.invoke(text))).toEqual(nearest);
  }
  const tagged = store.asRetriever({ recall: 0.9, tags: ["mine"] });
  expect(tagged.tags).toEqual(["mine", "sealdex"]);
  expect(tagged.k).toBe(store.asRetriever({}).k);
});

test("a recall that cannot be declared is refused where it is given", async () => {
  const refused = expect.objectContaining(refusal("invalid_request", /^recall: /));
  const { textIndex: _, ...ofStore } = args;
  for (const wrong of [{ recall: 0.5 }, { recall: 0.9, nProbes: 0 }, { recall: "exact", greedy: true }]) {
    expect(() => open(wrong)).toThrow(refused);
    expect(() => new EncryptedStore({ ...ofStore, ...wrong } as never)).toThrow(refused);
  }
  const store = open({});
  expect(() => store.asRetriever({ recall: 2 })).toThrow(refused);
  expect(() => store.asRetriever({ searchType: "hybrid", recall: 2 })).toThrow(refused);
  expect(() => store.asRetriever({ searchType: "keyword", recall: 0.9 } as never)).toThrow(refused);
  await expect(store.similaritySearch("1", 1, undefined, undefined, { recall: 1 })).rejects.toEqual(refused);
});
