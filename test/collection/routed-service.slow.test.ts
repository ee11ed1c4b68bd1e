/** A collection that is created, filled and searched through a router in front of leaves, each a process of its own. Needs a build. */

import { expect, onTestFinished, test } from "vitest";
import { createClient, generateKey, type VectorIndex } from "../../src/core.js";
import { EncryptedVectorStore } from "../../src/langchain/encrypted-vector-store.js";
import { newFolder } from "../folder.js";
import { startProcess } from "../http/service-process.js";
import { DeterministicFakeEmbedding } from "../langchain/standard.js";
import { freePorts } from "../servers/test-server.js";
import { randomItems } from "./twins.js";

test("clients of the router get the results of a client of a leaf", async () => {
  const folder = await newFolder();
  const apiKey = generateKey();
  const start = async (environment: Record<string, string> = {}) => {
    const service = await startProcess({
      SEALDEX_API_KEYS: apiKey,
      SEALDEX_INDEX_LOCATION: `file:${folder}`,
      SEALDEX_AUTOMATIC_TRAINING: "off",
      ...environment,
    });
    onTestFinished(() => service.kill());
    return service.baseUrl;
  };
  const leaves = await Promise.all([start(), start()]);
  const router = await start({ SEALDEX_LEAVES: leaves.join(","), SEALDEX_LEAF_API_KEY: apiKey });
  const [leaf, routed] = [leaves[0], router].map((baseUrl) => createClient({ baseUrl, apiKey }));

  const named = { indexName: "notes", indexKey: generateKey() };
  const collection = await routed.createCollection({ ...named, shards: 6, textIndex: true });
  await collection.upsert(randomItems(400, 1));
  await collection.train({ nLists: 2 });
  await collection.upsert(randomItems(30, 2, "own"), { namespace: "red" });
  await collection.delete({ filter: { year: 2007 } });
  const queryVectors = randomItems(5, 3).map(({ vector = [] }) => vector);
  const answers = async (index: VectorIndex) => [
    await index.query({ queryVectors, topK: 20, recall: "exact", include: ["distance", "metadata"] }),
    await index.query({ queryVectors, topK: 5, filter: { even: true } }),
    await index.query({ queryVectors, topK: 50, namespace: "red" }),
    await index.query({ queryText: "river", topK: 5 }),
    await index.count(),
  ];
  expect(await answers(await routed.loadIndex(named))).toEqual(
    await answers(await leaf.loadCollection(named)),
  );
  expect(await (await routed.loadIndex(named)).describe()).toMatchObject({ shards: 6, trained: true });

  const store = await EncryptedVectorStore.fromTexts(
    ["Keys are rotated every year.", "Salmon swim upstream."],
    [{}, {}],
    new DeterministicFakeEmbedding(8),
    { client: routed, indexName: "documents", indexKey: generateKey(), shards: 3 },
  );
  expect(await store.similaritySearch("Salmon swim upstream.", 1)).toMatchObject([
    { pageContent: "Salmon swim upstream." },
  ]);
  await routed.deleteCollection(named);
  expect(await leaf.listIndexes()).toEqual(["documents"]);
});

/** A service that is its own leaf, and a collection with some items in it. */
async function selfRouted(settings: Record<string, string>): Promise<VectorIndex> {
  const apiKey = generateKey();
  const [port] = await freePorts(1);
  const environment = {
    SEALDEX_API_KEYS: apiKey,
    SEALDEX_INDEX_LOCATION: `file:${await newFolder()}`,
    SEALDEX_AUTOMATIC_TRAINING: "off",
    SEALDEX_LEAVES: `http://127.0.0.1:${port}`,
    SEALDEX_LEAF_API_KEY: apiKey,
    ...settings,
  };
  const { baseUrl, kill } = await startProcess(environment, port);
  onTestFinished(kill);
  const client = createClient({ baseUrl, apiKey, maxRetries: 0, timeoutMs: 60_000 });
  const notes = await client.createCollection({ indexName: "notes", indexKey: generateKey(), shards: 6 });
  await notes.upsert(randomItems(3000, 1));
  return notes;
}

test("a service that is its own leaf answers queries for more rows than it has room for twice", async () => {
  const notes = await selfRouted({
    SEALDEX_RESULTS_BYTES_MAX: String(64 * 1024 * 1024),
    SEALDEX_WORK_MS_MAX: "600000",
  });
  const queryVectors = randomItems(64, 2).map(({ vector = [] }) => vector);
  const found = await notes.query({ queryVectors, topK: 1000 });
  expect(found.map(({ length }) => length)).toEqual(queryVectors.map(() => 1000));
});

test("a service that is its own leaf answers more queries at once than it runs", async () => {
  const notes = await selfRouted({ SEALDEX_REQUESTS_MAX: "2" });
  const queries = randomItems(20, 2).map(({ vector = [] }) => notes.query({ queryVector: vector, topK: 3 }));
  expect((await Promise.all(queries)).map(({ length }) => length)).toEqual(queries.map(() => 3));
});
