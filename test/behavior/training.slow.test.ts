/** Indexes that are trained without being asked. Time passes only when a test says so. */

import { setImmediate as turn } from "node:timers/promises";
import { afterEach, describe, expect, test } from "vitest";
import { type Client, generateKey, type VectorIndex } from "../../src/core.js";
import { growth, itemsMin } from "../../src/index/training/automatic-training.js";
import { EmbeddedClient } from "../../src/index/embedded-client.js";
import { pauseMs, pauseMsMax } from "../../src/index/open/maintenance.js";
import { allocatedBytes } from "../../src/engine/kernels/memory.js";
import type { BlobStore } from "../../src/storage/blob-store.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import type { TrainingProgress } from "../../src/api/vector-index.js";
import { clustered } from "../engine/data.js";
import { rowsOf } from "../engine/oracle.js";
import { StandingClock } from "../protocol/standing-clock.js";

const d = 8;
const vectors = rowsOf(clustered(growth * itemsMin, d, 30, 5), d);
const listsOf = (items: number) => Math.floor(items / 39);
const options = () => ({ indexName: "grows", indexKey: generateKey() });
const clients: Client[] = [];

/** A client with a clock of its own. */
function clientOf(store: BlobStore, automaticTraining?: boolean) {
  const clock = new StandingClock();
  const client = new EmbeddedClient({ indexLocation: store, automaticTraining }, clock);
  clients.push(client);
  return { client, clock };
}

afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
});

async function add(index: VectorIndex, from: number, to: number): Promise<void> {
  const items = vectors.slice(from, to).map((vector, i) => ({ id: `${from + i}`, vector }));
  await index.upsert(items);
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await turn();
}

const untilTrained = (index: VectorIndex, nLists: number) =>
  until(async () => (await index.describe()).nLists === nLists);

/** Until the client has done all due work: an index that becomes due last is trained last. */
async function untilIdle({ client, clock }: { client: Client; clock: StandingClock }): Promise<void> {
  const last = await client.createIndex({ ...options(), indexName: `last ${generateKey()}` });
  await add(last, 0, itemsMin);
  clock.advance(pauseMs);
  await untilTrained(last, listsOf(itemsMin));
}

test("an index is trained once it is large enough, and again once it has doubled; answers stay", async () => {
  const { client, clock } = clientOf(createMemoryStore());
  const index = await client.createIndex(options());
  await add(index, 0, itemsMin - 1);
  expect(clock.timersWithin(pauseMsMax)).toBe(0);
  await add(index, itemsMin - 1, itemsMin);
  clock.advance(pauseMs);
  await untilTrained(index, listsOf(itemsMin));
  const ask = () => index.query({ queryVectors: vectors.slice(0, 5), topK: 10, nProbes: 65_536 });
  const before = await ask();
  await add(index, itemsMin, growth * itemsMin - 1);
  expect(clock.timersWithin(pauseMsMax)).toBe(0);
  await add(index, growth * itemsMin - 1, growth * itemsMin);
  clock.advance(pauseMs);
  await untilTrained(index, listsOf(growth * itemsMin));
  expect(await index.count()).toBe(growth * itemsMin);
  const after = await ask();
  for (const [q, [first]] of after.entries()) expect(first).toEqual(before[q][0]);
});

test("an index of zero vectors under cosine is asked once what there is to learn, and stays untrained", async () => {
  const opened = clientOf(createMemoryStore());
  const { client, clock } = opened;
  const index = await client.createIndex({ ...options(), metric: "cosine" });
  const zeros = Array.from({ length: itemsMin }, (_, i) => ({ id: `${i}`, vector: new Float32Array(d) }));
  await index.upsert(zeros);
  clock.advance(pauseMs);
  await untilIdle(opened);
  expect((await index.describe()).trained).toBe(false);
  await index.upsert(zeros.slice(0, 1));
  expect(clock.timersWithin(pauseMsMax)).toBe(0);
});

