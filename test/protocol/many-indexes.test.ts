/** Calls that cover all indexes of a location: a few requests for thousands of them, and a free event loop. */

import fc from "fast-check";
import { expect, test } from "vitest";
import { createClient, generateKey } from "../../src/core.js";
import { EmbeddedClient } from "../../src/index/embedded-client.js";
import { deleteOrphans } from "../../src/index/maintenance/orphans.js";
import { folderPrefix, orphanName, recordName } from "../../src/state/commit/object-names.js";
import { uploadMs } from "../../src/state/commit/retention.js";
import type { BlobStore } from "../../src/storage/blob-store.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { StandingClock } from "./standing-clock.js";

const indexKey = generateKey();

function counted(store: BlobStore) {
  const asked = { lists: 0, reads: 0 };
  const counting: BlobStore = {
    ...store,
    list: (prefix, options) => {
      asked.lists++;
      return store.list(prefix, options);
    },
    read: (key, range) => {
      asked.reads++;
      return store.read(key, range);
    },
  };
  return { asked, store: counting };
}

/** Records that no key opens, and an object of each index. */
async function manyIndexes(count: number): Promise<{ readonly store: BlobStore; readonly names: string[] }> {
  const store = createMemoryStore();
  const names = Array.from({ length: count }, (_, i) => `${i} ${(i * 7919) % count} ü`);
  for (const [i, name] of names.entries()) {
    await store.create(recordName(name, 1), Buffer.of(1));
    if (i % 100 === 0) await store.create(recordName(name, 2), Buffer.of(1));
    const id = i.toString(16).padStart(32, "0");
    await store.create(`${folderPrefix(name)}${id}/manifest/0000000000000001`, Buffer.of(1));
  }
  return { store, names };
}

test("names come in their order, each once", async () => {
  const { store: many, names } = await manyIndexes(9000);
  const { store, asked } = counted(many);
  const client = createClient({ indexLocation: store });
  expect(await client.listIndexes()).toEqual(names.toSorted());
  // No call takes longer than the time-out of the storage, however many there are.
  expect(asked).toEqual({ lists: 5, reads: 0 });
  await client.close();
  const none = createClient({ indexLocation: { location: "memory" } });
  expect(await none.listIndexes()).toEqual([]);
});

test("a page of names takes the requests of its names, whatever their number and wherever it is", async () => {
  const { store: many, names } = await manyIndexes(9000);
  const { store, asked } = counted(many);
  await using client = createClient({ indexLocation: store });
  const sorted = names.toSorted();
  const listed: string[] = [];
  for (let after = ""; listed.length < names.length; after = listed.at(-1) ?? "") {
    listed.push(...(await client.listIndexes({ after, limit: 1000 })));
  }
  expect(listed).toEqual(sorted);
  // Some names have two records, so that a page of names may be more than a page of keys.
  expect(asked.lists).toBeLessThanOrEqual(2 * 9);
  expect(asked.reads).toBe(0);
  expect(await client.listIndexes({ limit: 0 })).toEqual([]);
});

const indexNames = fc
  .string({
    unit: fc.constantFrom(..."aabzZ09 ~_/ü\u00ff\u0800\uffee\u{10000}\u{1f600}"),
    minLength: 1,
    maxLength: 40,
  })
  .filter((name) => Buffer.byteLength(name) <= 128);
const texts = fc.oneof(indexNames, fc.string({ unit: "binary" }), fc.constantFrom("", "z".repeat(10_000)));

test("names are listed in the order of code points, after any text", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(indexNames, { maxLength: 30 }),
      texts,
      fc.nat(10),
      async (names, after, limit) => {
        const store = createMemoryStore();
        for (const name of names) await store.create(recordName(name, 1), Buffer.of(1));
        await using client = createClient({ indexLocation: store });
        const order = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));
        const expected = names.toSorted(order).filter((name) => order(name, after) > 0);
        expect(await client.listIndexes({ after })).toEqual(expected);
        expect(await client.listIndexes({ after, limit })).toEqual(expected.slice(0, limit));
      },
    ),
  );
});

test("orphans are found by their marks, without a look at indexes that have none", async () => {
  const clock = new StandingClock();
  const { store: many } = await manyIndexes(6000);
  const before = await many.list("");
  const places = ["0 0 ü", "between", "zz"].map((indexName) => ({
    indexName,
    indexId: Buffer.alloc(16, 0xab),
  }));
  for (const place of places) {
    await many.create(`${folderPrefix(place.indexName)}${"ab".repeat(16)}/manifest/1`, Buffer.of(1));
    await many.create(orphanName(place, clock.wall()), Buffer.of());
  }
  const { store, asked } = counted(many);
  const sweep = () => deleteOrphans({ indexStore: store, configStore: store }, clock);
  expect(await sweep()).toEqual([]);
  expect(asked).toEqual({ lists: 1, reads: 0 });
  clock.ms += uploadMs;
  // The record of one name is damaged, and may be its own.
  expect(await sweep()).toEqual(["between", "zz"].map((indexName) => ({ indexName, objects: 1 })));
  const left = (await many.list("")).filter((key) => !before.includes(key));
  expect(left.map((key) => key.split("/")[0])).toEqual(["index", "orphans"]);
  const signal = AbortSignal.abort(new Error("not now"));
  await expect(deleteOrphans({ indexStore: store, configStore: store }, clock, { signal })).rejects.toThrow(
    "not now",
  );
});

test("of indexes that have had one name, the one that has the record is kept", async () => {
  const clock = new StandingClock();
  const store = createMemoryStore();
  await using client = new EmbeddedClient({ indexLocation: store }, clock);
  const address = { indexName: "again", indexKey };
  for (let i = 0; i < 3; i++) {
    await (await client.createIndex(address)).upsert([{ id: `${i}`, vector: [i] }]);
    if (i < 2) await client.deleteIndex(address);
  }
  clock.ms += uploadMs;
  expect(await deleteOrphans({ indexStore: store, configStore: store }, clock)).toHaveLength(2);
  const ids = new Set((await store.list(folderPrefix("again"))).map((key) => key.split("/")[2]));
  expect(ids.size).toBe(1);
  expect(await (await client.loadIndex(address)).listIds()).toEqual(["2"]);
});

test("a client that deletes many indexes looks through all of them once per hour", async () => {
  const clock = new StandingClock();
  const { store, asked } = counted(createMemoryStore());
  await using client = new EmbeddedClient({ indexLocation: store }, clock);
  const listsTaken = async (indexName: string) => {
    await client.createIndex({ indexName, indexKey });
    const before = asked.lists;
    await client.deleteIndex({ indexName, indexKey });
    // Background work takes no longer: the store is in memory.
    for (let turns = 0; turns < 20; turns++) await new Promise(setImmediate);
    return asked.lists - before;
  };
  const withSweep = await listsTaken("a");
  const without = await listsTaken("b");
  expect(without).toBeLessThan(withSweep);
  expect(await listsTaken("c")).toBe(without);
  clock.ms += 60 * 60 * 1000;
  expect(await listsTaken("d")).toBeGreaterThan(without);
});
