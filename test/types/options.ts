/** Of everything that takes options: all of them compile, and one that it does not take does not; against the built package, never run. */

import {
  awsKmsKey,
  collectGarbage,
  copyIndex,
  createClient,
  exportItems,
  generateKey,
  googleKmsKey,
  importItems,
  type IndexKey,
  ingest,
  reembed,
  type VectorIndex,
  vaultKey,
} from "sealdex/core";
import {
  EncryptedSemanticCache,
  type EncryptedVectorStore,
  LexicalEmbeddings,
  SealdexEmbeddings,
  SealdexReranker,
} from "sealdex";

const { signal } = new AbortController();
const address = { indexName: "a", indexKey: generateKey() };
const filter = { year: 1 };
const indexLocation = { location: "memory" } as const;
declare const embedding: (texts: string[]) => number[][];
declare const indexKey: IndexKey;

export async function clients(): Promise<void> {
  const models = {
    localFolder: "a",
    cacheFolder: "a",
    offline: true,
    allowed: ["a"],
    precision: "q8",
  } as const;
  const client = createClient({
    indexLocation,
    configLocation: indexLocation,
    anchorLocation: indexLocation,
    cacheBytesMax: 1,
    maxStalenessMs: 1,
    storageTimeoutMs: 1,
    automaticTraining: false,
    models: { ...models, failWhileLoading: true, onProgress: ({ loaded, total }) => loaded / total },
  });
  // @ts-expect-error the name is offline
  createClient({ indexLocation, models: { offLine: true } });
  await client.createIndex({ ...address, indexConfig: { type: "ivf" }, metric: "cosine", embedding, signal });
  await client.createIndex({ ...address, embeddingModel: "default" });
  // @ts-expect-error the name is embeddingModel
  await client.createIndex({ ...address, model: "default" });
  await client.loadIndex({ ...address, indexKey, anchor: "a", embedding, signal });
  // @ts-expect-error the metric is the index's
  await client.loadIndex({ ...address, metric: "cosine" });
  await client.listIndexes({ limit: 10, after: "a", signal });
  // @ts-expect-error there is no such option
  await client.listIndexes({ prefix: "a" });
  await client.deleteIndex({ ...address, signal });
  // @ts-expect-error there is no such option
  await client.deleteIndex({ ...address, force: true });
  await copyIndex({
    ...address,
    from: client,
    to: { indexLocation },
    newName: "b",
    onProgress: () => {},
    signal,
  });
  // @ts-expect-error the name is newName
  await copyIndex({ ...address, from: client, to: { indexLocation }, name: "b" });
  await collectGarbage({ indexLocation }, { dryRun: true, signal });
  // @ts-expect-error there is no such option
  await collectGarbage({ indexLocation }, { force: true });
}

export async function indexes(index: VectorIndex): Promise<void> {
  await index.rotateKey(generateKey(), { signal });
  // @ts-expect-error a signal is all that it takes
  await index.rotateKey(generateKey(), { keep: true });
  (await index.prefetch({ signal })) satisfies boolean;
  // @ts-expect-error a signal is all that it takes
  await index.prefetch({ bytes: 1 });
  await index.reencrypt({ signal });
  // @ts-expect-error a signal is all that it takes
  await index.reencrypt({ force: true });
  await index.wraps.add({ name: "a", key: indexKey, access: "read-only", expiresAt: new Date(), signal });
  // @ts-expect-error the name is expiresAt
  await index.wraps.add({ name: "a", key: indexKey, access: "read-only", expires: new Date() });
  await index.wraps.list({ signal });
  // @ts-expect-error a signal is all that it takes
  await index.wraps.list({ access: "read-only" });
  await index.wraps.revoke("a", { signal });
  // @ts-expect-error a signal is all that it takes
  await index.wraps.revoke("a", { force: true });
  await index.anchor({ signal });
  // @ts-expect-error a signal is all that it takes
  await index.anchor({ version: 1 });
  await index.delete({ ids: ["a"] }, { signal });
  // @ts-expect-error a signal is all that it takes
  await index.delete({ ids: ["a"] }, { filter });
  await index.update({ ids: ["a"] }, { unset: ["a"] }, { signal });
  // @ts-expect-error a signal is all that it takes
  await index.update({ ids: ["a"] }, { unset: ["a"] }, { upsert: true });
}

