/** Permissions of API keys over HTTP: scopes, indexes, rates, and who may issue keys. */

import { type ClientRequest, type IncomingMessage, request } from "node:http";
import { connect } from "node:net";
import { once } from "node:events";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { createClient, generateKey, openLocation } from "../../src/core.js";
import { mediaType } from "../../src/client/wire/wire.js";
import type { Limits } from "../../packages/server/src/http/limits.js";
import { type Answer, type RunningService, startService } from "./service.js";

const rootKey = generateKey();
/** Of all tests that start none of their own. */
let shared: RunningService;
let service: RunningService;
/** The log since a service was started. */
let lines: string[];

async function start(limits: Partial<Limits> = {}): Promise<void> {
  lines = [];
  const store = openLocation({ location: "memory" });
  service = await startService({
    indexLocation: store,
    issuing: { rootKey, store },
    limits,
    log: { write: (line) => void lines.push(line) },
  });
}

beforeAll(async () => {
  await start();
  shared = service;
});
beforeEach(() => {
  service = shared;
});
afterEach(async () => {
  if (service !== shared) await service.close();
});
afterAll(() => shared.close());

/** Issues a key and returns the headers of a request with it. */
async function issue(details: object): Promise<{ "X-API-Key": string; id: string }> {
  const { status, body } = await service.post(
    "/v1/keys",
    { name: "test", ...details },
    { "X-API-Key": rootKey },
  );
  expect(status, JSON.stringify(body)).toBe(200);
  return { "X-API-Key": body.api_key as string, id: body.id as string };
}

