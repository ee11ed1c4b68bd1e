/** Embedding models behind HTTP: allowed ones alone, `Retry-After` while one loads, and the published client. */

import { rm } from "node:fs/promises";
import { Client } from "cyborgdb";
import { afterAll, beforeAll, expect, test } from "vitest";
import { EncryptedVectorStore, generateKey } from "../../src/index.js";
import { buildModels, smallDimension } from "../embedding/small-models.js";
import { type RunningService, startService } from "./service.js";

let service: RunningService;
let localFolder: string;

beforeAll(async () => {
  localFolder = await buildModels();
  const allowed = ["small-embedder"];
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
  expect(await first.json()).toMatchObject({ code: "model_loading", detail: /still loading/ });
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