test.each([
  { indexConfig: { type: "ivf" }, own: undefined },
  { indexConfig: { type: "ivfflat" }, own: { namespace: "one" } },
] as const)(
  "an index whose rows are codes, or of which some are in a namespace, is trained again at twice the size (%o)",
  async ({ indexConfig, own }) => {
    const { client, clock } = clientOf(createMemoryStore());
    const index = await client.createIndex({ ...options(), indexConfig });
    await add(index, 0, itemsMin);
    if (own !== undefined) await index.upsert([{ id: "own", vector: vectors[0] }], own);
    clock.advance(pauseMs);
    await untilTrained(index, listsOf(itemsMin));
    await add(index, itemsMin, growth * itemsMin - 1);
    expect(clock.timersWithin(pauseMsMax)).toBe(0);
    await add(index, growth * itemsMin - 1, growth * itemsMin);
    expect(clock.timersWithin(pauseMsMax)).toBe(1);
  },
);

/** A store that keeps the names of the models that were created in it. */
function countingModels() {
  const store = createMemoryStore();
  const models: string[] = [];
  const create: BlobStore["create"] = (key, bytes) => {
    if (key.includes("/model/")) models.push(key);
    return store.create(key, bytes);
  };
  return { store: { ...store, create }, models };
}

test("an ingest in many small writes is not interrupted: the training comes when it pauses, once", async () => {
  const { store, models } = countingModels();
  const { client, clock } = clientOf(store);
  const index = await client.createIndex(options());
  for (let from = 0; from < 20_000; from += 1000) {
    await add(index, from, from + 1000);
    clock.advance(pauseMs - 1);
  }
  expect(models).toEqual([]);
  expect(clock.timersWithin(pauseMsMax)).toBe(1);
  clock.advance(1);
  await untilTrained(index, listsOf(20_000));
  expect(models).toHaveLength(1);
  expect(clock.timersWithin(pauseMsMax)).toBe(0);
});

test("a write that takes longer than a pause is no pause", async () => {
  const { store, models } = countingModels();
  let release: (() => void) | undefined;
  const slow: BlobStore = {
    ...store,
    async create(key, bytes) {
      if (release !== undefined && key.includes("/segment/")) {
        await new Promise<void>((resolve) => (release = resolve));
        release = undefined;
      }
      return store.create(key, bytes);
    },
  };
  const { client, clock } = clientOf(slow);
  const index = await client.createIndex(options());
  await add(index, 0, itemsMin);
  const start = () => undefined;
  release = start;
  const writing = add(index, itemsMin, itemsMin + 10);
  await until(async () => release !== start);
  clock.advance(10 * pauseMs);
  expect(clock.timersWithin(pauseMsMax)).toBe(1);
  release();
  await writing;
  expect(models).toEqual([]);
  clock.advance(pauseMs);
  await untilTrained(index, listsOf(itemsMin + 10));
  expect(models).toHaveLength(1);
});

test("an ingest that never pauses is not waited for longer than half a minute", async () => {
  const { client, clock } = clientOf(createMemoryStore());
  const index = await client.createIndex(options());
  await add(index, 0, itemsMin);
  let passedMs = 0;
  for (; clock.timersWithin(pauseMsMax) > 0; passedMs += pauseMs / 2) {
    await add(index, 0, 1);
    clock.advance(pauseMs / 2);
  }
  expect(passedMs).toBe(pauseMsMax);
  await untilTrained(index, listsOf(itemsMin));
});

test("a client can do without, and an explicit training still works", async () => {
  const { client, clock } = clientOf(createMemoryStore(), false);
  const index = await client.createIndex(options());
  await add(index, 0, itemsMin);
  expect(clock.timersWithin(pauseMsMax)).toBe(0);
  await index.train({ nLists: 20 });
  expect((await index.describe()).nLists).toBe(20);
});

test.each([{ type: "ivf" }, { type: "ivfpq", pqDim: 4 }] as const)(
  "$type is trained as well",
  async (indexConfig) => {
    const { client, clock } = clientOf(createMemoryStore());
    const index = await client.createIndex({ ...options(), indexConfig });
    await add(index, 0, itemsMin);
    clock.advance(pauseMs);
    await untilTrained(index, listsOf(itemsMin));
    expect((await index.describe()).trainingFailure).toBeUndefined();
  },
);

