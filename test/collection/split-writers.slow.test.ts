/**
 * Changes at any moment of a split, and splits at any moment of a change: each change takes effect once, whichever shards
 * it finds. A share of the moments here; `npm run test:long -- split` tries all of them.
 */

import { afterEach, expect, test } from "vitest";
import type { VectorIndex } from "../../src/api/vector-index.js";
import { generateKey } from "../../src/crypto/keys.js";
import { EmbeddedClient } from "../../src/index/embedded-client.js";
import type { BlobStore } from "../../src/storage/blob-store.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { faultyStore } from "../protocol/faulty-store.js";
import { repeats } from "../tier.js";
import { changes, contentsOf, fillSome, outcomeOf } from "./changes.js";
import { copyOf, HastyClock, inRandomOrder, pausedBefore, pausedStore } from "./stores.js";
import { randomItems } from "./twins.js";

const indexKey = generateKey();
const named = { indexName: "notes", indexKey };
/** Of the calls to storage at which one pauses, every so many. */
const stride = repeats("SEALDEX_SPLIT_STRIDE", { fast: 7, all: 7 });
const changeStride = repeats("SEALDEX_SPLIT_STRIDE", { fast: 3, all: 3 });
const clients: EmbeddedClient[] = [];

afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
});

function open(indexLocation: BlobStore, clock = new HastyClock()): EmbeddedClient {
  const client = new EmbeddedClient({ indexLocation, automaticTraining: false }, clock);
  clients.push(client);
  return client;
}

async function beginning(shards = 1): Promise<BlobStore> {
  const store = createMemoryStore();
  await fillSome(await open(store).createCollection({ ...named, shards }));
  return store;
}

const split = (store: BlobStore, shards = 2) => open(store).splitShards({ ...named, shards });

/** The result of a change of a collection that is not split, and what it leaves. */
async function expectedOf(filled: BlobStore, change: (collection: VectorIndex) => Promise<unknown>) {
  const collection = await open(await copyOf(filled)).loadCollection(named);
  const result = await change(collection);
  return { result, contents: await contentsOf(collection) };
}

async function expectWhole(store: BlobStore, shards: number, contents: unknown): Promise<void> {
  const collection = await open(store).loadCollection(named);
  expect(await contentsOf(collection)).toEqual(contents);
  expect(await collection.describe()).toMatchObject({ shards });
}

test.each(Object.entries(changes))("%s, at any moment of a split", async (_, change) => {
  const filled = await beginning();
  const expected = await expectedOf(filled, change);
  for (let number = 0; ; number += stride) {
    const store = await copyOf(filled);
    const writer = await open(store).loadCollection(named);
    await writer.count();
    let result = expected.result;
    const paused = pausedStore(store, number, async () => {
      result = await change(writer);
      expect(await contentsOf(writer)).toEqual(expected.contents);
    });
    await split(paused);
    expect(result).toEqual(expected.result);
    if (!paused.hasPaused) return;
    expect(await contentsOf(writer)).toEqual(expected.contents);
    await expectWhole(store, 2, expected.contents);
  }
});

test.each(Object.entries(changes))("a split at any moment of: %s", async (_, change) => {
  const filled = await beginning(2);
  const expected = await expectedOf(filled, change);
  for (let number = 0; ; number += changeStride) {
    const store = await copyOf(filled);
    const paused = pausedStore(store, number, () => split(store, 3));
    const writer = await open(paused).loadCollection(named);
    expect(await change(writer)).toEqual(expected.result);
    if (!paused.hasPaused) return;
    expect(await contentsOf(writer)).toEqual(expected.contents);
    await expectWhole(store, 3, expected.contents);
  }
});

test("a change that others have seen is not made again after theirs", async () => {
  const filled = await beginning();
  const [old] = randomItems(1, 5, "item");
  const [item] = randomItems(1, 6, "item");
  for (let number = 0; ; number++) {
    const store = await copyOf(filled);
    const other = await open(store).loadCollection(named);
    let wasSeen = false;
    const paused = pausedStore(store, number, async () => {
      // Another writer's commit moves the head over that of the one that is suspended.
      await other.upsert(randomItems(3, 8, "new"));
      const [found] = await other.get(["item-0"], { include: ["contents"] });
      wasSeen = found.contents === old.contents;
      await split(store);
      await other.upsert([item]);
    });
    await (await open(paused).loadCollection(named)).upsert([old]);
    if (!paused.hasPaused) return;
    const [found] = await other.get(["item-0"], { include: ["contents"] });
    if (wasSeen) expect(found.contents).toBe(item.contents);
    else expect([old.contents, item.contents]).toContain(found.contents);
  }
});

const secretsIn = async (store: BlobStore) =>
  (await store.list("index/")).filter((key) => key.includes("/namespace/"));

