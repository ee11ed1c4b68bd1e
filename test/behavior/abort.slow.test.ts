/** Aborted calls: they end with the signal's reason, leave nothing half-done, and hold on to nothing. */

import type { CallOptions } from "../../src/api/vector-index.js";
import { once } from "node:events";
import { describe, expect, test } from "vitest";
import { createClient as createHttpClient } from "../../src/client/client.js";
import { type Client, createClient, generateKey, type VectorIndex } from "../../src/core.js";
import { allocatedBytes } from "../../src/engine/kernels/memory.js";
import type { BlobStore } from "../../src/storage/blob-store.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { withRetries } from "../../src/storage/retrying.js";
import { startService } from "../http/service.js";

const options = { indexName: "aborted", indexKey: generateKey() };
const items = (count: number, from = 0) =>
  Array.from({ length: count }, (_, i) => ({ id: `${from + i}`, vector: [from + i, 1], metadata: { i } }));

type Call = (client: Client, index: VectorIndex, options: CallOptions) => Promise<unknown>;

const reads: Record<string, Call> = {
  query: (_, index, { signal }) => index.query({ queryVector: [1, 1], signal }),
  "query of a batch": (_, index, { signal }) => index.query({ queryVectors: [[1, 1]], signal }),
  get: (_, index, given) => index.get(["1"], given),
  listIds: (_, index, given) => index.listIds(given),
  count: (_, index, given) => index.count(given),
  describe: (_, index, given) => index.describe(given),
  listIndexes: (client, _, given) => client.listIndexes(given),
  loadIndex: (client, _, given) => client.loadIndex({ ...options, ...given }),
};
const changes: Record<string, Call> = {
  upsert: (_, index, given) => index.upsert(items(5, 1000), given),
  "delete by ids": (_, index, given) => index.delete({ ids: ["1", "2"] }, given),
  "delete by filter": (_, index, given) => index.delete({ filter: { i: { $lt: 5 } } }, given),
  train: (_, index, given) => index.train({ nLists: 4, ...given }),
  compact: (_, index, given) => index.compact(given),
  createIndex: (client, _, given) =>
    client.createIndex({ indexName: "new", indexKey: options.indexKey, ...given }),
  deleteIndex: (client, _, given) => client.deleteIndex({ ...options, ...given }),
};
const calls = { ...reads, ...changes };

/** An index of several segments, some rows deleted. */
async function filled(store: BlobStore) {
  const client = createClient({ indexLocation: store });
  const index = await client.createIndex(options);
  for (let part = 0; part < 4; part++) await index.upsert(items(10, 10 * part));
  await index.delete({ ids: ["39"] });
  return client;
}

/** The index as other clients see it. */
async function stateOf(store: BlobStore) {
  const client = createClient({ indexLocation: store });
  try {
    const names = await client.listIndexes();
    if (!names.includes(options.indexName)) return { names };
    const index = await client.loadIndex(options);
    const ids = await index.listIds();
    return {
      names,
      items: await index.get(ids),
      count: await index.count(),
      trained: (await index.describe()).trained,
    };
  } finally {
    // Opened blocks lie in kernel memory until then.
    await client.close();
  }
}

