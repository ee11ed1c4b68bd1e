/** A program of a user, against the built package; compiled, never run. */

import type { Document } from "@langchain/core/documents";
import type { Embeddings } from "@langchain/core/embeddings";
import type { BaseTranslator } from "@langchain/core/structured_query";
import type { VectorStore } from "@langchain/core/vectorstores";
import {
  createClient,
  type DeleteParams,
  EncryptedSemanticCache,
  EncryptedVectorStore,
  type EncryptedVectorStoreArgs,
  type Filter,
  generateKey,
  LexicalEmbeddings,
  SealdexTranslator,
} from "sealdex";
import type { BaseCache } from "@langchain/core/caches";
import type { BaseStore } from "@langchain/langgraph-checkpoint";
import { EncryptedStore } from "sealdex/langgraph";

export async function use(embeddings: Embeddings): Promise<void> {
  const [indexName, indexKey] = ["films", generateKey()];
  const indexLocation = { location: "local", path: "./data" } as const;
  const args: EncryptedVectorStoreArgs = { indexName, indexKey, indexLocation };
  const store = new EncryptedVectorStore(embeddings, args);
  const made: EncryptedVectorStore[] = [
    new EncryptedVectorStore("sealdex/lexical-512", { ...args, indexType: "ivfpq", metric: "euclidean" }),
    new EncryptedVectorStore({
      embeddings,
      indexName,
      indexKey,
      baseUrl: "http://127.0.0.1:8000",
      apiKey: "k",
    }),
    new EncryptedVectorStore({ embeddings, indexName, indexKey, client: createClient({ indexLocation }) }),
    await EncryptedVectorStore.fromTexts(["a"], {}, embeddings, { ...args, ids: ["1"] }),
  ];
  // @ts-expect-error the index's key is required
  made.push(new EncryptedVectorStore(embeddings, { indexName, indexLocation }));
  // @ts-expect-error there is no such metric
  made.push(new EncryptedVectorStore(embeddings, { ...args, metric: "dot" }));
  // @ts-expect-error there is no such type of index
  made.push(new EncryptedVectorStore(embeddings, { ...args, indexType: "hnsw" }));

  const base: VectorStore = store;
  const ids: string[] = await store.addTexts(["a"], [{ year: 2020 }], { onProgress: ({ stored }) => stored });
  const documents: Document[] = await store.getByIds(ids);
  const scored: [Document, number][] = await store.similaritySearchWithDistance("a", 3, { year: 2020 });

  const filters: Filter[] = [
    {},
    { year: 2020, "author.name": "Ann", tags: ["a"], nested: { a: null } },
    { year: { $gte: 2000, $lt: 2010 }, name: { $in: ["a", null] }, code: { $nin: [1] } },
    { $or: [{ year: { $ne: 1 } }, { $and: [{ a: { $eq: { b: 1 } } }] }] },
  ];
  await store.similaritySearch("a", 4, filters[0]);
  // @ts-expect-error $regex is not an operator
  await store.similaritySearch("a", 4, { year: { $regex: "2" } });
  // @ts-expect-error $gte belongs to a field
  await store.similaritySearch("a", 4, { $gte: 2000 });
  await store.similaritySearch("a", 4, {
    $nor: [{ year: 2000 }],
    $not: { year: { $gt: 1, $not: { $lt: 5 } } },
  });
  // @ts-expect-error $nor takes an array of filters
  await store.similaritySearch("a", 4, { $nor: { year: 2000 } });
  // @ts-expect-error $or takes an array of filters
  await store.similaritySearch("a", 4, { $or: { year: 1 } });
  // @ts-expect-error $in takes an array
  await store.similaritySearchWithScore("a", 4, { year: { $in: 2000 } });
  // @ts-expect-error operators are not nested
  await store.similaritySearchVectorWithScore([1], 4, { year: { $eq: 1, $not: { $size: 1 } } });
  store.asRetriever({ filter: { year: { $exists: true } } });
  // @ts-expect-error $exists takes a boolean
  store.asRetriever({ filter: { year: { $exists: 1 } } });
  // @ts-expect-error $size is not an operator
  store.asRetriever({ filter: { year: { $size: 1 } } });
  // @ts-expect-error $like is not an operator
  await store.maxMarginalRelevanceSearch("a", { k: 1, filter: { year: { $like: "2" } } });
  // @ts-expect-error $near is not an operator
  await store.delete({ filter: { year: { $near: 1 } } });
  // @ts-expect-error the store's own filter is typed as well
  made.push(new EncryptedVectorStore(embeddings, { ...args, filter: { year: { $gtt: 1 } } }));

  const deletions: DeleteParams[] = [{ ids: ["a"] }, { filter: { year: 1 } }, { deleteAll: true }];
  // @ts-expect-error false deletes nothing
  deletions.push({ deleteAll: false });
  const retriever = store.asRetriever({
    k: 3,
    searchType: "mmr",
    searchKwargs: { fetchK: 9 },
    filter: { a: 1 },
  });
  const found: Document[] = await retriever.invoke("a");
  const translator: BaseTranslator<EncryptedVectorStore> = new SealdexTranslator();
  const cache: BaseCache = new EncryptedSemanticCache(store, { scoreThreshold: 0.9, ttlSeconds: 60 });
  const memory: BaseStore = new EncryptedStore({
    ...args,
    index: { dims: 512, embeddings, fields: ["text"] },
  });
  // @ts-expect-error a LangGraph store is scored by cosine similarity
  const euclidean = new EncryptedStore({ indexName, indexKey, indexLocation, metric: "euclidean" });
  void [
    cache,
    memory,
    euclidean,
    base,
    documents,
    scored,
    deletions,
    found,
    translator,
    new LexicalEmbeddings({ dimension: 64 }),
  ];
}
