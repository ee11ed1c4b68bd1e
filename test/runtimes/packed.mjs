// What a user of the packed package does, on any runtime: the embedded library with training on threads, the LangChain store,
// both module systems. Fails with an AssertionError; prints the runtime and what it checked.

import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Document } from "@langchain/core/documents";
import { EncryptedVectorStore, generateKey, LexicalEmbeddings } from "sealdex";

const folder = await mkdtemp(join(tmpdir(), "sealdex-runtime-"));
const path = (name) => join(folder, name);
const dimension = 32;
const vectors = Array.from({ length: 3000 }, (_, i) =>
  Array.from({ length: dimension }, (_unused, j) => Math.sin(i * 37 + j * (i % 91))),
);

function nearest(query, k) {
  const distance = (vector) => vector.reduce((sum, value, j) => sum + (value - query[j]) ** 2, 0);
  const sorted = vectors.map((vector, i) => ({ id: `${i}`, distance: distance(vector) }));
  return sorted
    .sort((a, b) => a.distance - b.distance)
    .slice(0, k)
    .map(({ id }) => id);
}

/** An index on local disk from creation through training to deletion, by either build. */
async function embedded({ createClient }, name) {
  const place = { indexLocation: { location: "local", path: path(name) } };
  const options = { indexName: "vectors", indexKey: generateKey() };
  const client = createClient(place);
  const index = await client.createIndex({ ...options, metric: "squared_euclidean" });
  await index.upsert(
    vectors.map((vector, i) => ({
      id: `${i}`,
      vector,
      contents: `text ${i}`,
      metadata: { even: i % 2 === 0 },
    })),
  );
  await index.train({ nLists: 70 });
  const found = await index.query({ queryVector: vectors[7], topK: 10, nProbes: 70 });
  deepStrictEqual(
    found.map(({ id }) => id),
    nearest(vectors[7], 10),
  );
  const filters = { even: true };
  const even = await index.query({
    queryVectors: [vectors[7], vectors[8]],
    topK: 5,
    filters,
    include: ["metadata"],
  });
  for (const matches of even) strictEqual(matches.filter(({ metadata }) => metadata.even).length, 5);
  await index.delete({ filter: { even: false } });
  await index.compact();
  await client.close();

  const again = createClient(place);
  const opened = await again.loadIndex(options);
  strictEqual(await opened.count(), 1500);
  strictEqual((await opened.get(["8"]))[0].contents.toString(), "text 8");
  const other = { ...options, indexKey: generateKey() };
  await rejects(again.loadIndex(other), { code: "wrong_index_key" });
  await again.deleteIndex(options);
  deepStrictEqual(await again.listIndexes(), []);
  await again.close();
}

async function langchain() {
  const args = {
    indexName: "documents",
    indexKey: generateKey(),
    indexLocation: { location: "local", path: path("langchain") },
  };
  const embeddings = new LexicalEmbeddings();
  const store = new EncryptedVectorStore(embeddings, args);
  const documents = ["Keys are rotated every year.", "Salmon swim upstream."].map(
    (pageContent, page) => new Document({ pageContent, metadata: { page } }),
  );
  await store.addDocuments(documents, { ids: ["keys", "salmon"] });
  const [document] = await store.similaritySearch("key rotation", 1);
  strictEqual(document.id, "keys");
  const [filtered] = await store.asRetriever({ k: 1, filter: { page: 1 } }).invoke("key rotation");
  strictEqual(filtered.pageContent, "Salmon swim upstream.");
  strictEqual((await store.maxMarginalRelevanceSearch("keys", { k: 2 })).length, 2);
  await store.close();
  const again = await EncryptedVectorStore.fromExistingIndex(embeddings, args);
  await again.delete({ ids: ["salmon"] });
  deepStrictEqual(
    (await again.getByIds(["keys", "salmon"])).map(({ id }) => id),
    ["keys"],
  );
  await again.close();
}

const require = createRequire(import.meta.url);
await embedded(await import("sealdex/core"), "import");
await embedded(require("sealdex/core"), "require");
await langchain();
await rm(folder, { recursive: true });
const runtime = process.versions.bun
  ? `Bun ${process.versions.bun}`
  : globalThis.Deno
    ? `Deno ${globalThis.Deno.version.deno}`
    : `Node ${process.versions.node}`;
process.stdout.write(`${runtime}: an index by import and by require, and a vector store\n`);
