/** The two endpoints of the specification, row by row, as any HTTP client sees them. */

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { generateKey } from "../../src/core.js";
import { type RunningService, startService } from "./service.js";

let service: RunningService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

const create = (body: unknown, headers?: Record<string, string>) =>
  service.post("/v1/indexes/create", body, headers);
const query = (body: unknown, headers?: Record<string, string>) =>
  service.post("/v1/vectors/query", body, headers);
const address = () => ({ index_name: `named ${Math.random()}`, index_key: generateKey() });
const describeIndex = async (index: object) => (await service.post("/v1/indexes/describe", index)).body;

function expectError(
  answer: { status: number; body: Record<string, unknown> },
  status: number,
  code: string,
  detail?: RegExp,
) {
  expect(answer.body).toEqual({
    status_code: status,
    code,
    detail: expect.stringMatching(detail ?? /./),
  });
  expect(answer.status).toBe(status);
}

describe("POST /v1/indexes/create", () => {
  test("answers with a status and a message that names the index", async () => {
    const index = { ...address(), index_config: { type: "ivfflat", dimension: 4 } };
    const { status, body } = await create(index);
    expect(status).toBe(200);
    expect(body.status).toBe("success");
    expect(body.message).toContain(index.index_name);
    expect(Object.keys(body).sort()).toEqual(["message", "status"]);
  });

  test("the metric is euclidean, and the dimension open, unless said otherwise", async () => {
    const index = await service.newIndex({ index_config: { type: "ivfflat" } });
    const { index_config } = await describeIndex(index);
    expect(index_config).toMatchObject({ metric: "euclidean", type: "ivfflat", dimension: 0, n_lists: 1 });
  });

  test.each(["euclidean", "cosine", "squared_euclidean"])("takes the metric %s", async (metric) => {
    const index = await service.newIndex({ index_config: { type: "ivfflat", dimension: 2 }, metric });
    expect(await describeIndex(index)).toMatchObject({ index_config: { metric } });
  });

  test.each([
    [{ type: "ivfflat", dimension: 8 }, {}],
    [{ type: "ivf", dimension: 8, n_lists: 20 }, {}],
    [{ type: "ivf" }, {}],
    [{ type: "ivfflat", dimension: 4, precision: "float16" }, { precision: "float16" }],
    [{ type: "ivfflat", spilling: false }, { spilling: false }],
    [
      { type: "ivfpq", dimension: 8, pq_dim: 4, pq_bits: 6 },
      { pq_dim: 4, pq_bits: 6 },
    ],
  ] as [{ type: string; dimension?: number }, object][])(
    "takes the configuration %j",
    async (index_config, expected) => {
      const index = await service.newIndex({ index_config });
      const described = await describeIndex(index);
      expect(described).toMatchObject({
        index_name: index.index_name,
        index_type: index_config.type,
        is_trained: false,
        index_config: { type: index_config.type, index_type: index_config.type, ...expected },
      });
      expect(described.index_config).toHaveProperty("dimension", index_config.dimension ?? 0);
      expect(described).not.toHaveProperty("index_key");
    },
  );

  test("an embedding model makes index_config, or its dimension, unnecessary", async () => {
    const embedding_model = "sealdex/lexical-512";
    const bare = await service.newIndex({ embedding_model });
    expect(await describeIndex(bare)).toMatchObject({
      index_type: "ivfflat",
      index_config: { dimension: 512, embedding_model },
    });
    const typed = await service.newIndex({ embedding_model, index_config: { type: "ivf" } });
    expect(await describeIndex(typed)).toMatchObject({ index_type: "ivf", index_config: { dimension: 512 } });
  });

  test("null and ineffective fields of other clients count as missing", async () => {
    const index = await service.newIndex({
      index_config: null,
      metric: null,
      embedding_model: null,
      storage_precision: "float32",
      dimension: 0,
      kms_name: null,
    });
    expect(await describeIndex(index)).toMatchObject({
      index_type: "ivfflat",
      index_config: { dimension: 0 },
    });
  });

  test("answers 409 to a name that is taken, whatever the key", async () => {
    const index = await service.newIndex();
    expectError(await create(index), 409, "already_exists", /already exists/);
    expectError(await create({ ...index, index_key: generateKey() }), 409, "already_exists");
  });

  test.each<[string, object, RegExp]>([
    ["no index_name", { index_name: undefined }, /^index_name: /],
    ["an index_name that is no string", { index_name: 5 }, /^index_name: expected string, got number$/],
    ["an empty index_name", { index_name: "" }, /^index_name: /],
    ["no index_key", { index_key: undefined }, /^index_key: /],
    ["a key of 62 characters", { index_key: "ab".repeat(31) }, /^index_key: /],
    ["a key that is not hexadecimal", { index_key: "xy".repeat(32) }, /^index_key: /],
    ["an index_config without type", { index_config: {} }, /^index_config\.type: /],
    ["an index_config that is no object", { index_config: "ivf" }, /^index_config: expected object/],
    ["an unknown type", { index_config: { type: "hnsw" } }, /^index_config\.type: expected one of ivfflat, /],
    ["a dimension of -1", { index_config: { type: "ivf", dimension: -1 } }, /^index_config\.dimension: /],
    ["a flat dimension of -1", { dimension: -1 }, /^index_config\.dimension: /],
    ["two dimensions", { dimension: 2, index_config: { type: "ivf", dimension: 3 } }, /^dimension: expected/],
    ["a dimension of 8193", { index_config: { type: "ivf", dimension: 8193 } }, /^index_config\.dimension: /],
    ["a dimension of 1.5", { index_config: { type: "ivf", dimension: 1.5 } }, /^index_config\.dimension: /],
    ["n_lists 0", { index_config: { type: "ivf", n_lists: 0 } }, /^index_config\.n_lists: /],
    [
      "an unknown precision",
      { index_config: { type: "ivfflat", precision: "int4" } },
      /^index_config\.precision: expected one of float32, float16, int8/,
    ],
    [
      "a precision of ivf",
      { index_config: { type: "ivf", precision: "int8" } },
      /^index_config\.precision: expected none/,
    ],
    [
      "a spilling that is no boolean",
      { index_config: { type: "ivfflat", spilling: "no" } },
      /^index_config\.spilling: expected boolean, got string/,
    ],
    [
      "spilling of ivf",
      { index_config: { type: "ivf", spilling: false } },
      /^index_config\.spilling: expected none/,
    ],
    ["ivfpq without pq_dim", { index_config: { type: "ivfpq", pq_bits: 8 } }, /^index_config\.pq_dim: /],
    ["ivfpq without pq_bits", { index_config: { type: "ivfpq", pq_dim: 8 } }, /^index_config\.pq_bits: /],
    [
      "pq_bits 0",
      { index_config: { type: "ivfpq", pq_dim: 8, pq_bits: 0 } },
      /^index_config\.pq_bits: expected an integer from 1 to 16/,
    ],
    ["pq_bits 17", { index_config: { type: "ivfpq", pq_dim: 8, pq_bits: 17 } }, /^index_config\.pq_bits: /],
    ["an unknown metric", { metric: "manhattan" }, /^metric: expected one of euclidean, cosine, squared_/],
    ["an unknown model", { embedding_model: "nobody/nothing" }, /nobody\/nothing|embedding/i],
  ])("answers 422 to %s", async (_, changes, detail) => {
    const body = { ...address(), ...changes };
    expectError(await create(body), 422, "invalid_request", detail);
    expect((await service.get("/v1/indexes/list")).body.indexes).not.toContain(body.index_name);
  });

  test("answers 422 to dimensions that do not fit each other", async () => {
    const index_config = { type: "ivfpq", dimension: 10, pq_dim: 4, pq_bits: 8 };
    expectError(await create({ ...address(), index_config }), 422, "dimension_mismatch", /^pq_dim: .*10.*4/);
    const other = { index_config: { type: "ivfflat", dimension: 3 }, embedding_model: "sealdex/lexical-512" };
    expectError(await create({ ...address(), ...other }), 422, "dimension_mismatch", /^index_config\.dim/);
  });

  test.each([
    ["a wrong API key", generateKey()],
    ["an empty API key", ""],
  ])("answers 401 to %s", async (_, key) => {
    const index = address();
    expectError(await create(index, { "X-API-Key": key }), 401, "unauthenticated", /X-API-Key/);
    expect((await service.get("/v1/indexes/list")).body.indexes).not.toContain(index.index_name);
  });
});

