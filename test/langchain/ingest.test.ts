/** Adding more documents than fit in one batch: bounded batches, progress, stopping, continuing. */

import { Document } from "@langchain/core/documents";
import { beforeEach, describe, expect, test } from "vitest";
import {
  type AddProgress,
  createClient,
  EncryptedVectorStore,
  type EncryptedVectorStoreArgs,
  generateKey,
} from "../../src/index.js";
import type { BlobStore } from "../../src/storage/blob-store.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { startService } from "../http/service.js";
import { refusal } from "../outcome.js";

let args: EncryptedVectorStoreArgs;
let batches: number[];
/** Runs before a batch is embedded; its number counts from 0. */
let beforeBatch: (batch: number) => Promise<void> | void;

const embeddings = {
  embedQuery: async (text: string) => [text.length, 1],
  embedDocuments: async (texts: string[]) => {
    await beforeBatch(batches.length);
    batches.push(texts.length);
    return texts.map((text) => [text.length, 1]);
  },
};

beforeEach(() => {
  batches = [];
  beforeBatch = () => undefined;
  const client = createClient({ indexLocation: { location: "memory" } });
  args = { indexName: "ingest", indexKey: generateKey(), client };
});

const documents = (count: number, length = 10) =>
  Array.from({ length: count }, (_, i) => new Document({ pageContent: "x".repeat(length), id: `${i}` }));

async function countOf(store: EncryptedVectorStore): Promise<number> {
  return (await store.getByIds(documents(3000).map(({ id }) => id as string))).length;
}

test("embeds and stores in batches of at most 500 documents, and says how far it is", async () => {
  const store = new EncryptedVectorStore(embeddings, args);
  const progress: AddProgress[] = [];
  const ids = await store.addDocuments(documents(1234), { onProgress: (step) => progress.push(step) });
  expect(ids).toEqual(documents(1234).map(({ id }) => id));
  expect(batches).toEqual([500, 500, 234]);
  expect(progress).toEqual([500, 1000, 1234].map((stored) => ({ stored, total: 1234 })));
  await store.addDocuments([], { onProgress: (step) => progress.push(step) });
  expect(progress).toHaveLength(3);
});

test("long texts make smaller batches", async () => {
  const store = new EncryptedVectorStore(embeddings, args);
  await store.addDocuments(documents(20, 500_000));
  expect(batches).toEqual([8, 8, 4]);
});

test("stops at the given point, and continues from there", async () => {
  const store = new EncryptedVectorStore(embeddings, args);
  const stop = new AbortController();
  let stored = 0;
  const onProgress = (step: AddProgress) => {
    stored = step.stored;
    if (stored === 1000) stop.abort(new Error("enough for today"));
  };
  const adding = store.addDocuments(documents(2100), { onProgress, signal: stop.signal });
  await expect(adding).rejects.toThrow("enough for today");
  // One batch is embedded ahead of what is stored.
  expect(batches).toEqual([500, 500, 500]);
  expect(await countOf(store)).toBe(1000);
  await store.addDocuments(documents(2100).slice(stored));
  expect(batches).toEqual([500, 500, 500, 500, 500, 100]);
  expect(await countOf(store)).toBe(2100);
});

test("stops at once while a model takes its time, and stores nothing of that batch", async () => {
  const store = new EncryptedVectorStore(embeddings, args);
  const stop = new AbortController();
  beforeBatch = () => {
    stop.abort();
    return new Promise(() => undefined);
  };
  const adding = store.addDocuments(documents(10), { signal: stop.signal });
  await expect(adding).rejects.toMatchObject({ name: "AbortError" });
  expect(await countOf(store)).toBe(0);
  const aborted = store.addDocuments(documents(10), { signal: AbortSignal.abort() });
  await expect(aborted).rejects.toMatchObject({ name: "AbortError" });
});

test("images: an abort ends a call whose model does not answer", async () => {
  const gif = new Uint8Array(Buffer.from("R0lGODlhAQABAIAAAICAgAAAACwAAAAAAQABAAACAkQBADs=", "base64"));
  const stop = new AbortController();
  const embedImage = () => {
    stop.abort();
    return new Promise(() => undefined);
  };
  const store = new EncryptedVectorStore({ ...embeddings, embedImage } as never, args);
  for (const images of [[gif], []]) {
    const adding = store.addImages(images, { signal: stop.signal });
    await expect(adding).rejects.toMatchObject({ name: "AbortError" });
  }
});

test("a model may answer at once, and one that answers with no vectors is refused", async () => {
  const sync = { embedQuery: () => [1, 1], embedDocuments: (texts: string[]) => texts.map(() => [1, 1]) };
  const store = new EncryptedVectorStore(sync as never, args);
  await store.addDocuments(documents(2));
  expect(await store.similaritySearch("x")).toHaveLength(2);
  const none = { embedQuery: async () => undefined, embedDocuments: async () => undefined };
  const failing = new EncryptedVectorStore(none as never, args);
  await expect(failing.addDocuments(documents(1))).rejects.toMatchObject(
    refusal("invalid_request", "vectors: expected an array, got undefined"),
  );
  await expect(failing.similaritySearch("x")).rejects.toMatchObject(
    refusal("invalid_request", "query: expected an array of numbers"),
  );
});

