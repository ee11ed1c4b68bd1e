/** Indexes in another version of the stored format: they are refused by name, and nothing of them is changed or deleted. */

import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { orphanName } from "../../src/state/commit/object-names.js";
import { uploadMs } from "../../src/state/commit/retention.js";
import { copyIndex, createClient, generateKey } from "../../src/core.js";
import { deleteOrphans } from "../../src/index/maintenance/orphans.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import type { BlobStore } from "../../src/storage/blob-store.js";
import { StandingClock } from "../protocol/standing-clock.js";
import { whole } from "../ranges.js";

const indexName = "old";
const indexKey = generateKey();

/** A stored index whose record says this version. */
async function indexOf(version: number): Promise<BlobStore> {
  const store = createMemoryStore();
  const client = createClient({ indexLocation: store });
  await client.createIndex({ indexName, indexKey, indexConfig: { type: "ivfflat" } });
  await client.close();
  const [key] = await store.list("names/");
  const record = Buffer.from((await store.read(key, whole)) ?? []);
  expect(record.toString("latin1", 0, 7)).toBe("SLDXREC");
  expect(record[7]).toBe(2);
  record[7] = version;
  createHash("sha256")
    .update(record.subarray(0, -32))
    .digest()
    .copy(record, record.length - 32);
  await store.delete([key]);
  await store.create(key, record);
  return store;
}

test.each([
  [
    1,
    "it is stored in format 1, this release reads format 2: export its items with the release that wrote it, and import them into a new index",
  ],
  [3, "it is stored in format 3, this release reads format 2: update sealdex"],
])("format %d is refused by name", async (version, reason) => {
  const store = await indexOf(version);
  const before = await store.list("");
  const client = createClient({ indexLocation: store });
  const refused = { code: "not_supported", message: `index "${indexName}": ${reason}` };
  await expect(client.loadIndex({ indexName, indexKey })).rejects.toMatchObject(refused);
  await expect(client.deleteIndex({ indexName, indexKey })).rejects.toMatchObject(refused);
  await expect(
    copyIndex({
      indexName,
      indexKey,
      from: { indexLocation: store },
      to: { indexLocation: createMemoryStore() },
    }),
  ).rejects.toMatchObject(refused);
  await expect(
    client.createIndex({ indexName, indexKey, indexConfig: { type: "ivfflat" } }),
  ).rejects.toMatchObject({ code: "already_exists" });
  expect(await client.listIndexes()).toEqual([indexName]);
  await client.close();
  const clock = new StandingClock();
  const [, , id] = (await store.list("index/"))[0].split("/");
  await store.create(orphanName({ indexName, indexId: Buffer.from(id, "hex") }, clock.wall()), Buffer.of());
  clock.ms += uploadMs;
  expect(await deleteOrphans({ indexStore: store, configStore: store }, clock)).toEqual([]);
  expect(await store.list("")).toEqual(expect.arrayContaining(before));
});
