/** Closing a client: it waits for running calls, refuses later ones, and holds nothing open. */

import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { beforeEach, expect, test } from "vitest";
import { createClient as createHttpClient } from "../../src/client/client.js";
import {
  type Client,
  createClient,
  EncryptedVectorStore,
  generateKey,
  LexicalEmbeddings,
} from "../../src/index.js";
import { allocatedBytes } from "../../src/engine/kernels/memory.js";
import type { BlobStore } from "../../src/storage/blob-store.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { startService } from "../http/service.js";
import { newFolder } from "../folder.js";

const options = { indexName: "closed", indexKey: generateKey() };
const closed = { code: "invalid_request", message: expect.stringContaining("the client is closed") };

let folder: string;
beforeEach(async () => {
  folder = await newFolder();
});

test("waits for the calls under way, and answers those that come later with an error", async () => {
  const store = createMemoryStore();
  let go = () => {};
  const released = new Promise<void>((resolve) => (go = resolve));
  let slow = false;
  let storeClosed = false;
  const create: BlobStore["create"] = async (key, bytes) => {
    if (slow) await released;
    return store.create(key, bytes);
  };
  const close = async () => void (storeClosed = true);
  const client = createClient({ indexLocation: { ...store, create, close } });
  const index = await client.createIndex(options);
  slow = true;
  let [stored, isClosed] = [false, false];
  const upsert = index.upsert([{ id: "a", vector: [1] }]).then(() => (stored = true));
  const closing = client.close().then(() => {
    expect(stored).toBe(true);
    isClosed = true;
  });
  for (const call of [
    () => index.upsert([]),
    () => index.query({ queryVector: [1] }),
    () => index.get(["a"]),
    () => index.delete({ ids: ["a"] }),
    () => index.count(),
    () => index.listIds(),
    () => index.train(),
    () => index.compact(),
    () => index.describe(),
    () => client.createIndex({ ...options, indexName: "other" }),
    () => client.loadIndex(options),
    () => client.listIndexes(),
    () => client.deleteIndex(options),
  ]) {
    await expect(call()).rejects.toMatchObject(closed);
  }
  expect(isClosed).toBe(false);
  go();
  await upsert;
  await closing;
  await client.close();
  // The caller's own store is the caller's to close.
  expect(storeClosed).toBe(false);
  expect(await (await createClient({ indexLocation: store }).loadIndex(options)).count()).toBe(1);
});

test("over HTTP the same", async () => {
  const service = await startService();
  const client = createHttpClient(service.address);
  const index = await client.createIndex(options);
  const upsert = index.upsert([{ id: "a", vector: [1] }]);
  const closing = client.close();
  await expect(index.count()).rejects.toMatchObject(closed);
  await expect(client.listIndexes()).rejects.toMatchObject(closed);
  await upsert;
  await closing;
  await service.close();
});

const work = `
  const index = await client.createIndex({ indexName: "a", indexKey: generateKey() });
  await index.upsert(Array.from({ length: 500 }, (_, i) => ({ id: String(i), vector: [i, 1], contents: "text" })));
  await index.train({ nLists: 5 });
  await index.query({ queryVector: [3, 1], include: ["contents"] });
  await index.query({ queryVector: [3, 1], signal: new AbortController().signal });
  const controller = new AbortController();
  const aborted = index.count({ signal: controller.signal });
  controller.abort();
  await aborted.catch(() => undefined);
  await index.compact();
  await client.close();
  // A turn for handles that are being closed.
  await new Promise((resolve) => setImmediate(resolve));
  // Standard streams are the test's own.
  const held = process.getActiveResourcesInfo().filter((name) => !/^(PipeWrap|TTYWrap|Immediate)$/.test(name));
  process.stdout.write(JSON.stringify({ held }));`;

test.each(["local", "http"])(
  "a process that closed its client holds nothing and ends by itself: %s",
  async (kind) => {
    const service = kind === "http" ? await startService() : undefined;
    const where = service ? service.address : { indexLocation: { location: "local", path: folder } };
    const program = `
    const { createClient, generateKey } = await import("sealdex/core");
    const client = createClient(${JSON.stringify(where)});
    ${work}`;
    const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", program], {
      timeout: 300_000,
    });
    const { held } = JSON.parse(stdout) as { held: string[] };
    // The platform's fetch keeps idle connections for a while, which do not keep the process.
    expect(
      held.filter((name) => service === undefined || !/^(Timeout|TCPSocketWrap|TCPWrap)$/.test(name)),
    ).toEqual([]);
    await service?.close();
  },
);

test("await using closes a client and a store", async () => {
  const indexLocation = { location: "memory" } as const;
  let client: Client;
  let store: EncryptedVectorStore;
  {
    await using opened = createClient({ indexLocation });
    await using made = new EncryptedVectorStore(new LexicalEmbeddings(), {
      indexName: "a",
      indexKey: generateKey(),
      indexLocation,
    });
    await made.addTexts(["a"]);
    [client, store] = [opened, made];
  }
  await expect(client.listIndexes()).rejects.toMatchObject({ code: "invalid_request" });
  await expect(store.addTexts(["b"])).rejects.toMatchObject({ code: "invalid_request" });
});

test("a call that began in vain, on a state that another process has changed, ends with its work", async () => {
  const store = createMemoryStore();
  const writer = createClient({ indexLocation: store, automaticTraining: false });
  const written = await writer.createIndex(options);
  const items = (from: number, count: number) =>
    Array.from({ length: count }, (_, i) => ({
      id: `${from + i}`,
      vector: [from + i, i % 7],
      metadata: { even: i % 2 },
    }));
  // Enough that a segment is not read as a whole when it is opened.
  await written.upsert(items(0, 14_000));
  await written.train({ nLists: 8 });
  let go = () => {};
  const released = new Promise<void>((resolve) => (go = resolve));
  let [isHeld, held] = [false, 0];
  const read: BlobStore["read"] = async (key, range) => {
    if (isHeld && key.includes("/segment/") && before.has(key)) {
      held++;
      await released;
    }
    return store.read(key, range);
  };
  const client = createClient({ indexLocation: { ...store, read }, automaticTraining: false });
  const index = await client.loadIndex(options);
  await index.count();
  const before = new Set(await store.list("", {}));
  const kernelBytes = allocatedBytes();
  await written.upsert(items(20_000, 10));
  await written.train({ nLists: 9 });
  isHeld = true;
  const found = index.query({ queryVector: [5, 5], topK: 3, filter: { even: 1 } });
  let isFound = false;
  void found.then(() => (isFound = true));
  // The new state is searched meanwhile.
  while (held === 0) await new Promise(setImmediate);
  for (let turns = 0; turns < 200; turns++) await new Promise(setImmediate);
  expect(isFound).toBe(false);
  const closing = client.close();
  go();
  expect(await found).toHaveLength(3);
  await closing;
  expect(allocatedBytes()).toBe(kernelBytes);
  await writer.close();
});
