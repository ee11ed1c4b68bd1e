/** The profile of a query: its parts add up, and it counts the requests that storage gets. */

import { expect, test } from "vitest";
import {
  type BlobStore,
  generateKey,
  type IndexConfigInput,
  type QueryProfile,
  type VectorIndex,
} from "../../src/core.js";
import { EmbeddedClient } from "../../src/index/embedded-client.js";
import { systemClock } from "../../src/state/commit/clock.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { clustered } from "../engine/data.js";
import { startBoth } from "../http/both-clients.js";

const access = { indexName: "profiled", indexKey: generateKey() };
const dimension = 16;
const vectors = Array.from({ length: 600 }, (_, i) =>
  Array.from(clustered(600, dimension, 12, 5).subarray(i * dimension, (i + 1) * dimension)),
);
const items = vectors.map((vector, i) => ({
  id: `id ${i}`,
  vector,
  metadata: { i, even: i % 2 === 0 },
  contents: `text number${i % 50}`,
}));
const [queryVector] = vectors;

/** A store that counts the reads and lists that it answers, later than in the same turn. */
function counting() {
  const memory = createMemoryStore();
  const counts = { requests: 0, bytesRead: 0 };
  const store: BlobStore = {
    ...memory,
    async read(...request) {
      counts.requests++;
      const bytes = await memory.read(...request);
      await new Promise((resolve) => setTimeout(resolve, 1));
      counts.bytesRead += bytes?.length ?? 0;
      return bytes;
    },
    async list(...request) {
      counts.requests++;
      return memory.list(...request);
    },
  };
  const take = () => {
    const taken = { ...counts };
    Object.assign(counts, { requests: 0, bytesRead: 0 });
    return taken;
  };
  return { store, take };
}

/** A trained index, opened anew: nothing of it is in memory. Its clock shows the number of times that it was read. */
async function openCold(indexConfig: IndexConfigInput = { type: "ivfflat" }) {
  const { store, take } = counting();
  const options = { indexLocation: store, automaticTraining: false };
  const writer = new EmbeddedClient(options);
  const written = await writer.createIndex({ ...access, indexConfig, textIndex: true });
  await written.upsert(items);
  await written.train({ nLists: 12 });
  await writer.close();
  let now = 0;
  const client = new EmbeddedClient(options, { ...systemClock, steady: () => now++ });
  const index = await client.loadIndex(access);
  take();
  return { client, index, take };
}

function sumOf({ stagesMs }: QueryProfile): number {
  return Object.values(stagesMs).reduce((sum, ms) => sum + ms, 0);
}

test("the stages of a query add up to its time, whether it reads or not", async () => {
  const { client, index } = await openCold();
  const query = { queryVector, topK: 5, recall: 0.95, include: ["metadata", "profile"] } as const;
  const { profile: cold } = await index.query(query);
  expect(cold.totalMs).toBe(sumOf(cold));
  for (const stage of ["open", "choose", "read", "decrypt", "scan", "fetch"] as const) {
    expect(cold.stagesMs[stage], stage).toBeGreaterThan(0);
  }
  expect(cold.stagesMs).toMatchObject({ embed: 0, rerank: 0 });
  const { profile: warm } = await index.query(query);
  expect(warm.totalMs).toBe(sumOf(warm));
  expect(warm.stagesMs).toMatchObject({ read: 0, decrypt: 0, embed: 0, rerank: 0 });
  expect(warm.stagesMs.choose + warm.stagesMs.scan).toBeGreaterThan(0);
  expect(warm.stagesMs.fetch).toBeGreaterThan(0);
  await client.close();
});

const kinds: readonly [string, (index: VectorIndex) => Promise<{ profile: QueryProfile }>][] = [
  ["a vector", (index) => index.query({ queryVector, recall: 0.95, topK: 5, include: ["profile"] })],
  ["the exact answer", (index) => index.query({ queryVector, recall: "exact", include: ["profile"] })],
  [
    "a filter",
    (index) => index.query({ queryVector, filter: { even: true }, include: ["contents", "profile"] }),
  ],
  ["a batch", (index) => index.query({ queryVectors: vectors.slice(0, 40), include: ["profile"] })],
  ["words", (index) => index.query({ queryText: "number7", include: ["profile"] })],
  ["both", (index) => index.query({ queryText: "number7", queryVector, include: ["profile"] })],
];

test.each(kinds)(
  "a query by %s counts all that storage was asked for, and nothing if all is in memory",
  async (_, ask) => {
    const { client, index, take } = await openCold();
    const { profile } = await ask(index);
    const { requests, bytesRead } = take();
    expect(profile).toMatchObject({ requests, bytesRead });
    expect(profile.waits).toBeGreaterThan(0);
    expect(profile.waits).toBeLessThanOrEqual(requests);
    expect(profile.cacheMisses).toBeGreaterThan(0);
    expect(profile.totalMs).toBe(sumOf(profile));
    const { profile: again } = await ask(index);
    expect(again.bytesRead).toBe(0);
    expect(again.cacheMisses).toBe(0);
    expect(again.cacheHits).toBeGreaterThan(0);
    await client.close();
  },
);

