/** The suite finds out stores that break the contract: each of these fails exactly the cases that it should. */

import { expect, test } from "vitest";
import type { BlobStore } from "../../src/storage/blob-store.js";
import { type ConformanceLocation, storageConformance } from "../../src/storage/conformance.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { whole } from "../ranges.js";

/** Makes a handle that does one thing wrong out of one that does not. */
type Fault = (store: BlobStore) => Partial<BlobStore>;

function collect(factory: () => Promise<ConformanceLocation>) {
  const cases: { readonly name: string; readonly run: () => Promise<void> }[] = [];
  storageConformance({ test: (name, run) => cases.push({ name, run }), factory });
  return cases;
}

/** The cases that fail where every handle on a location has this fault. */
async function failures(fault: Fault): Promise<string[]> {
  const cases = collect(async () => {
    const store = createMemoryStore();
    return { open: async () => ({ ...store, ...fault(store), close: async () => {} }) };
  });
  const failed: string[] = [];
  for (const { name, run } of cases) {
    const passed = await run().then(
      () => true,
      () => false,
    );
    if (!passed) failed.push(name);
  }
  return failed;
}

const absent = "reads null if there is no blob";
const created = "reads what was created";
const taken = "creates a taken key neither in part nor in whole";
const race = "lets exactly one of 32 concurrent creates win, whose bytes the others can read at once";
const ranges = "reads ranges at every edge";
const beyond = "takes no memory for what a range has beyond the end";
const sizes = "keeps blobs of 0 bytes to 64 MiB";
const views = "stores just the part of a buffer that it is given";
const sharing = "shares no bytes with its caller";
const lists = "lists in byte order by prefix, limit and after";
const many = "lists and deletes more than 1,000 keys";
const keys = "takes every character and the longest keys";
const deletes = "deletes blobs that exist and ignores the rest";
const order = "deletes in the order given";
const anew = "creates a deleted key again";
const handles = "shows every change to other handles at once";
const aborts = "leaves a blob whole or absent when its create is aborted, and keeps working";
const crowd = "takes thousands of calls at once";

/** Replaces a blob of the memory store, whoever else creates it meanwhile. */
async function put(store: BlobStore, key: string, bytes: Uint8Array): Promise<boolean> {
  do await store.delete([key]);
  while (!(await store.create(key, bytes)));
  return true;
}

