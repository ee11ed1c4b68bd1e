/** Indexes learn from the queries that they are asked: which they find as declared, however they differ from the items. */

import { setTimeout } from "node:timers/promises";
import { afterEach, describe, expect, test, vi } from "vitest";
import { createRouter } from "../../src/index/collection/router.js";
import { EmbeddedClient } from "../../src/index/embedded-client.js";
import { JobRunner } from "../../src/index/open/job-runner.js";
import { QuerySamples } from "../../src/index/open/query-samples.js";
import type { Model } from "../../src/engine/model.js";
import { seededRandom } from "../../src/engine/random.js";
import { type EmbeddedClientOptions, generateKey } from "../../src/core.js";
import { LearnedRecall } from "../../src/query/learned-recall.js";
import type { SearchTarget } from "../../src/index/open/namespace-scopes.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import type { VectorIndex } from "../../src/api/vector-index.js";
import { gaussian } from "../engine/data.js";
import { StandingClock } from "../protocol/standing-clock.js";
import { heldBytes } from "../random/held-bytes.js";

const d = 24;
const random = seededRandom(11);
const centres = Array.from({ length: 12 }, () => Array.from({ length: d }, () => gaussian(random)));
const around = (spread: number) => {
  const centre = centres[Math.floor(random() * centres.length)];
  return Float32Array.from(centre, (x) => x + spread * gaussian(random));
};
const rows = Array.from({ length: 6000 }, () => around(0.8));
/** Nearer to the centre of a cluster than the items that training measures with: their neighbors are in more lists. */
const alike = Array.from({ length: 900 }, () => around(0.4));
const [asked, others] = [alike.slice(0, 300), alike.slice(300)];

const open: { readonly close: () => Promise<void> }[] = [];
afterEach(async () => {
  vi.restoreAllMocks();
  await Promise.all(open.splice(0).map((client) => client.close()));
});

function newClient(options: Partial<EmbeddedClientOptions> = {}) {
  const clock = new StandingClock();
  const indexLocation = createMemoryStore();
  const client = new EmbeddedClient({ indexLocation, automaticTraining: false, ...options }, clock);
  open.push(client);
  return { client, clock };
}

async function newIndex({ client }: Pick<ReturnType<typeof newClient>, "client">, namespace?: string) {
  const access = { indexName: "learning", indexKey: generateKey() };
  const index = await client.createIndex({ ...access, metric: "euclidean" });
  const items = rows.map((vector, i) => ({ id: `${i}`, vector }));
  await index.upsert(items, namespace === undefined ? {} : { namespace });
  return { access, index };
}

/** Lets time pass until all queries that wait are compared. */
async function pass(clock: StandingClock) {
  for (let turns = 0; turns < 40; turns++) {
    await setTimeout(turns < 20 ? 0 : 5);
    if (clock.timersWithin(100) === 0) continue;
    clock.advance(100);
    turns = 0;
  }
}

/** The mean share of their nearest items that queries find. */
async function recallOf(index: VectorIndex, topK: number, probing: { recall: number } | { nProbes: 0 }) {
  let found = 0;
  for (const queryVector of others) {
    const exact = await index.query({ queryVector, topK, recall: "exact" });
    const nearest = new Set(exact.map(({ id }) => id));
    const matches = await index.query({ queryVector, topK, ...probing });
    found += matches.filter(({ id }) => nearest.has(id)).length / topK;
  }
  return found / others.length;
}

async function expectDeclared(index: VectorIndex) {
  for (const topK of [1, 10, 100]) {
    for (const recall of [0.9, 0.95, 0.98]) {
      expect(await recallOf(index, topK, { recall })).toBeGreaterThan(recall - 0.01);
    }
    expect(await recallOf(index, topK, { nProbes: 0 })).toBeGreaterThan(0.94);
  }
}

