/** Vectors as base64, and queries without any, as newer clients of the interface send them. */

import { afterAll, beforeAll, expect, test } from "vitest";
import { decodeBinaryVectors } from "../../src/client/wire/wire.js";
import { type RunningService, startService } from "./service.js";

let service: RunningService;
beforeAll(async () => {
  service = await startService({ limits: { itemsMax: 50_000 } });
});
afterAll(() => service.close());

const base64 = (...vectors: readonly number[][]) =>
  Buffer.from(Float32Array.from(vectors.flat()).buffer).toString("base64");
const vectors = [
  [1, 0.1, -0],
  [0, 1e-40, 3],
  [-7, 2, 2],
];
const batch = { ids: ["a", "b", "c"], vectors_b64: base64(...vectors), dimension: 3 };

async function send(path: string, body: unknown) {
  const answer = await service.post(path, body);
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  return answer.body;
}
const get = async (index: object, ids: string[]) =>
  (await send("/v1/vectors/get", { ...index, ids })).results;

test("items of base64 are stored bit for bit, with metadata and contents in their order", async () => {
  const index = await service.newIndex();
  const metadata = [{ n: 1 }, null, { deep: { a: [1, 2] } }];
  const contents = ["", null, "text"];
  const answer = await send("/v1/vectors/upsert_binary", {
    ...index,
    batch: { ...batch, metadata, contents },
  });
  expect(answer).toMatchObject({ stored: 3, message: "3 items upserted successfully" });
  const [a, b, c] = (await get(index, batch.ids)) as {
    vector: number[];
    metadata?: object;
    contents?: string;
  }[];
  expect([a, b, c].map(({ vector }) => Float32Array.from(vector))).toEqual(
    vectors.map((vector) => Float32Array.from(vector)),
  );
  expect([a.metadata, b.metadata, c.metadata]).toEqual([{ n: 1 }, {}, { deep: { a: [1, 2] } }]);
  expect([a.contents, b.contents, c.contents]).toEqual([undefined, undefined, "text"]);
});

test("queries in base64 find the same as those in JSON, in a list for each vector", async () => {
  const index = await service.newIndex();
  await send("/v1/vectors/upsert_binary", {
    ...index,
    batch: { ...batch, metadata: [{ n: 1 }, { n: 2 }, null] },
  });
  const options = { top_k: 2, filters: { n: { $gte: 1 } }, include: ["distance", "metadata"] };
  const query = {
    ...index,
    ...options,
    batch: { vectors_b64: base64(vectors[0], vectors[1]), dimension: 3 },
  };
  expect(await send("/v1/vectors/query_binary", query)).toEqual(
    await send("/v1/vectors/query", { ...index, ...options, query_vectors: vectors.slice(0, 2) }),
  );
});

test("a body may have its fields in any order, and arrive in pieces of any length", async () => {
  const index = await service.newIndex();
  const { ids, ...others } = batch;
  const text = JSON.stringify({
    batch: { ...others, metadata: [{ a: "]}" }, { b: "\\" }, {}], ids },
    ...index,
  });
  for (const length of [1, 7, 64, 1000]) {
    const pieces = new ReadableStream({
      start(controller) {
        for (let at = 0; at < text.length; at += length) {
          controller.enqueue(new TextEncoder().encode(text.slice(at, at + length)));
        }
        controller.close();
      },
    });
    const response = await fetch(`${service.baseUrl}/v1/vectors/upsert_binary`, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-API-Key": service.apiKey },
      body: pieces,
      duplex: "half",
    } as RequestInit);
    expect([length, response.status]).toEqual([length, 200]);
    expect(((await get(index, ["b"])) as object[])[0]).toMatchObject({ metadata: { b: "\\" } });
  }
});

test("slashes may be escaped, as some JSON writers do, and padding may be missing", async () => {
  const index = await service.newIndex();
  const vectors_b64 = base64([-1.9999, 3.99999]).replace(/=+$/, "");
  const text = JSON.stringify({ ...index, batch: { ids: ["a"], vectors_b64, dimension: 2 } });
  expect(vectors_b64).toContain("/");
  await send("/v1/vectors/upsert_binary", text.replaceAll("/", "\\/"));
});

