/** Collections on a service: the same results and errors as those of the embedded client, in every route. */

import { afterAll, beforeAll, expect, test } from "vitest";
import type { Client } from "../../src/api/vector-index.js";
import { createClient, generateKey } from "../../src/core.js";
import { EmbeddedClient } from "../../src/index/embedded-client.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { type RunningService, startService } from "../http/service.js";
import { codeOf, failure } from "../outcome.js";
import { changeAll, expectSame, fill } from "./same-results.js";
import { createTwins, randomItems } from "./twins.js";

const store = createMemoryStore();
const settings = { indexLocation: store, automaticTraining: false };

let service: RunningService;
let embedded: EmbeddedClient;
let remote: Client;
let clients: readonly Client[];

beforeAll(async () => {
  service = await startService(settings);
  embedded = new EmbeddedClient(settings);
  remote = createClient(service.address);
  clients = [embedded, remote];
});

afterAll(async () => {
  await Promise.all(clients.map((client) => client.close()));
  await service.close();
});

let made = 0;
const newName = () => ({ indexName: `notes ${made++}`, indexKey: generateKey() });

test("a collection over HTTP answers as one index with the same items, after every kind of change", async () => {
  const twins = await createTwins(embedded, 5, undefined, remote);
  await fill(twins);
  await changeAll(twins);
  await expectSame(twins, 12);
  await twins.collection.compact();
  await twins.collection.reencrypt();
  await twins.index.erase("red");
  const { receipt } = await twins.collection.erase("red");
  expect(await twins.collection.namespaces.readReceipt(receipt)).toMatchObject({ namespace: "red" });
  await expectSame(twins, 4);
});

test("both clients find the shards in the description, and collections by their names alone", async () => {
  for (const [i, client] of clients.entries()) {
    const named = newName();
    const created = await client.createCollection({ ...named, shards: 3, metric: "cosine" });
    expect(created.indexName).toBe(named.indexName);
    for (const reader of [client, clients[1 - i]]) {
      expect(await (await reader.loadIndex(named)).describe()).toMatchObject({ shards: 3, metric: "cosine" });
      expect(await (await reader.loadCollection(named)).describe()).toMatchObject({ shards: 3, segments: 0 });
      const names = await reader.listIndexes();
      expect(names.filter((name) => name.includes(named.indexName))).toEqual([named.indexName]);
      expect(names.filter((name) => name.includes("\0"))).toEqual([]);
    }
    const plain = newName();
    expect(await (await client.createIndex(plain)).describe()).not.toHaveProperty("shards");
  }
});

test("a rotation, an anchor, a training and a deletion reach the whole collection", async () => {
  const named = newName();
  const collection = await remote.createCollection({ ...named, shards: 4 });
  await collection.upsert(randomItems(200, 1));
  const token = await collection.anchor();
  await collection.train({ nLists: 2 });
  expect(await collection.describe()).toMatchObject({ trained: true, nLists: 8, shards: 4 });
  const newKey = generateKey();
  await collection.rotateKey(newKey);
  for (const client of clients) {
    expect(await codeOf(client.loadIndex(named))).toBe("wrong_index_key");
    const opened = await client.loadCollection({ ...named, indexKey: newKey, anchor: token });
    expect(await opened.count()).toBe(200);
  }
  await remote.deleteCollection({ ...named, indexKey: newKey });
  for (const client of clients) {
    expect(await codeOf(client.loadCollection({ ...named, indexKey: newKey }))).toBe("not_found");
  }
  expect(await codeOf(collection.count())).toBe("not_found");
});

test("shards are split over HTTP while others have the collection open, and the results stay the same", async () => {
  const twins = await createTwins(embedded, 3, undefined, remote);
  await fill(twins);
  const elsewhere = await embedded.loadCollection(twins.named);
  const ids = await elsewhere.listIds();
  await remote.splitShards({ ...twins.named, shards: 6 });
  await remote.splitShards({ ...twins.named, shards: 6 });
  expect(await elsewhere.listIds()).toEqual(ids);
  for (const collection of [twins.collection, elsewhere]) {
    expect(await collection.describe()).toMatchObject({ shards: 6 });
  }
  await changeAll(twins);
  await expectSame(twins, 4);
});

