/** Processes that are killed while they create a collection, or begin to split its shards, leave nothing for good. Needs a build. */

import { expect, test } from "vitest";
import { collectGarbage, generateKey, openLocation } from "../../src/core.js";
import { EmbeddedClient } from "../../src/index/embedded-client.js";
import { uploadMs } from "../../src/state/commit/retention.js";
import { newFolder } from "../folder.js";
import { StandingClock } from "../protocol/standing-clock.js";
import { repeats } from "../tier.js";
import { runKilled } from "./run-killed.js";
import { randomItems } from "./twins.js";

/** Of the calls, every so many. */
const stride = repeats("SEALDEX_REMAINS_STRIDE", { fast: 8, all: 2 });

async function newPlace() {
  const path = await newFolder();
  const store = openLocation({ location: "local", path });
  const options = { indexLocation: store, automaticTraining: false };
  const client = new EmbeddedClient(options);
  const kept = { indexName: "kept", indexKey: generateKey() };
  await (await client.createCollection({ ...kept, shards: 2 })).upsert(randomItems(20, 1));
  return {
    path,
    store,
    client,
    kept,
    /** Collects as a process does a day later. */
    async collect() {
      const later = new EmbeddedClient(options, new StandingClock(Date.now() + uploadMs + 60_000));
      const collected = await collectGarbage(later);
      await later.close();
      return collected;
    },
  };
}

test("the shards of a creation that was killed are collected a day later, those of others stay", async () => {
  const { path, store, client, kept, collect } = await newPlace();
  const before = await store.list("");
  const named = { indexName: "killed", indexKey: generateKey() };
  let remains = 0;
  for (let calls = 0, isDone = false; !isDone; calls += stride) {
    isDone = await runKilled({ method: "createCollection", path, ...named, shards: 3, calls });
    remains += (await store.list("")).length > before.length ? 1 : 0;
    const isCreated = (await client.listIndexes()).includes(named.indexName);
    if (isDone) expect(isCreated).toBe(true);
    await collect();
    if (isCreated) {
      const collection = await client.loadCollection(named);
      await collection.upsert(randomItems(10, 2));
      expect(await collection.count()).toBe(10);
      await client.deleteCollection(named);
      await collect();
    }
    expect(await store.list("")).toEqual(before);
  }
  expect(remains).toBeGreaterThan(1);
  expect(await (await client.loadCollection(kept)).count()).toBe(20);
  await client.close();
}, 600_000);

test("the halves of splits that were killed are collected a day after the collection was deleted", async () => {
  const { path, store, client, kept, collect } = await newPlace();
  for (let calls = 0, isDone = false; !isDone; calls += stride) {
    isDone = await runKilled({ method: "splitShards", path, ...kept, shards: 3, calls });
  }
  expect(await (await client.loadCollection(kept)).count()).toBe(20);
  await client.deleteCollection(kept);
  expect(await collect()).not.toEqual([]);
  expect(await store.list("")).toEqual([]);
  await client.close();
}, 600_000);
