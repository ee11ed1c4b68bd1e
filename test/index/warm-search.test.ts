/** A query whose blocks are in memory takes another path than one that reads them; it may not be another query. */

import { afterEach, expect, test } from "vitest";
import { type Client, createClient, generateKey } from "../../src/core.js";
import type { BlobStore } from "../../src/storage/blob-store.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { clustered } from "../engine/data.js";
import { rowsOf } from "../engine/oracle.js";

const n = 6000;
const d = 40;
const all = clustered(n + 60, d, 25, 3);
const rows = rowsOf(all.subarray(0, n * d), d);
const queries = rowsOf(all.subarray(n * d), d);
const access = { indexName: "warm", indexKey: generateKey() };

const clients: Client[] = [];

function open(store: BlobStore, cacheBytesMax?: number): Client {
  const indexLocation = store;
  const client = createClient({
    indexLocation,
    automaticTraining: false,
    ...(cacheBytesMax && { cacheBytesMax }),
  });
  clients.push(client);
  return client;
}

async function trained() {
  const store = createMemoryStore();
  const index = await open(store).createIndex(access);
  await index.upsert(rows.map((vector, i) => ({ id: `${i}`, vector })));
  await index.train({ nLists: 60 });
  return { store, index };
}

afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
});

const settings = [
  { nProbes: 1, topK: 5 },
  { nProbes: 6, topK: 10 },
  { nProbes: 0, topK: 10 },
  { nProbes: 3, topK: 400 },
  { nProbes: 0, topK: 3000 },
];

test.each(settings)("%o finds the same when it reads and when everything is there", async (options) => {
  const { store, index } = await trained();
  for (const queryVector of queries) await index.query({ queryVector, ...options });
  for (const queryVector of queries.slice(0, 20)) {
    const cold = await open(store).loadIndex(access);
    const expected = await cold.query({ queryVector, ...options });
    expect(await index.query({ queryVector, ...options })).toEqual(expected);
    expect(await cold.query({ queryVector, ...options })).toEqual(expected);
  }
});

test("blocks of one list whose vectors need float64 are scanned among others", async () => {
  const store = createMemoryStore();
  const index = await open(store).createIndex({ ...access, metric: "cosine" });
  await index.upsert(rows.map((vector, i) => ({ id: `${i}`, vector })));
  await index.train({ nLists: 60 });
  for (const scale of [1e-12, 1, 1e-12]) {
    const more = rows.slice(0, 1000).map((row) => row.map((value) => value * scale));
    await index.upsert(more.map((vector, i) => ({ id: `${scale} ${i % 500}`, vector })));
  }
  for (const queryVector of queries) await index.query({ queryVector, nProbes: 3 });
  const cold = await open(store).loadIndex(access);
  for (const queryVector of queries) {
    const options = { queryVector, topK: 10, nProbes: 3 };
    const expected = await cold.query(options);
    expect(await index.query(options)).toEqual(expected);
  }
});

test("what is replaced, deleted or added meanwhile counts at once", async () => {
  const { store, index } = await trained();
  const other = await open(store).loadIndex(access);
  const near = { topK: 3, nProbes: 4 };
  for (const [i, queryVector] of queries.entries()) {
    const [first] = await index.query({ queryVector, ...near });
    // Written by another process, as far as the index can tell.
    if (i % 3 === 0) await other.delete({ ids: [first.id] });
    else if (i % 3 === 1) await other.upsert([{ id: first.id, vector: queryVector.map((value) => -value) }]);
    else await other.upsert([{ id: `new ${i}`, vector: queryVector }]);
    for (let again = 0; again < 3; again++) {
      const found = (await index.query({ queryVector, ...near })).map(({ id }) => id);
      if (i % 3 === 2) expect(found[0]).toBe(`new ${i}`);
      else expect(found).not.toContain(first.id);
      expect(found.length).toBe(3);
    }
  }
});

test("blocks that had to make room are read again", async () => {
  const { store, index } = await trained();
  const tight = await open(store, 300_000).loadIndex(access);
  for (let round = 0; round < 3; round++) {
    for (const queryVector of queries) {
      const options = { queryVector, topK: 10, nProbes: 3 };
      expect(await tight.query(options)).toEqual(await index.query(options));
      expect(await tight.query(options)).toEqual(await index.query(options));
    }
  }
  const { memory } = await tight.describe();
  expect(memory.cacheBytes).toBeLessThanOrEqual(300_000);
});
