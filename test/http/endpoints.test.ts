/** The endpoints beside the specification's two, and their common behavior. */

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { generateKey } from "../../src/core.js";
import { mediaType } from "../../src/client/wire/wire.js";
import { type RunningService, startService } from "./service.js";

let service: RunningService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

const items = [
  { id: "a", vector: [1, 0], contents: "first", metadata: { n: 1 } },
  { id: "b", vector: [0, 1], contents: "second", metadata: { n: 2 } },
  { id: "c", vector: [1, 1] },
];

async function filledIndex() {
  const index = await service.newIndex();
  expect(await service.post("/v1/vectors/upsert", { ...index, items })).toEqual({
    status: 200,
    body: {
      status: "success",
      message: "3 items upserted successfully",
      stored: 3,
      unchanged: 0,
      deleted: 0,
    },
  });
  return index;
}

describe("indexes", () => {
  test("are listed by name", async () => {
    const index = await service.newIndex();
    const { status, body } = await service.get("/v1/indexes/list");
    expect(status).toBe(200);
    expect(Object.keys(body)).toEqual(["indexes"]);
    expect(body.indexes).toContain(index.index_name);
  });

  test("are trained, and say so", async () => {
    const index = await service.newIndex({ index_config: { type: "ivfflat", n_lists: 16 } });
    const many = Array.from({ length: 400 }, (_, i) => ({
      id: `${i}`,
      vector: [Math.sin(i), Math.cos(i * 7)],
    }));
    await service.post("/v1/vectors/upsert", { ...index, items: many });
    // Fields that other clients send beside n_lists are accepted and have no effect.
    const body = { ...index, n_lists: 9, batch_size: 2048, max_iters: 100, tolerance: 1e-6, max_memory: 0 };
    expect(await service.post("/v1/indexes/train", body)).toEqual({
      status: 200,
      body: { status: "success", message: `Index '${index.index_name}' trained successfully` },
    });
    expect((await service.post("/v1/indexes/describe", index)).body).toMatchObject({
      is_trained: true,
      index_config: { n_lists: 9, dimension: 2 },
    });
    expect(await service.post("/v1/indexes/train", index)).toMatchObject({ status: 200 });
    expect(await service.post("/v1/indexes/train", { ...index, n_lists: 401 })).toMatchObject({
      status: 200,
    });
    expect((await service.post("/v1/indexes/describe", index)).body).toMatchObject({ n_lists: 400 });
  });

  test("an empty one stays untrained", async () => {
    const index = await service.newIndex();
    expect(await service.post("/v1/indexes/train", { ...index, n_lists: 4 })).toMatchObject({ status: 200 });
    expect((await service.post("/v1/indexes/describe", index)).body).toMatchObject({ is_trained: false });
  });

  test("are deleted with everything in them", async () => {
    const index = await filledIndex();
    expect(await service.post("/v1/indexes/delete", index)).toEqual({
      status: 200,
      body: { status: "success", message: `Index '${index.index_name}' deleted successfully` },
    });
    for (const path of ["/v1/indexes/delete", "/v1/indexes/describe", "/v1/vectors/list_ids"]) {
      expect(await service.post(path, index)).toMatchObject({ status: 404, body: { code: "not_found" } });
    }
  });
});

