/** Queries with a filter of which everything is in memory, when a filter is new and when it is used again. */

import { afterEach, describe, expect, test } from "vitest";
import { type Client, generateKey, type Metric, type VectorIndex } from "../../src/core.js";
import { EmbeddedClient } from "../../src/index/embedded-client.js";
import type { BlobStore } from "../../src/storage/blob-store.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { clustered } from "../engine/data.js";
import { rowsOf, squaredL2 } from "../engine/oracle.js";
import { kernelCalls } from "../operations/count-kernels.js";
import { StandingClock } from "../protocol/standing-clock.js";

const n = 5000;
const access = { indexName: "filtered", indexKey: generateKey() };
/** Searches after which everything that is kept of a filter is there. */
const inUse = 9;

interface Data {
  readonly rows: readonly Float32Array[];
  readonly queries: readonly Float32Array[];
  readonly metadata: readonly { readonly i: number; readonly even: number; readonly side: number }[];
}

/** Rows in clusters; `even` is spread evenly, and rows of the same `side` up to some number are in the same clusters. */
function dataOf(d: number): Data {
  const all = rowsOf(clustered(n + 40, d, 25, 3), d);
  const rows = all.slice(0, n);
  const sides = rows.map((row, i) => ({ i, x: row[0] })).sort((a, b) => a.x - b.x);
  const place = new Map(sides.map(({ i }, at) => [i, at]));
  const metadata = rows.map((_, i) => ({
    i,
    even: (Math.imul(i, 0x9e3779b1) >>> 16) & 7,
    side: place.get(i) ?? 0,
  }));
  return { rows, queries: all.slice(n), metadata };
}

const few = dataOf(40);
const many = dataOf(520);

const clients: Client[] = [];

afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
});

function open(store: BlobStore, cacheBytesMax?: number): Client {
  const options = { indexLocation: store, automaticTraining: false, ...(cacheBytesMax && { cacheBytesMax }) };
  // Time stands still, so that no query is compared with its exact answer while calls are counted.
  const client = new EmbeddedClient(options, new StandingClock());
  clients.push(client);
  return client;
}

async function trained({ rows, metadata }: Data, metric: Metric = "euclidean") {
  const store = createMemoryStore();
  const index = await open(store).createIndex({ ...access, metric });
  await index.upsert(rows.map((vector, i) => ({ id: `${i}`, vector, metadata: metadata[i] })));
  await index.train({ nLists: 60 });
  return { store, index };
}

/** Reads every block, so that nothing is read afterwards. */
async function warmUp(index: VectorIndex, { queries }: Data): Promise<void> {
  await index.query({ queryVector: queries[0], topK: n, greedy: true });
}

/** Searches that scan most lists. */
async function use(index: VectorIndex, { queries }: Data, filters: object): Promise<void> {
  for (const queryVector of queries.slice(0, inUse)) {
    await index.query({ queryVector, topK: 2000, nProbes: 0, filters });
  }
}

/** The rows that match, nearest first. */
function nearestRows({ rows }: Data, query: Float32Array, matches: (row: number) => boolean): number[] {
  const squares = rows.map((row) => squaredL2(row, query));
  return [...rows.keys()].filter(matches).sort((a, b) => squares[a] - squares[b]);
}

const evenly = { name: "spread evenly", filters: { even: { $lt: 4 } }, key: "even", below: 4 } as const;
const bound = {
  name: "bound to clusters",
  filters: { side: { $lt: 2400 } },
  key: "side",
  below: 2400,
} as const;

test("queries outside of the rows that they may find, or far from all rows, find 95 % of their neighbors", async () => {
  const { index } = await trained(many);
  const outside = many.rows.filter((_, i) => many.metadata[i].side > 4000).slice(0, 40);
  const far = many.queries.map((query) => query.map((x) => 100 - x));
  for (const queries of [outside, far]) {
    let found = 0;
    for (const queryVector of queries) {
      const best = nearestRows(many, queryVector, (row) => many.metadata[row].side < bound.below).slice(
        0,
        10,
      );
      const matches = await index.query({ queryVector, topK: 10, nProbes: 0, filters: bound.filters });
      found += matches.filter(({ id }) => best.includes(Number(id))).length;
    }
    expect(found).toBeGreaterThanOrEqual(0.95 * 10 * queries.length);
  }
});