const faults: Record<string, { readonly fault: Fault; readonly caught: readonly string[] }> = {
  "does nothing wrong": { fault: () => ({}), caught: [] },
  "looks whether a key is free, and then creates": {
    fault: (store) => ({
      create: async (key, bytes) => (await store.read(key, whole)) === null && put(store, key, bytes),
    }),
    caught: [race],
  },
  "shows a blob before it is complete": {
    fault: (store) => ({
      async create(key, bytes) {
        if (!(await store.create(key, bytes.slice(0, bytes.length >> 1)))) return false;
        await new Promise(setImmediate);
        return put(store, key, bytes);
      },
    }),
    caught: [race],
  },
  "overwrites and says so": {
    fault: (store) => ({ create: (key, bytes) => put(store, key, bytes) }),
    caught: [taken, race, handles],
  },
  "overwrites and says that it does not": {
    fault: (store) => ({
      async create(key, bytes) {
        if (await store.create(key, bytes)) return true;
        await put(store, key, bytes);
        return false;
      },
    }),
    caught: [taken, race],
  },
  "takes the same bytes twice, as a retry would": {
    fault: (store) => ({
      async create(key, bytes) {
        if (await store.create(key, bytes)) return true;
        return Buffer.compare((await store.read(key, whole)) as Uint8Array, bytes) === 0;
      },
    }),
    caught: [taken],
  },
  "reads an absent blob as empty": {
    fault: (store) => ({ read: async (key, range) => (await store.read(key, range)) ?? new Uint8Array() }),
    caught: [absent, deletes, anew, handles],
  },
  "reads an empty blob or part as absent": {
    fault: (store) => ({
      async read(key, range) {
        const bytes = await store.read(key, range);
        return bytes?.length === 0 ? null : bytes;
      },
    }),
    caught: [ranges, sizes, views],
  },
  "reads one byte more than a range has": {
    fault: (store) => ({
      read: (key, range) => store.read(key, { offset: range.offset, length: range.length + 1 }),
    }),
    caught: [ranges, sizes, crowd],
  },
  "takes memory for a range before it looks": {
    fault: (store) => ({
      async read(key, range) {
        const bytes = await store.read(key, range);
        if (bytes === null || range.length < 2 ** 30) return bytes;
        const room = new Uint8Array(range.length);
        room.set(bytes);
        return room.subarray(0, bytes.length);
      },
    }),
    caught: [beyond],
  },
  "rejects ranges that begin past the end": {
    fault: (store) => ({
      async read(key, range) {
        const bytes = await store.read(key, whole);
        if (bytes === null) return bytes;
        if (range.offset > bytes.length) throw new RangeError("past the end");
        return store.read(key, range);
      },
    }),
    caught: [ranges],
  },
  "cuts blobs off at 16 MiB": {
    fault: (store) => ({ create: (key, bytes) => store.create(key, bytes.slice(0, 16 * 1024 * 1024)) }),
    caught: [sizes],
  },
  "stores the whole buffer behind a view": {
    fault: (store) => ({ create: (key, bytes) => store.create(key, new Uint8Array(bytes.buffer)) }),
    caught: [ranges, sizes, beyond, views, keys, deletes, handles, aborts],
  },
  "hands out the same bytes again": {
    fault: (store) => {
      const read = new Map<string, Uint8Array>();
      return {
        async read(key, range) {
          if (range.offset > 0 || range.length < 2 ** 26) return store.read(key, range);
          const bytes = read.get(key) ?? (await store.read(key, range));
          if (bytes !== null) read.set(key, bytes);
          return bytes;
        },
        async delete(names) {
          for (const name of names) read.delete(name);
          return store.delete(names);
        },
      };
    },
    caught: [sharing],
  },
  "keeps the buffer that it is given": {
    fault: (store) => {
      const given = new Map<string, Uint8Array>();
      return {
        async create(key, bytes) {
          const won = await store.create(key, bytes);
          if (won) given.set(key, bytes);
          return won;
        },
        async read(key, range) {
          const bytes = await store.read(key, range);
          if (bytes === null) given.delete(key);
          return given.get(key)?.slice(range?.offset, range && range.offset + range.length) ?? bytes;
        },
      };
    },
    caught: [sharing],
  },
  "lists backwards": {
    fault: (store) => ({ list: async (...given) => (await store.list(...given)).reverse() }),
    caught: [lists, many, keys, deletes],
  },
  "lists in the order of a language, which disregards punctuation": {
    fault: (store) => ({
      async list(prefix, { limit, after = "" } = {}) {
        const plain = (key: string) => key.replaceAll("/", "");
        const found = (await store.list(prefix)).filter((key) => key > after);
        return found.sort((a, b) => (plain(a) < plain(b) ? -1 : 1)).slice(0, limit);
      },
    }),
    caught: [lists, keys],
  },
  "takes a prefix for a folder": {
    fault: (store) => ({
      async list(prefix, options) {
        const found = await store.list(prefix, options);
        return found.filter(
          (key) => prefix === "" || key === prefix || /^$|^\//.test(key.slice(prefix.length)),
        );
      },
    }),
    caught: [lists, many],
  },
  "includes the key to list after": {
    fault: (store) => ({
      async list(prefix, { limit, after = "" } = {}) {
        return (await store.list(prefix)).filter((key) => key >= after).slice(0, limit);
      },
    }),
    caught: [lists, many],
  },
  "takes limit 0 for no limit": {
    fault: (store) => ({
      list: (prefix, { limit, ...rest } = {}) => store.list(prefix, limit ? { limit, ...rest } : rest),
    }),
    caught: [lists],
  },
  "lists one page of 1,000 keys": {
    fault: (store) => ({ list: async (...given) => (await store.list(...given)).slice(0, 1000) }),
    caught: [many],
  },
  "deletes no more than 1,000 keys at once": {
    fault: (store) => ({ delete: (names) => store.delete(names.slice(0, 1000)) }),
    caught: [many],
  },
  "rejects the deletion of absent keys": {
    fault: (store) => ({
      async delete(names) {
        for (const name of names) {
          if ((await store.read(name, whole)) === null) throw new Error("absent");
          await store.delete([name]);
        }
      },
    }),
    caught: [deletes],
  },
  "deletes from the end": {
    fault: (store) => ({
      async delete(names) {
        for (const name of [...names].reverse()) {
          await new Promise(setImmediate);
          await store.delete([name]);
        }
      },
    }),
    caught: [order],
  },
  "keeps a deleted key taken": {
    fault: (store) => {
      const deleted = new Set<string>();
      return {
        create: async (key, bytes) => !deleted.has(key) && store.create(key, bytes),
        async delete(names) {
          for (const name of names) deleted.add(name);
          return store.delete(names);
        },
      };
    },
    caught: [anew, handles],
  },
  "shortens keys to the length of a file's name": {
    fault: (store) => ({ create: (key, bytes) => store.create(key.slice(0, 255), bytes) }),
    caught: [keys],
  },
  "remembers, handle by handle, that a key was absent": {
    fault: (store) => {
      const missed = new Set<string>();
      return {
        async read(key, range) {
          const bytes = missed.has(key) ? null : await store.read(key, range);
          if (bytes === null) missed.add(key);
          return bytes;
        },
      };
    },
    caught: [handles],
  },
  "rejects calls beyond 1,000 at once": {
    fault: (store) => {
      let running = 0;
      return {
        async read(key, range) {
          if (++running > 1000) throw new Error("too many open files");
          await new Promise(setImmediate);
          running--;
          return store.read(key, range);
        },
      };
    },
    caught: [crowd],
  },
  "leaves half a blob when its create is aborted": {
    fault: (store) => ({
      async create(key, bytes, { signal } = {}) {
        const half = signal?.aborted === true;
        const isNew = await store.create(key, half ? bytes.slice(0, bytes.length >> 1) : bytes);
        if (half) throw signal.reason;
        return isNew;
      },
    }),
    caught: [aborts],
  },
  "creates nothing": {
    fault: () => ({ create: async () => true }),
    caught: [
      created,
      taken,
      race,
      ranges,
      sizes,
      beyond,
      views,
      sharing,
      lists,
      many,
      keys,
      deletes,
      anew,
      handles,
      aborts,
      crowd,
    ],
  },
};

test.each(Object.entries(faults))("a store that %s", async (_, { fault, caught }) => {
  expect(await failures(fault)).toEqual(caught);
});

test("there is no case that none of these stores fails", () => {
  const cases = collect(async () => ({ open: async () => createMemoryStore() }));
  const caught = new Set(Object.values(faults).flatMap((entry) => entry.caught));
  expect(cases.map(({ name }) => name).filter((name) => !caught.has(name))).toEqual([]);
});

test("handles are closed and the location destroyed, whether a case passes or not", async () => {
  for (const wrong of [false, true]) {
    let [opened, closed, destroyed] = [0, 0, 0];
    const cases = collect(async () => {
      const store = createMemoryStore();
      return {
        async open() {
          opened++;
          return { ...store, ...(wrong && { read: async () => null }), close: async () => void closed++ };
        },
        destroy: async () => void destroyed++,
      };
    });
    const outcomes = await Promise.allSettled(cases.map(({ run }) => run()));
    expect(outcomes.some(({ status }) => status === "rejected")).toBe(wrong);
    expect(opened).toBeGreaterThan(cases.length);
    expect(closed).toBe(opened);
    expect(destroyed).toBe(cases.length);
  }
});
