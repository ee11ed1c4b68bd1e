/** Shards are split while others read and write: nothing is lost, nothing happens twice, and every reader sees one state. */

import { afterEach, expect, test } from "vitest";
import type { ItemPage, VectorIndex } from "../../src/api/vector-index.js";
import { generateKey } from "../../src/crypto/keys.js";
import { Leaf } from "../../src/index/collection/leaf.js";
import { createRouter } from "../../src/index/collection/router.js";
import { EmbeddedClient } from "../../src/index/embedded-client.js";
import type { BlobStore } from "../../src/storage/blob-store.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { faultyStore, mishaps } from "../protocol/faulty-store.js";
import type { StandingClock } from "../protocol/standing-clock.js";
import { repeats } from "../tier.js";
import { outcomeOf } from "./changes.js";
import { expectSame, fill } from "./same-results.js";
import { copyOf, HastyClock, pausedStore } from "./stores.js";
import { createTwins, onBoth, randomItems } from "./twins.js";

const indexKey = generateKey();
const named = { indexName: "notes", indexKey };
/** Of the calls to storage at which one fails, every so many. */
const stride = repeats("SEALDEX_SPLIT_STRIDE", { fast: 9, all: 4 });
const clients: EmbeddedClient[] = [];

afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
});

function open(indexLocation: BlobStore, clock: StandingClock = new HastyClock()): EmbeddedClient {
  const client = new EmbeddedClient({ indexLocation, automaticTraining: false }, clock);
  clients.push(client);
  return client;
}

const shardsOf = async (collection: VectorIndex) => (await collection.describe()).shards;
const indexesIn = async (store: BlobStore) => (await store.list("names/")).length;

test("reads give the same results before, during and after, also those begun before, and those of others", async () => {
  const store = createMemoryStore();
  const client = open(store);
  const twins = await createTwins(client, 3);
  const { collection, named: own } = twins;
  await fill(twins);
  const elsewhere = await open(store).loadCollection(own);
  const expected = await collection.listIds();
  const seen: string[] = [];
  let page: ItemPage = await collection.listItems({ limit: 40, orderBy: { order: "asc" } });
  const all = await collection.listItems({ limit: 1000, orderBy: { order: "asc" } });
  const pages = [...page.items];
  for await (const { id } of collection.items({ pageSize: 20 })) {
    seen.push(id);
    if (seen.length === 30) await client.splitShards({ ...own, shards: 4 });
    if (seen.length === 60) await collection.upsert(randomItems(20, 6, "meanwhile"));
    if (seen.length === 90) await client.splitShards({ ...own, shards: 7 });
  }
  expect(seen.filter((id) => id.startsWith("item"))).toEqual(expected.filter((id) => id.startsWith("item")));
  await collection.compact();
  while (page.cursor !== undefined) {
    page = await elsewhere.listItems({ limit: 90, orderBy: { order: "asc" }, cursor: page.cursor });
    pages.push(...page.items);
  }
  expect(pages).toEqual(all.items);
  await twins.index.upsert(randomItems(20, 6, "meanwhile"));
  for (const each of [collection, elsewhere, await open(store).loadCollection(own)]) {
    expect(await shardsOf(each)).toBe(7);
    await expectSame({ ...twins, collection: each }, 6);
  }
  const leaf = new Leaf(open(store));
  const router = createRouter({ indexLocation: store, automaticTraining: false }, (...search) =>
    leaf.search(...search),
  );
  clients.push(router);
  await expectSame({ ...twins, collection: await router.loadCollection(own) }, 4);
  await collection.compact();
  await expectSame({ ...twins, collection: elsewhere }, 4);
  const changed = await onBoth(twins, async (index) => [
    await index.update({ filter: { year: 2004 } }, { metadata: { year: 2013 } }),
    await index.upsert(randomItems(50, 5), { skipUnchanged: true }),
    await index.upsert(randomItems(50, 7, "own"), { namespace: "red" }),
    await index.delete({ filter: { even: true } }, { namespace: "blue" }),
  ]);
  expect(changed.actual).toEqual(changed.expected);
  await expectSame({ ...twins, collection: elsewhere }, 4);
});