test("rows that replace one another do not make an index grow, and are not counted at each write", async () => {
  const { store, models } = countingModels();
  const opened = clientOf(store);
  const index = await opened.client.createIndex(options());
  for (let round = 0; round < 4; round++) await add(index, 0, 4000);
  expect(opened.clock.timersWithin(pauseMsMax)).toBe(1);
  opened.clock.advance(pauseMs);
  await untilIdle(opened);
  expect(await index.describe()).toMatchObject({ trained: false });
  expect(models).toHaveLength(1);
  await add(index, 0, 4000);
  expect(opened.clock.timersWithin(pauseMsMax)).toBe(0);
});

test("a training that fails in the background fails no write, and describe says why", async () => {
  const store = createMemoryStore();
  let broken = true;
  const create: BlobStore["create"] = (key, bytes) =>
    broken && key.includes("/model/") ? Promise.reject(new Error("no room")) : store.create(key, bytes);
  const { client, clock } = clientOf({ ...store, create });
  const index = await client.createIndex(options());
  await add(index, 0, itemsMin);
  clock.advance(pauseMs);
  await until(async () => (await index.describe()).trainingFailure !== undefined);
  expect(await index.describe()).toMatchObject({ trained: false, trainingFailure: "no room" });
  broken = false;
  await index.train();
  expect(await index.describe()).not.toHaveProperty("trainingFailure");
});

test("closing the client ends a training in the background, and leaves nothing of it", async () => {
  const store = createMemoryStore();
  const key = options();
  const memory = allocatedBytes();
  let isRead = () => {};
  const training = new Promise<void>((resolve) => (isRead = resolve));
  const read: BlobStore["read"] = (name, range) => {
    if (name.includes("/segment/")) isRead();
    return store.read(name, range);
  };
  const { client, clock } = clientOf({ ...store, read });
  const index = await client.createIndex(key);
  await add(index, 0, 2 * itemsMin);
  const stored = new Set(await store.list(""));
  clock.advance(pauseMs);
  await training;
  await client.close();
  expect(new Set(await store.list(""))).toEqual(stored);
  expect(allocatedBytes()).toBe(memory);
  const again = await clientOf(store, false).client.loadIndex(key);
  expect(await again.describe()).toMatchObject({ trained: false });
  expect(await again.count()).toBe(2 * itemsMin);
});

test("closing the client calls off a training that is still to come", async () => {
  const { client, clock } = clientOf(createMemoryStore());
  await add(await client.createIndex(options()), 0, itemsMin);
  expect(clock.timersWithin(pauseMsMax)).toBe(1);
  await client.close();
  expect(clock.timersWithin(pauseMsMax)).toBe(0);
});

test("two processes that train at once leave one model and every item", async () => {
  const store = createMemoryStore();
  const key = options();
  const [one, other] = [clientOf(store), clientOf(store)];
  const first = await one.client.createIndex(key);
  const second = await other.client.loadIndex(key);
  await add(first, 0, itemsMin);
  await Promise.all([add(first, itemsMin, itemsMin + 10), add(second, itemsMin + 10, itemsMin + 20)]);
  for (const { clock } of [one, other]) clock.advance(pauseMs);
  await untilTrained(first, listsOf(itemsMin + 20));
  await untilIdle(one);
  await untilIdle(other);
  expect(await second.count()).toBe(itemsMin + 20);
  for (const index of [first, second]) expect(await index.describe()).not.toHaveProperty("trainingFailure");
});

describe("a training that was asked for", () => {
  async function filled(store = createMemoryStore()) {
    const index = await clientOf(store, false).client.createIndex(options());
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

  test("does not begin with an aborted signal, and refuses other values", async () => {
    const { index } = await filled();
    await expect(index.train({ signal: AbortSignal.abort() })).rejects.toMatchObject({ name: "AbortError" });
    const wrong = { signal: "now" } as unknown as { signal: AbortSignal };
    await expect(index.train(wrong)).rejects.toMatchObject({ code: "invalid_request" });
  });
});
