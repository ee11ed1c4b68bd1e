/** Keys of an index over HTTP: who opens it with which, what each may do, and the renewal of data keys. */

import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { createClient, fileKey, generateKey, openLocation, passphraseKey } from "../../src/core.js";
import { generationOf } from "../../src/crypto/sealed-object.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { AuditLog } from "../../packages/server/src/audit/audit-log.js";
import { startBoth } from "./both-clients.js";
import { type RunningService, startService } from "./service.js";
import { whole } from "../ranges.js";
import { newFolder } from "../folder.js";

const { service, clients } = await startBoth();

const item = { id: "a", vector: [1, 2], contents: "first" };
const wraps = "/v1/indexes/wraps";

afterEach(() => vi.useRealTimers());

/** An index with one item, and a function that adds a wrap to it. */
async function filledIndex(of: RunningService = service) {
  const address = await of.newIndex();
  expect((await of.post("/v1/vectors/upsert", { ...address, items: [item] })).status).toBe(200);
  const add = (more: object) =>
    of.post(`${wraps}/add`, {
      ...address,
      name: "reader",
      wrap_key: generateKey(),
      access: "read-only",
      ...more,
    });
  return { address, add };
}

describe.each(Object.entries(clients))("%s", (_, client) => {
  const newIndex = async () => {
    const address = { indexName: `shared ${generateKey()}`, indexKey: generateKey() };
    const index = await client.createIndex(address);
    await index.upsert([item]);
    return { address, index };
  };

  test("wraps are added, listed with their options, and revoked", async () => {
    const { address, index } = await newIndex();
    const [reading, writing] = [generateKey(), Buffer.from(generateKey(), "hex")];
    const expiresAt = new Date(Date.now() + 1e9);
    await index.wraps.add({ name: "Zoë 🗝", key: reading, access: "read-only", expiresAt });
    await index.wraps.add({ name: "service", key: writing, access: "read-write" });
    expect(await index.wraps.list()).toEqual([
      { name: "owner", access: "owner" },
      { name: "Zoë 🗝", access: "read-only", expiresAt },
      { name: "service", access: "read-write" },
    ]);
    const load = (indexKey: string | Uint8Array) => client.loadIndex({ ...address, indexKey });
    const [reader, writer] = [await load(reading), await load(writing)];
    await writer.upsert([{ ...item, id: "b" }]);
    expect(await reader.listIds()).toEqual(["a", "b"]);
    await index.wraps.revoke("service");
    await expect(writer.count()).rejects.toMatchObject({ code: "wrong_index_key" });
    await expect(load(writing)).rejects.toMatchObject({ code: "wrong_index_key" });
    expect(await reader.count()).toBe(2);
    await expect(index.wraps.revoke("service")).rejects.toMatchObject({ code: "not_found" });
    await expect(index.wraps.revoke("owner")).rejects.toMatchObject({ code: "not_found" });
  });

  test.each([
    { name: "" },
    { name: "a\n" },
    { name: "a".repeat(129) },
    { name: "\ud800" },
    { name: 7 },
    { name: undefined },
    { key: "00" },
    { key: new Uint8Array(31) },
    { key: 7 },
    { access: "owner" },
    { access: undefined },
    { expiresAt: new Date(0) },
    { expiresAt: new Date(Number.NaN) },
    { expiresAt: 1e15 },
    { until: 1 },
  ])("a wrap that cannot be right is refused: %j", async (wrong) => {
    const { index } = await newIndex();
    const wrap = { name: "a", key: generateKey(), access: "read-only", ...wrong };
    await expect(index.wraps.add(wrap as never)).rejects.toMatchObject({ code: "invalid_request" });
    expect(await index.wraps.list()).toHaveLength(1);
  });

  test("data keys are renewed by the owner, and items stay", async () => {
    const { address, index } = await newIndex();
    const key = generateKey();
    await index.wraps.add({ name: "writer", key, access: "read-write" });
    await index.reencrypt();
    const writer = await client.loadIndex({ ...address, indexKey: key });
    expect(await writer.get(["a"])).toMatchObject([{ id: "a", contents: "first" }]);
    await expect(writer.reencrypt()).rejects.toMatchObject({ code: "forbidden" });
  });
});

test("a name or a key is taken once, and 128 bytes are a name", async () => {
  const { address, add } = await filledIndex();
  const wrap_key = generateKey();
  expect((await add({ name: "é".repeat(64), wrap_key })).status).toBe(200);
  for (const taken of [
    { name: "é".repeat(64) },
    { name: "owner" },
    { wrap_key },
    { wrap_key: wrap_key.toUpperCase() },
    { wrap_key: address.index_key },
  ]) {
    expect(await add(taken)).toMatchObject({ status: 409, body: { code: "already_exists" } });
  }
  const { body } = await service.post(`${wraps}/list`, address);
  expect(body.wraps).toHaveLength(2);
});

