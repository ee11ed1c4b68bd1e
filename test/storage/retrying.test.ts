/** Retries and time-outs over real stores whose connection fails in every way a connection can. */

import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { createClient } from "../../src/core.js";
import { SealdexError } from "../../src/errors.js";
import type { BlobStore, OperationOptions } from "../../src/storage/blob-store.js";
import { storageConformance } from "../../src/storage/conformance.js";
import { openLocation } from "../../src/storage/location.js";
import { createLocalStore } from "../../src/storage/local.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { withRetries } from "../../src/storage/retrying.js";
import { useFakeTime, useRealTime } from "../fake-time.js";
import { beginning } from "../ranges.js";
import { newFolder } from "../folder.js";

const lost = () => new SealdexError("storage_unavailable", "the connection was lost");
const never = () => new Promise<never>(() => {});
const bytes = (text: string) => new Uint8Array(Buffer.from(text));

/** Lets time pass, faster than it does, until the operation has settled. */
async function whileTimePasses<T>(operation: () => Promise<T>): Promise<T> {
  useFakeTime(["setTimeout", "clearTimeout", "performance"]);
  let settled = false;
  const running = operation().finally(() => (settled = true));
  running.catch(() => undefined);
  while (!settled) {
    await new Promise(setImmediate);
    await vi.advanceTimersByTimeAsync(1);
  }
  return running;
}
afterEach(useRealTime);

type Method = "read" | "create" | "list" | "delete";

/** Calls `fault` before or after each call of `store`, with the call's number for its method, from 1. */
function faulty(
  store: BlobStore,
  when: "before" | "after",
  fault: (method: Method, call: number) => unknown,
) {
  const calls = { read: 0, create: 0, list: 0, delete: 0 };
  const wrap =
    <A extends unknown[], T>(method: Method, run: (...given: A) => Promise<T>) =>
    async (...given: A): Promise<T> => {
      const call = ++calls[method];
      if (when === "before") await fault(method, call);
      const result = await run(...given);
      if (when === "after") await fault(method, call);
      return result;
    };
  const faultyStore: BlobStore = {
    read: wrap("read", store.read),
    create: wrap("create", store.create),
    list: wrap("list", store.list),
    delete: wrap("delete", store.delete),
    close: () => store.close(),
  };
  return { store: faultyStore, calls };
}

storageConformance({
  test: (name, run) => test(`with a connection that fails now and then, it ${name}`, run),
  factory: async () => {
    const memory = createMemoryStore();
    return {
      open: async () => {
        let calls = 0;
        const fault = (method: Method) => {
          if (method !== "delete" && ++calls % 61 === 0) throw lost();
        };
        const before = faulty(memory, "before", fault).store;
        const both = faulty(before, "after", fault).store;
        return withRetries({ ...both, close: async () => {} });
      },
    };
  },
});

test("a failure that passes is waited out, one that stays is reported", async () => {
  const memory = createMemoryStore();
  await memory.create("a", bytes("a"));
  let broken = 3;
  const { store, calls } = faulty(memory, "before", () => {
    if (broken-- > 0) throw lost();
  });
  const retrying = withRetries(store, { timeoutMs: 1000 });
  expect(await whileTimePasses(() => retrying.read("a", beginning))).toEqual(bytes("a"));
  expect(calls.read).toBe(4);
  broken = Infinity;
  for (const operation of [
    () => retrying.read("a", beginning),
    () => retrying.create("b", bytes("b")),
    () => retrying.list(""),
    () => retrying.delete(["a"]),
  ]) {
    await expect(whileTimePasses<unknown>(operation)).rejects.toMatchObject({
      code: "storage_unavailable",
    });
  }
  expect(calls.list).toBeGreaterThan(2);
});

test("a delete is sent once: a second one could delete a blob that was created in between", async () => {
  const memory = createMemoryStore();
  await memory.create("a", bytes("first"));
  const { store, calls } = faulty(memory, "after", async (method) => {
    if (method !== "delete") return;
    await memory.create("a", bytes("second"));
    throw lost();
  });
  await expect(withRetries(store).delete(["a"])).rejects.toMatchObject({ code: "storage_unavailable" });
  expect(calls.delete).toBe(1);
  expect(await memory.read("a", beginning)).toEqual(bytes("second"));
});

test("where time runs out in an attempt, the failure of the one before is reported", async () => {
  const { store } = faulty(createMemoryStore(), "before", (_, call) => {
    if (call > 1) return never();
    throw lost();
  });
  const reading = () => withRetries(store, { timeoutMs: 300 }).read("a", beginning);
  await expect(whileTimePasses(reading)).rejects.toThrow("the connection was lost");
});

test("other than transient failures are reported at once, unchanged", async () => {
  const error = new Error("access denied");
  const { store, calls } = faulty(createMemoryStore(), "before", () => {
    throw error;
  });
  await expect(withRetries(store).read("a", beginning)).rejects.toBe(error);
  await expect(withRetries(store).create("a", bytes("a"))).rejects.toBe(error);
  expect(calls).toMatchObject({ read: 1, create: 1 });
});