test("each batch has its vectors if the model writes the next ones into the same memory", async () => {
  const memory = Array.from({ length: 500 }, () => new Float32Array(2));
  const vectorOf = (text: string) => [Number(text.replace(/\D/g, "")), 1];
  const reusing = {
    embedQuery: async (text: string) => vectorOf(text),
    embedDocuments: async (texts: string[]) =>
      texts.map((text, i) => {
        memory[i].set(vectorOf(text));
        return memory[i];
      }),
  };
  for (const deleteFilter of [undefined, { page: -1 }]) {
    const options = {
      ...args,
      indexName: `reused ${deleteFilter !== undefined}`,
      metric: "euclidean",
    } as const;
    const store = new EncryptedVectorStore(reusing as never, options);
    const given = Array.from({ length: 1100 }, (_, i) => new Document({ pageContent: `text ${i}` }));
    await store.addDocuments(given, { deleteFilter });
    for (const { pageContent } of [given[0], given[499], given[500], given[1000], given[1099]]) {
      expect(await store.similaritySearch(pageContent, 1)).toMatchObject([{ pageContent }]);
    }
  }
});

test("a function that answers with something else than vectors is refused", async () => {
  for (const answer of [1, null, undefined, {}, { length: -1 }]) {
    const store = new EncryptedVectorStore(((texts: string[]) => texts.map(() => answer)) as never, args);
    const refused = refusal("invalid_request", "embeddings: expected vectors of numbers");
    await expect(store.addDocuments(documents(2))).rejects.toMatchObject(refused);
    await expect(store.similaritySearch("x")).rejects.toMatchObject(refused);
  }
});

describe("aborted while a batch is being stored", () => {
  /** Adds two batches, aborted at the second time that something of this kind is stored; documents found afterwards. */
  async function stoppedAt(kind: "/segment/" | "/manifest/"): Promise<number> {
    const store = createMemoryStore();
    const stop = new AbortController();
    const filled = new EncryptedVectorStore(embeddings, {
      ...args,
      client: createClient({ indexLocation: store }),
    });
    await filled.addDocuments(documents(1).slice(0, 0));
    let seen = 0;
    const create: BlobStore["create"] = async (key, bytes) => {
      if (key.includes(kind) && ++seen === 2) stop.abort(new Error("stop"));
      return store.create(key, bytes);
    };
    const client = createClient({ indexLocation: { ...store, create } });
    const stopped = new EncryptedVectorStore(embeddings, { ...args, client });
    const adding = stopped.addDocuments(documents(1500), { signal: stop.signal });
    await expect(adding).rejects.toThrow("stop");
    expect(batches.at(-1)).toBe(500);
    await client.close();
    return countOf(filled);
  }

  test("uncommitted documents are not there", async () => {
    expect(await stoppedAt("/segment/")).toBe(500);
  });

  test("the batch being committed is there whole, and no batch follows", async () => {
    expect(await stoppedAt("/manifest/")).toBe(1000);
    // One batch is embedded ahead of what is stored.
    expect(batches).toEqual([500, 500, 500]);
  });

  test("over HTTP a batch is there whole or not at all", async () => {
    const store = createMemoryStore();
    let beforeCreate: () => unknown = () => undefined;
    const create: BlobStore["create"] = (key, bytes, given) => {
      beforeCreate();
      return store.create(key, bytes, given);
    };
    const { baseUrl, apiKey, close } = await startService({ indexLocation: { ...store, create } });
    const { indexName, indexKey } = args;
    const remote = new EncryptedVectorStore(embeddings, { indexName, indexKey, baseUrl, apiKey });
    for (const creates of [1, 2, 3, 4]) {
      const stop = new AbortController();
      let left = Infinity;
      const onProgress = () => void (left = Math.min(left, creates));
      beforeCreate = () => --left === 0 && stop.abort(new Error("stop"));
      const adding = remote.addDocuments(documents(3000), { onProgress, signal: stop.signal });
      await expect(adding).rejects.toThrow("stop");
      const count = await countOf(remote);
      expect(count % 500).toBe(0);
      expect(count).toBeGreaterThanOrEqual(500);
      await remote.delete({ deleteAll: true });
    }
    await remote.close();
    await close();
  });
});

test("a model that fails half-way leaves whole batches, and adding everything again adds nothing twice", async () => {
  const store = new EncryptedVectorStore(embeddings, args);
  beforeBatch = (batch) => {
    if (batch === 2) throw new Error("rate limit");
  };
  await expect(store.addDocuments(documents(1700))).rejects.toThrow("rate limit");
  expect(await countOf(store)).toBe(1000);
  beforeBatch = () => undefined;
  await store.addDocuments(documents(1700));
  expect(await countOf(store)).toBe(1700);
});
