/** The published npm client `cyborgdb`, unchanged, against the service. */

import { Client } from "cyborgdb";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type RunningService, startService } from "./service.js";

let service: RunningService;
let client: Client;
beforeAll(async () => {
  // The client reports its calls to the console.
  for (const method of ["log", "info", "warn", "error"] as const) {
    vi.spyOn(console, method).mockImplementation(() => undefined);
  }
  service = await startService();
  client = new Client({ baseUrl: service.baseUrl, apiKey: service.apiKey });
});
afterAll(async () => {
  vi.restoreAllMocks();
  await service.close();
});

const vectors = Array.from({ length: 300 }, (_, i) => [i, (i * i) % 17, 1, -i]);

async function filledIndex(indexName: string) {
  const indexKey = client.generateKey();
  const index = await client.createIndex({
    indexName,
    indexKey,
    indexConfig: { type: "ivfflat", dimension: 4 },
    metric: "euclidean",
  });
  await index.upsert({
    items: vectors.map((vector, i) => ({
      id: `i${i}`,
      vector,
      contents: `text ${i}`,
      metadata: { n: i, kind: i % 2 ? "odd" : "even" },
    })),
  });
  return { index, indexKey };
}

test("sees the service's health", async () => {
  expect(await client.getHealth()).toMatchObject({ status: "healthy", api_version: "v1", version: "1.2.3" });
});

test("creates, describes, lists, loads and deletes an index", async () => {
  const { index, indexKey } = await filledIndex("cyborg lifecycle");
  expect(await client.listIndexes()).toContain("cyborg lifecycle");
  expect(await index.getIndexName()).toBe("cyborg lifecycle");
  expect(await index.getIndexType()).toBe("ivfflat");
  expect(await index.isTrained()).toBe(false);
  expect(await index.getIndexConfig()).toMatchObject({ dimension: 4, metric: "euclidean" });

  const loaded = await client.loadIndex({ indexName: "cyborg lifecycle", indexKey });
  expect((await loaded.listIds()).count).toBe(300);
  await index.deleteIndex();
  expect(await client.listIndexes()).not.toContain("cyborg lifecycle");
  await expect(client.loadIndex({ indexName: "cyborg lifecycle", indexKey })).rejects.toThrow(
    /404|HTTP error/,
  );
});

test.each([
  ["ivfflat", { type: "ivfflat" as const }],
  ["ivf", { type: "ivf" as const, dimension: 64 }],
  ["ivfpq", { type: "ivfpq" as const, dimension: 64, pqDim: 32, pqBits: 8 }],
  ["none", undefined],
])("creates an index with its configuration for %s", async (name, indexConfig) => {
  const index = await client.createIndex({
    indexName: `cyborg ${name}`,
    indexKey: client.generateKey(),
    ...(indexConfig && { indexConfig: indexConfig as never }),
    metric: "cosine",
  });
  expect(await index.getIndexType()).toBe(indexConfig?.type ?? "ivfflat");
  expect(await index.getIndexConfig()).toMatchObject({ metric: "cosine" });
});

test("queries one vector, several, and with filters", async () => {
  const { index } = await filledIndex("cyborg query");
  const single = await index.query({ queryVectors: vectors[7], topK: 1 });
  expect(single.results).toEqual([{ id: "i7", distance: 0, metadata: { n: 7, kind: "odd" } }]);
  const batch = await index.query({ queryVectors: [vectors[9], vectors[4]], topK: 1, include: ["distance"] });
  expect(batch.results).toEqual([[{ id: "i9", distance: 0 }], [{ id: "i4", distance: 0 }]]);
  const filtered = await index.query({
    queryVectors: [vectors[10]],
    topK: 5,
    filters: { kind: "odd", n: { $gte: 10, $lt: 14 } },
    include: ["metadata"],
    nProbes: 4,
    greedy: true,
  });
  const [found] = filtered.results as { id: string; metadata: { n: number } }[][];
  expect(found.map(({ metadata }) => metadata.n).sort((a, b) => a - b)).toEqual([11, 13]);
  await expect(index.query({ queryVectors: [1, 2] })).rejects.toThrow(/HTTP error|422/);
});

