/** Calls on a collection show one state, which costs one look at storage, and storage can show no other state of a shard. */

import { expect, test } from "vitest";
import type { VectorIndex } from "../../src/api/vector-index.js";
import { generateKey } from "../../src/crypto/keys.js";
import { EmbeddedClient } from "../../src/index/embedded-client.js";
import type { BlobStore } from "../../src/storage/blob-store.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { faultyStore, mishaps } from "../protocol/faulty-store.js";
import { copyOf } from "./stores.js";
import { randomItems } from "./twins.js";

const indexKey = generateKey();
const whole = { offset: 0, length: 2 ** 30 };
const named = { indexName: "notes", indexKey };

function openClient(indexLocation: BlobStore, options = {}): EmbeddedClient {
  return new EmbeddedClient({ indexLocation, automaticTraining: false, ...options });
}

async function filled(store: BlobStore, shards: number, count = 300, options = {}): Promise<VectorIndex> {
  const client = openClient(store, options);
  const collection = await client.createCollection({ ...named, shards, textIndex: true });
  await collection.upsert(randomItems(count, 1));
  return collection;
}

/** A store that notes its calls, each of which takes `ms` at least. It cannot tell at once that nothing is there. */
function watched(store: BlobStore, ms = 0) {
  const calls: string[] = [];
  const during = async <T>(name: string, call: () => Promise<T>): Promise<T> => {
    calls.push(name);
    if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms));
    return call();
  };
  const watching: BlobStore = {
    read: (key, range, options) => during(`read ${key}`, () => store.read(key, range, options)),
    create: (key, bytes, options) => during(`create ${key}`, () => store.create(key, bytes, options)),
    list: (prefix, options) => during(`list ${prefix}`, () => store.list(prefix, options)),
    delete: (keys, options) => during("delete", () => store.delete(keys, options)),
    close: () => store.close(),
  };
  return { calls, store: watching };
}