test("after 300 queries of another kind than the items, others like them find what they declare", async () => {
  const { client, clock } = newClient();
  const { index } = await newIndex({ client });
  await index.train({ nLists: 100 });
  for (const queryVector of asked) await index.query({ queryVector, topK: 10, recall: 0.9 });
  expect((await index.describe()).measuredRecall).toBeUndefined();
  expect(await recallOf(index, 10, { recall: 0.9 })).toBeLessThan(0.85);
  await pass(clock);
  expect((await index.describe()).measuredRecall?.[0].queries).toBe(300);
  await expectDeclared(index);
  for (const { topK, queries, points } of (await index.describe()).measuredRecall ?? []) {
    expect([10, 100]).toContain(topK);
    expect(queries).toBe(300);
    expect(points.map(({ recall }) => recall)).toEqual([0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999]);
    for (const { recall, found } of points.slice(0, 5)) expect(found).toBeGreaterThan(recall - 0.01);
  }
});

describe("a collection", () => {
  async function newCollection({ client }: Pick<ReturnType<typeof newClient>, "client">) {
    const access = { indexName: "learning", indexKey: generateKey() };
    const collection = await client.createCollection({ ...access, metric: "euclidean", shards: 4 });
    await collection.upsert(rows.map((vector, i) => ({ id: `${i}`, vector })));
    return { access, collection };
  }

  async function expectMeasured(collection: VectorIndex) {
    const [{ topK, queries, points }] = (await collection.describe()).measuredRecall ?? [];
    expect([topK, queries]).toEqual([10, 300]);
    for (const { recall, low, high } of points.filter((point) => [0.9, 0.95].includes(point.recall))) {
      const actual = await recallOf(collection, topK, { recall });
      expect(actual).toBeGreaterThan(Math.max(low, recall) - 0.02);
      expect(actual).toBeLessThan(high + 0.02);
    }
  }

  test("learns from its queries, and describes the recall of all shards together", async () => {
    const { client, clock } = newClient();
    const { access, collection } = await newCollection({ client });
    await collection.train({ nLists: 40 });
    for (const queryVector of asked) await collection.query({ queryVector, topK: 10, recall: 0.9 });
    expect((await collection.describe()).measuredRecall).toBeUndefined();
    // Only rows in memory are compared.
    await collection.prefetch();
    await pass(clock);
    await expectMeasured(collection);
    await client.splitShards({ ...access, shards: 5 });
    expect((await collection.describe()).measuredRecall).toBeUndefined();
  });

  test("learns from the examples of a training", async () => {
    const { client, clock } = newClient();
    const { collection } = await newCollection({ client });
    await collection.train({ nLists: 40, queries: asked });
    expect(clock.timersWithin(100)).toBe(0);
    await expectMeasured(collection);
    await expect(collection.train({ queries: [[1]] })).rejects.toMatchObject({ code: "dimension_mismatch" });
  });

  test("learns nothing on a router, which says so of examples", async () => {
    const indexLocation = createMemoryStore();
    const { access } = await newCollection(newClient({ indexLocation }));
    const router = createRouter({ indexLocation, automaticTraining: false }, () =>
      Promise.reject(new Error("no leaf")),
    );
    open.push(router);
    const collection = await router.loadCollection(access);
    await expect(collection.train({ queries: asked })).rejects.toMatchObject({ code: "not_supported" });
    await collection.train({ nLists: 4, queries: [] });
  });
});

