/** The requests of the dashboard, without a browser. */

import { readdir, writeFile, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type BlobStore, generateKey, openLocation } from "../../../src/core.js";
import { AuditLog } from "../../../packages/server/src/audit/audit-log.js";
import { Metrics } from "../../../packages/server/src/metrics/metrics.js";
import { type Answer, type RunningService, startService } from "../service.js";
import { newFolder } from "../../folder.js";

const rootKey = generateKey();
let folder: string;
let store: BlobStore;
let audit: AuditLog;
let service: RunningService;
let isDown: boolean;

beforeEach(async () => {
  folder = await newFolder();
  const memory = openLocation({ location: "memory" });
  isDown = false;
  store = {
    ...memory,
    async list(prefix, options) {
      if (isDown && prefix.startsWith("keyuses/")) throw new Error("the storage is gone");
      return memory.list(prefix, options);
    },
  };
  const anchor: BlobStore = {
    ...openLocation({ location: "memory" }),
    read: async () => {
      if (isDown) throw new Error("redis://user:password@host is gone");
      return null;
    },
  };
  const metrics = new Metrics();
  audit = await AuditLog.open({ folder, rootKey, store });
  service = await startService({
    indexLocation: metrics.observed(store, "index"),
    issuing: { rootKey, store },
    metrics,
    audit,
    dashboard: [
      { name: "index", kind: "memory", store },
      { name: "anchor", kind: "redis", store: anchor },
    ],
  });
});
afterEach(async () => {
  await service.close();
  await audit.close();
});

async function issue(details: object): Promise<string> {
  const { body } = await service.post("/v1/keys", { name: "key", scopes: ["admin"], ...details });
  return body.api_key as string;
}

test("only admin keys that are not limited to some indexes are served", async () => {
  const limited = await issue({ indexes: ["a"] });
  const writer = await issue({ scopes: ["read", "write"] });
  const admin = await issue({});
  const statusWith = async (apiKey: string, path: string) =>
    (await service.get(path, { "X-API-Key": apiKey })).status;
  for (const path of ["/v1/admin/live", "/v1/admin/locations", "/v1/admin/audit"]) {
    expect(await statusWith(limited, path)).toBe(403);
    expect(await statusWith(writer, path)).toBe(403);
    expect(await statusWith("x", path)).toBe(401);
    expect(await statusWith(admin, path)).toBe(200);
  }
  const names = { names: [] };
  expect((await service.post("/v1/admin/open-indexes", names, { "X-API-Key": writer })).status).toBe(403);
});

test("figures count queries, errors and lookups in the cache", async () => {
  const address = await service.newIndex();
  await service.post("/v1/vectors/upsert", { ...address, items: [{ id: "a", vector: [1, 2] }] });
  const { body: before } = await service.get("/v1/admin/live");
  for (let i = 0; i < 3; i++) await service.post("/v1/vectors/query", { ...address, query_vectors: [1, 2] });
  await service.post("/v1/vectors/query", { ...address, query_vectors: [1, 2, 3] });
  expect((await service.post("/v1/vectors/query_metadata", address)).status).toBe(200);
  const batch = {
    vectors_b64: Buffer.from(new Float32Array([1, 2]).buffer).toString("base64"),
    dimension: 2,
  };
  expect((await service.post("/v1/vectors/query_binary", { ...address, batch })).status).toBe(200);
  const { body: after } = await service.get("/v1/admin/live");
  const countOf = (body: Answer["body"]) => (body.queries as { count: number }).count;
  expect(countOf(after) - countOf(before)).toBe(6);
  const { seconds, counts } = after.queries as { seconds: number[]; counts: number[] };
  expect(seconds).toEqual([...seconds].sort((a, b) => a - b));
  expect(counts.length).toBe(seconds.length);
  expect(counts).toEqual([...counts].sort((a, b) => a - b));
  expect(after.errors).toContainEqual({ code: "dimension_mismatch", count: 1 });
  expect(after.process).toBe(before.process);
  expect(after.storage).toContainEqual(expect.objectContaining({ location: "index", operation: "create" }));
});