describe.each([
  ["few components", few],
  ["many components", many],
])("matches of %s", (_, data) => {
  test.each([evenly, bound])(
    "$name are found by two kernel calls, or by one",
    async ({ filters, key, below }) => {
      const { index } = await trained(data);
      await warmUp(index, data);
      await index.query({ queryVector: data.queries[0], nProbes: 0, filters });
      for (const topK of [1, 10, 100]) {
        let found = 0;
        const calls = await kernelCalls(async () => {
          for (const queryVector of data.queries) {
            const expected = nearestRows(data, queryVector, (row) => data.metadata[row][key] < below);
            const best = new Set(expected.slice(0, topK));
            const ids = (await index.query({ queryVector, topK, nProbes: 0, filters })).map(({ id }) =>
              Number(id),
            );
            expect(new Set(ids).size).toBe(topK);
            for (const id of ids) expect(data.metadata[id][key]).toBeLessThan(below);
            found += ids.filter((id) => best.has(id)).length;
          }
        });
        expect(found).toBeGreaterThanOrEqual(0.95 * topK * data.queries.length);
        const { searchLists = 0, scanFlat = 0 } = calls;
        // Few matches per list, and many neighbors: some queries continue until there are enough.
        if (topK === 100) continue;
        expect(searchLists).toBe(data.queries.length);
        expect(scanFlat).toBe(0);
      }
    },
  );

  test.each([evenly, bound])(
    "$name are found in an explicit number of lists that have one, by one kernel call",
    async ({ filters, key, below }) => {
      const { index } = await trained(data);
      await warmUp(index, data);
      const matches = (row: number) => data.metadata[row][key] < below;
      await index.query({ queryVector: data.queries[0], nProbes: 3, filters });
      let before = 0;
      for (const nProbes of [3, 12, 40]) {
        let found = 0;
        const calls = await kernelCalls(async () => {
          for (const queryVector of data.queries) {
            const best = new Set(nearestRows(data, queryVector, matches).slice(0, 10));
            const ids = (await index.query({ queryVector, topK: 10, nProbes, filters })).map(({ id }) =>
              Number(id),
            );
            // The nearest three lists may hold fewer.
            expect(ids.length).toBeGreaterThan(nProbes === 3 ? 0 : 9);
            expect(ids.every(matches)).toBe(true);
            found += ids.filter((id) => best.has(id)).length;
          }
        });
        expect(calls.searchLists).toBe(data.queries.length);
        expect(calls.scanFlat ?? 0).toBe(0);
        expect(found).toBeGreaterThanOrEqual(before);
        before = found;
      }
      // Two thirds of the lists, and all of those that the filter is bound to.
      expect(before / (10 * data.queries.length)).toBeGreaterThan(0.97);
    },
  );

  test("are all found if more are asked for than match, or as many", async () => {
    const { index } = await trained(data);
    await warmUp(index, data);
    const { filters, below } = bound;
    for (let round = 0; round < inUse + 2; round++) {
      const queryVector = data.queries[round];
      const expected = nearestRows(data, queryVector, (row) => data.metadata[row].side < below);
      for (const topK of [below, n]) {
        const ids = (await index.query({ queryVector, topK, nProbes: 0, filters })).map(({ id }) =>
          Number(id),
        );
        expect(ids).toEqual(expected);
      }
    }
  });
});

test("a filter that accepts everything finds the same as no filter, and one that accepts nothing finds nothing", async () => {
  const { index } = await trained(few);
  await warmUp(index, few);
  let found = 0;
  for (const queryVector of few.queries) {
    const options = { queryVector, topK: 10, nProbes: 0 };
    const nearest = new Set(nearestRows(few, queryVector, () => true).slice(0, 10));
    const all = await index.query({ ...options, filters: { i: { $gte: 0 } } });
    expect(all.length).toBe(10);
    found += all.filter(({ id }) => nearest.has(Number(id))).length;
    expect(await index.query({ ...options, filters: { i: { $lt: 0 } } })).toEqual([]);
  }
  expect(found).toBeGreaterThanOrEqual(0.95 * 10 * few.queries.length);
});

test.each([
  ["many components", many],
  ["few components", few],
])("items replaced, deleted or added between two uses of a filter count at once: %s", async (_, data) => {
  const { store, index } = await trained(data);
  await warmUp(index, data);
  const other = await open(store).loadIndex(access);
  const { filters } = evenly;
  for (const [i, queryVector] of data.queries.slice(0, 12).entries()) {
    const ask = async () =>
      (await index.query({ queryVector, topK: 3, nProbes: 0, filters })).map(({ id }) => id);
    await use(index, data, filters);
    const [first] = await ask();
    if (i % 4 === 0) await other.delete({ ids: [first] });
    else if (i % 4 === 1)
      await other.upsert([{ id: first, vector: queryVector.map((x) => -x), metadata: { even: 0 } }]);
    else if (i % 4 === 2) await other.upsert([{ id: first, vector: queryVector, metadata: { even: 7 } }]);
    else await other.upsert([{ id: `new ${i}`, vector: queryVector, metadata: { even: 0 } }]);
    for (let again = 0; again < 2; again++) {
      const found = await ask();
      if (i % 4 === 3) expect(found[0]).toBe(`new ${i}`);
      else expect(found).not.toContain(first);
      expect(found.length).toBe(3);
      await use(index, data, filters);
    }
  }
});

