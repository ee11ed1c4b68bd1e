/** Fields of matches: a query returns them itself, as the embedded one does. */

import { afterAll, beforeAll, expect, test } from "vitest";
import { createClient, generateKey, type VectorIndex } from "../../src/core.js";
import { type RunningService, startService } from "./service.js";

const indexKey = generateKey();
const log: string[] = [];
let service: RunningService;
const indexes = new Map<string, VectorIndex>();
const items = [
  { id: "a", vector: [1, 0], contents: "the first", metadata: { n: 1 } },
  { id: "b", vector: [0.5, 0.25], contents: "the second", metadata: { n: 2 } },
  { id: "c", vector: [0, 1], metadata: {} },
];

beforeAll(async () => {
  service = await startService({ log: { write: (line) => log.push(line) } });
  for (const type of ["ivfflat", "ivfpq"] as const) {
    const indexConfig = type === "ivfpq" ? { type, pqDim: 1, pqBits: 4 } : { type };
    const options = { indexName: type, indexKey, textIndex: true } as const;
    const index = await createClient(service.address).createIndex({ ...options, indexConfig });
    await index.upsert(items);
    indexes.set(type, index);
  }
});
afterAll(() => service.close());

const query = (body: object, path = "query", index_name = "ivfflat") =>
  service.post(`/v1/vectors/${path}`, { index_name, index_key: indexKey, ...body });
const [a, b] = items;

test.each<[string, object, unknown]>([
  [
    "contents",
    { query_vectors: [1, 0], top_k: 1, include: ["contents"] },
    [{ id: "a", contents: a.contents }],
  ],
  ["vectors", { query_vectors: [1, 0], top_k: 1, include: ["vector"] }, [{ id: "a", vector: a.vector }]],
  [
    "all fields",
    { query_vectors: [1, 0], top_k: 1, include: ["distance", "metadata", "contents", "vector"] },
    [{ ...a, distance: 0 }],
  ],
  ["contents that are missing", { query_vectors: [0, 1], top_k: 1, include: ["contents"] }, [{ id: "c" }]],
  [
    "a batch",
    {
      query_vectors: [
        [1, 0],
        [0.5, 0.25],
      ],
      top_k: 1,
      include: ["contents", "vector"],
    },
    [[a], [b]].map(([{ id, contents, vector }]) => [{ id, contents, vector }]),
  ],
  [
    "words",
    { query_text: "second", include: ["contents", "vector"] },
    [{ id: "b", contents: b.contents, vector: b.vector, score: expect.any(Number) }],
  ],
])("%s are included", async (_, body, results) => {
  expect(await query(body)).toEqual({ status: 200, body: { results } });
});

test("base64 vectors find the same fields", async () => {
  const batch = { vectors_b64: Buffer.from(Float32Array.of(1, 0).buffer).toString("base64"), dimension: 2 };
  const { body } = await query({ batch, top_k: 1, include: ["vector", "contents"] }, "query_binary");
  expect(body).toEqual({ results: [[{ id: "a", vector: a.vector, contents: a.contents }]] });
});

test.each([
  [["contents", "text"], /^include\[1\]: expected one of .*contents/],
  [["scores"], /scores/],
  [Array(17).fill("contents"), /^include: .*16/],
])("include %j is refused", async (include, detail) => {
  const answer = await query({ query_vectors: [1, 0], include });
  expect(answer).toMatchObject({ status: 422, body: { detail: expect.stringMatching(detail) } });
});

test("an index of codes has contents and decoded vectors, and refuses vectors", async () => {
  const found = await query(
    { query_vectors: [1, 0], top_k: 1, include: ["contents", "decoded"] },
    "query",
    "ivfpq",
  );
  expect(found).toMatchObject({
    status: 200,
    body: { results: [{ id: "a", contents: a.contents, decoded: [expect.any(Number), expect.any(Number)] }] },
  });
  const refused = await query({ query_vectors: [1, 0], include: ["vector"] }, "query", "ivfpq");
  expect(refused).toMatchObject({ status: 422, body: { code: "not_supported" } });
});

test("the client asks once, for vectors to the bit", async () => {
  const [index] = indexes.values();
  await index.upsert([{ id: "b", vector: [-0, Math.fround(0.1)], contents: "the second" }]);
  log.length = 0;
  const include = ["distance", "metadata", "contents", "vector", "decoded"] as const;
  const [[found]] = await index.query({ queryVectors: [[-0, Math.fround(0.1)]], topK: 1, include });
  const vector = Float32Array.of(-0, 0.1);
  expect(found).toEqual({
    id: "b",
    distance: 0,
    metadata: {},
    contents: "the second",
    vector,
    decoded: vector,
  });
  await expect.poll(() => log.filter((line) => line.includes("/v1/")).length).toBe(1);
});

test("the OpenAPI document says so", async () => {
  const { body } = await service.get("/v1/openapi.json");
  const text = JSON.stringify((body as { paths: Record<string, unknown> }).paths["/v1/vectors/query"]);
  expect(text).toContain('"contents","vector","decoded"');
});