describe("vectors", () => {
  test("are got in the order asked for, with the fields asked for", async () => {
    const index = await filledIndex();
    const get = async (more: object) => (await service.post("/v1/vectors/get", { ...index, ...more })).body;
    expect(await get({ ids: ["b", "nobody", "a"] })).toEqual({ results: [items[1], items[0]] });
    expect(await get({ ids: ["c"] })).toEqual({ results: [{ id: "c", vector: [1, 1], metadata: {} }] });
    expect(await get({ ids: ["a"], include: ["contents"] })).toEqual({
      results: [{ id: "a", contents: "first" }],
    });
    expect(await get({ ids: ["a"], include: [] })).toEqual({ results: [{ id: "a" }] });
    expect(await get({ ids: [] })).toEqual({ results: [] });
  });

  test("are counted and listed, whole or by pages", async () => {
    const index = await filledIndex();
    expect(await service.post("/v1/vectors/num_vectors", index)).toEqual({
      status: 200,
      body: { status: "success", message: `3 vectors in index '${index.index_name}'`, result: 3 },
    });
    const list = async (more: object) =>
      (await service.post("/v1/vectors/list_ids", { ...index, ...more })).body;
    expect(await list({})).toEqual({ ids: ["a", "b", "c"], count: 3 });
    expect(await list({ limit: 1, after: "a" })).toEqual({ ids: ["b"], count: 1 });
  });

  test("are deleted by id or by filter", async () => {
    const index = await filledIndex();
    const remove = (more: object) => service.post("/v1/vectors/delete", { ...index, ...more });
    expect(await remove({ ids: ["a", "nobody"] })).toEqual({
      status: 200,
      body: { status: "success", message: "2 items deleted successfully" },
    });
    expect(await remove({ filters: { n: 2 } })).toMatchObject({ status: 200 });
    expect((await service.post("/v1/vectors/list_ids", index)).body).toMatchObject({ ids: ["c"] });
  });

  test("may be left out where a model makes them, and null is left out too", async () => {
    const index = await service.newIndex({ embedding_model: "sealdex/lexical-512" });
    const textual = [{ id: "t", vector: null, contents: "some text", metadata: null }];
    expect(await service.post("/v1/vectors/upsert", { ...index, items: textual })).toMatchObject({
      status: 200,
    });
    const { results } = (await service.post("/v1/vectors/get", { ...index, ids: ["t"] })).body as {
      results: { vector: number[] }[];
    };
    expect(results[0].vector).toHaveLength(512);
  });

  test("come back bit for bit, minus zero and the smallest float32 included", async () => {
    const index = await service.newIndex({ metric: "cosine" });
    const vector = [0.1, -0, 1e-45, 3.4028234663852886e38, -1.1754943508222875e-38];
    const text = JSON.stringify({ ...index, items: [{ id: "v", vector }] }).replace("0.1,0,", "0.1,-0,");
    expect(await service.post("/v1/vectors/upsert", text)).toMatchObject({ status: 200 });
    const { results } = (await service.post("/v1/vectors/get", { ...index, ids: ["v"] })).body as {
      results: { vector: number[] }[];
    };
    expect(Float32Array.from(results[0].vector)).toEqual(Float32Array.from(vector));
  });

  test("metadata come back verbatim, keys such as __proto__ included", async () => {
    const index = await service.newIndex();
    const metadata = '{"__proto__":{"admin":true},"constructor":{"prototype":{"x":1}},"a.b":[null],"$x":"ü"}';
    const text = JSON.stringify({ ...index, items: [{ id: "m", vector: [1], metadata: "?" }] });
    expect(await service.post("/v1/vectors/upsert", text.replace('"?"', metadata))).toMatchObject({
      status: 200,
    });
    for (const [path, body] of [
      ["/v1/vectors/get", { ...index, ids: ["m"] }],
      ["/v1/vectors/query", { ...index, query_vectors: [1] }],
    ] as const) {
      const { results } = (await service.post(path, body)).body as { results: { metadata: object }[] };
      expect(JSON.stringify(results[0].metadata)).toBe(metadata);
    }
    expect(({} as { admin?: boolean }).admin).toBeUndefined();
  });

  test.each<[string, object, number, RegExp]>([
    ["upsert", {}, 422, /^items: expected a value, got none/],
    ["upsert", { items: {} }, 422, /^items: expected array, got object/],
    ["upsert", { items: [{ vector: [1, 2] }] }, 422, /^items\[0\]\.id: expected a value, got none/],
    [
      "upsert",
      { items: [items[0], { id: 7, vector: [1, 2] }] },
      422,
      /^items\[1\]\.id: expected string, got/,
    ],
    ["upsert", { items: [{ id: "x", vector: [1, null] }] }, 422, /^items\[0\]\.vector\[1\]: .*got null/],
    ["upsert", { items: [{ id: "x", vector: [1, -1e39] }] }, 422, /^items\[0\]\.vector\[1\]: .*float32/],
    ["upsert", { items: [{ id: "x", vector: [1] }] }, 422, /^items\[0\]\.vector: expected 2 numbers, got 1/],
    ["upsert", { items: [{ id: "x" }] }, 422, /^items\[0\]/],
    [
      "upsert",
      { items: [{ id: "x", vector: [1, 2], metadata: [] }] },
      422,
      /^items\[0\]\.metadata: expected/,
    ],
    ["upsert", { items: [{ id: "x", vector: [1, 2], contents: 5 }] }, 422, /^items\[0\]\.contents: expected/],
    ["upsert", { items: Array(100_001).fill(items[0]) }, 422, /^items: expected at most 100000 .*got 100001/],
    ["get", {}, 422, /^ids: /],
    ["get", { ids: [1] }, 422, /^ids\[0\]: expected string, got number/],
    ["get", { ids: ["a"], include: ["distance"] }, 422, /^include\[0\]: expected one of vector, contents/],
    ["delete", {}, 422, /^delete: expected ids, a filter or deleteAll: true.*got none/],
    ["delete", { ids: ["a"], filters: {} }, 422, /^filters: expected a condition/],
    [
      "delete",
      { ids: ["a"], delete_all: true },
      422,
      /^delete: expected ids, a filter or deleteAll: true.*got ids and deleteAll/,
    ],
    ["delete", { filters: { a: { $near: 1 } } }, 422, /^filters/],
    ["list_ids", { limit: -1 }, 422, /^limit: /],
    ["list_ids", { index_name: "nobody" }, 404, /nobody/],
    ["num_vectors", { index_key: generateKey() }, 403, /this key does not open the index/],
  ])("vectors/%s refuses a bad body, and nothing changes (%#)", async (verb, changes, status, detail) => {
    const index = await filledIndex();
    const answer = await service.post(`/v1/vectors/${verb}`, { ...index, ...changes });
    expect(answer).toMatchObject({
      status,
      body: { status_code: status, detail: expect.stringMatching(detail) },
    });
    expect((await service.post("/v1/vectors/list_ids", index)).body).toMatchObject({ ids: ["a", "b", "c"] });
  });
});