test("bodies that cannot be right are refused, and no answer repeats a key", async () => {
  const { add } = await filledIndex();
  const secret = generateKey();
  for (const wrong of [
    { wrap_key: secret.slice(1) },
    { wrap_key: `${secret}0` },
    { wrap_key: null },
    { wrap_key: [secret] },
    { access: secret },
    { access: "owner" },
    { name: null },
    { name: { secret } },
    { expires_at: "tomorrow" },
    { expires_at: "" },
    { expires_at: "2020-01-01T00:00:00Z" },
    { expires_at: 4e12 },
    { key: secret },
  ]) {
    const answer = await add(wrong);
    expect(answer, JSON.stringify(wrong)).toMatchObject({ status: 422, body: { code: "invalid_request" } });
    expect(JSON.stringify(answer)).not.toContain(secret.slice(1));
  }
  expect((await add({ expires_at: null })).status).toBe(200);
});

const changes: Record<string, object> = {
  "/v1/vectors/upsert": { items: [{ ...item, id: "b" }] },
  "/v1/vectors/update": { ids: ["a"], metadata: { n: 1 } },
  "/v1/vectors/delete": { ids: ["a"] },
  "/v1/indexes/train": {},
  "/v1/indexes/compact": {},
  "/v1/indexes/erase": { namespace: "n" },
};
const management: Record<string, object> = {
  [`${wraps}/add`]: { name: "another", wrap_key: generateKey(), access: "read-write" },
  [`${wraps}/list`]: {},
  [`${wraps}/revoke`]: { name: "reader" },
  "/v1/indexes/reencrypt": {},
  "/v1/indexes/rotate_key": { new_index_key: generateKey() },
  "/v1/indexes/delete": {},
};

test("a reader's key with an API key for everything changes nothing: not one byte is stored", async () => {
  const store = createMemoryStore();
  const own = await startService({ indexLocation: store });
  const { address, add } = await filledIndex(own);
  const wrap_key = generateKey();
  await add({ wrap_key });
  const reader = { ...address, index_key: wrap_key };
  expect(await own.post("/v1/vectors/num_vectors", reader)).toMatchObject({ body: { result: 1 } });
  const before = await store.list("");
  for (const [path, body] of Object.entries({ ...changes, ...management })) {
    const answer = await own.post(path, { ...reader, ...body });
    expect(answer, path).toMatchObject({ status: 403, body: { code: "forbidden" } });
  }
  expect(await store.list("")).toEqual(before);
  await own.close();
});

test("a writer's key changes items, and manages no keys", async () => {
  const { address, add } = await filledIndex();
  const wrap_key = generateKey();
  await add({ wrap_key, access: "read-write" });
  const writer = { ...address, index_key: wrap_key };
  for (const [path, body] of Object.entries(changes)) {
    expect((await service.post(path, { ...writer, ...body })).status, path).toBe(200);
  }
  for (const [path, body] of Object.entries(management)) {
    const answer = await service.post(path, { ...writer, ...body });
    expect(answer, path).toMatchObject({ status: 403, body: { code: "forbidden" } });
  }
});

test("a wrong key and an unknown index are told apart from a wrap that is not there", async () => {
  const { address } = await filledIndex();
  for (const [path, body] of Object.entries(management)) {
    const wrong = { ...address, index_key: generateKey(), ...body };
    expect(await service.post(path, wrong), path).toMatchObject({
      status: 403,
      body: { code: "wrong_index_key" },
    });
    const unknown = { ...address, index_name: "nobody's", ...body };
    expect(await service.post(path, unknown), path).toMatchObject({
      status: 404,
      body: { code: "not_found" },
    });
  }
  expect(await service.post(`${wraps}/revoke`, { ...address, name: "reader" })).toMatchObject({
    status: 404,
    body: { detail: expect.stringMatching(/^wrap "reader"/) },
  });
});

test("wrong keys that are tried on wraps count as those of other requests do", async () => {
  const own = await startService({ limits: { wrongIndexKeysPerMinuteMax: 3 } });
  const { address } = await filledIndex(own);
  const attempt = () => own.post(`${wraps}/list`, { ...address, index_key: generateKey() });
  for (let i = 0; i < 4; i++) expect((await attempt()).status).toBe(403);
  expect(await attempt()).toMatchObject({ status: 429, body: { code: "rate_limited" } });
  expect((await own.post(`${wraps}/list`, address)).status).toBe(200);
  await own.close();
});

