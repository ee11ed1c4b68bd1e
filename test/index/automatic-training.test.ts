/** Indexes that are trained without being asked. */

import { setTimeout as pause } from "node:timers/promises";
import { afterEach, describe, expect, test } from "vitest";
import { type Client, createClient, generateKey, type VectorIndex } from "../../src/core.js";
import { growth, itemsMin } from "../../src/encrypted-index/automatic-training.js";
import { allocatedBytes } from "../../src/engine/kernels/memory.js";
import type { BlobStore } from "../../src/storage/blob-store.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { clustered } from "../engine/data.js";
import { rowsOf } from "../engine/oracle.js";
import type { TrainingProgress } from "../../src/vector-index.js";

const d = 8;
const vectors = rowsOf(clustered(growth * itemsMin, d, 30, 5), d);
const options = () => ({ indexName: "grows", indexKey: generateKey() });
const clients: Client[] = [];

function clientOf(store: BlobStore, automaticTraining?: boolean): Client {
  const client = createClient({ indexLocation: store, automaticTraining });
  clients.push(client);
  return client;
}

afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
});

async function add(index: VectorIndex, from: number, to: number): Promise<void> {
  const items = vectors.slice(from, to).map((vector, i) => ({ id: `${from + i}`, vector }));
  await index.upsert(items);
}

async function untilTrained(index: VectorIndex, nLists: number): Promise<void> {
  while ((await index.describe()).nLists !== nLists) await pause(50);
}

test("an index is trained once it is large enough, and again at four times the size; answers stay", async () => {
  const index = await clientOf(createMemoryStore()).createIndex(options());
  await add(index, 0, itemsMin - 1);
  await pause(1500);
  expect(await index.describe()).toMatchObject({ trained: false });
  await add(index, itemsMin - 1, itemsMin);
  await untilTrained(index, Math.floor(itemsMin / 39));
  const ask = () => index.query({ queryVectors: vectors.slice(0, 5), topK: 10, nProbes: 65_536 });
  const before = await ask();
  await add(index, itemsMin, 2 * itemsMin);
  await pause(1500);
  expect((await index.describe()).nLists).toBe(Math.floor(itemsMin / 39));
  await add(index, 2 * itemsMin, growth * itemsMin);
  await untilTrained(index, 1024);
  expect(await index.count()).toBe(growth * itemsMin);
  const after = await ask();
  for (const [q, [first]] of after.entries()) expect(first).toEqual(before[q][0]);
});

test("an ingest in many small writes is not interrupted: the training comes when it pauses, once", async () => {
  const store = createMemoryStore();
  const models: string[] = [];
  const counting: BlobStore = {
    ...store,
    create: (key, bytes) => {
      if (key.includes("/model/")) models.push(key);
      return store.create(key, bytes);
    },
  };
  const index = await clientOf(counting).createIndex(options());
  for (let from = 0; from < 20_000; from += 1000) await add(index, from, from + 1000);
  expect(models).toEqual([]);
  await untilTrained(index, 512);
  expect(models).toHaveLength(1);
});

test("a client can do without, and an explicit training still works", async () => {
  const index = await clientOf(createMemoryStore(), false).createIndex(options());
  await add(index, 0, itemsMin);
  await pause(1500);
  expect((await index.describe()).trained).toBe(false);
  await index.train({ nLists: 20 });
  expect((await index.describe()).nLists).toBe(20);
});

test.each([{ type: "ivf" }, { type: "ivfpq", pqDim: 4 }] as const)(
  "$type is trained as well",
  async (indexConfig) => {
    const index = await clientOf(createMemoryStore()).createIndex({ ...options(), indexConfig });
    await add(index, 0, itemsMin);
    await untilTrained(index, Math.floor(itemsMin / 39));
    expect((await index.describe()).trainingFailure).toBeUndefined();
  },
);

test("rows that replace one another do not make an index grow", async () => {
  const index = await clientOf(createMemoryStore()).createIndex(options());
  for (let round = 0; round < 4; round++) await add(index, 0, 4000);
  await pause(2000);
  expect(await index.describe()).toMatchObject({ trained: false });
});