test("an item that expires between two uses of a filter is not found", async () => {
  const clock = new StandingClock();
  const client = new EmbeddedClient({ indexLocation: createMemoryStore(), automaticTraining: false }, clock);
  clients.push(client);
  const index = await client.createIndex(access);
  const [queryVector] = few.queries;
  const [first] = nearestRows(few, queryVector, (row) => few.metadata[row].even < evenly.below);
  const expiresAt = clock.wall() + 1000;
  await index.upsert(
    few.rows.map((vector, i) => ({
      id: `${i}`,
      vector,
      metadata: few.metadata[i],
      ...(i === first && { expiresAt }),
    })),
  );
  await index.train({ nLists: 60 });
  await warmUp(index, few);
  const { filters } = evenly;
  const ask = async () =>
    (await index.query({ queryVector, topK: 5, nProbes: 0, filters })).map(({ id }) => id);
  await use(index, few, filters);
  expect((await ask())[0]).toBe(`${first}`);
  clock.ms += 2000;
  for (let again = 0; again < 2; again++) {
    expect(await ask()).not.toContain(`${first}`);
    await use(index, few, filters);
  }
});

test("in a cache with little room the same are found", async () => {
  const { store, index } = await trained(few);
  await warmUp(index, few);
  const limit = 400_000;
  const tight = await open(store, limit).loadIndex(access);
  await use(tight, few, evenly.filters);
  for (const { filters, key, below } of [evenly, bound]) {
    let found = 0;
    for (const queryVector of few.queries) {
      const nearest = nearestRows(few, queryVector, (row) => few.metadata[row][key] < below).slice(0, 10);
      for (let again = 0; again < 2; again++) {
        const ids = (await tight.query({ queryVector, topK: 10, nProbes: 0, filters })).map(({ id }) =>
          Number(id),
        );
        found += ids.filter((id) => nearest.includes(id)).length;
        await tight.query({ queryVector, topK: 10, nProbes: 0 });
      }
    }
    expect(found).toBeGreaterThanOrEqual(0.95 * 20 * few.queries.length);
  }
  const { memory } = await tight.describe();
  expect(memory.cacheBytes).toBeLessThanOrEqual(limit);
});

test("items of other namespaces are never found", async () => {
  const index = await open(createMemoryStore()).createIndex(access);
  const names = ["left", "right"];
  for (const [at, namespace] of names.entries()) {
    await index.upsert(
      few.rows.map((vector, i) => ({
        id: `${namespace} ${i}`,
        vector: vector.map((x) => x + at / 100),
        metadata: few.metadata[i],
      })),
      { namespace },
    );
  }
  await index.train({ nLists: 60 });
  for (const namespace of names) {
    for (const queryVector of few.queries) {
      const found = await index.query({
        queryVector,
        topK: 10,
        nProbes: 0,
        filters: evenly.filters,
        namespace,
      });
      expect(found.length).toBe(10);
      for (const { id } of found) expect(id).toMatch(new RegExp(`^${namespace} `));
    }
  }
});

test("a search outside of its filter's clusters that finds a block missing leaves nothing for the next one", async () => {
  const [d, clusters, each] = [16, 64, 100];
  const rows = rowsOf(clustered(clusters * each, d, clusters, 7), d);
  const place = new Map(
    rows
      .map((row, i) => ({ i, x: row[0] }))
      .sort((a, b) => a.x - b.x)
      .map(({ i }, at) => [i, at]),
  );
  const store = createMemoryStore();
  const index = await open(store).createIndex({ ...access, metric: "euclidean" });
  await index.upsert(
    rows.map((vector, i) => ({ id: `${i}`, vector, metadata: { place: place.get(i) ?? 0 } })),
  );
  await index.train({ nLists: 200 });
  const cold = await open(store).loadIndex(access);
  const third = rows.length / 3;
  const middle = rows.filter((_, i) => (place.get(i) ?? 0) > third && (place.get(i) ?? 0) < 2 * third);
  for (const [i, queryVector] of middle.slice(0, 400).entries()) {
    const isLow = i % 2 > 0;
    const filters = { place: isLow ? { $lt: third } : { $gt: 2 * third } };
    for (let again = 0; again < 2; again++) {
      const found = await cold.query({ queryVector, topK: 20, nProbes: 0, filters });
      const places = found.map(({ id }) => place.get(Number(id)) ?? 0);
      expect(places.every((at) => (isLow ? at < third : at > 2 * third))).toBe(true);
      expect(new Set(places).size).toBe(20);
    }
  }
});