test("an access that ends opens nothing from then on, though the service has the index open under its key", async () => {
  const { address, add } = await filledIndex();
  const wrap_key = generateKey();
  const now = Date.now();
  await add({ wrap_key, expires_at: new Date(now + 60_000).toISOString() });
  const guest = { ...address, index_key: wrap_key };
  const count = async () => (await service.post("/v1/vectors/num_vectors", guest)).status;
  expect(await count()).toBe(200);
  vi.useFakeTimers({ toFake: ["Date"], now: now + 60_000 });
  expect(await service.post("/v1/vectors/num_vectors", guest)).toMatchObject({
    status: 403,
    body: { code: "forbidden" },
  });
  vi.useRealTimers();
  expect((await service.post(`${wraps}/revoke`, { ...address, name: "reader" })).status).toBe(200);
  expect(await count()).toBe(403);
  // The same key is given access once more.
  expect((await add({ wrap_key })).status).toBe(200);
  expect(await count()).toBe(200);
});

test("renewing data keys seals everything again, under keys that a revoked holder never had", async () => {
  const store = createMemoryStore();
  const own = await startService({ indexLocation: store });
  const { address } = await filledIndex(own);
  const segments = async () => (await store.list("")).filter((name) => name.includes("/segment/"));
  const before = new Set(await segments());
  expect(await own.post("/v1/indexes/reencrypt", address)).toEqual({
    status: 200,
    body: { status: "success", message: `Index '${address.index_name}' reencrypted successfully` },
  });
  const renewed = (await segments()).filter((name) => !before.has(name));
  expect(renewed).toHaveLength(before.size);
  for (const name of renewed) expect(generationOf((await store.read(name, whole)) as Uint8Array)).toBe(2);
  expect((await own.post("/v1/vectors/get", { ...address, ids: ["a"] })).body).toMatchObject({
    results: [{ id: "a", contents: "first" }],
  });
  await own.close();
});

test("a key provider of the caller's is asked by embedded indexes only", async () => {
  const client = clients["over HTTP"];
  const index = await client.createIndex({ indexName: "provided", indexKey: generateKey() });
  const key = passphraseKey("correct horse battery staple");
  await expect(index.wraps.add({ name: "safe", key, access: "read-write" })).rejects.toMatchObject({
    code: "not_supported",
    message: /^wraps\.add with a key provider: expected an embedded index/,
  });
});

test("where the service keeps the owner's key, requests give others keys of their own", async () => {
  const folder = await newFolder();
  const path = join(folder, "key");
  await writeFile(path, generateKey());
  const own = await startService({ indexKey: fileKey(path) });
  const index_name = "kept";
  const wrap_key = generateKey();
  const send = async (route: string, body: object) => {
    const answer = await own.post(route, { index_name, ...body });
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    return answer.body;
  };
  await send("/v1/indexes/create", {});
  await send(`${wraps}/add`, { name: "writer", wrap_key, access: "read-write" });
  expect(await send(`${wraps}/list`, {})).toEqual({
    wraps: [
      { name: "owner", access: "owner", provider: "key file" },
      { name: "writer", access: "read-write" },
    ],
  });
  await send("/v1/vectors/upsert", { index_key: wrap_key, items: [item] });
  await send("/v1/indexes/reencrypt", {});
  const client = createClient(own.address);
  const writer = await client.loadIndex({ indexName: index_name, indexKey: wrap_key });
  expect(await writer.count()).toBe(1);
  await send(`${wraps}/revoke`, { name: "writer" });
  await client.close();
  await own.close();
});

test("the audit log has the name of the wrap, and neither log has its key", async () => {
  const folder = await newFolder();
  const store = openLocation({ location: "memory" });
  const audit = await AuditLog.open({ folder, rootKey: generateKey(), store });
  const lines: string[] = [];
  const own = await startService({ audit, log: { write: (line) => void lines.push(line) } });
  const { address, add } = await filledIndex(own);
  const wrap_key = generateKey();
  await add({ wrap_key });
  await add({ wrap_key });
  await add({ name: "x".repeat(1000) });
  await own.post(`${wraps}/revoke`, { ...address, name: "reader" });
  await own.post("/v1/indexes/reencrypt", address);
  await own.close();
  await audit.close();
  const [file] = await readdir(folder);
  const text = await readFile(join(folder, file), "utf8");
  const index = address.index_name;
  const events = text.trimEnd().split("\n").slice(2);
  expect(events.map((line) => JSON.parse(line) as object)).toMatchObject([
    { action: `POST ${wraps}/add`, index, wrap: "reader", status: 200 },
    { action: `POST ${wraps}/add`, index, wrap: "reader", status: 409, code: "already_exists" },
    { action: `POST ${wraps}/add`, index, wrap: "x".repeat(128), status: 422 },
    { action: `POST ${wraps}/revoke`, index, wrap: "reader", status: 200 },
    { action: "POST /v1/indexes/reencrypt", index, status: 200 },
  ]);
  for (const key of [wrap_key, address.index_key]) {
    expect(text + lines.join("")).not.toContain(key);
  }
});
