/**
 * Every name of the specification is understood: over HTTP as it stands there, in the library in camel case.
 * SEALDEX_TEST_SPECIFICATION names its file, which is not part of this project: with it, no name of it is left out here.
 */

import { existsSync, readFileSync } from "node:fs";
import { afterAll, describe, expect, test } from "vitest";
import { createClient, EncryptedVectorStore, generateKey, LexicalEmbeddings } from "../src/index.js";
import { indexConfigOptions, methodOptions } from "../src/api/method-options.js";
import { locationFields } from "../src/storage/storage-location.js";
import { startBoth } from "./http/both-clients.js";

const { service, clients } = await startBoth();
const model = "sealdex/lexical-16";

const fields = {
  create: ["index_name", "index_key", "index_config", "metric", "embedding_model"],
  config: ["type", "dimension", "pq_dim", "pq_bits", "n_lists"],
  types: ["ivfflat", "ivf", "ivfpq"],
  metrics: ["euclidean", "cosine", "squared_euclidean"],
  result: ["id", "distance", "metadata", "vector"],
  location: ["location", "table_name", "connection_string", "bucket", "access_key", "secret_key", "region"],
  query: ["query_vectors", "query_contents", "top_k", "n_probes", "greedy", "filters", "include"],
  store: ["api_key", "embedding", "index_location", "config_location", "index_type", "index_config_params"],
  methods: [
    "add_texts",
    "add_documents",
    "similarity_search",
    "similarity_search_with_score",
    "max_marginal_relevance_search",
    "delete",
  ],
};
const moreOfLocation = ["endpoint", "path", "memory", "local"];
const filters = {
  $and: { $and: [{ n: 1 }] },
  $or: { $or: [{ n: 1 }, { n: 7 }] },
  $eq: { n: { $eq: 1 } },
  $ne: { n: { $ne: 2 } },
  $gt: { "deep.n": { $gt: 0, $lt: 2 } },
  $gte: { n: { $gte: 1, $lte: 1 } },
  $lt: { n: { $lt: 2 } },
  $lte: { n: { $lte: 1 } },
  $in: { n: { $in: [1] } },
  $nin: { n: { $nin: [2] } },
};
const answers = ["results", "status", "message", "page_content", "query_vector", "k", "X-API-Key"];

const camel = (name: string) => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
const address = () => ({ index_name: `names ${Math.random()}`, index_key: generateKey() });
const config = { type: "ivfpq", dimension: 16, pq_dim: 4, pq_bits: 4, n_lists: 2 };
const vector = Array.from({ length: 16 }, (_, i) => i + 1);
const items = [1, 2].map((n) => ({ id: `${n}`, vector, metadata: { n, deep: { n } } }));

describe("over HTTP", () => {
  test("an index is created with every field", async () => {
    const body = { ...address(), index_config: config, metric: "cosine", embedding_model: model };
    expect(Object.keys(body).sort()).toEqual([...fields.create].sort());
    expect(Object.keys(config).sort()).toEqual([...fields.config].sort());
    const { status, body: answer } = await service.post("/v1/indexes/create", body);
    expect([status, Object.keys(answer).sort()]).toEqual([200, ["message", "status"]]);
  });

  test.each(["query_vectors", "query_contents"])("a query by %s takes every field", async (by) => {
    const index = await service.newIndex({ embedding_model: model });
    expect((await service.post("/v1/vectors/upsert", { ...index, items })).status).toBe(200);
    const more = {
      top_k: 1,
      n_probes: 2,
      greedy: true,
      filters: { n: 1 },
      include: ["distance", "metadata"],
    };
    const named = [...Object.keys(more), "query_vectors", "query_contents"];
    expect(named.sort()).toEqual([...fields.query].sort());
    const query = { ...index, ...more, [by]: by === "query_vectors" ? vector : "keys" };
    const { status, body } = await service.post("/v1/vectors/query", query);
    expect([status, Object.keys(body)]).toEqual([200, ["results"]]);
    const [result] = body.results as object[];
    expect(Object.keys(result).sort()).toEqual(["distance", "id", "metadata"]);
  });

  test("the header of API keys is X-API-Key", async () => {
    const wrong = await service.post("/v1/vectors/query", {}, { "X-API-Key": "wrong" });
    expect(wrong.status).toBe(401);
  });
});

