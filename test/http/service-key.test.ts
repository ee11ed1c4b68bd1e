/** A service that keeps the keys of indexes, so that requests carry none. */

import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createClient, fileKey, generateKey, type KeyProvider } from "../../src/core.js";
import { parseIndexKeyProvider } from "../../packages/server/src/settings/index-key.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { type RunningService, startService } from "./service.js";

const store = createMemoryStore();
let service: RunningService;
let indexKey: KeyProvider;

beforeAll(async () => {
  const path = join(await mkdtemp(join(tmpdir(), "sealdex-key-")), "key");
  await writeFile(path, generateKey());
  indexKey = fileKey(path);
  service = await startService({ indexLocation: store, indexKey });
});
afterAll(() => service.close());

test("an index is made, filled, queried and deleted without a key in any request", async () => {
  const body = { index_name: "kept" };
  const send = async (path: string, more: object = {}) => {
    const { status, body: reply } = await service.post(path, { ...body, ...more });
    expect(status, JSON.stringify(reply)).toBe(200);
    return reply;
  };
  await send("/v1/indexes/create");
  await send("/v1/vectors/upsert", { items: [{ id: "a", vector: [1, 2] }] });
  const { results } = await send("/v1/vectors/query", { query_vectors: [1, 2], top_k: 1 });
  expect(results).toMatchObject([{ id: "a" }]);
  // It is the provider's: the library opens it with the same.
  const client = createClient({ indexLocation: store });
  expect(await (await client.loadIndex({ indexName: "kept", indexKey })).count()).toBe(1);
  await send("/v1/indexes/delete");
});

test("the OpenAPI document requires index keys exactly if the service has none", async () => {
  const plain = await startService();
  const documentOf = async ({ get }: RunningService) => JSON.stringify((await get("/v1/openapi.json")).body);
  const withKeys = await documentOf(plain);
  expect(withKeys).toContain('"required":["index_name","index_key","new_index_key"]');
  expect(withKeys).toContain('"index_key":"from sealdex-server generate-key","new_index_key"');
  expect(await documentOf(service)).toBe(
    withKeys
      .replaceAll('"required":["index_name","index_key"', '"required":["index_name"')
      .replaceAll(',"index_key":"from sealdex-server generate-key"', ""),
  );
  await plain.close();
});

test("an index with a key of its own takes that key, and no request without it", async () => {
  const address = await service.newIndex();
  const { index_name } = address;
  expect((await service.post("/v1/indexes/describe", address)).status).toBe(200);
  expect(await service.post("/v1/indexes/describe", { index_name })).toMatchObject({
    status: 403,
    body: { code: "wrong_index_key" },
  });
});

test("a key that its provider does not find is a failure of the service", async () => {
  const missing = await startService({ indexLocation: store, indexKey: fileKey("/nowhere/key") });
  const { status, body } = await missing.post("/v1/indexes/create", { index_name: "x" });
  expect({ status, code: body.code }).toEqual({ status: 503, code: "storage_unavailable" });
  expect(JSON.stringify(body)).not.toContain("nowhere");
  await missing.close();
});

test("without a key provider a request without a key is refused", async () => {
  const plain = await startService();
  expect((await plain.post("/v1/indexes/create", { index_name: "x" })).status).toBe(422);
  await plain.close();
});

test("references of key providers are read from the environment, and never repeated", () => {
  expect(parseIndexKeyProvider("aws-kms:arn:aws:kms:x", {}).name).toBe("aws-kms:arn:aws:kms:x");
  const vault = "vault:https://vault.example.com:8200/transit/team/articles";
  expect(parseIndexKeyProvider(vault, { VAULT_TOKEN: "t" }).name).toBe(
    "vault:vault.example.com:8200/transit/team/articles",
  );
  for (const [reference, token] of [
    ["secret", ""],
    ["file:", ""],
    ["gpg:secret", ""],
    ["vault:secret", "t"],
    ["vault:https://secret/transit", "t"],
    ["vault:https://host/transit/%secret", "t"],
    [vault, ""],
  ]) {
    const attempt = () => parseIndexKeyProvider(reference, { VAULT_TOKEN: token });
    expect(attempt).toThrow(/^SEALDEX_INDEX_KEY: expected/);
    expect(attempt).not.toThrow("secret");
  }
});