describe("all endpoints", () => {
  const paths = [
    ...[
      "create",
      "describe",
      "delete",
      "train",
      "compact",
      "split",
      "rotate_key",
      "reencrypt",
      "wraps/add",
      "wraps/list",
      "wraps/revoke",
      "anchor",
      "namespaces",
      "erase",
      "read_receipt",
    ].map((verb) => `/v1/indexes/${verb}`),
    ...[
      "query",
      "query_binary",
      "query_metadata",
      "upsert",
      "upsert_binary",
      "update",
      "get",
      "delete",
      "list",
      "list_ids",
      "num_vectors",
    ].map((verb) => `/v1/vectors/${verb}`),
  ];

  const keyPaths = ["/v1/keys", "/v1/indexes/{name}/users"].flatMap((path) => [path, `${path}/{id}`]);

  test.each([...paths, "/v1/indexes/list"])("%s needs an API key", async (path) => {
    const method = path === "/v1/indexes/list" ? "GET" : "POST";
    for (const headers of [{}, { "X-API-Key": `${service.apiKey}x` }, { Authorization: service.apiKey }]) {
      const response = await fetch(service.baseUrl + path, {
        method,
        headers: headers as Record<string, string>,
      });
      expect(response.status).toBe(401);
      expect(response.headers.get("X-Error-Code")).toBe("unauthenticated");
      expect(await response.json()).toEqual({
        status_code: 401,
        detail:
          "X-API-Key" in headers
            ? "API key not accepted: check X-API-Key"
            : "missing API key: send it in X-API-Key",
      });
    }
  });

  test.each<[string, BodyInit | undefined, string, number, RegExp]>([
    ["no JSON", "{", "application/json", 422, /^body: invalid JSON at byte 1$/],
    [
      "an unquoted name",
      '{"é": 1, index_name: 5}',
      "application/json",
      422,
      /^body: invalid JSON at byte 10$/,
    ],
    ["a comma too many", '{"ids": ["a",]}', "application/json", 422, /^body: invalid JSON at byte 13$/],
    ["nothing", undefined, "application/json", 422, /^body: /],
    ["a list", "[]", "application/json", 422, /^body: expected object, got array/],
    ["null", "null", "application/json", 422, /^body: expected object, got null/],
    ["invalid UTF-8", Uint8Array.of(0x22, 0xff, 0x22), "application/json", 422, /^body: expected UTF-8/],
    ["JSON nested 33 deep", "[".repeat(33) + "]".repeat(33), "application/json", 422, /^body: .*32 deep/],
    ["a million brackets", "[".repeat(5e5) + "]".repeat(5e5), "application/json", 422, /^body: .*32 deep/],
    ["two million open brackets", "[".repeat(2e6), "application/json", 422, /^body: .*32 deep/],
    ["another type", "index_name=x", "application/x-www-form-urlencoded", 415, /^Content-Type, /],
    [
      "more than 32 MiB",
      " ".repeat(32 * 1024 * 1024 + 1),
      "application/json",
      413,
      /^body: .*33554432 bytes/,
    ],
  ])("refuse %s", async (_, body, type, status, detail) => {
    const response = await fetch(`${service.baseUrl}/v1/vectors/query`, {
      method: "POST",
      headers: { "Content-Type": type, Accept: mediaType, "X-API-Key": service.apiKey },
      body,
    });
    expect(await response.json()).toEqual({
      status_code: status,
      code: status === 413 ? "too_large" : "invalid_request",
      detail: expect.stringMatching(detail),
    });
    expect(response.status).toBe(status);
  });

  test("brackets and quotes inside texts do not count as nesting", async () => {
    const index = await service.newIndex();
    const contents = `"${"[{".repeat(100)}\\"${"{".repeat(50)}\\`;
    const upsert = {
      ...index,
      items: [{ id: "x", vector: [1], contents, metadata: { [contents]: contents } }],
    };
    expect(await service.post("/v1/vectors/upsert", upsert)).toMatchObject({ status: 200 });
    const { results } = (await service.post("/v1/vectors/get", { ...index, ids: ["x"] })).body as {
      results: object[];
    };
    expect(results[0]).toMatchObject({ contents, metadata: { [contents]: contents } });
  });

  test("missing endpoints answer 404 in the same shape", async () => {
    expect(await service.get("/v1/nothing?x=1")).toEqual({
      status: 404,
      body: { status_code: 404, code: "not_found", detail: expect.stringContaining("GET /v1/") },
    });
  });

  test("health needs no key", async () => {
    const response = await fetch(`${service.baseUrl}/v1/health`);
    expect(await response.json()).toEqual({ status: "healthy", api_version: "v1", version: "1.2.3" });
  });

  test("are in the OpenAPI document, which needs no key and shows pages at /docs", async () => {
    const document = (await (await fetch(`${service.baseUrl}/v1/openapi.json`)).json()) as {
      openapi: string;
      paths: Record<string, { post?: { requestBody: object; responses: object }; get?: object }>;
    };
    expect(document.openapi).toMatch(/^3\.1/);
    expect(Object.keys(document.paths).sort()).toEqual(
      [
        ...paths,
        ...keyPaths,
        "/v1/embedding-models",
        "/v1/health",
        "/v1/health/live",
        "/v1/health/ready",
        "/v1/indexes/list",
        "/v1/indexes/training-status",
      ].sort(),
    );
    expect(document.paths["/v1/vectors/query"].post).toMatchObject({
      requestBody: { content: { "application/json": { schema: { required: ["index_name", "index_key"] } } } },
      responses: { "200": {}, "422": {}, default: {} },
    });
    const page = await fetch(`${service.baseUrl}/docs/`);
    expect([page.status, page.headers.get("content-type")]).toEqual([200, expect.stringMatching(/html/)]);
  });

  test("have names in the OpenAPI document, for generated clients", async () => {
    const { body } = await service.get("/v1/openapi.json");
    const operations = Object.values(body.paths as Record<string, object>).flatMap(
      (methods) => Object.values(methods) as { operationId: string }[],
    );
    const names = operations.map(({ operationId }) => operationId);
    expect(new Set(names).size).toBe(operations.length);
    expect(names.filter((name) => !/^[a-z]+(_[a-z]+)*$/.test(name))).toEqual([]);
    expect(names).toEqual(expect.arrayContaining(["vectors_upsert", "indexes_wraps_add", "list_keys"]));
  });

  test("share the shapes of items, results and errors in the OpenAPI document", async () => {
    const { body } = await service.get("/v1/openapi.json");
    const { components, paths: operations } = body as {
      components: { schemas: Record<string, object> };
      paths: Record<string, Record<string, { responses: Record<string, object> }>>;
    };
    const referred = [...JSON.stringify(body).matchAll(/"#\/components\/schemas\/([^"]+)"/g)];
    expect(new Set(referred.map(([, name]) => name))).toEqual(new Set(Object.keys(components.schemas)));
    expect(components.schemas).toMatchObject({
      Item: {
        required: ["id"],
        properties: { metadata: { anyOf: [{ $ref: "#/components/schemas/Metadata" }, {}] } },
      },
      Match: { properties: { score: {} } },
    });
    for (const [path, methods] of Object.entries(operations)) {
      for (const { responses } of Object.values(methods)) {
        expect(responses.default, path).toMatchObject({
          content: { "application/json": { schema: { $ref: "#/components/schemas/Failure" } } },
        });
      }
    }
  });

  test("have examples in the OpenAPI document that work as soon as a key is in its place", async () => {
    const { body } = await service.get("/v1/openapi.json");
    const operations = body.paths as Record<string, { post: { requestBody: object } }>;
    const exampleOf = (path: string) => {
      const { content } = operations[path].post.requestBody as {
        content: { "application/json": { example: object } };
      };
      return JSON.stringify(content["application/json"].example);
    };
    const [index_key, another] = [generateKey(), generateKey()];
    const send = async (path: string, more: object = {}) => {
      const example = exampleOf(path)
        .replace('"index_key":"from sealdex-server generate-key"', `"index_key":"${index_key}"`)
        .replace("from sealdex-server generate-key", another);
      const answer = await service.post(path, { ...(JSON.parse(example) as object), ...more });
      expect(answer, path).toMatchObject({ status: 200 });
      return answer.body;
    };
    await service.post("/v1/indexes/create", { index_name: "vectors", index_key });
    await service.post("/v1/indexes/create", { index_name: "collection", index_key, shards: 2 });
    await send("/v1/indexes/create");
    await send("/v1/vectors/upsert");
    expect(await send("/v1/vectors/query")).toMatchObject({ results: [{ id: "keys" }, { id: "fish" }] });
    const { receipt } = await send("/v1/indexes/erase");
    await send("/v1/indexes/read_receipt", { receipt });
    const last = ["/v1/indexes/rotate_key", "/v1/indexes/delete"];
    const sent = ["create", "erase", "read_receipt"].map((verb) => `/v1/indexes/${verb}`);
    for (const path of paths.filter((each) => ![...sent, ...last].includes(each))) await send(path);
    await send("/v1/indexes/rotate_key");
    await send("/v1/indexes/delete", { index_key: another });
  });

  test("are logged by route, status, time and request id, and by nothing that was sent", async () => {
    const log: string[] = [];
    const { post, get, newIndex, baseUrl, apiKey, close } = await startService({
      log: { write: (line) => log.push(line) },
    });
    const index = await newIndex({ embedding_model: "sealdex/lexical-512" });
    const canary = "canary-saffron";
    const upsert = { ...index, items: [{ id: canary, contents: canary, metadata: { [canary]: canary } }] };
    await post("/v1/vectors/upsert", upsert);
    await post("/v1/vectors/query", { ...index, query_contents: canary, filters: { [canary]: canary } });
    await post("/v1/vectors/query", { ...index, query_contents: canary, top_k: canary });
    await post(`/v1/vectors/query?${canary}`, `{"${canary}`);
    await get(`/v1/${canary}`, { "X-API-Key": canary });
    const response = await fetch(`${baseUrl}/v1/health`);
    await close();
    const requests = log
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter(({ ms }) => ms !== undefined);
    expect(requests).toHaveLength(7);
    expect(requests.at(-1)).toMatchObject({
      method: "GET",
      route: "/v1/health",
      status: 200,
      ms: expect.any(Number),
      reqId: response.headers.get("x-request-id"),
    });
    for (const secret of [canary, apiKey, index.index_key, index.index_name]) {
      expect(log.join("")).not.toContain(secret);
    }
  });
});

