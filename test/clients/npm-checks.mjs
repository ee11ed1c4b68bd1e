/** What the published npm client does against the service, unchanged: one line of JSON per check, as python/checks.py. */

import { Client, CyborgVectorStore } from "cyborgdb";
import { Embeddings } from "@langchain/core/embeddings";
import { deepStrictEqual as equal, ok, rejects } from "node:assert";

for (const method of ["log", "info", "warn", "error", "debug"]) console[method] = () => undefined;
const { SEALDEX_TEST_URL: baseUrl, SEALDEX_TEST_KEY: apiKey } = process.env;
const client = new Client({ baseUrl, apiKey });
const checks = [];
const check = (name, run) => checks.push([name, run]);

const dimension = 16;
const vectors = Array.from({ length: 200 }, (_, i) =>
  Array.from({ length: dimension }, (_unused, j) => Math.fround(Math.sin(i * dimension + j * j + 1))),
);
const items = vectors.map((vector, i) => ({
  id: `i${i}`,
  vector,
  metadata: { n: i, kind: i % 2 ? "odd" : "even" },
}));
let made = 0;

async function create(options = {}) {
  const indexName = `npm ${made++}`;
  const indexKey = client.generateKey();
  const index = await client.createIndex({ indexName, indexKey, ...options });
  return { index, indexName, indexKey };
}

async function filled() {
  const created = await create({ metric: "euclidean" });
  await created.index.upsert({ items });
  return created;
}

check("health", async () => equal((await client.getHealth()).status, "healthy"));

check("create, list, load, describe, delete an index", async () => {
  const { index, indexName, indexKey } = await create({ indexConfig: { type: "ivfflat", dimension } });
  ok((await client.listIndexes()).includes(indexName));
  const loaded = await client.loadIndex({ indexName, indexKey });
  equal(await loaded.getIndexType(), "ivfflat");
  equal((await loaded.getIndexConfig()).dimension, dimension);
  equal(await loaded.isTrained(), false);
  await index.deleteIndex();
  ok(!(await client.listIndexes()).includes(indexName));
});

check("every index type", async () => {
  for (const indexConfig of [
    { type: "ivfflat" },
    { type: "ivf", dimension },
    { type: "ivfpq", dimension, pqDim: 8, pqBits: 8 },
  ]) {
    const { index } = await create({ indexConfig });
    await index.upsert({ items });
    equal(await index.getIndexType(), indexConfig.type);
    equal((await index.query({ queryVectors: vectors[5], topK: 1 })).results[0].id, "i5");
  }
});

check("every metric", async () => {
  for (const metric of ["euclidean", "squared_euclidean", "cosine"]) {
    const { index } = await create({ metric });
    await index.upsert({ items });
    const [nearest, next] = (await index.query({ queryVectors: vectors[5], topK: 2 })).results;
    ok(nearest.id === "i5" && nearest.distance < 1e-5 && next.distance > 1e-5);
  }
});

check("upsert items, and ids with vectors", async () => {
  const { index } = await create();
  await index.upsert({ items: items.slice(0, 2) });
  await index.upsert({ ids: ["x"], vectors: [vectors[7]] });
  equal((await index.listIds()).count, 3);
  equal((await index.get({ ids: ["x"], include: ["vector"] }))[0].vector, vectors[7]);
});

check("bytes as contents", async () => {
  const { index } = await create();
  await index.upsert({ items: [{ id: "a", vector: vectors[0], contents: Buffer.from("naïve") }] });
  equal((await index.get({ ids: ["a"], include: ["contents"] }))[0].contents, "naïve");
});

check("20,000 items in one upsert", async () => {
  const { index } = await create();
  const many = Array.from({ length: 20_000 }, (_, i) => ({
    id: `i${i}`,
    vector: Array.from({ length: 64 }, (_unused, j) => Math.sin(i + j)),
  }));
  await index.upsert({ items: many });
  equal((await index.listIds()).count, 20_000);
});

