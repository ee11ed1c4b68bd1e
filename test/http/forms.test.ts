/** Forms of answers that clients of several generations decode: descriptions, errors. */

import { afterAll, beforeAll, expect, test } from "vitest";
import { generateKey } from "../../src/core.js";
import { createClient } from "../../src/client/client.js";
import { type RunningService, startService } from "./service.js";

let service: RunningService;
let index: { index_name: string; index_key: string };
beforeAll(async () => {
  service = await startService();
  index = await service.newIndex({ dimension: 4, metric: "cosine" });
});
afterAll(() => service.close());

async function plain(path: string, body: object, headers: Record<string, string> = {}) {
  const response = await fetch(service.baseUrl + path, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-API-Key": service.apiKey, ...headers },
    body: JSON.stringify(body),
  });
  return {
    status: response.status,
    code: response.headers.get("X-Error-Code"),
    body: (await response.json()) as Record<string, unknown>,
  };
}
const describeIndex = async (headers?: Record<string, string>) =>
  Object.keys((await plain("/v1/indexes/describe", index, headers)).body).sort();

const nested = ["index_config", "index_name", "index_type", "is_trained"];
const flat = ["bm25", "dimension", "index_name", "is_trained", "metadata_schema", "metric", "n_lists"];

test("a description has the fields of both generations", async () => {
  expect(await describeIndex()).toEqual([...new Set([...nested, ...flat])].sort());
  expect((await plain("/v1/indexes/describe", index)).body).toMatchObject({
    dimension: 4,
    metric: "cosine",
    n_lists: 1,
    metadata_schema: {},
    bm25: null,
    index_type: "ivfflat",
    index_config: { index_type: "ivfflat", dimension: 4, metric: "cosine" },
  });
});

test("a client that decodes strictly gets one form alone", async () => {
  expect(await describeIndex({ "User-Agent": "OpenAPI-Generator/1.0.0/go" })).toEqual(nested);
  expect(await describeIndex({ "X-Describe-Form": "nested" })).toEqual(nested);
  const newer = { "X-Describe-Form": "flat", "User-Agent": "OpenAPI-Generator/1.0.0/go" };
  expect(await describeIndex(newer)).toEqual(flat);
  expect(await describeIndex({ "User-Agent": "OpenAPI-Generator/1.0.0/python" })).toHaveLength(9);
});

test("a dimension of 0 is decided by the first vector, in either place", async () => {
  for (const config of [{ dimension: 0 }, { index_config: { type: "ivfflat", dimension: 0 } }]) {
    const open = await service.newIndex(config);
    const item = { id: "a", vector: [1, 2, 3] };
    expect((await service.post("/v1/vectors/upsert", { ...open, items: [item] })).status).toBe(200);
    expect((await service.post("/v1/indexes/describe", open)).body).toMatchObject({ dimension: 3 });
  }
});

test("ivfsq is stored as ivfflat", async () => {
  const open = await service.newIndex({ index_config: { type: "ivfsq", dimension: 3, sq_bits: 8 } });
  expect((await service.post("/v1/indexes/describe", open)).body).toMatchObject({ index_type: "ivfflat" });
});

test("an error has a status and a detail, and its code in a header", async () => {
  const unknown = { index_name: "nobody", index_key: generateKey() };
  expect(await plain("/v1/indexes/describe", unknown)).toEqual({
    status: 404,
    code: "not_found",
    body: { status_code: 404, detail: expect.stringContaining("nobody") },
  });
});

test.each<[string, object, (string | number)[], string, RegExp]>([
  [
    "/v1/vectors/query",
    { query_vectors: [1, 2] },
    ["body", "query_vectors"],
    "dimension_mismatch",
    /expected/,
  ],
  [
    "/v1/vectors/upsert",
    { items: [{ id: "a", vector: [1, 2, 3, 4] }, { id: 5 }] },
    ["body", "items", 1, "id"],
    "invalid_request",
    /^expected string, got number$/,
  ],
  ["/v1/vectors/query", { filterz: {} }, ["body"], "invalid_request", /unknown property "filterz"/],
])("%s with %j is 422 with a list of errors and their places", async (path, more, loc, type, msg) => {
  const answer = await plain(path, { ...index, ...more });
  expect(answer).toMatchObject({ status: 422, code: type });
  expect(answer.body).toEqual({ detail: [{ loc, msg: expect.stringMatching(msg), type }] });
});

test("Sealdex's own client throws the codes that the library does", async () => {
  await using client = createClient(service.address);
  const open = await client.loadIndex({ indexName: index.index_name, indexKey: index.index_key });
  await expect(open.query({ queryVector: [1, 2] })).rejects.toMatchObject({ code: "dimension_mismatch" });
  const nobody = client.loadIndex({ indexName: "nobody", indexKey: index.index_key });
  await expect(nobody).rejects.toMatchObject({ code: "not_found" });
});

test("an error names a vector of a query as it was passed, in whichever request it was sent", async () => {
  await using client = createClient(service.address);
  const wide = await service.newIndex({ dimension: 8192, metric: "euclidean" });
  const open = await client.loadIndex({ indexName: wide.index_name, indexKey: wide.index_key });
  await expect(open.query({ queryVector: [1, 2] })).rejects.toThrow(/^queryVector: /);
  const [usual, tooLong] = [0, 1e38].map((first) => Float32Array.from({ length: 8192 }, () => first));
  const queryVectors = Array.from({ length: 300 }, (_, i) => (i === 250 ? tooLong : usual));
  await expect(open.query({ queryVectors })).rejects.toThrow(/^queryVectors\[250\]: /);
});

test("an error names an id as it was passed, in whichever request it was sent", async () => {
  await using client = createClient(service.address);
  const open = await client.loadIndex({ indexName: index.index_name, indexKey: index.index_key });
  const ids = Array.from({ length: 2500 }, (_, i) => (i === 1700 ? "" : `${i}`));
  await expect(open.get(ids)).rejects.toThrow(/^ids\[1700\]: /);
  await expect(open.delete({ ids })).rejects.toThrow(/^ids\[1700\]: /);
});
