/** Fields that a request may not have: refused, with a similar one that it may have, and never ignored. */

import { afterAll, beforeAll, expect, test } from "vitest";
import { type RunningService, startService } from "./service.js";

let service: RunningService;
let index: { index_name: string; index_key: string };
beforeAll(async () => {
  service = await startService();
  index = await service.newIndex();
});
afterAll(() => service.close());

const vectors = { query_vectors: [1, 2] };
const item = { id: "a", vector: [1, 2] };

test.each<[string, object, string, string]>([
  [
    "indexes/create",
    { index_config: { type: "ivf", pqdim: 4 } },
    "index_config",
    '"pqdim"; did you mean "pq_dim"',
  ],
  ["indexes/describe", { verbose: true }, "body", '"verbose". Expected index_name, '],
  ["indexes/train", { nlists: 4 }, "body", '"nlists"; did you mean "n_lists"'],
  ["vectors/query", { ...vectors, filterz: { a: 1 } }, "body", '"filterz"; did you mean "filters"'],
  ["vectors/query", { ...vectors, topK: 1 }, "body", '"topK"; did you mean "top_k"'],
  ["vectors/query", { ...vectors, ids: ["a"] }, "body", '"ids". Expected index_name, '],
  ["vectors/query", { ...vectors, constructor: 1 }, "body", '"constructor". Expected '],
  [
    "vectors/upsert",
    { items: [item, { ...item, metadat: {} }] },
    "items[1]",
    '"metadat"; did you mean "metadata"',
  ],
  ["vectors/get", { ids: [], filter: {} }, "body", '"filter". Expected '],
  ["vectors/delete", { ids: ["a"], delete_al: true }, "body", '"delete_al"; did you mean "delete_all"'],
  ["vectors/list_ids", { lim: 1 }, "body", '"lim"; did you mean "limit"'],
  ["vectors/num_vectors", { ["0123456789abcdef".repeat(4)]: 1 }, "body", "another name. Expected "],
])("%s %j", async (path, more, place, what) => {
  const { status, body } = await service.post(`/v1/${path}`, { ...index, ...more });
  expect([status, body.code]).toEqual([422, "invalid_request"]);
  expect(body.detail).toContain(`${place}: unknown property ${what}`);
  // Ignored fields are not recommended.
  expect(body.detail).not.toMatch(/batch_size|rerank_mult|storage_precision/);
});

test.each([
  ["indexes/create", "kms_name", "slot"],
  ["indexes/create", "metadata_schema", { a: { filterable: false } }],
  ["vectors/query", "rerank_mult", 50],
])("%s with %s, which would change results if it was not ignored, is refused", async (path, field, value) => {
  const body = { ...index, ...(path === "vectors/query" && vectors), [field]: value };
  expect(await service.post(`/v1/${path}`, body)).toMatchObject({
    status: 422,
    body: { code: "not_supported", detail: expect.stringMatching(new RegExp(`^${field}: `)) },
  });
});

test("__proto__ is a name like any other", async () => {
  const text = `${JSON.stringify({ ...index, ...vectors }).slice(0, -1)},"__proto__":{"top_k":1}}`;
  expect(await service.post("/v1/vectors/query", text)).toMatchObject({ status: 422 });
});

test("unknown fields that are null count as left out", async () => {
  const answer = await service.post("/v1/vectors/query", { ...index, ...vectors, text: null, alpha: null });
  expect(answer).toMatchObject({ status: 200 });
});

test.each([
  ["indexes/train", { batch_size: 2048, max_iters: 100, tolerance: 1e-6, max_memory: 0 }],
  ["indexes/create", { storage_precision: "float32" }],
])("ineffective fields of published clients to %s are accepted: %j", async (path, more) => {
  const { body } = await service.post(`/v1/${path}`, { ...index, ...more });
  expect(JSON.stringify(body)).not.toContain("unknown property");
});

test("a query string has no unknown fields either", async () => {
  expect(await service.get("/v1/indexes/list?page=2")).toMatchObject({
    status: 422,
    body: { detail: expect.stringContaining('unknown property "page". Expected ') },
  });
});