describe.each(Object.keys(clients))("the library, %s,", (where) => {
  const client = clients[where];

  test("takes the fields of an index and of a query in camel case", () => {
    for (const name of fields.create.map(camel)) expect(methodOptions.createIndex.names).toContain(name);
    for (const name of fields.config.map(camel)) expect(indexConfigOptions.names).toContain(name);
    for (const name of ["query_vector", ...fields.query].map(camel)) {
      expect(methodOptions.query.names).toContain(name);
    }
  });

  test.each(fields.types.flatMap((type) => fields.metrics.map((metric) => [type, metric] as const)))(
    "finds in an index of type %s by %s",
    async (type, metric) => {
      const { index_name: indexName, index_key: indexKey } = address();
      const codes = type === "ivfpq" ? { pqDim: 4, pqBits: 4 } : {};
      const indexConfig = { type, ...codes } as never;
      const index = await client.createIndex({ indexName, indexKey, indexConfig, metric: metric as never });
      await index.upsert(items);
      const include = type === "ivfflat" ? fields.result.slice(1) : ["distance", "metadata"];
      const [match] = await index.query({ queryVector: vector, topK: 1, include: include as never });
      expect(Object.keys(match).sort()).toEqual(["id", ...include].sort());
    },
  );

  test.each(Object.entries(filters))("filters by %s", async (_, filter) => {
    const { index_name: indexName, index_key: indexKey } = address();
    const index = await client.createIndex({ indexName, indexKey });
    await index.upsert(items);
    const found = await index.query({ queryVector: vector, filters: filter });
    expect(found.map(({ id }) => id)).toEqual(["1"]);
  });
});

test("storage locations take every field", () => {
  const taken = new Set([
    ...Object.keys(locationFields),
    ...Object.values(locationFields).flatMap(({ names }) => [...names]),
  ]);
  for (const name of [...fields.location, ...moreOfLocation].map(camel)) expect(taken).toContain(name);
});

describe("the store of documents", () => {
  const client = createClient({ indexLocation: { location: "memory" } });
  afterAll(() => client.close());
  const embedding = new LexicalEmbeddings({ dimension: 16 });

  test("takes every parameter in camel case, the embeddings also by its first argument", async () => {
    const { index_name: indexName, index_key: indexKey } = address();
    const options = {
      apiKey: "any",
      indexLocation: { location: "memory" },
      configLocation: { location: "memory" },
      indexType: "ivfpq",
      indexConfigParams: { nLists: 2, pqDim: 4, pqBits: 4 },
    } as const;
    expect(["embedding", ...Object.keys(options)].sort()).toEqual(fields.store.map(camel).sort());
    for (const embeddings of [embedding, model]) {
      const store = new EncryptedVectorStore(embeddings, { indexName, indexKey, ...options });
      expect(await store.addTexts(["a"])).toHaveLength(1);
      await store.close();
    }
  });

  test("has every method in camel case", async () => {
    const { index_name: indexName, index_key: indexKey } = address();
    const store = new EncryptedVectorStore(embedding, { indexName, indexKey, client });
    for (const name of fields.methods.map(camel)) expect(Reflect.get(store, name)).toBeTypeOf("function");
    const [id] = await store.addDocuments([{ pageContent: "a", metadata: {} }]);
    expect((await store.similaritySearch("a", 1)).map((document) => document.id)).toEqual([id]);
  });
});

const specification = process.env.SEALDEX_TEST_SPECIFICATION ?? "";
const testOnSpecification = existsSync(specification) ? test : () => undefined;

testOnSpecification("no name of the specification is left out here", () => {
  const known = new Set([
    ...Object.values(fields).flat(),
    ...fields.methods.map((name) => `a${name}`),
    ...moreOfLocation,
    ...Object.keys(filters),
    ...answers,
  ]);
  const named = readFileSync(specification, "utf8").matchAll(/`([$\w-]+)`/g);
  expect([...new Set([...named].map(([, name]) => name))].filter((name) => !known.has(name))).toEqual([]);
});