test.each<[string, object, RegExp]>([
  ["no base64", { vectors_b64: "§§§§" }, /^batch\.vectors_b64: expected base64/],
  ["a space in base64", { vectors_b64: ` ${batch.vectors_b64}` }, /^batch\.vectors_b64: expected base64/],
  [
    "padding in the middle",
    { vectors_b64: `AA==${batch.vectors_b64}` },
    /^batch\.vectors_b64: expected base64/,
  ],
  ["another escape", { vectors_b64: "AA\nA" }, /^batch\.vectors_b64: expected base64/],
  ["half a vector", { vectors_b64: base64([1, 2]) }, /^batch\.vectors_b64: expected 3 vectors of 3 numbers/],
  ["no text", { vectors_b64: 5 }, /^batch\.vectors_b64: expected a string/],
  ["an object in its place", { vectors_b64: { row: 1 } }, /^batch\.vectors_b64: expected a string/],
  ["no vectors", { vectors_b64: undefined }, /^batch\.vectors_b64: expected a value, got none/],
  [
    "NaN",
    { vectors_b64: base64([1, 2, 3], [1, NaN, 2], [1, 2, 3]) },
    /^batch\.vectors_b64\[1\]\[1\]: expected a number/,
  ],
  [
    "infinity",
    { vectors_b64: base64([1, 2, 3], [1, 2, 3], [Infinity, 2, 3]) },
    /vectors_b64\[2\]\[0\]: expected a/,
  ],
  ["a dimension of 0", { dimension: 0 }, /^batch\.dimension: /],
  ["a fraction as dimension", { dimension: 1.5 }, /^batch\.dimension: /],
  [
    "fewer metadata than ids",
    { metadata: [{}] },
    /^batch\.metadata: expected 3 entries, one for each id, got 1/,
  ],
  [
    "metadata that are no objects",
    { metadata: [{}, 5, {}] },
    /^batch\.metadata\[1\]: expected object, got number/,
  ],
  ["an id that is no text", { ids: ["a", 5, "c"] }, /^batch\.ids\[1\]: expected string, got number/],
  ["no list of ids", { ids: "abc" }, /^batch\.ids: expected array/],
  ["an unknown field", { vectors: [] }, /^batch: unknown property "vectors"/],
])("%s is refused", async (_, change, detail) => {
  const index = await service.newIndex();
  const body = { ...index, batch: { ...batch, ...change } };
  expect(await service.post("/v1/vectors/upsert_binary", body)).toMatchObject({
    status: 422,
    body: { code: "invalid_request", detail: expect.stringMatching(detail) },
  });
  expect(await send("/v1/vectors/num_vectors", index)).toMatchObject({ result: 0 });
});

/** Long bodies are parsed in a thread. */
const long = " ".repeat(2 ** 20);

test("vectors of a long body are the same", async () => {
  const index = await service.newIndex();
  expect(await send("/v1/vectors/upsert_binary", long + JSON.stringify({ ...index, batch }))).toMatchObject({
    stored: 3,
  });
  const stored = (await get(index, batch.ids)) as { vector: number[] }[];
  expect(stored.map(({ vector }) => Float32Array.from(vector))).toEqual(
    vectors.map((vector) => Float32Array.from(vector)),
  );
});

test("a field that is there twice in a long body is refused, and one of the same name elsewhere is not taken for it", async () => {
  const index = JSON.stringify(await service.newIndex()).slice(1, -1);
  const inner = JSON.stringify(batch).slice(1, -1);
  for (const text of [
    `${long}{${index},"batch":{${inner},"ids":["x","y","z"]}}`,
    `${long}{${index},"batch":{${inner}},"batch":{${inner}}}`,
    `{${index},"batch":{${inner}},"batch.ids":["x"]}`,
    `${long}{${index},"batch":{${inner}},"batch.ids":["x"]}`,
    `{${index},"batch.ids":["a","b","c"],"batch":{"vectors_b64":"","dimension":3}}`,
    `{${index},"batch":[{${inner}}]}`,
    `{${index},"batch":{"batch":{${inner}}}}`,
    `${long}{${index},"batch":{"batch":{${inner}}}}`,
    `{${index},"batch":{"vectors_b64":"${batch.vectors_b64}`,
  ]) {
    expect((await service.post("/v1/vectors/upsert_binary", text)).status, text).toBe(422);
  }
});

test("a query of no vectors, of too many, or of another dimension is refused", async () => {
  const index = await service.newIndex({ dimension: 3 });
  const query = (vectors_b64: string, dimension: number) =>
    service.post("/v1/vectors/query_binary", { ...index, batch: { vectors_b64, dimension } });
  expect(await query("", 3)).toMatchObject({ status: 422 });
  expect(await query(base64([1, 2]), 2)).toMatchObject({ status: 422, body: { code: "dimension_mismatch" } });
  expect(await query(base64(Array<number>(3 * 1001).fill(1)), 3)).toMatchObject({ status: 422 });
});

test("vectors beyond the limit of a query are counted, and none of them is made", async () => {
  const made = { rows: 0 };
  const row = () => {
    made.rows++;
    return new Float32Array(1);
  };
  const decode = (count: number) =>
    decodeBinaryVectors({ vectors_b64: { bytes: 4 * count, row }, dimension: 1 }, async () => undefined);
  await expect(decode(1001)).rejects.toThrow(
    /^batch\.vectors_b64: expected 1 to 1000 vectors of 1 numbers, 4 bytes each, got 4004 bytes/,
  );
  await expect(decode(0)).rejects.toThrow(/expected 1 to 1000 vectors .* got 0 bytes/);
  expect(made.rows).toBe(0);
  expect(await decode(1000)).toHaveLength(1000);
});