test("a namespace that is erased at any moment of a split leaves no secret behind", async () => {
  const filled = await beginning();
  expect(await secretsIn(filled)).toHaveLength(1);
  for (let number = 0; ; number++) {
    const store = await copyOf(filled);
    const paused = pausedStore(store, number, async () => {
      await (await open(store).loadCollection(named)).erase("red");
    });
    await split(paused);
    const collection = await open(store).loadCollection(named);
    expect(await collection.count({ namespace: "red" })).toBe(paused.hasPaused ? 0 : 12);
    if (!paused.hasPaused) break;
    expect(await secretsIn(store)).toEqual([]);
  }
  for (let number = 0; ; number++) {
    const store = await copyOf(filled);
    const paused = pausedStore(store, number, () => split(store));
    const collection = await open(paused).loadCollection(named);
    await collection.erase("red");
    expect(await secretsIn(store)).toEqual([]);
    expect(await collection.namespaces.list()).toEqual([]);
    if (!paused.hasPaused) return;
  }
});

test("a namespace that is erased after a splitter was killed, or while both are suspended, leaves no secret behind", async () => {
  const filled = await beginning();
  for (let number = 0; ; number += stride) {
    const store = await copyOf(filled);
    const faulty = faultyStore(store, number, "dies after");
    await outcomeOf(split(faulty));
    await (await open(store).loadCollection(named)).erase("red");
    expect(await secretsIn(store)).toEqual([]);
    if (faulty.struck === undefined) break;
  }
  await atBoth(
    filled,
    split,
    async (store) => (await open(store).loadCollection(named)).erase("red"),
    async (store) => {
      expect(await secretsIn(store)).toEqual([]);
      expect(await (await open(store).loadCollection(named)).count({ namespace: "red" })).toBe(0);
    },
  );
});

test("copies from before an erasure do not become a part after it", async () => {
  const filled = await beginning();
  for (let number = 0; ; number += changeStride) {
    const store = await copyOf(filled);
    let splitting: Promise<string> = Promise.resolve("");
    let resume = () => {};
    const resumed = new Promise<void>((resolve) => (resume = resolve));
    const suspended = pausedStore(store, number, () => resumed);
    // The splitter begins before the erasure is committed, and ends before the secret is destroyed.
    const begin = () =>
      new Promise<void>((resolve) => {
        const reached = pausedStore(suspended, number, async () => resolve());
        splitting = outcomeOf(split(reached)).finally(resolve);
      });
    const end = () => {
      resume();
      return splitting;
    };
    const eraser = pausedBefore(pausedBefore(store, "delete", end), "create", begin);
    await (await open(eraser).loadCollection(named)).erase("red");
    expect(await splitting).toBe("done");
    expect(await secretsIn(store)).toEqual([]);
    if (!suspended.hasPaused) return;
  }
});

test("keys are rotated while a splitter and the rotation are suspended", async () => {
  const filled = await beginning();
  // The same key, so that the splitter is not locked out.
  const rotate = async (store: BlobStore) => (await open(store).loadCollection(named)).rotateKey(indexKey);
  const whole = await contentsOf(await open(filled).loadCollection(named));
  await atBoth(filled, split, rotate, async (store) => {
    const collection = await open(store).loadCollection(named);
    expect(await contentsOf(collection)).toEqual(whole);
    await split(store, 3);
    expect(await contentsOf(collection)).toEqual(whole);
  });
});

/** Suspends the first work at some call while the second begins, and that at each call until the first has ended. */
async function atBoth(
  filled: BlobStore,
  first: (store: BlobStore) => Promise<unknown>,
  second: (store: BlobStore) => Promise<unknown>,
  check: (store: BlobStore) => Promise<void>,
): Promise<void> {
  for (let number = 0, isPast = false; !isPast; number += 30) {
    for (let place = 0, isOver = false; !isOver; place += stride) {
      const store = await copyOf(filled);
      let begun: Promise<unknown> = Promise.resolve();
      let end = () => {};
      const ended = new Promise<void>((resolve) => (end = resolve));
      const paused = pausedStore(store, number, async () => {
        await new Promise<void>((resolve) => {
          const suspended = pausedStore(store, place, () => {
            resolve();
            return ended;
          });
          begun = second(suspended).finally(() => {
            isOver = !suspended.hasPaused;
            resolve();
          });
        });
      });
      const outcome = await outcomeOf(first(paused)).finally(end);
      // A rotation may have locked it out of a shard.
      expect(["done", "storage_unavailable", "wrong_index_key"]).toContain(outcome);
      await begun;
      if (!paused.hasPaused) {
        isPast = isOver = true;
        await second(store);
      }
      await check(store);
    }
  }
}