test("a process that has not read since changes items that are in new shards alone", async () => {
  const store = createMemoryStore();
  const collection = await open(store).createCollection({ ...named, shards: 1 });
  await collection.upsert(randomItems(50, 1));
  const away = await Promise.all(Array.from({ length: 5 }, () => open(store).loadCollection(named)));
  for (const each of away) await each.count();
  await open(store).splitShards({ ...named, shards: 3 });
  const ids = randomItems(20, 2, "new").map(({ id }) => id);
  await collection.upsert(randomItems(20, 2, "new"));
  await collection.upsert(randomItems(20, 4));
  expect(await away[0].update({ ids }, { metadata: { seen: true } })).toEqual({ matched: 20, updated: 20 });
  expect(await away[1].update({ filter: { seen: true } }, { metadata: { seen: 2 } })).toMatchObject({
    updated: 20,
  });
  expect(await away[2].upsert(randomItems(20, 1), { skipUnchanged: true })).toMatchObject({ stored: 20 });
  await away[3].delete({ filter: { seen: 2, even: true } });
  expect(await collection.count()).toBe(60);
  await away[4].delete({ ids });
  expect(await collection.listIds()).toHaveLength(50);
});

test("nothing is split if there are as many shards, and other numbers are refused", async () => {
  const store = createMemoryStore();
  const client = open(store);
  const collection = await client.createCollection({ ...named, shards: 3 });
  const before = await store.list("");
  await client.splitShards({ ...named, shards: 2 });
  expect(await store.list("")).toEqual(before);
  for (const shards of [0, 4097, 1.5, "8", undefined]) {
    await expect(client.splitShards({ ...named, shards: shards as number })).rejects.toMatchObject({
      code: "invalid_request",
    });
  }
  // Empty shards are halved.
  await client.splitShards({ ...named, shards: 8 });
  expect(await shardsOf(collection)).toBe(8);
});

test("of shards, the one with most items is split", async () => {
  const client = open(createMemoryStore());
  const collection = await client.createCollection({ ...named, shards: 1 });
  await collection.upsert(randomItems(2000, 1));
  await client.splitShards({ ...named, shards: 5 });
  await collection.upsert(randomItems(2000, 1));
  const twice = { ...named, shards: 8 };
  await client.splitShards(twice);
  expect(await shardsOf(collection)).toBe(8);
  expect(await collection.count()).toBe(2000);
});

test.each(["ivfflat", "ivf", "ivfpq"] as const)(
  "a trained collection of type %s stays trained, and finds the same",
  async (type) => {
    const client = open(createMemoryStore());
    const collection = await client.createCollection({
      ...named,
      shards: 2,
      indexConfig: { type, nLists: 8 },
    });
    const items = randomItems(1200, 1);
    await collection.upsert(items);
    await collection.train();
    await collection.upsert(randomItems(60, 2, "later"));
    const queryVectors = items.slice(0, 20).map(({ vector = [] }) => vector);
    const query = { queryVectors, topK: 20, recall: "exact", include: ["distance"] } as const;
    const before = await collection.query(query);
    await client.splitShards({ ...named, shards: 4 });
    expect(await collection.describe()).toMatchObject({ shards: 4, trained: true, nLists: 32 });
    expect(await collection.query(query)).toEqual(before);
    await collection.compact();
    expect(await collection.query(query)).toEqual(before);
    await collection.train();
    expect(await collection.count()).toBe(1260);
  },
);

test("a training during a split is kept", async () => {
  const beginning = createMemoryStore();
  const items = randomItems(700, 1);
  const config = { type: "ivf", nLists: 4 } as const;
  await (await open(beginning).createCollection({ ...named, shards: 1, indexConfig: config })).upsert(items);
  for (let number = 20; ; number += 15) {
    const store = await copyOf(beginning);
    const collection = await open(store).loadCollection(named);
    const paused = pausedStore(store, number, () => collection.train());
    await open(paused).splitShards({ ...named, shards: 2 });
    expect(await collection.describe()).toMatchObject({ shards: 2, trained: paused.hasPaused });
    const [{ id, vector: queryVector = [] }] = items;
    expect((await collection.query({ queryVector, topK: 1, recall: "exact" }))[0].id).toBe(id);
    expect(await collection.count()).toBe(700);
    if (!paused.hasPaused) return;
  }
});

test("expired items stay expired, and others expire later", async () => {
  const clock = new HastyClock();
  const client = open(createMemoryStore(), clock);
  const collection = await client.createCollection({ ...named, shards: 1 });
  const at = (ms: number) => clock.wall() + ms;
  const items = randomItems(90, 1);
  await collection.upsert(items);
  await collection.upsert(
    items.slice(0, 60).map((item, i) => ({ ...item, expiresAt: at(i < 30 ? 1000 : 3_600_000) })),
  );
  clock.ms += 2000;
  expect(await collection.count()).toBe(60);
  await client.splitShards({ ...named, shards: 3 });
  expect(await collection.count()).toBe(60);
  clock.ms += 3_600_000;
  expect(await collection.count()).toBe(30);
  await collection.compact();
  expect(await collection.count()).toBe(30);
});

