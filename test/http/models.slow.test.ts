/** Embedding models behind HTTP: allowed ones alone, `Retry-After` while one loads, and the published client. */

import { EventEmitter, once } from "node:events";
import { rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Client } from "cyborgdb";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createClient, EncryptedVectorStore, generateKey } from "../../src/index.js";
import { buildModels, smallDimension } from "../embedding/small-models.js";
import { type RunningService, startService } from "./service.js";

let service: RunningService;
let localFolder: string;

beforeAll(async () => {
  localFolder = await buildModels();
  const allowed = ["small-embedder", "small-cross-encoder"];
  service = await startService({ models: { localFolder, offline: true, allowed, failWhileLoading: true } });
});

afterAll(async () => {
  await service.close();
  await rm(localFolder, { recursive: true });
});

function create(indexName: string, model: string): Promise<Response> {
  return fetch(`${service.baseUrl}/v1/indexes/create`, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-API-Key": service.apiKey },
    body: JSON.stringify({ index_name: indexName, index_key: generateKey(), embedding_model: model }),
  });
}

test("a model that loads is 503 with Retry-After, and then serves", async () => {
  const first = await create("first", "small-embedder");
  expect(first.status).toBe(503);
  expect(first.headers.get("Retry-After")).toMatch(/^\d+$/);
  expect(first.headers.get("X-Error-Code")).toBe("model_loading");
  expect(await first.json()).toEqual({ status_code: 503, detail: expect.stringMatching(/still loading/) });
  let status = 503;
  while (status === 503) status = (await create("first", "small-embedder")).status;
  expect(status).toBe(200);
});

test("a model that the operator did not name is 422, and the answer names no path", async () => {
  for (const model of ["e5-small", "Xenova/all-MiniLM-L6-v2", `${localFolder}/small-embedder`, "../x", ""]) {
    const answer = await create("other", model);
    expect(answer.status, model).toBe(422);
    expect(JSON.stringify(await answer.json())).not.toContain("onnx");
  }
});

test("the published client stores and finds texts by a model", async () => {
  while ((await create("warm", "small-embedder")).status === 503);
  const client = new Client({ baseUrl: service.baseUrl, apiKey: service.apiKey });
  const index = await client.createIndex({
    indexName: "published",
    indexKey: Buffer.from(generateKey(), "hex"),
    embeddingModel: "small-embedder",
  });
  const items = Array.from({ length: 1000 }, (_, i) => ({
    id: `${i}`,
    contents: i === 7 ? "salmon swim" : "keys",
  }));
  await index.upsert({ items });
  const results = await index.query({ queryContents: "salmon swim", topK: 1 });
  expect(JSON.stringify(results)).toContain('"id":"7"');
});

test("the client waits until a model is loaded, and gives up if it never is", async () => {
  const other = await startService({
    models: { localFolder, offline: true, allowed: ["small-embedder"], failWhileLoading: true },
  });
  const client = createClient(other.address);
  const options = { indexName: "n", indexKey: generateKey(), embeddingModel: "small-embedder" };
  await (await client.createIndex(options)).upsert([{ id: "a", contents: "salmon" }]);
  await client.close();
  await other.close();
});

test("a service that says for ever that a model loads is asked a bounded number of times", async () => {
  const { server, client, requests } = await alwaysLoading("0");
  await expect(client.listIndexes()).rejects.toMatchObject({ code: "model_loading" });
  expect(requests.count).toBe(60);
  await client.close();
  server.close();
});

test("waiting for a model ends when the signal says so", async () => {
  const { server, client, requests } = await alwaysLoading("9999999");
  const controller = new AbortController();
  const listing = client.listIndexes({ signal: controller.signal });
  await requests.first;
  controller.abort(new Error("enough"));
  await expect(listing).rejects.toThrow("enough");
  await client.close();
  server.close();
});

async function alwaysLoading(retryAfter: string) {
  const answered = new EventEmitter();
  const requests = { count: 0, first: once(answered, "first") };
  const server = createServer((_, reply) => {
    requests.count++;
    reply.on("finish", () => answered.emit("first"));
    reply.writeHead(503, { "Retry-After": retryAfter, "Content-Type": "application/json" });
    reply.end(JSON.stringify({ status_code: 503, code: "model_loading", detail: "loading" }));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  return { server, requests, client: createClient({ baseUrl: `http://127.0.0.1:${port}` }) };
}

test("a model that is not there is reported, and not said to load for ever", async () => {
  const other = await startService({
    models: { localFolder, offline: true, allowed: ["none-of-these"], failWhileLoading: true },
  });
  const client = createClient(other.address);
  const options = { indexName: "n", indexKey: generateKey(), embeddingModel: "none-of-these" };
  await expect(client.createIndex(options)).rejects.toThrow(/no such model/);
  await client.close();
  await other.close();
});

test("results are reranked by an allowed cross-encoder, plain and through the client", async () => {
  await using client = createClient(service.address);
  const indexKey = generateKey();
  const index = await client.createIndex({ indexName: "ranked", indexKey, embeddingModel: "default" });
  const texts = ["keys are rotated", "salmon swim upstream", "sealed vectors in storage", "the dog jumps"];
  await index.upsert(texts.map((contents, i) => ({ id: `${i}`, contents, metadata: { i } })));
  const queryContents = "sealed vectors in storage";
  const rerank = "small-cross-encoder";
  const found = await index.query({ queryContents, topK: 2, include: ["contents"], rerank });
  expect(found[0]).toEqual({ id: "2", contents: texts[2], score: expect.any(Number) });
  expect(found).toHaveLength(2);
  expect(found[0].score).toBeGreaterThan(found[1].score);

  const query = {
    index_name: "ranked",
    index_key: indexKey,
    query_contents: queryContents,
    top_k: 3,
    rerank,
  };
  const { body } = await service.post("/v1/vectors/query", query);
  expect(body.results).toMatchObject([{ id: "2", score: found[0].score, metadata: { i: 2 } }, {}, {}]);
  for (const wrong of [
    { rerank: "e5-small" },
    { top_k: 101 },
    { rerank: 5 },
    { rerank: `${localFolder}/x` },
  ]) {
    expect((await service.post("/v1/vectors/query", { ...query, ...wrong })).status).toBe(422);
  }
  const byVector = { ...query, query_contents: undefined, query_vectors: Array(1024).fill(1) };
  expect((await service.post("/v1/vectors/query", byVector)).status).toBe(422);
  await expect(index.query({ queryContents, rerank: () => [1] })).rejects.toMatchObject({
    code: "not_supported",
  });
});

test("query_contents on an index without a model is 422", async () => {
  const address = await service.newIndex({ index_config: { type: "ivfflat", dimension: 2 } });
  const { status, body } = await service.post("/v1/vectors/query", { ...address, query_contents: "a" });
  expect(status).toBe(422);
  expect(body.code).toBe("invalid_request");
});

test("a LangChain store over HTTP embeds by name in its own process", async () => {
  const store = new EncryptedVectorStore("small-embedder", {
    indexName: "langchain",
    indexKey: generateKey(),
    ...service.address,
    models: { localFolder, offline: true },
  });
  await store.addTexts(["salmon swim", "keys rotated"]);
  const [[found]] = await store.similaritySearchWithScore("keys", 1);
  expect(found.pageContent).toBe("keys rotated");
  expect(await store.embeddings.embedQuery("keys")).toHaveLength(smallDimension);
  await store.close();
});