test("keys are rotated at any moment of a split, and shards split at any moment of a rotation", async () => {
  const filled = await beginning();
  const newKey = generateKey();
  const whole = await contentsOf(await open(filled).loadCollection(named));
  const expectRotated = async (store: BlobStore) => {
    await expect(open(store).loadCollection(named)).rejects.toMatchObject({ code: "wrong_index_key" });
    const rotated = { ...named, indexKey: newKey };
    const collection = await open(store).loadCollection(rotated);
    await collection.reencrypt();
    await open(store).splitShards({ ...rotated, shards: 3 });
    expect(await contentsOf(collection)).toEqual(whole);
    await collection.rotateKey(generateKey());
    expect(await contentsOf(collection)).toEqual(whole);
  };
  const rotate = async (store: BlobStore) => (await open(store).loadCollection(named)).rotateKey(newKey);
  for (let number = 0; ; number += stride) {
    const store = await copyOf(filled);
    const paused = pausedStore(store, number, () => rotate(store));
    const outcome = await outcomeOf(split(paused));
    if (!paused.hasPaused) break;
    expect(["done", "wrong_index_key"]).toContain(outcome);
    await expectRotated(store);
  }
  for (let number = 0; ; number += stride) {
    const store = await copyOf(filled);
    const paused = pausedStore(store, number, async () => void (await outcomeOf(split(store))));
    await rotate(paused);
    await expectRotated(store);
    if (!paused.hasPaused) return;
  }
});

test("a process that was away while a shard was split and deleted writes to those in its place", async () => {
  const store = await beginning();
  const clock = new HastyClock();
  const collection = await open(store, clock).loadCollection(named);
  const away = await Promise.all([1, 2, 3].map(() => open(store, clock).loadCollection(named)));
  for (const each of away) await each.upsert(randomItems(1, 1));
  await split(store);
  expect(await store.list("names/")).toHaveLength(4);
  for (let i = 0; i < 3; i++) {
    clock.ms += 16 * 60_000;
    await collection.upsert(randomItems(1, 1));
  }
  // In the background.
  while ((await store.list("names/")).length > 3) await new Promise((resolve) => setImmediate(resolve));
  await collection.upsert(randomItems(2, 9, "last"));
  await away[0].delete({ ids: ["last-0"] });
  await away[1].upsert(randomItems(3, 9, "more"));
  expect(await away[2].update({ ids: ["last-1"] }, { metadata: { seen: true } })).toMatchObject({
    updated: 1,
  });
  expect((await collection.get(["last-0", "last-1", "more-0", "more-1", "more-2"])).length).toBe(4);
});

test("a collection that is deleted at any moment of a split is gone", async () => {
  const filled = await beginning();
  for (let number = 0; ; number += stride) {
    const store = await copyOf(filled);
    const paused = pausedStore(store, number, () => open(store).deleteCollection(named));
    const outcome = await outcomeOf(split(paused));
    if (!paused.hasPaused) return;
    expect(["not_found", "missing_object"]).toContain(outcome);
    await expect(open(store).loadCollection(named)).rejects.toMatchObject({ code: "not_found" });
    expect(await store.list("names/")).toEqual([]);
  }
});

test("four writers go on while shards are split, and every reader sees one state", async () => {
  const store = createMemoryStore();
  const shared = inRandomOrder(store, 1);
  const client = (location = shared) => {
    const own = new EmbeddedClient({ indexLocation: location, automaticTraining: false });
    clients.push(own);
    return own;
  };
  const first = await client(store).createCollection({ ...named, shards: 1 });
  const writers = 4;
  const own = (writer: number, round: number) => randomItems(25, 100 * writer + round, `writer-${writer}`);
  for (let writer = 0; writer < writers; writer++) await first.upsert(own(writer, 0));
  let isOver = false;
  const splitting = client()
    .splitShards({ ...named, shards: 4 })
    .finally(() => (isOver = true));
  const work = Array.from({ length: writers }, async (_, writer) => {
    const collection = await client().loadCollection(named);
    let round = 0;
    while (!isOver) {
      await collection.upsert(own(writer, ++round));
      await collection.upsert([{ id: `gone-${writer}`, vector: own(writer, 0)[0].vector ?? [] }], {
        namespace: "gone",
      });
      await collection.delete({ ids: [`gone-${writer}`] }, { namespace: "gone" });
      const ids = own(writer, round).map(({ id }) => id);
      const got = await collection.get(ids, { include: ["contents"] });
      expect(new Set(got.map(({ contents }) => contents))).toEqual(
        new Set(own(writer, round).map(({ contents }) => contents)),
      );
    }
    return round;
  });
  const reader = (async () => {
    const collection = await client().loadCollection(named);
    while (!isOver)
      expect(await collection.count({ namespace: undefined, filter: { year: { $gte: 0 } } })).toBe(100);
  })();
  await splitting;
  await reader;
  const rounds = await Promise.all(work);
  const after = await client(store).loadCollection(named);
  expect(await after.describe()).toMatchObject({ shards: 4 });
  expect(await after.count()).toBe(100);
  for (const [writer, round] of rounds.entries()) {
    for (const { id, contents } of own(writer, round)) {
      expect((await after.get([id], { include: ["contents"] }))[0].contents).toBe(contents);
    }
  }
});