export async function transfers(from: VectorIndex, to: VectorIndex): Promise<void> {
  const lines = exportItems({ from, filter, after: "a", vectors: "none", signal });
  // @ts-expect-error the name is filter
  exportItems({ from, where: filter });
  const progress = { onProgress: () => {}, signal };
  await importItems({ to, lines, fromLine: 2, batchSize: 1, skipUnchanged: true, ...progress });
  // @ts-expect-error the name is batchSize
  await importItems({ to, lines, pageSize: 1 });
  await ingest({ to, items: [], batchSize: 1, skipUnchanged: true, ...progress });
  // @ts-expect-error what is deleted is for upsert
  await ingest({ to, items: [], deleteFilter: filter });
  await reembed({ from, to, ...progress });
  // @ts-expect-error it stores all items
  await reembed({ from, to, filter });
}

export function keys(): readonly unknown[] {
  const name = "projects/p/locations/l/keyRings/r/cryptoKeys/k";
  return [
    awsKmsKey({ keyId: "a", client: { send: async () => 1, destroy: () => {} } }),
    // @ts-expect-error the region is the client's
    awsKmsKey({ keyId: "a", region: "eu-north-1" }),
    googleKmsKey({ name, accessToken: () => "a", endpoint: "https://kms" }),
    // @ts-expect-error the name is accessToken
    googleKmsKey({ name, token: () => "a" }),
    vaultKey({ address: "https://vault", key: "a", token: "a", mount: "transit", namespace: "a" }),
    // @ts-expect-error the name is address
    vaultKey({ url: "https://vault", key: "a", token: "a" }),
  ];
}

export async function stores(store: EncryptedVectorStore): Promise<void> {
  const documents = [{ pageContent: "a", metadata: {} }];
  const adding = { ids: ["a"], signal, deleteFilter: filter, skipUnchanged: true, onProgress: () => {} };
  await store.addDocuments(documents, adding);
  // @ts-expect-error the name is ids
  await store.addDocuments(documents, { id: ["a"] });
  await store.listDocuments({ filter, limit: 1, cursor: undefined, signal });
  // @ts-expect-error the name is limit
  await store.listDocuments({ pageSize: 1 });
  store.documents({ filter, pageSize: 1, after: "a", signal });
  // @ts-expect-error the name is pageSize
  store.documents({ limit: 1 });
  await store.maxMarginalRelevanceSearch("a", { k: 1, fetchK: 2, lambda: 0.5, filter });
  // @ts-expect-error the name is lambda
  await store.maxMarginalRelevanceSearch("a", { k: 1, lambdaMult: 0.5 });
  await store.addImages([], { ids: [], metadatas: [], keep: true, signal });
  // @ts-expect-error the name is keep
  await store.addImages([], { captions: [] });
  const made: unknown[] = [new EncryptedSemanticCache(store, { scoreThreshold: 0.9, ttlSeconds: 1 })];
  // @ts-expect-error the name is ttlSeconds
  made.push(new EncryptedSemanticCache(store, { ttl: 1 }));
  made.push(new LexicalEmbeddings({ dimension: 16 }), new SealdexEmbeddings({ model: "a", offline: true }));
  // @ts-expect-error the name is dimension
  made.push(new LexicalEmbeddings({ dimensions: 16 }));
  // @ts-expect-error the name is model
  made.push(new SealdexEmbeddings({ modelName: "a" }));
  made.push(new SealdexReranker({ model: "a", topN: 1, offline: true }));
  // @ts-expect-error the name is topN
  made.push(new SealdexReranker({ model: "a", topK: 1 }));
}