test.each([1, 8, 32])("a warm query of %i shards asks storage once", async (shards) => {
  const { calls, store } = watched(createMemoryStore());
  const collection = await filled(store, shards);
  const [{ vector: queryVector = [] }] = randomItems(1, 1);
  const queries = [
    () => collection.query({ queryVector }),
    () => collection.query({ queryVector, filter: { even: true } }),
    () => collection.query({ queryText: "river", queryVector }),
  ];
  for (const query of queries) {
    const first = await query();
    calls.length = 0;
    expect(await query()).toEqual(first);
    expect(calls).toEqual([expect.stringMatching(/^read index\/.*\/manifest\//)]);
  }
  calls.length = 0;
  await collection.get(["item-1", "item-2", "item-3"]);
  await collection.count();
  expect(calls.filter((call) => call.includes("/manifest/"))).toHaveLength(2);
});

test("a change is one create more than in an index, and one read at the same time as others", async () => {
  const { calls, store } = watched(createMemoryStore());
  const collection = await filled(store, 8);
  const index = await openClient(store).createIndex({ ...named, indexName: "beside", textIndex: true });
  const requests = async (into: VectorIndex) => {
    await into.upsert(randomItems(1, 4));
    calls.length = 0;
    await into.upsert(randomItems(1, 5));
    return calls.map((call) => call.split(" ")[0]);
  };
  expect(await requests(collection)).toEqual(["read", ...(await requests(index)), "create"]);
});

test("changes of many shards at the same time share manifests of the head", async () => {
  const { calls, store } = watched(createMemoryStore(), 20);
  const collection = await filled(store, 32);
  calls.length = 0;
  await collection.upsert(randomItems(400, 6, "more"));
  expect(
    calls.filter((call) => call.startsWith("create") && call.includes("/manifest/")).length,
  ).toBeLessThan(32 + 8);
});

/** Keys of a shard's manifests, newest first, without those of the head. */
async function manifestsOfShards(store: BlobStore): Promise<Map<string, string[]>> {
  const folders = new Map<string, string[]>();
  for (const key of await store.list("index/")) {
    const [, name, id, kind] = key.split("/");
    if (kind !== "manifest") continue;
    const folder = `${name}/${id}`;
    folders.set(folder, [...(folders.get(folder) ?? []), key]);
  }
  // Names that begin with a zero byte.
  return new Map([...folders].filter(([folder]) => /^0[01]/.test(folder)));
}

async function readsOf(collection: VectorIndex) {
  await collection.count();
  await collection.query({ queryText: "river" });
}

test("a shard that is rolled back, exchanged or omitted is noticed by readers and writers", async () => {
  const store = createMemoryStore();
  const collection = await filled(store, 4);
  const old = await copyOf(store);
  await collection.upsert(randomItems(300, 2));
  const shards = [...(await manifestsOfShards(store)).values()];
  expect(shards).toHaveLength(4);

  const rolledBack = await copyOf(store);
  const [newest] = shards[0];
  await rolledBack.delete([newest]);
  const reader = await openClient(rolledBack).loadCollection(named);
  await expect(readsOf(reader)).rejects.toMatchObject({ code: "missing_object" });
  const writer = await openClient(rolledBack).loadCollection(named);
  await expect(writer.upsert(randomItems(300, 3))).rejects.toMatchObject({ code: "rollback_detected" });

  const exchanged = await copyOf(store);
  await exchanged.delete([newest]);
  await exchanged.create(newest, (await store.read(shards[1][0], whole)) ?? new Uint8Array());
  const other = await openClient(exchanged).loadCollection(named);
  await expect(readsOf(other)).rejects.toMatchObject({ code: "corrupt" });

  const omitted = await copyOf(store);
  await omitted.delete((await omitted.list("names/0")).slice(0, 1));
  const third = await openClient(omitted).loadCollection(named);
  await expect(readsOf(third)).rejects.toMatchObject({ code: "missing_object" });

  // The head alone of an old copy names states that are still there: an old state of the whole, as for an index without an anchor.
  const token = await collection.anchor();
  await expect(openClient(old).loadCollection({ ...named, anchor: token })).rejects.toMatchObject({
    code: "rollback_detected",
  });
});

test("a fork of a shard is noticed before its commit counts", async () => {
  const store = createMemoryStore();
  const collection = await filled(store, 2);
  const fork = await copyOf(store);
  const forked = await openClient(fork).loadCollection(named);
  await forked.upsert(randomItems(1, 8));
  await collection.upsert(randomItems(300, 2));
  // The head of the fork is the newest one; its shards are those of the fork.
  const mixed = await copyOf(store);
  for (const keys of (await manifestsOfShards(store)).values()) await mixed.delete(keys.slice(0, 1));
  for (const keys of (await manifestsOfShards(fork)).values()) {
    for (const key of keys) await mixed.create(key, (await fork.read(key, whole)) ?? new Uint8Array());
  }
  const writer = await openClient(mixed).loadCollection(named);
  await expect(writer.upsert(randomItems(300, 3))).rejects.toMatchObject({ code: "rollback_detected" });
});

test("two clients that write at the same time lose nothing, and each reads what it wrote", async () => {
  const store = createMemoryStore();
  await openClient(store).createCollection({ ...named, shards: 5 });
  const clients = await Promise.all([1, 2, 3].map(() => openClient(store).loadCollection(named)));
  const rounds = 12;
  await Promise.all(
    clients.map(async (collection, writer) => {
      for (let round = 0; round < rounds; round++) {
        const items = randomItems(10, round, `${writer}-${round}`);
        await collection.upsert(items);
        expect(await collection.get(items.map(({ id }) => id))).toHaveLength(10);
        if (round % 3 === 2) await collection.delete({ ids: [`${writer}-${round}-0`] });
      }
    }),
  );
  const expected = clients.length * (10 * rounds - rounds / 3);
  for (const collection of clients) expect(await collection.count()).toBe(expected);
  const other = await openClient(store).loadCollection(named);
  expect(await other.listIds()).toHaveLength(expected);
});

test.each(mishaps)(
  "an upsert during which a writer %s at any call is made whole, or not, for each shard",
  async (mishap) => {
    const beginning = createMemoryStore();
    await filled(beginning, 3, 30);
    const items = randomItems(12, 9, "late");
    for (let number = 0; ; number++) {
      const store = await copyOf(beginning);
      const collection = await openClient(store).loadCollection(named);
      await collection.count();
      const faulty = faultyStore(store, number, mishap);
      const unlucky = await openClient(faulty)
        .loadCollection(named)
        .catch(() => undefined);
      const outcome = await unlucky?.upsert(items).then(
        () => "stored",
        (error: { code: string }) => error.code,
      );
      // The next writer, in the same shards, continues over commits that the head did not name.
      await collection.upsert(randomItems(30, 10));
      expect(await collection.count({ filter: { even: { $in: [true, false] } } })).toBe(
        await collection.count(),
      );
      const found = await collection.get(items.map(({ id }) => id));
      if (outcome === "stored") expect(found).toHaveLength(12);
      const after = await openClient(store).loadCollection(named);
      expect(await after.listIds()).toEqual(await collection.listIds());
      expect(await after.get(["item-3", "item-4"])).toHaveLength(2);
      if (faulty.struck === undefined) {
        expect(outcome).toBe("stored");
        return;
      }
    }
  },
);

test("what a writer deleted that was killed is gone for readers once another deletes it", async () => {
  const beginning = createMemoryStore();
  await filled(beginning, 3, 30);
  const ids = ["item-3", "item-4", "item-5", "item-6"];
  for (let number = 0; ; number++) {
    const store = await copyOf(beginning);
    const faulty = faultyStore(store, number, "dies after");
    const unlucky = await openClient(faulty)
      .loadCollection(named)
      .catch(() => undefined);
    await unlucky?.delete({ ids }).catch(() => undefined);
    await (await openClient(store).loadCollection(named)).delete({ ids });
    const reader = await openClient(store).loadCollection(named);
    expect(await reader.get(ids)).toEqual([]);
    expect(await reader.count()).toBe(26);
    if (faulty.struck === undefined) return;
  }
});

test.each([900_000, 0])(
  "with a retention of %i ms, all results of a loop and all pages of a cursor are of one state, whatever is written meanwhile",
  async (retentionMs) => {
    const store = createMemoryStore();
    const collection = await filled(store, 6, 120, { retentionMs });
    const before = await collection.listIds();
    const seen: string[] = [];
    let round = 0;
    for await (const { id } of collection.items({ pageSize: 10 })) {
      seen.push(id);
      if (seen.length % 15 === 0) await collection.upsert(randomItems(40, ++round, `new-${round}`));
      if (seen.length % 40 === 0) await collection.delete({ filter: { year: 2000 + round } });
    }
    expect(seen).toEqual(before);
    const expected = await collection.listIds();
    const paged: string[] = [];
    for (let cursor: string | undefined; ;) {
      const page = await collection.listItems({ limit: 25, cursor });
      paged.push(...page.items.map(({ id }) => id));
      if (page.cursor === undefined) break;
      ({ cursor } = page);
      await collection.upsert(randomItems(5, 77, `later-${paged.length}`));
      await collection.compact();
    }
    expect(paged).toEqual(expected);
  },
);

test.each(mishaps)(
  "a compaction that %s at any call is repeated by another process, and reads all",
  async (mishap) => {
    const beginning = createMemoryStore();
    const options = { retentionMs: 0 };
    const client = openClient(beginning, options);
    const collection = await client.createCollection({ ...named, shards: 2 });
    for (let seed = 1; seed <= 3; seed++) await collection.upsert(randomItems(20, seed, `${seed}-`));
    await client.close();
    for (let number = 0; ; number++) {
      const store = await copyOf(beginning);
      const faulty = faultyStore(store, number, mishap);
      const first = openClient(faulty, options);
      await first
        .loadCollection(named)
        .then((opened) => opened.compact())
        .catch(() => undefined);
      await first.close();
      const second = openClient(store, options);
      const opened = await second.loadCollection(named);
      await opened.compact();
      const [{ vector: queryVector = [] }] = randomItems(1, 1);
      expect(await opened.query({ queryVector, topK: 60 })).toHaveLength(60);
      expect(await opened.listIds()).toHaveLength(60);
      await second.close();
      if (faulty.struck === undefined) return;
    }
  },
);
