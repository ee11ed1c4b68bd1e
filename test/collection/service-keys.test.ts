/** Who may do what with a collection on a service: the same as with an index, and the audit log says it in the same lines. */

import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { AuditLog } from "../../packages/server/src/audit/audit-log.js";
import { createClient, fileKey, generateKey } from "../../src/core.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { newFolder } from "../folder.js";
import { type RunningService, startService } from "../http/service.js";

const rootKey = "a root key of more than 32 letters".replaceAll(" ", "-");
const item = { id: "a", vector: [1, 2] };
const routes: readonly (readonly [string, object])[] = [
  ["/v1/indexes/describe", {}],
  ["/v1/indexes/anchor", {}],
  ["/v1/vectors/upsert", { items: [item] }],
  ["/v1/vectors/upsert", { items: [item], skip_unchanged: true }],
  ["/v1/vectors/upsert", { items: [item], delete_filter: { a: 1 } }],
  ["/v1/vectors/update", { ids: ["a"], metadata: { x: 1 } }],
  ["/v1/vectors/query", { query_vectors: [1, 2] }],
  ["/v1/vectors/get", { ids: ["a"] }],
  ["/v1/vectors/list", {}],
  ["/v1/vectors/list_ids", {}],
  ["/v1/vectors/num_vectors", {}],
  ["/v1/vectors/delete", { ids: ["a"] }],
  ["/v1/vectors/delete", { filters: { a: 1 } }],
  ["/v1/indexes/train", {}],
  ["/v1/indexes/compact", {}],
  ["/v1/indexes/namespaces", {}],
  ["/v1/indexes/erase", { namespace: "red" }],
  ["/v1/indexes/reencrypt", {}],
  ["/v1/indexes/delete", {}],
];

interface Line {
  readonly action: string;
  readonly status: number;
  readonly code?: string;
  readonly index?: string;
}

async function onService(work: (service: RunningService) => Promise<void>): Promise<Line[]> {
  const folder = await newFolder();
  const store = createMemoryStore();
  const audit = await AuditLog.open({ folder, rootKey, store });
  const service = await startService({ indexLocation: store, issuing: { rootKey, store }, audit });
  try {
    await work(service);
  } finally {
    await service.close();
    await audit.close();
  }
  const [name] = await readdir(folder);
  const lines = (await readFile(join(folder, name), "utf8")).split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line) as Line);
}

async function issue(service: RunningService, details: object): Promise<{ "X-API-Key": string }> {
  const { body } = await service.post("/v1/keys", { name: "key", ...details }, { "X-API-Key": rootKey });
  return { "X-API-Key": String(body.api_key) };
}

test.each([
  { scopes: ["read"] },
  { scopes: ["write"] },
  { scopes: ["admin"] },
  { scopes: ["read", "write"], indexes: ["another"] },
  { scopes: ["admin"], indexes: ["own"] },
])("an API key with %o opens the same routes", async (details) => {
  const answers: unknown[][] = [];
  const lines = await onService(async (service) => {
    for (const definition of [{}, { shards: 3 }]) {
      const address = { index_name: "own", index_key: generateKey() };
      const headers = await issue(service, details);
      const made = await service.post("/v1/indexes/create", { ...address, ...definition }, headers);
      if (made.status !== 200) await service.post("/v1/indexes/create", { ...address, ...definition });
      const ends: unknown[] = [[made.status, made.body.code]];
      for (const [path, body] of routes) {
        const answer = await service.post(path, { ...address, ...body }, headers);
        ends.push([path, answer.status, answer.body.code]);
      }
      const { body } = await service.get("/v1/indexes/list", headers);
      answers.push([...ends, body.indexes]);
      await service.post("/v1/indexes/delete", address);
    }
  });
  const [ofIndex, ofCollection] = answers;
  expect(ofCollection).toEqual(ofIndex);
  const recorded = lines.map(({ action, status, code, index }) => ({ action, status, code, index }));
  expect(recorded.slice(recorded.length / 2)).toEqual(recorded.slice(0, recorded.length / 2));
  expect(recorded.map(({ index }) => index).filter((name) => (name ?? "own") !== "own")).toEqual([]);
});

test("shards are split by an admin API key that may use the collection alone, and the audit log records it", async () => {
  const lines = await onService(async (service) => {
    const address = await service.newIndex({ shards: 2 });
    const index = address.index_name;
    for (const [details, status] of [
      [{ scopes: ["read", "write"] }, 403],
      [{ scopes: ["admin"], indexes: ["another"] }, 403],
      [{ scopes: ["admin"], indexes: [index] }, 200],
    ] as const) {
      const headers = await issue(service, details);
      expect(await service.post("/v1/indexes/split", { ...address, shards: 3 }, headers)).toMatchObject({
        status,
      });
    }
  });
  const splits = lines.filter(({ action }) => action === "POST /v1/indexes/split");
  expect(splits.map(({ status, code }) => [status, code])).toEqual([
    [403, "forbidden"],
    [403, "forbidden"],
    [200, undefined],
  ]);
});

test("a name that the service gives to a shard is none that a request can use", async () => {
  await onService(async (service) => {
    const { index_key } = await service.newIndex({ shards: 2 });
    const index_name = `\0${"0".repeat(40)}`;
    for (const path of ["/v1/indexes/describe", "/v1/indexes/delete", "/v1/indexes/create"]) {
      expect(await service.post(path, { index_name, index_key })).toMatchObject({
        status: 422,
        body: { code: "invalid_request" },
      });
    }
  });
});

test("a service with a key of its own makes, fills and deletes collections without a key in any request", async () => {
  const store = createMemoryStore();
  const path = join(await newFolder(), "key");
  await writeFile(path, generateKey());
  const indexKey = fileKey(path);
  const service = await startService({ indexLocation: store, indexKey });
  const client = createClient({ indexLocation: store });
  try {
    const send = async (route: string, more: object = {}) => {
      const { status, body } = await service.post(route, { index_name: "kept", ...more });
      expect(status, JSON.stringify(body)).toBe(200);
      return body;
    };
    await send("/v1/indexes/create", { shards: 3 });
    await send("/v1/vectors/upsert", { items: [item] });
    expect(await send("/v1/vectors/query", { query_vectors: [1, 2] })).toMatchObject({
      results: [{ id: "a" }],
    });
    await send("/v1/indexes/split", { shards: 4 });
    const opened = await client.loadCollection({ indexName: "kept", indexKey });
    expect(await opened.count()).toBe(1);
    await send("/v1/indexes/delete", { collection: true });
    expect(await client.listIndexes()).toEqual([]);
  } finally {
    await client.close();
    await service.close();
  }
});
