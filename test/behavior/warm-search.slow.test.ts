/** A query whose blocks are in memory takes another path than one that reads them; it may not be another query. */

import { afterEach, describe, expect, test } from "vitest";
import {
  type Client,
  createClient,
  generateKey,
  type IndexConfigInput,
  type Metric,
} from "../../src/core.js";
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

test("replaced, deleted and added items count at once", async () => {
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

const types: IndexConfigInput[] = [
  { type: "ivfflat" },
  { type: "ivfflat", precision: "int8" },
  { type: "ivf" },
  { type: "ivfpq", pqDim: 10, pqBits: 6 },
  { type: "ivfpq", pqDim: 20, pqBits: 2 },
];
const metrics: Metric[] = ["cosine", "euclidean"];

/** Rows in clusters, some of them zero, many equal. Half of them are too many to be compared one by one. */
const odd = rows
  .slice(0, 4500)
  .map((row, i) => (i % 50 === 0 ? new Float32Array(d) : i % 8 === 0 ? rows[0] : row));

/** An index of those, trained once or twice, of which newer segments replace, delete and add some. */
async function oddIndex(indexConfig: IndexConfigInput, metric: Metric, trainings: number) {
  const store = createMemoryStore();
  const index = await open(store).createIndex({ ...access, indexConfig, metric });
  const side = odd.map((row, i) => ({ i, x: row[0] })).sort((a, b) => a.x - b.x);
  const place = new Map(side.map(({ i }, at) => [i, at]));
  const itemOf = (vector: Float32Array, i: number) => {
    return { id: `${i}`, vector, metadata: { i, even: i % 10, side: place.get(i) ?? 0 } };
  };
  await index.upsert(odd.map(itemOf));
  for (let training = 0; training < trainings; training++) await index.train({ nLists: 40 });
  await index.upsert(odd.slice(0, 150).map((_, i) => itemOf(odd[3000 + i], i)));
  await index.upsert([itemOf(new Float32Array(d), odd.length), itemOf(queries[1], odd.length + 1)]);
  await index.delete({ ids: [...odd.keys()].filter((i) => i % 30 === 1).map(String) });
  return { store, index };
}

describe.each(types.flatMap((indexConfig) => metrics.map((metric) => ({ indexConfig, metric }))))(
  "$indexConfig under $metric",
  ({ indexConfig, metric }) => {
    test.each(indexConfig.type === "ivfflat" ? [1] : [1, 2])(
      "trained %s times finds the same with any filter and number of lists",
      async (trainings) => {
        const { store, index } = await oddIndex(indexConfig, metric, trainings);
        // Without room for a table of blocks, nothing but phases.
        const cold = await open(store, 1).loadIndex(access);
        const asked = [queries[0], queries[1], rows[0], new Float32Array(d), queries[2].map((x) => -9 * x)];
        const filters = [
          undefined,
          { even: { $lt: 5 } },
          { side: { $lt: 2500 } },
          { i: { $gte: 0 } },
          { i: odd.length },
          { i: -1 },
        ];
        for (const filter of filters) {
          for (const nProbes of [1, 39]) {
            for (const topK of [5, 700]) {
              const options = { topK, nProbes, ...(filter && { filter }) };
              const found = await index.query({ queryVectors: asked, ...options });
              for (const [i, queryVector] of asked.entries()) {
                const expected = await cold.query({ queryVector, ...options });
                expect(await index.query({ queryVector, ...options }), JSON.stringify(options)).toEqual(
                  expected,
                );
                expect(found[i]).toEqual(expected);
              }
            }
          }
        }
      },
    );
  },
);