test("a training that fails in the background fails no write, and describe says why", async () => {
  const store = createMemoryStore();
  let broken = true;
  const failing: BlobStore = {
    ...store,
    create: (key, bytes) =>
      broken && key.includes("/model/") ? Promise.reject(new Error("no room")) : store.create(key, bytes),
  };
  const index = await clientOf(failing).createIndex(options());
  await add(index, 0, itemsMin);
  while ((await index.describe()).trainingFailure === undefined) await pause(50);
  expect(await index.describe()).toMatchObject({ trained: false, trainingFailure: "no room" });
  broken = false;
  await index.train();
  expect(await index.describe()).not.toHaveProperty("trainingFailure");
});

test("closing the client ends a training in the background, and leaves nothing of it", async () => {
  const store = createMemoryStore();
  const key = options();
  const memory = allocatedBytes();
  const client = clientOf(store);
  const index = await client.createIndex(key);
  await add(index, 0, 2 * itemsMin);
  const stored = new Set(await store.list(""));
  // Training begins a second after the last write, and takes longer than the rest of this pause.
  await pause(1030);
  await client.close();
  expect(new Set(await store.list(""))).toEqual(stored);
  expect(allocatedBytes()).toBe(memory);
  const again = await clientOf(store, false).loadIndex(key);
  expect(await again.describe()).toMatchObject({ trained: false });
  expect(await again.count()).toBe(2 * itemsMin);
});

test("two processes that train at once leave one model and every item", async () => {
  const store = createMemoryStore();
  const key = options();
  const first = await clientOf(store).createIndex(key);
  const second = await clientOf(store).loadIndex(key);
  await add(first, 0, itemsMin);
  await Promise.all([add(first, itemsMin, itemsMin + 10), add(second, itemsMin + 10, itemsMin + 20)]);
  await untilTrained(first, Math.floor((itemsMin + 20) / 39));
  await pause(1000);
  expect(await second.count()).toBe(itemsMin + 20);
  for (const index of [first, second]) expect(await index.describe()).not.toHaveProperty("trainingFailure");
});

describe("a training that was asked for", () => {
  async function filled(store = createMemoryStore()) {
    const index = await clientOf(store, false).createIndex(options());
    await add(index, 0, 6000);
    return { index, store };
  }

  test("tells how far it is: three phases, each growing to its total", async () => {
    const { index } = await filled();
    const told: TrainingProgress[] = [];
    await index.train({ nLists: 100, onProgress: (progress) => told.push(progress) });
    expect([...new Set(told.map(({ phase }) => phase))]).toEqual(["sample", "cluster", "store"]);
    for (const phase of ["sample", "cluster", "store"]) {
      const steps = told.filter((progress) => progress.phase === phase);
      const { done, total } = steps[steps.length - 1];
      expect(done).toBe(total);
      steps.forEach((step, i) => expect(step.done).toBeGreaterThanOrEqual(steps[i - 1]?.done ?? 0));
    }
    expect(told.findLast(({ phase }) => phase === "store")).toMatchObject({ total: 6000 });
  });

  test.each(["sample", "cluster", "store"] as const)(
    "ends where it is told to, in phase %s",
    async (phase) => {
      const before = allocatedBytes();
      const { index, store } = await filled();
      const stored = await store.list("");
      const abort = new AbortController();
      const reason = new Error("enough");
      const training = index.train({
        nLists: 100,
        signal: abort.signal,
        onProgress: (progress) => {
          if (progress.phase === phase) abort.abort(reason);
        },
      });
      await expect(training).rejects.toBe(reason);
      expect(await store.list("")).toEqual(stored);
      expect(await index.describe()).toMatchObject({ trained: false });
      await index.train({ nLists: 10 });
      expect(await index.count()).toBe(6000);
      await Promise.all(clients.splice(0).map((client) => client.close()));
      expect(allocatedBytes()).toBe(before);
    },
  );

  test("does not begin with a signal that has aborted, and refuses what is none", async () => {
    const { index } = await filled();
    await expect(index.train({ signal: AbortSignal.abort() })).rejects.toMatchObject({ name: "AbortError" });
    const wrong = { signal: "now" } as unknown as { signal: AbortSignal };
    await expect(index.train(wrong)).rejects.toMatchObject({ code: "invalid_request" });
  });
});