test("each location is asked, and why one does not respond is told without its address", async () => {
  const { body } = await service.get("/v1/admin/locations");
  expect(body.locations).toEqual([
    { name: "index", kind: "memory", ms: expect.any(Number) },
    { name: "anchor", kind: "redis", ms: expect.any(Number) },
  ]);
});

test("a location that fails is named by a code", async () => {
  isDown = true;
  const { status, body } = await service.get("/v1/admin/locations");
  expect(status).toBe(200);
  expect(JSON.stringify(body)).not.toContain("password");
  expect(body.locations).toContainEqual({
    name: "anchor",
    kind: "redis",
    ms: expect.any(Number),
    code: "storage_unavailable",
  });
});

test("every kind of request that changes items counts as a write", async () => {
  const index = await service.newIndex();
  const [vectors_b64, dimension] = [Buffer.alloc(4).toString("base64"), 1];
  const lastWrite = async () => {
    const { body } = await service.post("/v1/admin/open-indexes", { names: [index.index_name] });
    return (body.indexes as { last_write_at: number }[])[0].last_write_at;
  };
  for (const [route, change] of Object.entries({
    upsert: { items: [{ id: "a", vector: [1] }] },
    upsert_binary: { batch: { ids: ["a"], vectors_b64, dimension } },
    update: { ids: ["a"], metadata: { n: 1 } },
    delete: { ids: ["a"] },
  })) {
    const before = await lastWrite();
    while (Date.now() <= before) await new Promise(setImmediate);
    expect((await service.post(`/v1/vectors/${route}`, { ...index, ...change })).status).toBe(200);
    expect(await lastWrite(), route).toBeGreaterThan(before);
  }
});

test("indexes that are open are described, of others nothing but a write is known", async () => {
  const startedAt = Date.now();
  const open = await service.newIndex();
  const closed = await service.newIndex();
  await service.post("/v1/vectors/upsert", { ...open, items: [{ id: "a", vector: [1, 2] }] });
  const names = [open.index_name, closed.index_name, "there is none"];
  const { body } = await service.post("/v1/admin/open-indexes", { names });
  const [first, second, third] = body.indexes as Record<string, unknown>[];
  expect(first).toMatchObject({
    name: open.index_name,
    items: 1,
    description: { segments: 1, is_trained: false },
  });
  expect(first.last_write_at).toBeGreaterThanOrEqual(startedAt);
  expect(second).toEqual({ name: closed.index_name, last_write_at: expect.any(Number) });
  expect(third).toEqual({ name: "there is none" });
  const collection = await service.newIndex({ shards: 3 });
  await service.post("/v1/vectors/upsert", { ...collection, items: [{ id: "a", vector: [1, 2] }] });
  const found = await service.post("/v1/admin/open-indexes", { names: [collection.index_name] });
  expect(found.body.indexes).toMatchObject([{ items: 1, description: { shards: 3, segments: 1 } }]);
  expect(JSON.stringify(body)).not.toContain(open.index_key);
  const many = Array.from({ length: 101 }, (_, i) => `${i}`);
  expect((await service.post("/v1/admin/open-indexes", { names: many })).status).toBe(422);
});

test("the audit log is paged, newest first, without the requests of live figures", async () => {
  for (let i = 0; i < 7; i++) await service.get("/v1/keys", { "X-Request-Id": `request-${i}` });
  await service.get("/v1/admin/live");
  const pages: string[][] = [];
  for (let next = ""; pages.length < 10;) {
    const { body } = await service.get(`/v1/admin/audit?limit=3${next}`, {
      "X-Request-Id": "the-page-itself",
    });
    const entries = body.entries as Record<string, unknown>[];
    expect(entries.every(({ authentic, mac }) => authentic === true && mac === undefined)).toBe(true);
    pages.push(
      entries.map(({ request }) => String(request)).filter((request) => request !== "the-page-itself"),
    );
    if (body.next === undefined) break;
    next = `&before=${String(body.next)}`;
  }
  expect(pages.flat()).toEqual([6, 5, 4, 3, 2, 1, 0].map((i) => `request-${i}`));
  expect((await service.get("/v1/admin/audit?before=elsewhere")).status).toBe(422);
});