test("a failure of the storage answers 500 or 503 in the same shape, and the log says more", async () => {
  const lines: string[] = [];
  // Errors of storage clients carry statuses of their own, which are not ours to pass on.
  const fail = () => Promise.reject(Object.assign(new TypeError("canary-saffron"), { statusCode: 404 }));
  const broken = {
    read: fail,
    create: () => Promise.resolve(true),
    list: fail,
    delete: () => Promise.resolve(),
    close: () => Promise.resolve(),
  };
  const failing = await startService({ indexLocation: broken, log: { write: (line) => lines.push(line) } });
  const answer = await failing.get("/v1/indexes/list");
  expect([500, 503]).toContain(answer.status);
  expect(answer.body).toMatchObject({
    status_code: answer.status,
    code: expect.stringMatching(/internal|storage/),
  });
  expect(JSON.stringify(answer.body)).not.toContain("saffron");
  const fault = lines.map((line) => JSON.parse(line) as { fault?: object }).find((line) => line.fault);
  expect(JSON.stringify(fault)).toContain("TypeError");
  expect(JSON.stringify(fault)).not.toContain("saffron");
  await failing.close();
});

test("/ names the pages that there are, and the documentation begins with how to begin", async () => {
  const start = await fetch(`${service.baseUrl}/`);
  expect(start.headers.get("Content-Type")).toBe("text/html; charset=utf-8");
  const page = await start.text();
  const links = [...page.matchAll(/href="([^"]+)"/g)].map(([, href]) => href);
  // This service has no dashboard.
  expect(links).toEqual(["docs", "v1/openapi.json", "v1/health"]);
  for (const link of links) expect((await fetch(`${service.baseUrl}/${link}`)).status, link).toBe(200);
  const { info } = (await service.get("/v1/openapi.json")).body as {
    info: { title: string; description: string };
  };
  expect(info.title).toBe("Sealdex");
  expect(info.description).toMatch(/To begin: choose \*\*Authorize\*\* and enter an API key/);
});