test("queries at the same time have profiles of their own, and others have none", async () => {
  const { client, index, take } = await openCold();
  const ask = (i: number) => index.query({ queryVector: vectors[i], recall: "exact", include: ["profile"] });
  const [one, other, plain] = await Promise.all([ask(1), ask(2), index.query({ queryVector })]);
  const { requests } = take();
  expect(one.profile.requests + other.profile.requests).toBeLessThanOrEqual(requests);
  expect(one.profile.rowsRead).toBeGreaterThan(0);
  expect(other.profile.rowsRead).toBeGreaterThan(0);
  expect(plain[0]).toHaveProperty("distance");
  await client.close();
});

test("rows are counted by what they are compared by: codes, vectors, or both", async () => {
  const { client, index } = await openCold();
  const query = { queryVector, topK: 5, nProbes: 4, include: ["profile"] } as const;
  const { profile } = await index.query(query);
  expect(profile.lists).toBeGreaterThan(0);
  expect(profile.lists).toBeLessThanOrEqual(4);
  expect(profile.rowsCompared).toBeGreaterThan(profile.rowsRead);
  expect(profile.rowsRead).toBeGreaterThanOrEqual(5);
  const { profile: selective } = await index.query({ ...query, filter: { i: { $lt: 20 } } });
  expect(selective).toMatchObject({ lists: 0, rowsCompared: 0, rowsRead: 20 });
  await client.close();

  const codes = await openCold({ type: "ivfpq", pqDim: 4, pqBits: 8 });
  const { profile: coded } = await codes.index.query({ ...query, recall: "exact", nProbes: undefined });
  expect(coded).toMatchObject({ lists: 12, rowsCompared: 600, rowsRead: 0 });
  await codes.client.close();
});

test("a query that fails, and one without rows, leave other profiles right", async () => {
  const { client, index } = await openCold();
  await expect(index.query({ queryVector: [1], include: ["profile"] })).rejects.toMatchObject({
    code: "dimension_mismatch",
  });
  const { matches, profile } = await index.query({ queryVector, topK: 0, include: ["profile"] });
  expect([matches, profile.totalMs]).toEqual([[], sumOf(profile)]);
  await client.close();
});

const { clients } = await startBoth();

test.each(Object.entries(clients))(
  "matches beside a profile are those without it, %s",
  async (name, client) => {
    const index = await client.createIndex({
      ...access,
      indexName: name,
      textIndex: true,
      embeddingModel: "default",
    });
    const contents = items
      .slice(0, 60)
      .map(({ id, metadata, contents: text }) => ({ id, metadata, contents: text }));
    await index.upsert(contents);
    const vectorOf = async (id: string) => (await index.get([id], { include: ["vector"] }))[0].vector;
    const [own, other] = [await vectorOf("id 1"), await vectorOf("id 2")];
    const options = { topK: 7, recall: "exact", include: ["distance", "metadata"] } as const;
    const include = [...options.include, "profile"] as const;
    const embedded = { queryContents: "text number7", ...options };
    const { matches, profile } = await index.query({ ...embedded, include });
    expect(matches).toEqual(await index.query(embedded));
    expect(profile.stagesMs.embed).toBeGreaterThan(0);
    expect(sumOf(profile)).toBeCloseTo(profile.totalMs, 6);
    const batch = { queryVectors: [own, other], ...options };
    expect((await index.query({ ...batch, include })).matches).toEqual(await index.query(batch));
    const words = { queryText: "number7", topK: 3, include: ["highlights"] } as const;
    const found = await index.query({ ...words, include: ["highlights", "profile"] });
    expect(found.matches).toEqual(await index.query(words));
    expect(found.profile.totalMs).toBeGreaterThan(0);
  },
);

test("a query of a collection has one profile, of all its shards", async () => {
  const { store, take } = counting();
  const options = { indexLocation: store, automaticTraining: false };
  const writer = new EmbeddedClient(options);
  const written = await writer.createCollection({ ...access, shards: 3, textIndex: true });
  await written.upsert(items);
  await writer.close();
  const client = new EmbeddedClient(options);
  const index = await client.loadCollection(access);
  take();
  const query = { queryVector, topK: 5, include: ["distance", "profile"] } as const;
  const { matches, profile } = await index.query(query);
  // It also opens the shards, whose records are no objects of an index.
  expect(profile.requests).toBeLessThanOrEqual(take().requests);
  expect(profile.requests).toBeGreaterThan(3);
  expect(profile.rowsRead).toBe(items.length);
  expect(sumOf(profile)).toBe(profile.totalMs);
  expect(matches).toEqual(await index.query({ ...query, include: ["distance"] }));
  await client.close();
});
