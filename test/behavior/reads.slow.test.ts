/** Reads that fail, repeat, wait or become outdated: their answers are right, and no memory of them stays in use. */

import { afterEach, expect, test } from "vitest";
import { type Client, createClient, generateKey, type VectorIndex } from "../../src/core.js";
import { allocatedBytes } from "../../src/engine/kernels/memory.js";
import type { BlobStore } from "../../src/storage/blob-store.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { clustered } from "../engine/data.js";
import { rowsOf } from "../engine/oracle.js";

const d = 8;
const rows = rowsOf(clustered(900, d, 12, 3), d);
const access = { indexName: "read", indexKey: generateKey() };
const item = (i: number) => ({
  id: `${i}`,
  vector: rows[i],
  contents: `heron text${i % 20}`,
  metadata: { i, third: i % 3 },
});
const items = (start: number, end: number) =>
  Array.from({ length: end - start }, (_, at) => item(start + at));

/** A store whose reads of segments and models are counted, and wait for `before`. */
function watched(inner: BlobStore, before: (read: number, name: string) => Promise<void> | void = () => {}) {
  let reads = 0;
  const read: BlobStore["read"] = async (name, ...rest) => {
    if (/\/(segment|model)\//.test(name)) await before(++reads, name);
    return inner.read(name, ...rest);
  };
  return { store: { ...inner, read }, reads: () => reads };
}

const clients: Client[] = [];
const closeAll = () => Promise.all(clients.splice(0).map((client) => client.close()));
afterEach(closeAll);

function clientOf(indexLocation: BlobStore, more: object = {}) {
  const client = createClient({ indexLocation, automaticTraining: false, ...more });
  clients.push(client);
  return client;
}

/** Trained, with rows that newer segments replace or delete, and rows in no list. */
async function changedIndex() {
  const store = createMemoryStore();
  const index = await clientOf(store).createIndex({ ...access, textIndex: true });
  await index.upsert(items(0, 600));
  await index.train({ nLists: 12 });
  await index.upsert(items(500, 800));
  await index.delete({ ids: ["1", "2", "700"] });
  return { store, index };
}

const few = { filter: { i: { $lt: 90 } } };
const calls: readonly [string, (index: VectorIndex) => Promise<unknown>][] = [
  ["a query", (index) => index.query({ queryVector: rows[3], topK: 5, nProbes: 4 })],
  ["a query of chosen lists", (index) => index.query({ queryVector: rows[3], include: ["contents"] })],
  ["an exact query", (index) => index.query({ queryVector: rows[3], recall: "exact", filter: { third: 1 } })],
  ["a query among few matches", (index) => index.query({ queryVector: rows[3], ...few })],
  [
    "a query among many matches",
    (index) => index.query({ queryVector: rows[3], filter: { third: { $lt: 2 } } }),
  ],
  ["many queries", (index) => index.query({ queryVectors: rows.slice(0, 8), nProbes: 4 })],
  ["many queries with a filter", (index) => index.query({ queryVectors: rows.slice(0, 8), ...few })],
  ["a query by words", (index) => index.query({ queryText: "+her* -text3 text5", topK: 50 })],
  ["a query by both", (index) => index.query({ queryText: "text5", queryVector: rows[3], topK: 20 })],
  ["a count", (index) => index.count()],
  ["a get", (index) => index.get(["3", "510", "700"])],
  ["an ordered list", (index) => index.listItems({ orderBy: { i: "desc" }, ...few, limit: 20 })],
  ["a prefetch", (index) => index.prefetch()],
];

/** With room for all that is read, and with room for nothing: then every call reads. */
const rooms = [undefined, 0].flatMap((cacheBytesMax) =>
  calls.map(([name, call]) => ({ name, call, cacheBytesMax })),
);
const optionsOf = (cacheBytesMax: number | undefined) => ({
  automaticTraining: false,
  ...(cacheBytesMax !== undefined && { cacheBytesMax }),
});

test.each(rooms)(
  "$name whose reads fail answers as usual once they succeed, and gives back its memory, cache $cacheBytesMax",
  async ({ call, cacheBytesMax }) => {
    const { store } = await changedIndex();
    const expected = await call(await clientOf(store, optionsOf(cacheBytesMax)).loadIndex(access));
    await closeAll();
    const bytesBefore = allocatedBytes();
    for (let failing = 1; ; failing++) {
      let isFlaky = true;
      const { store: flaky, reads } = watched(store, (read) => {
        if (isFlaky && read === failing) throw new Error("no answer");
      });
      const client = createClient({ indexLocation: flaky, ...optionsOf(cacheBytesMax) });
      const fresh = await client.loadIndex(access);
      const found = await call(fresh).catch(async (error: Error) => {
        expect(error.message).toContain("no answer");
        return call(fresh);
      });
      expect(found).toEqual(expected);
      const made = reads();
      isFlaky = false;
      expect(await call(fresh)).toEqual(expected);
      if (cacheBytesMax === undefined) expect(reads(), "a warm call reads nothing").toBe(made);
      await client.close();
      expect(allocatedBytes()).toBe(bytesBefore);
      if (made < failing) break;
      expect(failing).toBeLessThan(300);
    }
  },
);

test.each(calls)(
  "%s begins again if another client replaces the segments that it is reading, or was about to open",
  async (name, call) => {
    // A count is remembered, and nothing is read ahead without room.
    for (const isOpen of /count|prefetch/.test(name) ? [false] : [false, true]) {
      const { store, index } = await changedIndex();
      let state = isOpen ? "opening" : "armed";
      const { store: slow } = watched(store, async (_read, key) => {
        if (state !== "armed" || !key.includes("/segment/")) return;
        state = "replaced";
        const old = (await store.list("")).filter((each) => each.includes("/segment/"));
        await index.train({ nLists: 5 });
        await store.delete(old);
      });
      const other = await clientOf(slow, optionsOf(isOpen ? 0 : undefined)).loadIndex(access);
      if (isOpen) {
        await call(other);
        state = "armed";
      }
      expect(await call(other)).toEqual(await call(index));
      expect(state).toBe("replaced");
    }
  },
);

test("calls at the same time read each part of an index once", async () => {
  const { store } = await changedIndex();
  const readsOf = async (count: number) => {
    const { store: counted, reads } = watched(store);
    const index = await clientOf(counted).loadIndex(access);
    const asked = { queryVector: rows[3], topK: 5, nProbes: 4, ...few };
    await Promise.all(Array.from({ length: count }, () => index.query(asked)));
    return reads();
  };
  expect(await readsOf(8)).toBe(await readsOf(1));
});

test("an index is searched while storage is asked for a newer state, and a state within maxStalenessMs is not asked for", async () => {
  const { store, index } = await changedIndex();
  const asked = { queryVector: rows[850], topK: 1, nProbes: 12 };
  const operations: string[] = [];
  const read: BlobStore["read"] = async (name, ...rest) => {
    const kind = name.includes("/manifest/") ? "manifest" : "segment";
    operations.push(kind);
    await new Promise(setImmediate);
    operations.push(`${kind} is read`);
    return store.read(name, ...rest);
  };
  const reader = await clientOf({ ...store, read }).loadIndex(access);
  await reader.count();
  operations.length = 0;
  await reader.query({ ...asked, include: ["contents"] });
  expect(operations.indexOf("segment")).toBeLessThan(operations.indexOf("manifest is read"));

  const stale = await clientOf({ ...store, read }, { maxStalenessMs: 3_600_000 }).loadIndex(access);
  const [before] = await stale.query(asked);
  await index.upsert(items(850, 851));
  operations.length = 0;
  expect((await stale.query(asked))[0]).toEqual(before);
  expect(operations).toEqual([]);
  expect((await reader.query(asked))[0].id).toBe("850");
});

test("memory of outdated states is given back, in the client that writes and in one that reads", async () => {
  const { store, index } = await changedIndex();
  const reader = await clientOf(store).loadIndex(access);
  const rounds: number[][] = [];
  while (rounds.length < 8) {
    await index.upsert(items(0, 300));
    await index.train({ nLists: 12 });
    await index.compact();
    for (const each of [index, reader]) for (const [, call] of calls) await call(each);
    const described = await Promise.all([index.describe(), reader.describe()]);
    rounds.push([...described.map(({ memory }) => memory.cacheBytes), allocatedBytes()]);
  }
  rounds[7].forEach((bytes, i) => expect(bytes).toBeLessThan(1.1 * rounds[0][i]));
});
