/** Collections beside indexes: they share their names, and most calls. */

import { afterEach, expect, test } from "vitest";
import { exportItems } from "../../src/api/transfer/export-items.js";
import { importItems } from "../../src/api/transfer/import-items.js";
import { generateKey } from "../../src/crypto/keys.js";
import { EmbeddedClient } from "../../src/index/embedded-client.js";
import { copyIndex } from "../../src/index/locations/copy-index.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { randomItems } from "./twins.js";

const named = { indexName: "notes", indexKey: generateKey() };
const clients: EmbeddedClient[] = [];

afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
});

function open(indexLocation = createMemoryStore()): EmbeddedClient {
  const client = new EmbeddedClient({ indexLocation, automaticTraining: false });
  clients.push(client);
  return client;
}

test("a collection is listed by its name alone, and an index is none", async () => {
  const client = open();
  const collection = await client.createCollection({ ...named, shards: 4 });
  await client.createIndex({ ...named, indexName: "plain" });
  expect(collection.indexName).toBe("notes");
  expect(await client.listIndexes()).toEqual(["notes", "plain"]);
  expect(await collection.describe()).toMatchObject({
    indexName: "notes",
    shards: 4,
    trained: false,
    type: "ivfflat",
  });
  await expect(client.createIndex(named)).rejects.toMatchObject({ code: "already_exists" });
  await expect(client.createCollection({ ...named, shards: 2 })).rejects.toMatchObject({
    code: "already_exists",
  });
  const plain = { ...named, indexName: "plain" };
  const index = { code: "invalid_request", message: expect.stringContaining("it is an index") };
  await expect(client.loadCollection(plain)).rejects.toMatchObject(index);
  await expect(client.deleteCollection(plain)).rejects.toMatchObject(index);
  await expect(client.loadCollection({ ...named, indexKey: generateKey() })).rejects.toMatchObject({
    code: "wrong_index_key",
  });
  await expect(client.loadCollection({ ...named, indexName: "absent" })).rejects.toMatchObject({
    code: "not_found",
  });
});

test("a collection is opened and deleted as an index, too", async () => {
  const store = createMemoryStore();
  const collection = await open(store).createCollection({ ...named, shards: 3 });
  await collection.upsert(randomItems(40, 1));
  const token = await collection.anchor();
  const opened = await open(store).loadIndex({ ...named, anchor: token });
  expect(await opened.describe()).toMatchObject({ shards: 3 });
  expect(await opened.listIds()).toEqual(await collection.listIds());
  await expect(open(store).loadIndex({ ...named, indexKey: generateKey() })).rejects.toMatchObject({
    code: "wrong_index_key",
  });
  await open(store).deleteIndex(named);
  await expect(open(store).loadIndex(named)).rejects.toMatchObject({ code: "not_found" });
  await expect(opened.count()).rejects.toMatchObject({ code: "not_found" });
  expect((await store.list("")).filter((key) => key.startsWith("names/"))).toEqual([]);
});

test("a collection is not copied as an index, but its items are", async () => {
  const store = createMemoryStore();
  const collection = await open(store).createCollection({ ...named, shards: 2 });
  await collection.upsert(randomItems(30, 1));
  const copying = copyIndex({
    ...named,
    from: { indexLocation: store },
    to: { indexLocation: createMemoryStore() },
  });
  await expect(copying).rejects.toMatchObject({
    code: "not_supported",
    message: 'index "notes": expected an index, it is a collection',
  });
  const larger = await open(store).createCollection({ ...named, indexName: "larger", shards: 5 });
  await importItems({ to: larger, lines: exportItems({ from: collection }) });
  expect(await larger.listIds()).toEqual(await collection.listIds());
});