test("an item that expires during a split does not come back", async () => {
  const [item] = randomItems(1, 1);
  for (let number = 0; ; number += 5) {
    const clock = new HastyClock();
    const store = createMemoryStore();
    const collection = await open(store, clock).createCollection({ ...named, shards: 1 });
    await collection.upsert([item]);
    const paused = pausedStore(store, number, async () => {
      await collection.upsert([{ ...item, expiresAt: clock.wall() + 1000 }]);
      clock.ms += 2000;
    });
    await open(paused, clock).splitShards({ ...named, shards: 2 });
    expect(await collection.listIds()).toEqual(paused.hasPaused ? [] : ["item-0"]);
    if (!paused.hasPaused) return;
  }
});

test.each(mishaps)(
  "a splitter that %s at any call leaves a collection that works, and the call is repeated",
  async (mishap) => {
    const beginning = createMemoryStore();
    const first = await open(beginning).createCollection({ ...named, shards: 1, textIndex: true });
    await first.upsert(randomItems(60, 1));
    await first.upsert(randomItems(20, 2, "own"), { namespace: "red" });
    await first.delete({ ids: ["item-3"] });
    const ids = await first.listIds();
    const words = await first.query({ queryText: "river", topK: 100, include: ["scores"] });
    for (let number = 0; ; number += stride) {
      const store = await copyOf(beginning);
      const clock = new HastyClock();
      const collection = await open(store, clock).loadCollection(named);
      const faulty = faultyStore(store, number, mishap);
      const outcome = await outcomeOf(open(faulty).splitShards({ ...named, shards: 2 }));
      const reads = async (each: VectorIndex) => {
        expect(await each.listIds()).toEqual(ids);
        expect(await each.query({ queryText: "river", topK: 100, include: ["scores"] })).toEqual(words);
      };
      await reads(collection);
      // A writer does not wait for a splitter that is gone.
      await collection.upsert(randomItems(2, 3, "late"));
      await collection.delete({ ids: ["late-0", "late-1"] });
      await open(store).splitShards({ ...named, shards: 2 });
      await reads(collection);
      await reads(await open(store).loadCollection(named));
      expect(await shardsOf(collection)).toBe(2);
      // What was split is deleted once no reader may need it, and then nothing is left of any attempt but empty shards, if it ended while it created them.
      for (let i = 0; i < 3; i++) {
        clock.ms += 16 * 60_000;
        await collection.upsert(randomItems(1, 1));
        await collection.compact();
      }
      expect(await indexesIn(store)).toBeLessThanOrEqual(
        mishap === "dies before" || mishap === "dies after" ? 5 : 3,
      );
      await reads(collection);
      if (faulty.struck === undefined) {
        expect(outcome).toBe("done");
        expect(await indexesIn(store)).toBe(3);
        return;
      }
    }
  },
  60_000,
);

test("of two splitters at once one at least splits, and the collection is whole", async () => {
  const beginning = createMemoryStore();
  await (await open(beginning).createCollection({ ...named, shards: 1 })).upsert(randomItems(40, 1));
  for (let number = 0; ; number++) {
    const store = await copyOf(beginning);
    let other = "";
    const paused = pausedStore(store, number, async () => {
      other = await outcomeOf(open(store).splitShards({ ...named, shards: 2 }));
    });
    const outcome = await outcomeOf(open(paused).splitShards({ ...named, shards: 2 }));
    if (paused.hasPaused) expect(other).toBe("done");
    expect(["done", "storage_unavailable"]).toContain(outcome);
    const collection = await open(store).loadCollection(named);
    expect(await shardsOf(collection)).toBe(2);
    expect(await collection.listIds()).toHaveLength(40);
    await collection.upsert(randomItems(40, 2));
    expect(await collection.count()).toBe(40);
    if (!paused.hasPaused) return;
  }
});

test("splitters at the same time, to different numbers, end with the greatest", async () => {
  const store = createMemoryStore();
  const collection = await open(store).createCollection({ ...named, shards: 1 });
  await collection.upsert(randomItems(200, 1));
  const split = (shards: number) => outcomeOf(open(store).splitShards({ ...named, shards }));
  const outcomes = await Promise.all([split(4), split(5), split(6)]);
  expect(["done", "storage_unavailable"]).toEqual(expect.arrayContaining(outcomes));
  expect(await collection.count()).toBe(200);
  await open(store).splitShards({ ...named, shards: 6 });
  expect(await shardsOf(collection)).toBe(6);
  expect(await collection.listIds()).toHaveLength(200);
});