test("stores and finds texts by an embedding model", async () => {
  const index = await client.createIndex({
    indexName: "cyborg texts",
    indexKey: client.generateKey(),
    embeddingModel: "sealdex/lexical-512",
  });
  await index.upsert({
    items: [
      { id: "salmon", contents: "The salmon swims up the river.", metadata: { topic: "fish" } },
      { id: "keys", contents: "Rotate encryption keys every year.", metadata: { topic: "security" } },
    ],
  });
  const { results } = await index.query({ queryContents: "encryption key rotation", topK: 1 });
  expect(results).toEqual([{ id: "keys", distance: expect.any(Number), metadata: { topic: "security" } }]);
});

test("runs the examples of its README", async () => {
  const index = await client.createIndex({ indexName: "my-index", indexKey: client.generateKey() });
  const queryVector = [0.1, 0.2, 0.3];
  const items = [
    {
      id: "doc1",
      vector: queryVector,
      contents: "Hello world!",
      metadata: { category: "greeting", language: "en" },
    },
    {
      id: "doc2",
      vector: [0.4, 0.5, 0.6],
      contents: "Bonjour le monde!",
      metadata: { category: "greeting", language: "fr" },
    },
  ];
  await index.upsert({ items });
  const { results } = await index.query({ queryVectors: queryVector, topK: 10 });
  expect(results).toMatchObject([{ id: "doc1" }, { id: "doc2" }]);
  const queryVectors = [queryVector, [0.4, 0.5, 0.6]];
  const batch = await index.query({ queryVectors, topK: 5 });
  expect(batch.results).toMatchObject([
    [{ id: "doc1" }, { id: "doc2" }],
    [{ id: "doc2" }, { id: "doc1" }],
  ]);
  const filtered = await index.query({
    queryVectors: queryVector,
    topK: 10,
    nProbes: 1,
    greedy: false,
    filters: { category: "greeting", language: "en" },
    include: ["distance", "metadata", "contents"],
  });
  const { id, contents, metadata } = items[0];
  expect(filtered.results).toEqual([{ id, contents, metadata, distance: 0 }]);
});

test("gets, lists and deletes items", async () => {
  const { index } = await filledIndex("cyborg items");
  const got = await index.get({ ids: ["i3", "nobody", "i1"], include: ["vector", "metadata"] });
  expect(got).toEqual([
    { id: "i3", vector: vectors[3], metadata: { n: 3, kind: "odd" } },
    { id: "i1", vector: vectors[1], metadata: { n: 1, kind: "odd" } },
  ]);
  // This client stores bytes as base64 and decodes base64 when it gets contents.
  await index.upsert({
    items: [{ id: "bytes", vector: vectors[0], contents: Buffer.from("naïve") as never }],
  });
  expect(await index.get({ ids: ["bytes"], include: ["contents"] })).toEqual([
    { id: "bytes", contents: "naïve" },
  ]);

  await index.delete({ ids: ["bytes", "i0", "nobody"] });
  const { ids, count } = await index.listIds();
  expect(count).toBe(299);
  expect(ids).not.toContain("i0");
  await index.upsert({ ids: ["i0"], vectors: [vectors[0]] });
  expect((await index.listIds()).count).toBe(300);
});

test("trains an index, and finds the same as before", async () => {
  const { index } = await filledIndex("cyborg training");
  const ask = () => index.query({ queryVectors: vectors[123], topK: 3, nProbes: 8 });
  const before = await ask();
  expect(await index.train({ nLists: 8, batchSize: 512, maxIters: 10, tolerance: 1e-4 })).toMatchObject({
    status: "success",
  });
  expect(await index.isTrained()).toBe(true);
  expect(await ask()).toEqual(before);
});

test("is refused with a wrong API key, a wrong index key, and a name that is taken", async () => {
  const { indexKey } = await filledIndex("cyborg refused");
  const stranger = new Client({ baseUrl: service.baseUrl, apiKey: "wrong" });
  await expect(stranger.listIndexes()).rejects.toThrow(/HTTP error/);
  const indexName = "cyborg refused";
  await expect(client.loadIndex({ indexName, indexKey: client.generateKey() })).rejects.toThrow(/HTTP error/);
  await expect(client.createIndex({ indexName, indexKey })).rejects.toThrow(/HTTP error/);
});