describe("POST /v1/vectors/query", () => {
  const items = Array.from({ length: 150 }, (_, i) => ({
    id: `i${i}`,
    vector: [i, 0],
    metadata: { n: i, odd: i % 2 === 1, at: { floor: i % 3 } },
  }));
  let index: { index_name: string; index_key: string };
  let textual: { index_name: string; index_key: string };
  beforeAll(async () => {
    index = await service.newIndex({ index_config: { type: "ivfflat", dimension: 2 } });
    const stored = await service.post("/v1/vectors/upsert", { ...index, items });
    expect(stored).toMatchObject({ status: 200, body: { status: "success" } });
    textual = await service.newIndex({ embedding_model: "sealdex/lexical-512" });
    await service.post("/v1/vectors/upsert", {
      ...textual,
      items: [
        { id: "salmon", contents: "The salmon swims up the river." },
        { id: "keys", contents: "Rotate encryption keys every year.", metadata: { topic: "security" } },
      ],
    });
  });
  const results = async (body: object) => {
    const answer = await query(body);
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    expect(Object.keys(answer.body)).toEqual(["results"]);
    return answer.body.results as { id: string; distance?: number; metadata?: object }[];
  };

  test("by default: 100 results, ascending by distance, with distance and metadata", async () => {
    const found = await results({ ...index, query_vectors: [0, 0] });
    expect(found).toEqual(items.slice(0, 100).map(({ id, metadata }, i) => ({ id, distance: i, metadata })));
  });

  test("a 1D array gives a flat list, a 2D array one list per vector in request order", async () => {
    expect(await results({ ...index, query_vectors: [3, 0], top_k: 1, include: [] })).toEqual([{ id: "i3" }]);
    const batch = {
      ...index,
      query_vectors: [
        [9, 0],
        [4, 0],
      ],
      top_k: 1,
      include: [],
    };
    expect(await results(batch)).toEqual([[{ id: "i9" }], [{ id: "i4" }]]);
    const one = { ...index, query_vectors: [[9, 0]], top_k: 1, include: [] };
    expect(await results(one)).toEqual([[{ id: "i9" }]]);
  });

  test("a text gives a flat list, also beside an empty list of vectors", async () => {
    const body = { ...textual, query_contents: "encryption key rotation", top_k: 1, include: ["metadata"] };
    expect(await results(body)).toEqual([{ id: "keys", metadata: { topic: "security" } }]);
    expect(await results({ ...body, query_vectors: [] })).toEqual([
      { id: "keys", metadata: { topic: "security" } },
    ]);
  });

  test.each([
    [[], ["id"]],
    [["distance"], ["distance", "id"]],
    [["metadata"], ["id", "metadata"]],
    [
      ["metadata", "distance"],
      ["distance", "id", "metadata"],
    ],
  ])("include %j gives exactly the fields %j", async (include, fields) => {
    const found = await results({ ...index, query_vectors: [0, 0], top_k: 5, include });
    expect(found).toHaveLength(5);
    for (const entry of found) expect(Object.keys(entry).sort()).toEqual(fields);
  });

  test("an item that was stored without metadata shows an empty object", async () => {
    const [found] = await results({ ...textual, query_contents: "salmon river", top_k: 1 });
    expect(found).toEqual({ id: "salmon", distance: expect.any(Number), metadata: {} });
  });

  test.each<[object, string[]]>([
    [{ n: 7 }, ["i7"]],
    [{ odd: true, n: { $gte: 3, $lt: 8 } }, ["i3", "i5", "i7"]],
    [{ "at.floor": 2, n: { $lte: 8 } }, ["i2", "i5", "i8"]],
    [{ $or: [{ n: { $in: [4, 140] } }, { n: 149 }] }, ["i4", "i140", "i149"]],
    [{ $and: [{ n: { $ne: 0 } }, { n: { $nin: [1, 2] } }, { n: { $lt: 5 } }] }, ["i3", "i4"]],
    [{ n: { $eq: -1 } }, []],
  ])("considers only items that match %j", async (filters, ids) => {
    const found = await results({ ...index, query_vectors: [0, 0], filters, include: [] });
    expect(found.map(({ id }) => id)).toEqual(ids);
  });

  test("null, empty and ineffective fields of other clients count as missing", async () => {
    const body = {
      ...index,
      query_vectors: [0, 0],
      top_k: null,
      include: null,
      n_probes: null,
      greedy: null,
    };
    expect(await results({ ...body, filters: null, query_contents: null, rerank_mult: null })).toHaveLength(
      100,
    );
    expect(await results({ ...body, filters: {} })).toHaveLength(100);
  });

  test("n_probes 0 or left out is automatic, and greedy is accepted", async () => {
    const plain = await results({ ...index, query_vectors: [0, 0], top_k: 3 });
    for (const more of [
      { n_probes: 0 },
      { n_probes: 50 },
      { greedy: true },
      { greedy: false, n_probes: 2 },
    ]) {
      expect(await results({ ...index, query_vectors: [0, 0], top_k: 3, ...more })).toEqual(plain);
    }
    expect(await results({ ...index, query_vectors: [0, 0], top_k: 0 })).toEqual([]);
  });

  test("a recall replaces n_probes and greedy, which other clients send as null", async () => {
    const plain = await results({ ...index, query_vectors: [0, 0], top_k: 3 });
    for (const recall of [0.8, 0.999, "exact", null]) {
      const body = { ...index, query_vectors: [0, 0], top_k: 3, recall, n_probes: null, greedy: null };
      expect(await results(body)).toEqual(plain);
    }
  });

  test("distances are of the index's metric", async () => {
    for (const [metric, distance] of [
      ["euclidean", 5],
      ["squared_euclidean", 25],
      ["cosine", 1 - 3 / 5],
    ] as const) {
      const measured = await service.newIndex({ index_config: { type: "ivfflat", dimension: 2 }, metric });
      await service.post("/v1/vectors/upsert", { ...measured, items: [{ id: "a", vector: [3, 4] }] });
      const at = metric === "cosine" ? [1, 0] : [0, 0];
      const [found] = await results({ ...measured, query_vectors: at });
      expect(found.distance).toBeCloseTo(distance, 9);
    }
  });

  test.each<[string, object, RegExp]>([
    ["neither vectors nor a text", {}, /query_vectors.*query_contents.*neither/],
    ["an empty list of vectors", { query_vectors: [] }, /query_vectors.*query_contents/],
    ["both vectors and a text", { query_vectors: [1, 2], query_contents: "x" }, /both/],
    ["vectors that are a string", { query_vectors: "1,2" }, /^query_vectors: expected array, got string$/],
    ["a string among the numbers", { query_vectors: [1, "2"] }, /^query_vectors\[1\]: expected number, got/],
    [
      "null among the numbers",
      {
        query_vectors: [
          [1, 2],
          [3, null],
        ],
      },
      /^query_vectors\[1\]\[1\]: .*got null/,
    ],
    ["a number among the vectors", { query_vectors: [[1, 2], 3] }, /^query_vectors\[1\]: expected an array/],
    ["a vector among the numbers", { query_vectors: [1, [2]] }, /^query_vectors\[1\]: expected a number/],
    ["a number beyond float32", { query_vectors: [1, 1e39] }, /^query_vectors\[1\]: .*finite as float32/],
    ["a text without a model", { query_contents: "hello" }, /^query_contents: .*embedding model/],
    ["a text that is a number", { query_contents: 5 }, /^query_contents: expected string, got number/],
    ["a negative top_k", { query_vectors: [1, 2], top_k: -1 }, /^top_k: .*from 0.*-1/],
    ["a fractional top_k", { query_vectors: [1, 2], top_k: 2.5 }, /^top_k: expected integer, got a fraction/],
    ["a top_k that is a string", { query_vectors: [1, 2], top_k: "5" }, /^top_k: expected integer, got str/],
    ["a negative n_probes", { query_vectors: [1, 2], n_probes: -1 }, /^n_probes: /],
    [
      "greedy that is a number",
      { query_vectors: [1, 2], greedy: 1 },
      /^greedy: expected boolean, got number/,
    ],
    ["a recall that is too low", { query_vectors: [1, 2], recall: 0.7 }, /^recall: .*0\.8 to 0\.999.*0\.7/],
    ["a recall that is another word", { query_vectors: [1, 2], recall: "all" }, /^recall: /],
    ["a recall that is true", { query_vectors: [1, 2], recall: true }, /^recall: /],
    ["a recall and n_probes", { query_vectors: [1, 2], recall: 0.9, n_probes: 0 }, /^recall: .*probes/],
    [
      "filters that are a list",
      { query_vectors: [1, 2], filters: [] },
      /^filters: expected object, got array/,
    ],
    ["an unknown operator", { query_vectors: [1, 2], filters: { a: { $near: 1 } } }, /^filters\.a\.\$near/],
    [
      "include of another field",
      { query_vectors: [1, 2], include: ["text"] },
      /^include\[0\]: .*distance, met/,
    ],
    ["include that is a string", { query_vectors: [1, 2], include: "distance" }, /^include: expected array/],
  ])("answers 422 to %s", async (_, changes, detail) => {
    expectError(await query({ ...index, ...changes }), 422, "invalid_request", detail);
  });

  test("answers 422 to a vector whose length does not fit, and says which", async () => {
    const single = await query({ ...index, query_vectors: [1, 2, 3] });
    expectError(single, 422, "dimension_mismatch", /^query_vectors: expected 2 .*got 3/);
    const batch = await query({ ...index, query_vectors: [[1, 2], [1]] });
    expectError(batch, 422, "dimension_mismatch", /^query_vectors\[1\]: expected 2 .*got 1/);
    const empty = await query({ ...index, query_vectors: [[1, 2], []] });
    expectError(empty, 422, "dimension_mismatch", /^query_vectors\[1\]: /);
  });

  test("answers 422 to more than 1,000 vectors", async () => {
    const query_vectors = Array.from({ length: 1001 }, () => [1, 2]);
    expectError(await query({ ...index, query_vectors }), 422, "invalid_request", /1000.*1001/);
    expect(await results({ ...index, query_vectors: query_vectors.slice(1), top_k: 1 })).toHaveLength(1000);
  });

  test("answers 404 to an unknown index", async () => {
    const answer = await query({ ...index, index_name: "nobody", query_vectors: [1, 2] });
    expectError(answer, 404, "not_found", /"nobody"/);
  });

  test("answers 403 to a wrong index key, also after the index was used with the right one", async () => {
    await results({ ...index, query_vectors: [1, 2] });
    const answer = await query({ ...index, index_key: generateKey(), query_vectors: [1, 2] });
    expectError(answer, 403, "wrong_index_key");
    await results({ ...index, index_key: index.index_key.toUpperCase(), query_vectors: [1, 2] });
  });

  test("answers 401 before anything else is looked at", async () => {
    const headers = { "X-API-Key": generateKey() };
    expectError(await query({ ...index, query_vectors: [1, 2] }, headers), 401, "unauthenticated");
    expectError(await query("no json", headers), 401, "unauthenticated");
    const response = await fetch(`${service.baseUrl}/v1/vectors/query`, {
      method: "POST",
      body: JSON.stringify({ ...index, query_vectors: [1, 2] }),
      headers: { "Content-Type": "application/json" },
    });
    expect(response.status).toBe(401);
  });
});
