/** Decrypted data do not stay in memory after their release. */

import { expect, test } from "vitest";
import { wasmMemory } from "../../src/engine/kernels/memory.js";
import { createClient, generateKey, type IndexType } from "../../src/index.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { BlockCache } from "../../src/state/cache/block-cache.js";
import { IndexCache } from "../../src/state/cache/index-cache.js";
import { encodePage, Page } from "../../src/state/segment/page.js";
import { contentEntries } from "../../src/state/segment/row.js";

/** Whether kernel memory has these bytes anywhere. */
function isInKernelMemory(bytes: Buffer): boolean {
  return Buffer.from(wasmMemory().buffer).includes(bytes);
}

/** Resolves when everything that was freed is cleared. */
async function turns(): Promise<void> {
  for (let i = 0; i < 20; i++) await new Promise(setImmediate);
}

const dimension = 32;
const rows = 600;

/** Components that no other row has. */
function vectorOf(row: number): Float32Array {
  return Float32Array.from({ length: dimension }, (_, i) => Math.sin(1 + row * dimension + i));
}

test.each(["ivfflat", "ivf", "ivfpq"] as const)(
  "%s: of a client that was closed, kernel memory has no vector of an item, trained or not",
  async (type: IndexType) => {
    const store = createMemoryStore();
    const name = { indexName: "articles", indexKey: generateKey() };
    const first = Buffer.from(vectorOf(0).buffer);
    for (const isTrained of [false, true]) {
      const client = createClient({ indexLocation: store, automaticTraining: false });
      const index = isTrained
        ? await client.loadIndex(name)
        : await client.createIndex({ ...name, indexConfig: { type, dimension }, metric: "euclidean" });
      if (isTrained) await index.train({ nLists: 8 });
      else {
        await index.upsert(
          Array.from({ length: rows }, (_, row) => ({ id: `${row}`, vector: vectorOf(row) })),
        );
      }
      const found = await index.query({ queryVector: vectorOf(rows), topK: 5, nProbes: 8 });
      expect(found).toHaveLength(5);
      if (!isTrained) expect(isInKernelMemory(first)).toBe(true);
      await client.close();
      await turns();
      expect(isInKernelMemory(first)).toBe(false);
    }
  },
);

test("a deleted index leaves no vector in kernel memory while its client stays open", async () => {
  await using client = createClient({ indexLocation: createMemoryStore(), automaticTraining: false });
  const name = { indexName: "articles", indexKey: generateKey() };
  const index = await client.createIndex({ ...name, indexConfig: { type: "ivfflat", dimension } });
  await index.upsert(Array.from({ length: rows }, (_, row) => ({ id: `${row}`, vector: vectorOf(row) })));
  await index.query({ queryVector: vectorOf(rows), topK: 1 });
  await index.delete({ ids: Array.from({ length: rows }, (_, row) => `${row}`) });
  await index.compact();
  await index.query({ queryVector: vectorOf(rows), topK: 1 });
  await turns();
  expect(isInKernelMemory(Buffer.from(vectorOf(0).buffer))).toBe(false);
});

test("pages in the heap are cleared when their cache is closed", async () => {
  const cache = new BlockCache(2 ** 20);
  const plaintext = encodePage([Buffer.from("a text")]);
  const key = { page: 0 };
  const owner = {};
  const [page] = await new IndexCache(cache)
    .groupOf(owner)
    .load([key], async () => [new Page(plaintext, 1, contentEntries)]);
  expect(Buffer.from(page.entry(0) ?? []).toString()).toBe("a text");
  await cache.close();
  expect(plaintext.every((byte) => byte === 0)).toBe(true);
  expect(cache.bytes).toBe(0);
});