describe.each(Object.entries(calls))("%s", (name, call) => {
  test("with a signal that has aborted does nothing, and rejects with its reason", async () => {
    const store = createMemoryStore();
    const client = await filled(store);
    const index = await client.loadIndex(options);
    const before = await store.list("");
    await expect(call(client, index, { signal: AbortSignal.abort() })).rejects.toMatchObject({
      name: "AbortError",
    });
    const reason = new Error("mine");
    await expect(call(client, index, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    const wrong = { signal: { aborted: false } as AbortSignal };
    await expect(call(client, index, wrong)).rejects.toMatchObject({ code: "invalid_request" });
    expect(await store.list("")).toEqual(before);
  });

  test("aborted before any of its storage operations is whole or has changed nothing", async () => {
    const allocated = allocatedBytes();
    let aborted = 0;
    for (let at = 0; ; at++) {
      const store = createMemoryStore();
      await (await filled(store)).close();
      const before = await stateOf(store);
      const controller = new AbortController();
      let left = Infinity;
      const step = async () => {
        if (left-- === 0) controller.abort();
        await new Promise(setImmediate);
      };
      const wrap =
        <A extends unknown[], T>(run: (...given: A) => Promise<T>) =>
        async (...given: A): Promise<T> => {
          await step();
          return run(...given);
        };
      const watched: BlobStore = {
        read: wrap(store.read),
        create: wrap(store.create),
        list: wrap(store.list),
        delete: wrap(store.delete),
        close: async () => {},
      };
      const client = createClient({ indexLocation: watched });
      const index = await client.loadIndex(options);
      left = at;
      const outcome = await call(client, index, { signal: controller.signal }).then(
        () => "done",
        (error: unknown) => {
          expect(error).toBe(controller.signal.reason);
          return "aborted";
        },
      );
      await client.close();
      const after = await stateOf(store);
      if (outcome === "aborted") {
        aborted++;
        expect(after, `aborted at operation ${at}`).toEqual(before);
      } else if (name in changes && name !== "compact") {
        expect(after).not.toEqual(before);
      }
      if (!controller.signal.aborted) break;
    }
    expect(aborted).toBeGreaterThan(0);
    expect(allocatedBytes()).toBeLessThanOrEqual(allocated);
  });
});

test("a read that hangs ends at once when it is aborted, and others that wait for the same are not harmed", async () => {
  const store = createMemoryStore();
  await filled(store);
  const controller = new AbortController();
  let hanging = false;
  let go = () => {};
  const released = new Promise<void>((resolve) => (go = resolve));
  const read: BlobStore["read"] = async (key, range) => {
    if (hanging && key.includes("/segment/")) {
      // By then the other query waits as well.
      for (let turns = 0; turns < 50; turns++) await new Promise(setImmediate);
      controller.abort();
      await released;
    }
    return store.read(key, range);
  };
  const index = await createClient({ indexLocation: { ...store, read } }).loadIndex(options);
  hanging = true;
  const query = { queryVector: [1, 1], topK: 3 };
  const given = index.query({ ...query, signal: controller.signal });
  const other = index.query(query);
  await expect(given).rejects.toMatchObject({ name: "AbortError" });
  go();
  expect(await other).toHaveLength(3);
});

describe("over HTTP", () => {
  test.each(Object.entries(calls))("%s is aborted before and during its request", async (_, call) => {
    const store = createMemoryStore();
    await filled(store);
    const controller = new AbortController();
    let hang = false;
    let go = () => {};
    const released = new Promise<void>((resolve) => (go = resolve));
    const wait = async () => {
      if (!hang) return;
      controller.abort();
      await released;
    };
    const slow: BlobStore = {
      ...store,
      read: async (key, range) => wait().then(() => store.read(key, range)),
      list: async (prefix, given) => wait().then(() => store.list(prefix, given)),
      create: async (key, bytes) => wait().then(() => store.create(key, bytes)),
    };
    const service = await startService({ indexLocation: slow });
    const client = createHttpClient(service.address);
    const index = await client.loadIndex(options);
    await expect(call(client, index, { signal: AbortSignal.abort() })).rejects.toMatchObject({
      name: "AbortError",
    });
    hang = true;
    await expect(call(client, index, { signal: controller.signal })).rejects.toMatchObject({
      name: "AbortError",
    });
    // A time-out is no abort: the service is to blame.
    const hasty = createHttpClient({ ...service.address, timeoutMs: 50 });
    await expect(hasty.listIndexes()).rejects.toMatchObject({ code: "storage_unavailable" });
    hang = false;
    go();
    await client.close();
    await service.close();
  });

  test("an upsert whose client has gone is not stored", async () => {
    const store = createMemoryStore();
    await filled(store);
    const controller = new AbortController();
    const create: BlobStore["create"] = async (key, bytes, { signal } = {}) => {
      if (key.includes("/segment/") && signal !== undefined) {
        controller.abort();
        // The service notices that its client has gone.
        await once(signal, "abort");
      }
      return store.create(key, bytes);
    };
    const service = await startService({ indexLocation: { ...store, create } });
    const index = await createHttpClient(service.address).loadIndex(options);
    const before = await stateOf(store);
    await expect(index.upsert(items(3, 500), { signal: controller.signal })).rejects.toMatchObject({
      name: "AbortError",
    });
    await service.close();
    expect(await stateOf(store)).toEqual(before);
  });
});

describe("one signal for many calls", () => {
  const many = 40;

  /** The warnings of the process while `work` runs. */
  async function warningsOf(work: () => Promise<unknown>): Promise<string[]> {
    const warnings: string[] = [];
    const note = ({ name }: Error) => warnings.push(name);
    process.on("warning", note);
    await work();
    // Warnings are emitted in a turn of their own.
    await new Promise(setImmediate);
    process.off("warning", note);
    return warnings;
  }

  test("warns of no leak, in the library, on a location and over HTTP", async () => {
    const { signal } = new AbortController();
    const client = createClient({ indexLocation: { location: "memory" } });
    const index = await client.createIndex(options);
    const service = await startService();
    const remote = await createHttpClient(service.address).createIndex(options);
    const work = async () => {
      for (const one of [index, remote]) {
        await Promise.all(items(many).map((item) => one.upsert([item], { signal })));
        await Promise.all(items(many).map(({ id }) => one.get([id], { signal })));
      }
    };
    expect(await warningsOf(work)).toEqual([]);
    await client.close();
    await service.close();
  });

  test("ends all of them, and those that are over hear nothing", async () => {
    const controller = new AbortController();
    const { signal } = controller;
    const store = createMemoryStore();
    const client = createClient({ indexLocation: withRetries(store) });
    const index = await client.createIndex(options);
    await index.upsert(items(5), { signal });
    store.read = () => new Promise(() => undefined);
    const running = Array.from({ length: many }, () => index.count({ signal }));
    controller.abort(new Error("enough"));
    const outcomes = await Promise.allSettled(running);
    expect(outcomes.every(({ status }) => status === "rejected")).toBe(true);
    expect(new Set(outcomes.map((outcome) => outcome.status === "rejected" && outcome.reason)).size).toBe(1);
  });
});