test("a create whose acknowledgement is lost was won, or lost to another, and is told as it was", async () => {
  const memory = createMemoryStore();
  const { store } = faulty(memory, "after", (method, call) => {
    if (method === "create" && call % 2 === 1) throw lost();
  });
  const retrying = withRetries(store);
  const create = (key: string) => whileTimePasses(() => retrying.create(key, bytes("mine")));
  expect(await create("mine")).toBe(true);
  await memory.create("theirs", bytes("theirs"));
  expect(await create("theirs")).toBe(false);
  // Without a failure in between, equal bytes are no excuse.
  expect(await withRetries(memory).create("mine", bytes("mine"))).toBe(false);
});

test("a create that lands late, behind its own repetition, was won all the same", async () => {
  const memory = createMemoryStore();
  let late: Promise<unknown> | undefined;
  const slow: BlobStore = {
    ...memory,
    async create(key, given) {
      if (late !== undefined) {
        // Between the look whether the blob is there and this repetition, the first attempt arrives.
        await memory.create(key, given);
        return memory.create(key, given);
      }
      late = never();
      return never();
    },
  };
  const create = () => withRetries(slow, { timeoutMs: 200 }).create("a", bytes("a"));
  expect(await whileTimePasses(create)).toBe(true);
});

test("an attempt without an answer is given up, its driver is told, and the next one may succeed", async () => {
  const memory = createMemoryStore();
  await memory.create("a", bytes("a"));
  const aborted: unknown[] = [];
  let calls = 0;
  const hanging: BlobStore = {
    ...memory,
    read(key, range, options?: OperationOptions) {
      if (++calls > 1) return memory.read(key, range);
      options?.signal?.addEventListener("abort", () => aborted.push(options.signal?.reason));
      return never();
    },
  };
  const read = () => withRetries(hanging, { timeoutMs: 200 }).read("a", beginning);
  expect(await whileTimePasses(read)).toEqual(bytes("a"));
  expect(aborted).toEqual([expect.objectContaining({ code: "storage_unavailable" })]);
});

test("a store that never answers is reported when the time is up", async () => {
  const dead: BlobStore = { read: never, create: never, list: never, delete: never, close: async () => {} };
  let started = 0;
  const list = () => {
    started = performance.now();
    return withRetries(dead, { timeoutMs: 300 }).list("");
  };
  await expect(whileTimePasses(list)).rejects.toThrow("storage: list  timed out after");
  expect(performance.now() - started).toBeGreaterThan(150);
  expect(performance.now() - started).toBeLessThan(310);
});

test("an aborted operation rejects with the signal's reason, in an attempt and in a pause", async () => {
  const reason = new Error("no longer wanted");
  const dead: BlobStore = { read: never, create: never, list: never, delete: never, close: async () => {} };
  const failing = faulty(createMemoryStore(), "before", () => {
    throw lost();
  }).store;
  const stores = [dead, failing].map((one) => withRetries(one));
  for (const store of stores) {
    const before = AbortSignal.abort(reason);
    const during = new AbortController();
    for (const signal of [before, during.signal]) {
      const results = Promise.allSettled([
        store.read("a", beginning, { signal }),
        store.create("a", bytes("a"), { signal }),
        store.list("", { signal }),
        // Without a second attempt there is no pause.
        ...(store === stores[0] ? [store.delete(["a"], { signal })] : []),
      ]);
      // By then each waits for an answer, or in a pause.
      await new Promise(setImmediate);
      during.abort(reason);
      for (const result of await results) {
        expect(result).toEqual({ status: "rejected", reason });
      }
    }
  }
});

test("the local store's lasting failures are not repeated", async () => {
  const folder = await newFolder();
  const file = createLocalStore({ path: folder });
  await file.create("a", bytes("a"));
  // A file where a folder is expected.
  const store = openLocation({ location: "local", path: join(folder, "a") }, 60_000);
  // The clock stands: a pause would never end.
  useFakeTime(["setTimeout", "clearTimeout", "performance"]);
  await expect(store.create("b", bytes("b"))).rejects.toMatchObject({ code: "storage_unavailable" });
  useRealTime();
  await store.close();
});

test("time-outs that are none are refused", () => {
  const memory = { location: "memory" } as const;
  for (const timeoutMs of [0, -1, NaN, Infinity, 2 ** 40, "1" as unknown as number]) {
    const invalid = expect.objectContaining({ code: "invalid_request" });
    expect(() => createClient({ indexLocation: memory, storageTimeoutMs: timeoutMs })).toThrow(invalid);
    expect(() => createClient({ baseUrl: "http://127.0.0.1:1", timeoutMs })).toThrow(invalid);
  }
});