check("query a vector, several, and with filters", async () => {
  const { index } = await filled();
  const { results } = await index.query({ queryVectors: vectors[5], topK: 3 });
  equal([results.length, results[0].id, results[0].distance], [3, "i5", 0]);
  const batch = await index.query({ queryVectors: [vectors[3], vectors[4]], topK: 1 });
  equal(
    batch.results.map(([match]) => match.id),
    ["i3", "i4"],
  );
  const filters = { kind: "odd", n: { $gte: 10, $lt: 14 } };
  const some = await index.query({
    queryVectors: vectors[3],
    filters,
    include: ["metadata"],
    nProbes: 4,
    greedy: true,
  });
  equal(some.results.map(({ metadata }) => metadata.n).sort(), [11, 13]);
});

check("query texts by an embedding model", async () => {
  const { index } = await create({ embeddingModel: "sealdex/lexical-512" });
  await index.upsert({
    items: [
      { id: "salmon", contents: "The salmon swims." },
      { id: "keys", contents: "Rotate encryption keys." },
    ],
  });
  equal((await index.query({ queryContents: "encryption key", topK: 1 })).results[0].id, "keys");
});

check("get, delete and list", async () => {
  const { index } = await filled();
  const got = await index.get({ ids: ["i3", "nobody", "i1"], include: ["metadata"] });
  equal(
    got.map(({ id }) => id),
    ["i3", "i1"],
  );
  await index.delete({ ids: ["i0", "nobody"] });
  equal((await index.listIds()).count, 199);
});

check("train, isTrained, isTraining", async () => {
  const { index } = await filled();
  await index.train({ nLists: 8, batchSize: 512, maxIters: 10, tolerance: 1e-4 });
  equal(await index.isTrained(), true);
  equal((await client.isTraining()).training_indexes ?? [], []);
  equal((await index.query({ queryVectors: vectors[5], topK: 1, nProbes: 8 })).results[0].id, "i5");
});

check("train an empty index, and with more lists than items", async () => {
  const { index } = await create();
  await index.train();
  await index.upsert({ items });
  await index.train({ nLists: 1000 });
});

check("wrong API key, wrong index key, a name that is taken, unknown index, wrong dimension", async () => {
  const { index, indexName, indexKey } = await filled();
  await rejects(new Client({ baseUrl, apiKey: "wrong" }).listIndexes());
  await rejects(client.loadIndex({ indexName, indexKey: client.generateKey() }));
  await rejects(client.createIndex({ indexName, indexKey }));
  await rejects(client.loadIndex({ indexName: "nobody", indexKey }));
  await rejects(index.query({ queryVectors: [1, 2] }));
});

/** Texts with the same first letter are near one another. */
class Letters extends Embeddings {
  constructor() {
    super({});
  }
  async embedQuery(text) {
    const vector = Array(dimension).fill(0.01);
    vector[text.charCodeAt(0) % dimension] = 1;
    return vector;
  }
  embedDocuments(texts) {
    return Promise.all(texts.map((text) => this.embedQuery(text)));
  }
}

check("LangChain: add, search, scores, maximal marginal relevance, delete", async () => {
  const store = new CyborgVectorStore(new Letters(), {
    indexName: "npm store",
    indexKey: client.generateKey(),
    apiKey,
    baseUrl,
    dimension,
  });
  const texts = ["apple", "banana", "cherry", "date"];
  const ids = await store.addTexts(
    texts,
    texts.map((_, n) => ({ n })),
  );
  equal((await store.similaritySearch("apricot", 1))[0].pageContent, "apple");
  const [[document, score]] = await store.similaritySearchWithScore("banana", 1);
  ok(document.metadata.n === 1 && score > 0.99);
  equal((await store.maxMarginalRelevanceSearch("cherry", { k: 2 }))[0].pageContent, "cherry");
  const some = await store.similaritySearch("apple", 4, { n: { $gte: 2 } });
  equal(some.map(({ metadata }) => metadata.n).sort(), [2, 3]);
  await store.delete({ ids: ids.slice(0, 1) });
  equal((await store.similaritySearch("apple", 4)).length, 3);
});

for (const [name, run] of checks) {
  const begin = performance.now();
  const error = await run().then(
    () => undefined,
    (reason) => String(reason?.stack ?? reason).slice(0, 2000),
  );
  const ms = Math.round(performance.now() - begin);
  process.stdout.write(`${JSON.stringify({ check: name, ...(error !== undefined && { error }), ms })}\n`);
}
process.exit(0);