describe("train({ queries })", () => {
  test("learns from examples at once, and takes them when it is called", async () => {
    const { client, clock } = newClient();
    const { index } = await newIndex({ client });
    const examples = asked.map((vector) => vector.slice());
    const training = index.train({ nLists: 100, queries: examples });
    for (const vector of examples) vector.fill(0);
    await training;
    expect(clock.timersWithin(100)).toBe(0);
    expect((await index.describe()).measuredRecall).toMatchObject([
      { topK: 10, queries: 300 },
      { topK: 100, queries: 300 },
    ]);
    await expectDeclared(index);
    await index.train({ nLists: 50 });
    expect((await index.describe()).measuredRecall).toBeUndefined();
  });

  test("takes 300 of more examples, and leaves an empty index as it is", async () => {
    const { client } = newClient();
    const { index } = await newIndex({ client });
    await index.train({ nLists: 20, queries: [...alike, ...asked.slice(0, 100)] });
    expect((await index.describe()).measuredRecall?.[0].queries).toBe(300);
    const access = { indexName: "empty", indexKey: generateKey() };
    const empty = await client.createIndex(access);
    await empty.train({ queries: [[1, 2]] });
    expect(await empty.describe()).toMatchObject({ trained: false });
  });

  test("refuses what is no list of vectors of the index, and changes nothing", async () => {
    const { client } = newClient();
    const { index } = await newIndex({ client });
    const refused = async (given: unknown, code: string, message: RegExp) => {
      const training = index.train({ nLists: 4, queries: given as Float32Array[] });
      await expect(training).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
    };
    await refused([new Float32Array(d), [1, 2]], "dimension_mismatch", /^queries\[1\]: expected 24 numbers/);
    await refused(5, "invalid_request", /^queries: expected an array of vectors/);
    await refused(["a"], "invalid_request", /^queries\[0\]: expected an array of numbers/);
    await refused([Array(d).fill(Infinity)], "invalid_request", /^queries\[0\]/);
    await refused(
      Array.from({ length: 1001 }, () => [1]),
      "invalid_request",
      /^queries: expected at most 1000 vectors/,
    );
    expect((await index.describe()).trained).toBe(false);
  });

  test("stops if its signal aborts", async () => {
    const { client } = newClient();
    const { index } = await newIndex({ client });
    const stopping = new AbortController();
    vi.spyOn(LearnedRecall.prototype, "add").mockImplementation(() => stopping.abort());
    const training = index.train({ nLists: 10, queries: asked, signal: stopping.signal });
    await expect(training).rejects.toMatchObject({ name: "AbortError" });
  });
});

test("a namespace learns from its own queries alone, and nothing else learns from these", async () => {
  const { client, clock } = newClient();
  const { index } = await newIndex({ client });
  await index.train({ nLists: 100 });
  const items = rows.slice(0, 2000).map((vector, i) => ({ id: `${i}`, vector }));
  for (const namespace of ["one", "two"]) await index.upsert(items, { namespace });
  const query = async (queryVector: Float32Array, namespace?: string) => {
    const limits = vi.spyOn(LearnedRecall.prototype, "limitsOf");
    await index.query({ queryVector, topK: 10, recall: 0.9, ...(namespace !== undefined && { namespace }) });
    return limits.mock.results.at(-1)?.value;
  };
  for (const vector of asked) expect(await query(vector, "one")).toBe(0.9);
  await pass(clock);
  expect(await query(others[0], "one")).not.toBe(0.9);
  expect(await query(others[0], "two")).toBe(0.9);
  expect(await query(others[0])).toBe(0.9);
  expect((await index.describe()).measuredRecall).toBeUndefined();
});

test("an oblivious client learns from no query, and says so of examples", async () => {
  const indexLocation = createMemoryStore();
  const { access, index } = await newIndex(newClient({ indexLocation }));
  await index.train({ nLists: 20 });
  const { client, clock } = newClient({ indexLocation, oblivious: true });
  const hidden = await client.loadIndex(access);
  for (const queryVector of asked) await hidden.query({ queryVector, topK: 10, recall: 0.9 });
  expect(clock.timersWithin(100)).toBe(0);
  expect((await hidden.describe()).measuredRecall).toBeUndefined();
  await expect(hidden.train({ queries: asked })).rejects.toMatchObject({ code: "not_supported" });
  await hidden.train({ queries: [] });
});

test("only queries that leave the number of lists to the index are compared", async () => {
  const { client, clock } = newClient();
  const { index } = await newIndex({ client });
  const query = (probing: object) => index.query({ queryVectors: asked.slice(0, 2), ...probing });
  const automatic = [{ nProbes: 0 }, { recall: 0.9 }];
  for (const probing of automatic) await query(probing);
  await index.train({ nLists: 20 });
  for (const probing of [{ nProbes: 2 }, { recall: "exact" }, { greedy: true }]) await query(probing);
  expect(clock.timersWithin(100)).toBe(0);
  for (const probing of automatic) {
    await query(probing);
    expect(clock.timersWithin(100)).toBe(1);
    const compared = vi.spyOn(LearnedRecall.prototype, "add");
    await pass(clock);
    expect(compared).toHaveBeenCalledTimes(2);
    vi.restoreAllMocks();
  }
});