test("errors of both clients have the same code and words", async () => {
  const [named, plain, other] = [newName(), newName(), newName()];
  const collection = await remote.createCollection({ ...named, shards: 2 });
  await collection.upsert(randomItems(5, 1));
  await remote.createIndex(plain);
  const anchor = await (await remote.createCollection({ ...other, shards: 2 })).anchor();
  const wrong = { ...named, indexKey: generateKey() };
  const calls: ((client: Client) => Promise<unknown>)[] = [
    ...[0, 4097, 1.5, Number.NaN, undefined, "8", null].map(
      (shards) => (client: Client) => client.createCollection({ ...newName(), shards: shards as number }),
    ),
    (client) => client.createCollection({ ...newName(), shards: 2, replicas: 2 } as never),
    (client) =>
      client.createCollection({ ...newName(), shards: 2, indexConfig: { type: "ivf", lists: 2 } as never }),
    (client) => client.createIndex({ ...newName(), shards: 2 } as never),
    (client) => client.createCollection({ ...named, shards: 2 }),
    (client) => client.createCollection({ ...plain, shards: 2 }),
    (client) => client.createIndex(named),
    (client) => client.loadCollection(plain),
    (client) => client.deleteCollection(plain),
    (client) => client.loadCollection(wrong),
    (client) => client.loadIndex(wrong),
    (client) => client.deleteCollection(wrong),
    (client) => client.deleteIndex(wrong),
    (client) => client.loadCollection({ ...named, indexName: "absent" }),
    (client) => client.deleteCollection({ ...named, indexName: "absent" }),
    ...[0, 4097, 1.5, undefined, "8"].map(
      (shards) => (client: Client) => client.splitShards({ ...named, shards: shards as number }),
    ),
    (client) => client.splitShards({ ...named, shards: 2, anchor: "x" } as never),
    (client) => client.splitShards({ ...plain, shards: 2 }),
    (client) => client.splitShards({ ...wrong, shards: 2 }),
    (client) => client.splitShards({ ...named, indexName: "absent", shards: 2 }),
    (client) => client.loadCollection({ ...named, anchor: "x" }),
    (client) => client.loadCollection({ ...named, shards: 2 } as never),
    async (client) => (await client.loadIndex(named)).wraps.list(),
    async (client) => (await client.loadIndex(named)).wraps.revoke("reader"),
    async (client) =>
      (await client.loadIndex(named)).wraps.add({ name: "r", key: generateKey(), access: "read-only" }),
    async (client) => (await client.loadIndex(named)).upsert([], { within: { a: 1 } }),
    async (client) => (await client.loadIndex(named)).upsert([{ id: "a", vector: [1, 2] }]),
    async (client) => (await client.loadIndex(named)).query({ queryVectors: [[1, 2]] }),
    async (client) => (await client.loadIndex(named)).query({ queryText: "river" }),
  ];
  for (const call of calls) {
    const [expected, actual] = [await failure(call(embedded)), await failure(call(remote))];
    expect({ code: actual.code, message: actual.message }).toEqual({
      code: expected.code,
      message: expected.message,
    });
    expect(actual.message).not.toContain("\0");
  }
  // What the service does not show, or a client knows better.
  const rolledBack = (client: Client) => codeOf(client.loadCollection({ ...named, anchor }));
  expect([await rolledBack(embedded), await rolledBack(remote)]).toEqual([
    "rollback_detected",
    "rollback_detected",
  ]);
  expect(await codeOf(remote.createCollection({ ...newName(), shards: 2, embedding: "default" }))).toBe(
    "not_supported",
  );
  expect(await collection.count()).toBe(5);
  expect(await (await remote.loadIndex(plain)).count()).toBe(0);
});