async function send(
  method: string,
  path: string,
  headers: Record<string, string>,
  body?: object,
): Promise<Answer> {
  const response = await fetch(service.baseUrl + path, {
    method,
    headers: { "Content-Type": "application/json", Accept: mediaType, ...headers },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, body: text === "" ? {} : (JSON.parse(text) as Record<string, unknown>) };
}

const item = { id: "a", vector: [1, 2] };
/** Every endpoint below the API keys: a request that succeeds, and the scopes that suffice. */
const endpoints: readonly (readonly [string, object | undefined, readonly string[]])[] = [
  ["GET /v1/indexes/list", undefined, ["read", "write", "admin"]],
  ["POST /v1/indexes/describe", {}, ["read", "write", "admin"]],
  ["POST /v1/indexes/anchor", {}, ["read", "write", "admin"]],
  ["POST /v1/vectors/upsert", { items: [item] }, ["write", "admin"]],
  ["POST /v1/vectors/update", { ids: ["a"], metadata: { x: 1 } }, ["admin"]],
  ["POST /v1/vectors/query", { query_vectors: [1, 2] }, ["read", "admin"]],
  ["POST /v1/vectors/get", { ids: ["a"] }, ["read", "admin"]],
  ["POST /v1/vectors/list", {}, ["read", "admin"]],
  ["POST /v1/vectors/list_ids", {}, ["read", "admin"]],
  ["POST /v1/vectors/num_vectors", {}, ["read", "admin"]],
  ["POST /v1/indexes/train", {}, ["write", "admin"]],
  ["POST /v1/indexes/compact", {}, ["write", "admin"]],
  ["POST /v1/indexes/namespaces", {}, ["read", "admin"]],
  ["POST /v1/indexes/read_receipt", {}, ["read", "write", "admin"]],
  ["POST /v1/indexes/erase", { namespace: "n" }, ["admin"]],
  ["POST /v1/vectors/delete", { ids: ["a"] }, ["write", "admin"]],
  ["GET /v1/keys", undefined, ["admin"]],
  ["POST /v1/keys", { name: "x", scopes: ["read"] }, ["admin"]],
  ["POST /v1/indexes/wraps/add", { name: "reader", wrap_key: generateKey(), access: "read-only" }, ["admin"]],
  ["POST /v1/indexes/wraps/list", {}, ["admin"]],
  ["POST /v1/indexes/wraps/revoke", { name: "reader" }, ["admin"]],
  ["POST /v1/indexes/reencrypt", {}, ["admin"]],
  ["POST /v1/indexes/rotate_key", {}, ["admin"]],
  ["POST /v1/indexes/delete", {}, ["admin"]],
];

test.each(["read", "write", "admin"])("the scope %s opens its endpoints and no other", async (scope) => {
  const { id: _id, ...headers } = await issue({ scopes: [scope] });
  const address = await service.newIndex({ index_config: { type: "ivfflat", dimension: 2 } });
  const newKey = generateKey();
  const erased = await service.post("/v1/indexes/erase", { ...address, namespace: "nobody" });
  const { receipt } = erased.body as { receipt: string };
  for (const [route, body, accepted] of endpoints) {
    const [method, path] = route.split(" ");
    const isRotation = path.endsWith("rotate_key");
    // Items have to be there to be trained, queried and deleted.
    await service.post("/v1/vectors/upsert", { ...address, items: [item] });
    const indexed = path === "/v1/keys" ? {} : address;
    const more = isRotation ? { new_index_key: newKey } : path.endsWith("receipt") && { receipt };
    const sent = body && { ...indexed, ...body, ...more };
    const answer = await send(method, path, headers, sent);
    if (accepted.includes(scope)) {
      expect(answer.status, `${route}: ${JSON.stringify(answer.body)}`).toBe(200);
      if (isRotation) address.index_key = newKey;
    } else {
      expect(answer, route).toMatchObject({ status: 403, body: { code: "forbidden" } });
      expect(answer.body.detail).toMatch(/^X-API-Key: expected a key with the scopes? /);
    }
  }
});

test("a key that may only write learns nothing about stored items from conditional changes", async () => {
  const writing = await issue({ scopes: ["write"] });
  const both = await issue({ scopes: ["read", "write"] });
  const address = await service.newIndex();
  const stored = { ...item, metadata: { pin: "4711" } };
  await service.post("/v1/vectors/upsert", { ...address, items: [stored] });
  const filters = { pin: "4711" };
  const changes: [string, object][] = [
    ["/v1/vectors/update", { filters, metadata: { probed: true } }],
    ["/v1/vectors/update", { ids: ["a"], metadata: stored.metadata }],
    ["/v1/vectors/update", { update_all: true, metadata: { probed: true } }],
    ["/v1/vectors/upsert", { items: [stored], skip_unchanged: true }],
    ["/v1/vectors/upsert", { items: [stored], within: filters }],
    ["/v1/vectors/upsert", { items: [{ id: "b", vector: [1, 2] }], delete_filter: filters }],
    ["/v1/vectors/delete", { filters }],
    ["/v1/vectors/delete", { ids: ["a"], filters }],
    ["/v1/indexes/erase", { namespace: "guess" }],
  ];
  const headers = { "X-API-Key": writing["X-API-Key"] };
  for (const [path, change] of changes) {
    const { status, body } = await service.post(path, { ...address, ...change }, headers);
    expect([status, body.detail], path).toEqual([403, expect.stringMatching(/scopes read and write for /)]);
  }
  for (const [path, change] of [
    ["/v1/vectors/upsert", { items: [{ id: "c", vector: [1, 2] }] }],
    ["/v1/vectors/delete", { ids: ["c", "unknown"] }],
    ...changes,
  ] as const) {
    const { "X-API-Key": key } = changes.some(([, own]) => own === change) ? both : writing;
    expect((await service.post(path, { ...address, ...change }, { "X-API-Key": key })).status, path).toBe(
      200,
    );
  }
});

test("every endpoint of the service is in the list of scopes, but those that need no key", async () => {
  const { body } = await service.get("/v1/openapi.json");
  const routes = Object.entries(
    body.paths as Record<string, Record<string, { security?: object[] }>>,
  ).flatMap(([path, methods]) =>
    Object.entries(methods).map(
      ([method, { security }]) => [`${method.toUpperCase()} ${path}`, security] as const,
    ),
  );
  const needingNone = routes.filter(([, security]) => security !== undefined);
  expect(Object.fromEntries(needingNone)).toEqual({
    "GET /v1/health": [],
    "GET /v1/health/live": [],
    "GET /v1/health/ready": [],
    // Clients send a key if they have one, since only then it names indexes.
    "GET /v1/indexes/training-status": [{ apiKey: [] }, {}],
  });
  for (const [route] of routes.filter(([, security]) => security === undefined)) {
    const [method, path] = route.split(" ");
    const answer = await send(method, path.replace(/\{\w+\}/g, "x"), {}, method === "POST" ? {} : undefined);
    expect(answer.status, route).toBe(401);
  }
});

test("a key for some indexes is refused for all others, whether they exist or not", async () => {
  const mine = await service.newIndex();
  const other = await service.newIndex();
  const { id: _id, ...headers } = await issue({ scopes: ["admin"], indexes: [mine.index_name, "new"] });
  expect((await send("POST", "/v1/indexes/describe", headers, mine)).status).toBe(200);
  for (const address of [other, { ...other, index_name: "unknown" }]) {
    const answer = await send("POST", "/v1/indexes/describe", headers, address);
    expect(answer).toMatchObject({ status: 403, body: { code: "forbidden" } });
  }
  const create = (name: string) =>
    send("POST", "/v1/indexes/create", headers, { index_name: name, index_key: generateKey() });
  expect((await create("new")).status).toBe(200);
  expect((await create("another")).status).toBe(403);
  expect((await send("GET", "/v1/indexes/list", headers)).body).toEqual({
    indexes: [mine.index_name, "new"],
  });
  // It manages no keys, or it could issue one for all indexes.
  expect((await send("GET", "/v1/keys", headers)).status).toBe(403);
  expect((await send("POST", "/v1/keys", headers, { name: "x", scopes: ["admin"] })).status).toBe(403);
  expect(
    (await send("POST", `/v1/indexes/${mine.index_name}/users`, headers, { permissions: ["read"] })).status,
  ).toBe(403);
});

test("a revoked key is refused at once by the process that revoked it", async () => {
  const { id, ...headers } = await issue({ scopes: ["read"] });
  expect((await send("GET", "/v1/indexes/list", headers)).status).toBe(200);
  expect((await send("DELETE", `/v1/keys/${id}`, { "X-API-Key": rootKey })).status).toBe(200);
  expect((await send("GET", "/v1/indexes/list", headers)).status).toBe(401);
  expect((await send("DELETE", `/v1/keys/${id}`, { "X-API-Key": rootKey })).status).toBe(404);
});

/** A training that is not sent yet. */
function training(headers = {}): ClientRequest {
  const own = { "Content-Type": "application/json", "X-API-Key": service.apiKey, Expect: "100-continue" };
  const url = new URL("/v1/indexes/train", service.baseUrl);
  return request(url, { method: "POST", headers: { ...own, ...headers } }).on("error", () => undefined);
}

/** A training that keeps its place, since its body is never sent. */
async function heldTraining(headers = {}): Promise<ClientRequest> {
  const held = training(headers);
  held.flushHeaders();
  await once(held, "continue");
  return held;
}

test("a training that waits does not run once its key is revoked", async () => {
  await start({ longRequestsMax: 1 });
  const { id, ...headers } = await issue({ scopes: ["write"] });
  const running = await heldTraining();
  const waiting = training(headers);
  waiting.end(JSON.stringify({ index_name: "absent", index_key: generateKey() }));
  await once(waiting, "continue");
  expect((await send("DELETE", `/v1/keys/${id}`, { "X-API-Key": rootKey })).status).toBe(200);
  running.destroy();
  const [{ statusCode }] = (await once(waiting, "response")) as [IncomingMessage];
  expect(statusCode).toBe(401);
});

test("a training that waits keeps no room for bodies from other requests", async () => {
  const bytes = 1024 * 1024;
  await start({ longRequestsMax: 1, bodiesBytesMax: bytes, queryBytesMax: bytes, waitMsMax: 500 });
  const running = await heldTraining({ "Content-Length": 9 });
  // Its body may have any length.
  const waiting = await heldTraining({ "Transfer-Encoding": "chunked" });
  const items = [{ ...item, contents: "x".repeat(99_999) }];
  const body = { index_name: "absent", index_key: generateKey(), items };
  expect((await service.post("/v1/vectors/upsert", body)).status).toBe(404);
  running.destroy();
  waiting.destroy();
});

test("a request behind a training on its connection keeps no place while that waits", async () => {
  await start({ longRequestsMax: 1, requestsMax: 1, waitMsMax: 3_600_000 });
  const running = await heldTraining();
  const { hostname, port } = new URL(service.baseUrl);
  const head = `HTTP/1.1\r\nHost: x\r\nX-API-Key: ${service.apiKey}\r\n`;
  const train = `POST /v1/indexes/train ${head}Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}`;
  const list = `GET /v1/indexes/list ${head}\r\n`;
  const health = `GET /v1/health ${head}\r\n`;
  const socket = connect(Number(port), hostname).on("error", () => undefined);
  socket.write(train + list);
  // Sent on a connection of its own, after the others were read.
  const other = connect(Number(port), hostname).on("error", () => undefined);
  for (const text of [health, list]) {
    other.write(text);
    const [answer] = (await once(other, "data")) as [Buffer];
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 200 /);
  }
  running.destroy();
  const answers = await new Promise<string>((resolve) => {
    let text = "";
    socket.on("data", (chunk: Buffer) => {
      text += chunk.toString();
      if (text.split("HTTP/1.1 ").length === 3) resolve(text);
    });
  });
  expect(answers.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 422", "HTTP/1.1 200"]);
  other.destroy();
  socket.destroy();
});

test("keys are listed with their permissions, without their secrets", async () => {
  await start();
  const expires = Date.now() + 3_600_000;
  const { id, ...headers } = await issue({ scopes: ["read", "read"], indexes: ["x"], expires_at: expires });
  const { body } = await send("GET", "/v1/keys", { "X-API-Key": rootKey });
  expect(body).toEqual({
    keys: [
      {
        id,
        name: "test",
        scopes: ["read"],
        indexes: ["x"],
        created_at: expect.any(Number),
        expires_at: expires,
      },
    ],
  });
  expect(JSON.stringify(body)).not.toContain(headers["X-API-Key"].slice(24, -8));
});

test.each([
  [{ scopes: [] }, /^scopes: expected/],
  [{ scopes: ["root"] }, /^scopes\[0\]: expected one of read, write, admin/],
  [{ scopes: ["read"], indexes: [] }, /^indexes: expected/],
  [{ scopes: ["read"], indexes: [""] }, /^indexes: expected names/],
  [{ scopes: ["read"], expires_at: 5 }, /^expires_at: expected a time in the future/],
  [{ scopes: ["read"], expires_at: 0 }, /^expires_at: expected a time in the future/],
  [{ scopes: ["read"], expires_at: 8.64e15 + 1 }, /^expires_at: expected a time in the future/],
  [{ scopes: ["read"], name: "" }, /^name: /],
  [{ scopes: ["read"], name: "a\nb" }, /^name: expected/],
])("a key with %j is refused", async (details, message) => {
  const answer = await send("POST", "/v1/keys", { "X-API-Key": rootKey }, { name: "a", ...details });
  expect(answer).toMatchObject({ status: 422, body: { detail: expect.stringMatching(message) } });
});

test("users of an index are keys for it alone", async () => {
  const address = await service.newIndex();
  const other = await service.newIndex();
  const path = `/v1/indexes/${encodeURIComponent(address.index_name)}/users`;
  const root = { "X-API-Key": rootKey };
  const created = await send("POST", path, root, { permissions: ["read"], index_key: address.index_key });
  expect(created).toMatchObject({ status: 200, body: { user_id: expect.stringMatching(/^[0-9a-f]{16}$/) } });
  const { user_id: userId, api_key: apiKey } = created.body as Record<string, string>;
  await issue({ scopes: ["read"] });

  const user = { "X-API-Key": apiKey };
  expect((await send("POST", "/v1/indexes/describe", user, address)).status).toBe(200);
  expect((await send("POST", "/v1/indexes/describe", user, other)).status).toBe(403);
  expect((await send("POST", "/v1/vectors/upsert", user, { ...address, items: [item] })).status).toBe(403);

  const listed = await send("GET", path, { ...root, "X-Index-Key": address.index_key });
  expect(listed.body).toEqual({ users: [{ user_id: userId, permissions: ["read"] }] });
  const wrong = { ...root, "X-Index-Key": generateKey() };
  expect(await send("GET", path, wrong)).toMatchObject({ status: 403, body: { code: "wrong_index_key" } });
  expect((await send("GET", "/v1/indexes/unknown/users", root)).status).toBe(404);
  expect((await send("POST", path, root, { permissions: [] })).status).toBe(422);
  expect((await send("POST", path, root, { permissions: ["admin"] })).status).toBe(422);

  const otherPath = `/v1/indexes/${encodeURIComponent(other.index_name)}/users/${userId}`;
  expect((await send("DELETE", otherPath, root)).status).toBe(404);
  for (const id of ["x", "%00", "..%2Fx", "__proto__"]) {
    expect(await send("DELETE", `${path}/${id}`, root)).toMatchObject({ status: 404 });
  }
  const { status } = await send("DELETE", `${path}/${userId}`, root);
  expect(status).toBe(204);
  const { body: document } = await service.get("/v1/openapi.json");
  const { responses } = (document.paths as Record<string, { delete: { responses: object } }>)[
    "/v1/indexes/{name}/users/{id}"
  ].delete;
  expect(Object.keys(responses)).toEqual([`${status}`, "422", "default"]);
  expect((await send("POST", "/v1/indexes/describe", user, address)).status).toBe(401);
});

test("an index with the longest name has users", async () => {
  const root = { "X-API-Key": rootKey };
  for (const name of ["n".repeat(128), "\u{1f600}".repeat(32)]) {
    await service.newIndex({ index_name: name });
    const path = `/v1/indexes/${encodeURIComponent(name)}/users`;
    expect((await send("POST", path, root, { permissions: ["read"] })).status).toBe(200);
    const answer = await send("GET", path.replace("/users", "n/users"), root);
    expect(answer).toMatchObject({ status: 422, body: { code: "invalid_request" } });
  }
});

test("a service without a root key issues no keys and says so", async () => {
  service = await startService();
  const answer = await service.post("/v1/keys", { name: "a", scopes: ["read"] });
  expect(answer).toMatchObject({ status: 422, body: { code: "not_supported", detail: /SEALDEX_ROOT_KEY/ } });
});

test("the library's client reports a forbidden call as such", async () => {
  const { "X-API-Key": apiKey } = await issue({ scopes: ["read"] });
  const client = createClient({ baseUrl: service.baseUrl, apiKey });
  const attempt = client.createIndex({ indexName: "a", indexKey: generateKey() });
  await expect(attempt).rejects.toMatchObject({ code: "forbidden", message: /scope write/ });
});

async function raw(headers: Record<string, string>, path = "/v1/indexes/list"): Promise<Response> {
  return fetch(service.baseUrl + path, { headers: { Accept: mediaType, ...headers } });
}

test("a key, and an address, may send so many requests per minute", async () => {
  await start({ keyRequestsPerMinuteMax: 3, addressRequestsPerMinuteMax: 6 });
  const one = { "X-API-Key": rootKey };
  const two = { "X-API-Key": service.apiKey };
  for (let i = 0; i < 3; i++) expect((await raw(one)).status).toBe(200);
  const refused = await raw(one);
  expect(refused.status).toBe(429);
  expect(Number(refused.headers.get("Retry-After"))).toBeGreaterThan(0);
  expect(await refused.json()).toMatchObject({
    code: "rate_limited",
    detail: /^requests with this API key: .*3 per/,
  });
  for (let i = 0; i < 2; i++) expect((await raw(two)).status).toBe(200);
  expect(await (await raw(two)).json()).toMatchObject({
    code: "rate_limited",
    detail: /^requests of this address: .*6/,
  });
  expect((await raw({}, "/v1/health")).status).toBe(429);
});

test("an address that tries many API keys is refused and raises one alarm; valid keys still work", async () => {
  await start({ failedKeysPerMinuteMax: 5 });
  const { id: _id, ...headers } = await issue({ scopes: ["read"] });
  expect((await raw(headers)).status).toBe(200);
  const wrong = { "X-API-Key": `sealdex_${"0".repeat(88)}` };
  for (let i = 0; i < 5; i++) expect((await raw(wrong)).status).toBe(401);
  for (let i = 0; i < 5; i++) expect((await raw(wrong)).status).toBe(429);
  expect((await raw(wrong)).headers.get("Retry-After")).toMatch(/^\d+$/);
  expect((await raw({})).status).toBe(401);
  expect((await raw(headers)).status).toBe(200);
  expect((await raw({ "X-API-Key": rootKey })).status).toBe(200);
  expect(lines.filter((line) => line.includes("alarm: many invalid API keys"))).toHaveLength(1);
});

test("a client that tries many index keys is refused and raises one alarm; users of the open index continue", async () => {
  await start({ wrongIndexKeysPerMinuteMax: 5 });
  const address = await service.newIndex();
  const wrong = () => ({ ...address, index_key: generateKey() });
  const describe = (sent: object) => service.post("/v1/indexes/describe", sent);
  expect((await describe(address)).status).toBe(200);
  for (let i = 0; i < 6; i++) expect((await describe(wrong())).status).toBe(403);
  for (let i = 0; i < 3; i++) {
    expect(await describe(wrong())).toMatchObject({ status: 429, body: { code: "rate_limited" } });
  }
  expect((await describe(address)).status).toBe(200);
  const other = await service.newIndex();
  expect((await describe(other)).status).toBe(200);
  const alarms = lines.filter((line) => line.includes("alarm: many wrong keys for one index"));
  expect(alarms).toHaveLength(1);
  expect(JSON.parse(alarms[0])).toMatchObject({ level: 40, caller: "operator-2", index: address.index_name });
});

test("keys that are tried on the users of an index count as those of its other requests do", async () => {
  await start({ wrongIndexKeysPerMinuteMax: 5 });
  const address = await service.newIndex();
  const path = `/v1/indexes/${encodeURIComponent(address.index_name)}/users`;
  const root = { "X-API-Key": rootKey };
  const list = (key: string) => send("GET", path, { ...root, "X-Index-Key": key });
  const remove = (key: string) =>
    send("DELETE", `${path}/${"0".repeat(16)}`, { ...root, "X-Index-Key": key });
  const create = (key: string) => send("POST", path, root, { permissions: ["read"], index_key: key });
  expect((await list(address.index_key)).status).toBe(200);
  for (const attempt of [list, remove, create]) {
    for (let i = 0; i < 2; i++) expect((await attempt(generateKey())).status).toBe(403);
  }
  for (const attempt of [list, remove, create]) {
    expect(await attempt(generateKey())).toMatchObject({ status: 429, body: { code: "rate_limited" } });
  }
  expect((await list(address.index_key)).status).toBe(200);
  expect(lines.filter((line) => line.includes("alarm: many wrong keys for one index"))).toHaveLength(1);
});

/** A request whose headers the server has read, and whose body it waits for. */
async function sendHeaders(address: object) {
  const { port, hostname } = new URL(service.baseUrl);
  const slow = connect(Number(port), hostname);
  const body = JSON.stringify(address);
  const head = `POST /v1/indexes/describe HTTP/1.1\r\nHost: x\r\nX-API-Key: ${service.apiKey}\r\nContent-Type: application/json\r\n`;
  slow.write(`${head}Content-Length: ${body.length}\r\nExpect: 100-continue\r\n\r\n`);
  await once(slow, "data");
  return { slow, body };
}

const list = () => raw({ "X-API-Key": service.apiKey });

/** The answer to the first request that is refused. */
async function refusedList(): Promise<Response> {
  let refused = await list();
  while (refused.status === 200) refused = await list();
  expect(refused.status).toBe(503);
  expect(refused.headers.get("Retry-After")).toBe("1");
  return refused;
}

test("requests behind too many others are refused with 503 and Retry-After, and served later", async () => {
  await start({ requestsMax: 1, waitingMax: 0 });
  const address = await service.newIndex();
  const { slow, body } = await sendHeaders(address);
  const refused = await refusedList();
  expect(await refused.json()).toMatchObject({ code: "overloaded" });
  slow.write(body);
  await once(slow, "data");
  slow.destroy();
  let served = await list();
  while (served.status === 503) served = await list();
  expect(served.status).toBe(200);
});

test("requests that waited too long behind others are refused with 503 and Retry-After", async () => {
  await start({ requestsMax: 1, waitMsMax: 50 });
  const address = await service.newIndex();
  const { slow, body } = await sendHeaders(address);
  const refused = await refusedList();
  expect(await refused.json()).toMatchObject({
    code: "overloaded",
    detail: expect.stringContaining("waited 50 ms") as string,
  });
  slow.write(body);
  await once(slow, "data");
  slow.destroy();
  expect((await list()).status).toBe(200);
});

test("while the heap is nearly full, requests are refused with 503 and health is still answered", async () => {
  await start({ heapBytesMax: 1 });
  let answer = await raw({ "X-API-Key": rootKey });
  // The heap is looked at every second.
  while (answer.status === 200) answer = await raw({ "X-API-Key": rootKey });
  expect(answer.status).toBe(503);
  expect(answer.headers.get("Retry-After")).toBe("1");
  expect(await answer.json()).toMatchObject({ code: "overloaded" });
  expect((await raw({}, "/v1/health")).status).toBe(200);
});

test("no API key is in the log or in an error", async () => {
  await start();
  const { id, ...headers } = await issue({ scopes: ["read"] });
  const secret = headers["X-API-Key"].slice(24, -8);
  const answers = [
    await send("POST", "/v1/keys", headers, { name: "x", scopes: ["admin"] }),
    await send("GET", "/v1/indexes/list", { "X-API-Key": `${headers["X-API-Key"]}0` }),
    await send("DELETE", `/v1/keys/${id}`, { "X-API-Key": rootKey }),
    await send("GET", "/v1/indexes/list", headers),
  ];
  expect(answers.map(({ status }) => status)).toEqual([403, 401, 200, 401]);
  expect(lines.length).toBeGreaterThan(3);
  for (const text of [...lines, JSON.stringify(answers)]) {
    expect(text).not.toContain(secret);
    expect(text).not.toContain(rootKey);
  }
});