test("an entry that was changed is marked", async () => {
  await service.get("/v1/keys", { "X-Request-Id": "genuine-1" });
  await service.get("/v1/keys", { "X-Request-Id": "forged-02" });
  await service.get("/v1/keys", { "X-Request-Id": "genuine-3" });
  await audit.writeEnd();
  const [name] = await readdir(folder);
  const text = await readFile(join(folder, name), "utf8");
  await writeFile(join(folder, name), `${text.replace("forged-02", "forged-2!")}not json\n`);
  const { body } = await service.get("/v1/admin/audit");
  const entries = body.entries as { request?: string; authentic: boolean; action: string }[];
  expect(entries.map(({ request = "", authentic }) => `${request} ${authentic}`)).toEqual([
    " false",
    // The service wrote it, after another line.
    "genuine-3 false",
    " false",
    "genuine-1 true",
  ]);
  expect(entries[0].action).toBe("changed or added line");
});

test("the last use of a key is known, in other processes too, with few writes", async () => {
  const reader = await issue({ name: "reader", scopes: ["read"] });
  const startedAt = Date.now();
  for (let i = 0; i < 20; i++) await service.get("/v1/indexes/list", { "X-API-Key": reader });
  const { body } = await service.get("/v1/keys");
  const [key] = body.keys as { name: string; last_used_at: number }[];
  expect(key.last_used_at).toBeGreaterThanOrEqual(startedAt);
  const other = await startService({ issuing: { rootKey, store } });
  const { body: elsewhere } = await other.get("/v1/keys");
  expect((elsewhere.keys as { last_used_at: number }[])[0].last_used_at).toBeGreaterThanOrEqual(startedAt);
  await other.close();
  expect((await store.list("keyuses/")).length).toBe(1);
});

test("a key is revoked at once even if its last use cannot be forgotten", async () => {
  const reader = await issue({ name: "reader", scopes: ["read"] });
  const use = () => service.get("/v1/indexes/list", { "X-API-Key": reader });
  expect((await use()).status).toBe(200);
  isDown = true;
  const revoked = await fetch(`${service.baseUrl}/v1/keys/${reader.slice(8, 24)}`, {
    method: "DELETE",
    headers: { "X-API-Key": rootKey },
  });
  expect(revoked.status).toBe(200);
  expect((await use()).status).toBe(401);
});

test("without a dashboard there are neither pages nor their routes", async () => {
  const plain = await startService({ metrics: new Metrics() });
  for (const path of ["/admin", "/admin/", "/admin/app.js", "/v1/admin/live"]) {
    expect((await plain.get(path)).status).toBe(404);
  }
  await plain.close();
});

test("pages forbid inline scripts and styles, other origins, and text that becomes HTML", async () => {
  expect(await (await fetch(service.baseUrl)).text()).toContain('<a href="admin/">/admin</a>');
  const redirect = await fetch(`${service.baseUrl}/admin`, { redirect: "manual" });
  expect([redirect.status, redirect.headers.get("Location")]).toEqual([302, "admin/"]);
  for (const path of ["/admin/", "/admin/app.js", "/admin/app.css"]) {
    const response = await fetch(service.baseUrl + path);
    const policy = response.headers.get("Content-Security-Policy");
    expect(response.status).toBe(200);
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
    for (const rule of [
      "default-src 'none'",
      "frame-ancestors 'none'",
      "require-trusted-types-for 'script'",
    ]) {
      expect(policy).toContain(rule);
    }
    expect(response.headers.get("Referrer-Policy")).toBe("no-referrer");
    await response.arrayBuffer();
  }
});