test("plain requests: every route takes a collection, and what it cannot do is 422 not_supported", async () => {
  const address = await service.newIndex({ shards: 3, text_index: true, index_config: { type: "ivfflat" } });
  const send = async (path: string, body: object = {}, status = 200) => {
    const answer = await service.post(path, { ...address, ...body });
    expect({ path, status: answer.status, body: answer.body }).toMatchObject({ path, status });
    return answer.body;
  };
  const items = Array.from({ length: 40 }, (_, i) => ({
    id: `i${i}`,
    vector: [i, 1],
    contents: `number ${i}`,
    metadata: { n: i },
  }));
  expect(await send("/v1/vectors/upsert", { items })).toMatchObject({ stored: 40 });
  await send("/v1/vectors/upsert", { items: [{ id: "own", vector: [1, 1] }], namespace: "red" });
  const { results } = await send("/v1/vectors/query", { query_vectors: [7.1, 1], top_k: 2, recall: "exact" });
  expect(results).toMatchObject([{ id: "i7" }, { id: "i8" }]);
  expect(await send("/v1/vectors/query", { query_text: "number 9", top_k: 1 })).toMatchObject({
    results: [{ id: "i9" }],
  });
  expect(await send("/v1/vectors/query_metadata", { filters: { n: { $lt: 3 } } })).toBeDefined();
  expect(await send("/v1/vectors/num_vectors", { filters: { n: { $gte: 30 } } })).toMatchObject({
    result: 10,
  });
  expect(await send("/v1/vectors/get", { ids: ["i3"], include: ["contents"] })).toMatchObject({
    results: [{ id: "i3", contents: "number 3" }],
  });
  expect((await send("/v1/vectors/list", { limit: 4 })).results).toHaveLength(4);
  expect((await send("/v1/vectors/list_ids")).ids).toHaveLength(41);
  expect(await send("/v1/vectors/update", { ids: ["i1", "i2"], metadata: { n: 50 } })).toMatchObject({
    updated: 2,
  });
  await send("/v1/vectors/delete", { filters: { n: 50 } });
  await send("/v1/indexes/train", { n_lists: 1 });
  await send("/v1/indexes/compact");
  await send("/v1/indexes/reencrypt");
  await send("/v1/indexes/split", { shards: 4 });
  const { anchor } = await send("/v1/indexes/anchor");
  await send("/v1/indexes/anchor", { anchor });
  expect(await send("/v1/indexes/namespaces")).toEqual({ namespaces: ["red"] });
  const { receipt } = await send("/v1/indexes/erase", { namespace: "red" });
  await send("/v1/indexes/read_receipt", { receipt });
  expect(await send("/v1/indexes/describe")).toMatchObject({ index_config: { shards: 4 }, is_trained: true });
  await send("/v1/indexes/train", { queries: [[1, 1]] });
  for (const shards of [0, "4", undefined]) {
    expect(await send("/v1/indexes/split", { shards }, 422)).toMatchObject({ code: "invalid_request" });
  }
  const notSupported = [
    ["/v1/indexes/wraps/list", {}],
    ["/v1/indexes/wraps/add", { name: "r", wrap_key: generateKey(), access: "read-only" }],
    ["/v1/indexes/wraps/revoke", { name: "r" }],
    ["/v1/vectors/upsert", { items, within: { n: { $gte: 0 } } }],
  ] as const;
  for (const [path, body] of notSupported) {
    expect(await send(path, body, 422)).toMatchObject({ code: "not_supported" });
  }
  const new_index_key = generateKey();
  await send("/v1/indexes/rotate_key", { new_index_key });
  address.index_key = new_index_key;
  expect(await send("/v1/vectors/num_vectors")).toMatchObject({ result: 38 });
  const index = await service.newIndex();
  expect(await service.post("/v1/indexes/delete", { ...index, collection: true })).toMatchObject({
    status: 422,
    body: { code: "invalid_request" },
  });
  await send("/v1/indexes/delete");
  await send("/v1/vectors/num_vectors", {}, 404);
});
