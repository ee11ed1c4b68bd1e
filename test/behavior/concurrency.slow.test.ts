/** Several writers and readers of one index, in this process and in others. */

import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { createClient, generateKey } from "../../src/core.js";
import type { BlobStore } from "../../src/storage/blob-store.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { newFolder } from "../folder.js";

const options = { indexName: "shared", indexKey: generateKey() };

test("concurrent upserts of several handles all stay, whole", async () => {
  const store = createMemoryStore();
  await createClient({ indexLocation: store }).createIndex(options);
  const handles = await Promise.all(
    [1, 2, 3, 4].map(() => createClient({ indexLocation: store }).loadIndex(options)),
  );
  const writes = handles.flatMap((index, h) =>
    Array.from({ length: 25 }, (_, n) =>
      index.upsert([0, 1].map((i) => ({ id: `${h}-${n}-${i}`, vector: [h, n] }))),
    ),
  );
  await Promise.all(writes);
  for (const index of handles) expect(await index.count()).toBe(200);
});

test("of concurrent creates of one name exactly one wins, and nothing of the others stays", async () => {
  const store = createMemoryStore();
  const attempts = await Promise.allSettled(
    Array.from({ length: 8 }, () =>
      createClient({ indexLocation: store }).createIndex({ indexName: "one", indexKey: generateKey() }),
    ),
  );
  expect(attempts.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  for (const attempt of attempts) {
    if (attempt.status === "rejected") expect(attempt.reason).toMatchObject({ code: "already_exists" });
  }
  expect(await store.list("")).toHaveLength(2);
});

test("queries answer from a consistent snapshot while others write and train", async () => {
  const store = createMemoryStore();
  const writer = await createClient({ indexLocation: store }).createIndex(options);
  const reader = await createClient({ indexLocation: store }).loadIndex(options);
  const stamp = (round: number) =>
    Array.from({ length: 10 }, (_, i) => ({ id: `${i}`, vector: [i, round], metadata: { round } }));
  await writer.upsert(stamp(0));
  let writing = true;
  const writes = (async () => {
    for (let round = 1; round <= 40; round++) {
      await writer.upsert(stamp(round));
      if (round % 10 === 0) await writer.train({ nLists: 3 });
    }
    writing = false;
  })();
  let latest = 0;
  while (writing) {
    const matches = await reader.query({ queryVector: [5, 0], nProbes: 3, include: ["metadata"] });
    expect(matches).toHaveLength(10);
    const rounds = new Set(matches.map(({ metadata }) => metadata?.round as number));
    expect(rounds.size).toBe(1);
    const [round] = rounds;
    expect(round).toBeGreaterThanOrEqual(latest);
    latest = round;
    await new Promise((resolve) => setImmediate(resolve));
  }
  await writes;
});

test("an item that was upserted is there for every reader at once", async () => {
  const store = createMemoryStore();
  const writer = await createClient({ indexLocation: store }).createIndex(options);
  const reader = await createClient({ indexLocation: store }).loadIndex(options);
  for (let i = 0; i < 20; i++) {
    await writer.upsert([{ id: `${i}`, vector: [i] }]);
    expect(await reader.count()).toBe(i + 1);
  }
});

test("a commit whose acknowledgement is lost counts once", async () => {
  const store = createMemoryStore();
  const index = await createClient({ indexLocation: store }).createIndex(options);
  let losses = 0;
  const forgetful: BlobStore = {
    ...store,
    create: async (key, bytes) => {
      const created = await store.create(key, bytes);
      if (key.includes("/manifest/") && losses++ % 2 === 0) throw new Error("the acknowledgement was lost");
      return created;
    },
  };
  const other = await createClient({ indexLocation: forgetful }).loadIndex(options);
  for (let i = 0; i < 6; i++) await other.upsert([{ id: `${i}`, vector: [i] }]);
  expect(losses).toBeGreaterThan(3);
  expect(await index.count()).toBe(6);
});

test("an upsert that fails before its commit leaves nothing to be seen", async () => {
  const store = createMemoryStore();
  const index = await createClient({ indexLocation: store }).createIndex(options);
  const failing: BlobStore = {
    ...store,
    create: async (key, bytes) => {
      if (key.includes("/manifest/")) throw new Error("no connection");
      return store.create(key, bytes);
    },
  };
  const other = await createClient({ indexLocation: failing }).loadIndex(options);
  await expect(other.upsert([{ id: "a", vector: [1] }])).rejects.toThrow("no connection");
  expect(await index.count()).toBe(0);
  await index.upsert([{ id: "b", vector: [1] }]);
  expect(await index.listIds()).toEqual(["b"]);
});

test("writers in several processes lose nothing on local disk", async () => {
  const folder = await newFolder();
  const client = createClient({ indexLocation: { location: "local", path: folder } });
  const index = await client.createIndex(options);
  const program = `
    const { createClient } = await import("sealdex/core");
    const client = createClient({ indexLocation: { location: "local", path: process.env.FOLDER } });
    const index = await client.loadIndex({ indexName: "shared", indexKey: process.env.KEY });
    for (let n = 0; n < 20; n++) await index.upsert([{ id: process.env.WRITER + "-" + n, vector: [n, 1] }]);
    await client.close();`;
  const writers = ["p", "q", "r"].map((writer) =>
    promisify(execFile)(process.execPath, ["--input-type=module", "-e", program], {
      env: { ...process.env, FOLDER: folder, KEY: options.indexKey, WRITER: writer },
    }),
  );
  await Promise.all(writers);
  expect(await index.count()).toBe(60);
  await client.close();
});

test("a store given by the caller stays open when the client closes", async () => {
  const store = createMemoryStore();
  const client = createClient({ indexLocation: store });
  await client.createIndex(options);
  await client.close();
  expect(await createClient({ indexLocation: store }).listIndexes()).toEqual(["shared"]);
});