test("comparing reads nothing from storage: an index that is not all in memory is not compared", async () => {
  const inner = createMemoryStore();
  const { access, index } = await newIndex(newClient({ indexLocation: inner }));
  await index.train({ nLists: 20 });
  let reads = 0;
  const store = {
    ...inner,
    read: (...args: Parameters<typeof inner.read>) => {
      reads++;
      return inner.read(...args);
    },
    list: (...args: Parameters<typeof inner.list>) => {
      reads++;
      return inner.list(...args);
    },
  };
  for (const cacheBytesMax of [64 * 1024, 64 * 1024 * 1024]) {
    const { client, clock } = newClient({ indexLocation: store, cacheBytesMax });
    const own = await client.loadIndex(access);
    for (const queryVector of asked.slice(0, 100)) await own.query({ queryVector, topK: 10, recall: 0.9 });
    const compared = vi.spyOn(LearnedRecall.prototype, "add");
    reads = 0;
    await pass(clock);
    expect(reads).toBe(0);
    // One query for few lists has not read the whole index; a hundred of them have.
    if (cacheBytesMax < 2 ** 20) expect(compared).not.toHaveBeenCalled();
    vi.restoreAllMocks();
  }
});

describe("queries that wait to be compared", () => {
  const model = [{ dimension: 2 } as Model];

  /** A vector, and its copy as `take` makes it. */
  function watched() {
    const copy = Float32Array.of(1, 2);
    return { copy, vector: Object.assign(new Float32Array(2), { slice: () => copy }) };
  }

  function target(opened: () => undefined = () => undefined) {
    const searcher = { learned: new LearnedRecall() };
    return { searcher, snapshots: { opened } } as unknown as SearchTarget;
  }

  test("are overwritten once they were compared, or cannot be, and when the client is closed", async () => {
    const clock = new StandingClock();
    const samples = new QuerySamples(clock, new JobRunner(clock));
    const [first, second] = [watched(), watched()];
    samples.take(target(), model, first.vector);
    samples.take(target(), model, second.vector);
    clock.advance(100);
    await new Promise(setImmediate);
    expect([...first.copy]).toEqual([0, 0]);
    expect([...second.copy]).toEqual([1, 2]);
    samples.close();
    expect([...second.copy]).toEqual([0, 0]);
  });

  test("take at most 1 % of the time", async () => {
    const clock = new StandingClock();
    const samples = new QuerySamples(clock, new JobRunner(clock));
    const slow = target(() => void (clock.ms += 7));
    for (let i = 0; i < 3; i++) samples.take(slow, model, new Float32Array(2));
    for (let i = 0; i < 2; i++) {
      clock.advance(i === 0 ? 100 : 693);
      await new Promise(setImmediate);
      expect(clock.timersWithin(692)).toBe(0);
      expect(clock.timersWithin(693)).toBe(1);
    }
    // In use until here: queries that wait do not hold it.
    expect(slow.searcher.learned).toBeInstanceOf(LearnedRecall);
  });

  test("keep no index in memory that its caller has dropped", async () => {
    const clock = new StandingClock();
    const samples = new QuerySamples(clock, new JobRunner(clock));
    const dropped = (() => {
      const own = target();
      samples.take(own, model, new Float32Array(2));
      return new WeakRef(own.searcher);
    })();
    await heldBytes();
    expect(dropped.deref()).toBeUndefined();
    samples.close();
  });

  test("are at most 300 of a client", () => {
    const clock = new StandingClock();
    const samples = new QuerySamples(clock, new JobRunner(clock));
    const copies = Array.from({ length: 400 }, watched);
    for (const { vector } of copies) samples.take(target(), model, vector);
    samples.close();
    expect(copies.filter(({ copy }) => copy[0] === 0)).toHaveLength(300);
  });
});