test("an upsert may have as many items as the setting says, and no more", async () => {
  const index = await service.newIndex();
  const of = (n: number) => {
    const ids = Array.from({ length: n }, (_, i) => `${i}`);
    return {
      ...index,
      batch: {
        ids,
        vectors_b64: Buffer.alloc(4 * n, "\0\0\x80?", "latin1").toString("base64"),
        dimension: 1,
      },
    };
  };
  expect(await send("/v1/vectors/upsert_binary", of(50_000))).toMatchObject({ stored: 50_000 });
  expect(await service.post("/v1/vectors/upsert_binary", of(50_001))).toMatchObject({
    status: 422,
    body: { detail: expect.stringMatching(/^batch\.ids: expected at most 50000 entries/) },
  });
});

test("items are queried by metadata alone, in the order of a field", async () => {
  const index = await service.newIndex();
  const values: unknown[] = [3, "b", true, 1, null, "a", { x: 1 }, 2.5];
  const items = values.map((v, i) => ({
    id: `i${i}`,
    vector: [i, 1],
    metadata: { deep: { v }, even: i % 2 === 0 },
  }));
  await send("/v1/vectors/upsert", { ...index, items: [...items, { id: "none", vector: [0, 1] }] });
  const query = async (body: object) => (await send("/v1/vectors/query_metadata", { ...index, ...body })).ids;
  const ascending = ["i3", "i7", "i0", "i5", "i1", "i2", "i4", "i6", "none"];
  expect(await query({})).toEqual([...items.map(({ id }) => id), "none"]);
  expect(await query({ order_by: "deep.v" })).toEqual(ascending);
  expect(await query({ order_by: { "deep.v": 1 }, ascending: false })).toEqual(ascending);
  const descending = ["i2", "i1", "i5", "i0", "i7", "i3", "i4", "i6", "none"];
  expect(await query({ order_by: "deep.v", ascending: false })).toEqual(descending);
  expect(await query({ order_by: { "deep.v": -1 }, top_k: 2 })).toEqual(descending.slice(0, 2));
  expect(await query({ filters: { even: true }, top_k: 2 })).toEqual(["i0", "i2"]);
  expect(await send("/v1/vectors/query_metadata", { ...index, top_k: 1 })).toEqual({
    results: [{ id: "i0" }],
    ids: ["i0"],
    count: 1,
  });
  for (const order_by of [{}, { a: 2 }, 5]) {
    expect(await service.post("/v1/vectors/query_metadata", { ...index, order_by })).toMatchObject({
      status: 422,
    });
  }
  expect(await service.post("/v1/vectors/query_metadata", { ...index, text: "x" })).toMatchObject({
    status: 422,
    body: { code: "not_supported" },
  });
});

test("more neighbors than there are items are all of them", async () => {
  const index = await service.newIndex();
  await send("/v1/vectors/upsert", { ...index, items: [{ id: "a", vector: [1] }] });
  expect(await send("/v1/vectors/query", { ...index, query_vectors: [1], top_k: 1_000_000 })).toMatchObject({
    results: [{ id: "a" }],
  });
});

test("embedding models are listed; the documentation is under /v1 too; a path with another method is 405", async () => {
  expect((await service.get("/v1/embedding-models")).body.models).toContainEqual({
    name: "default",
    dimension: 1024,
    max_seq_length: null,
  });
  const docs = await fetch(`${service.baseUrl}/v1/docs`);
  expect([docs.status, new URL(docs.url).pathname]).toEqual([200, "/docs"]);
  const response = await fetch(`${service.baseUrl}/v1/vectors/query`);
  expect([response.status, response.headers.get("Allow")]).toEqual([405, "POST"]);
});

test.each(["/:a(", "/v1/:a(b", "/:a(^(a+)+$)", "/v1/keys/:id"])("no such endpoint: %s", async (path) => {
  for (const method of ["GET", "PUT"]) {
    const response = await fetch(service.baseUrl + path, { method });
    expect([method, response.status]).toEqual([method, 404]);
  }
});

test("deleting with a JSON content type and no body, and an upsert of nothing, are no errors", async () => {
  const index = await service.newIndex();
  expect(await send("/v1/vectors/upsert", { ...index, items: [] })).toMatchObject({ stored: 0 });
  const response = await fetch(`${service.baseUrl}/v1/keys/0123456789abcdef`, {
    method: "DELETE",
    headers: { "Content-Type": "application/json", "X-API-Key": service.apiKey },
  });
  expect(response.status).toBe(422);
  expect(await response.text()).toContain("set SEALDEX_ROOT_KEY");
});
