/**
 * Processes that split shards are killed at calls to storage, while others write. A share of the calls here;
 * `npm run test:long -- split` tries each.
 */

import { expect, test } from "vitest";
import { createClient, generateKey } from "../../src/core.js";
import { newFolder } from "../folder.js";
import { repeats } from "../tier.js";
import { runKilled } from "./run-killed.js";
import { randomItems } from "./twins.js";

/** Of the calls, every so many. */
const stride = repeats("SEALDEX_SPLIT_STRIDE", { fast: 20, all: 5 });

test("a splitter that is killed at any call takes nothing with it, and the next one splits", async () => {
  const path = await newFolder();
  const named = { indexName: "killed", indexKey: generateKey() };
  const client = createClient({ indexLocation: { location: "local", path } });
  const collection = await client.createCollection({ ...named, shards: 1 });
  await collection.upsert(randomItems(100, 1));
  await collection.upsert(randomItems(20, 2, "own"), { namespace: "red" });
  let round = 0;
  let isOver = false;
  const items = () => randomItems(10, round, "written");
  await collection.upsert(items());
  const writing = (async () => {
    while (!isOver) {
      round++;
      await collection.upsert(items());
      const got = await collection.get(
        items().map(({ id }) => id),
        { include: ["contents"] },
      );
      expect(new Set(got.map(({ contents }) => contents))).toEqual(
        new Set(items().map(({ contents }) => contents)),
      );
    }
  })();
  let kills = 0;
  for (let calls = 0, isDone = false; !isDone; calls += stride) {
    const shards = ((await collection.describe()).shards ?? 0) + 1;
    isDone = await runKilled({ method: "splitShards", path, ...named, shards, calls });
    kills++;
    const reader = await client.loadCollection(named);
    expect(await reader.count({ namespace: "red" })).toBe(20);
    expect(await reader.count({ filter: { year: { $gte: 0 } } })).toBe(130);
    expect([shards - 1, shards]).toContain((await reader.describe()).shards);
    if (isDone) expect((await reader.describe()).shards).toBe(shards);
  }
  isOver = true;
  await writing;
  const shards = ((await collection.describe()).shards ?? 0) + 1;
  await client.splitShards({ ...named, shards });
  expect(await collection.describe()).toMatchObject({ shards });
  expect(await collection.listIds()).toHaveLength(130);
  await client.close();
  process.stdout.write(
    `${kills} processes ended while they split shards, beside ${round} rounds of writes\n`,
  );
}, 3_600_000);
