/** A store that changes, swaps, hides or replays objects is detected; no answer is ever silently wrong. */

import { describe, expect, test } from "vitest";
import { createClient, generateKey } from "../../src/core.js";
import { headerBytes } from "../../src/crypto/sealed-object.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import type { BlobStore } from "../../src/storage/blob-store.js";
import { whole } from "../ranges.js";

const options = { indexName: "tampered", indexKey: generateKey() };
const items = Array.from({ length: 60 }, (_, i) => ({
  id: `i${i}`,
  vector: [i, i % 7, 1],
  contents: `text ${i}`,
  metadata: { i },
}));

async function fill(): Promise<BlobStore> {
  const store = createMemoryStore();
  const client = createClient({ indexLocation: store });
  const index = await client.createIndex(options);
  await index.upsert(items);
  await index.train({ nLists: 3 });
  await index.upsert([{ id: "late", vector: [3, 3, 3] }]);
  await index.delete({ ids: ["i5"] });
  return store;
}

/** Everything that a reader can ask; all of storage is read. */
async function readAll(store: BlobStore) {
  const index = await createClient({ indexLocation: store }).loadIndex(options);
  const include = ["distance", "metadata", "contents", "vector"] as const;
  const matches = await index.query({ queryVector: [3, 3, 1], topK: 1000, nProbes: 3, include });
  const filters = { i: { $gte: 20, $ne: 30 } };
  return {
    matches,
    filtered: await index.query({ queryVector: [3, 3, 1], topK: 1000, nProbes: 3, filters }),
    count: await index.count(),
    ids: await index.listIds(),
    got: await index.get(["i7", "late"]),
  };
}

async function replace(store: BlobStore, key: string, bytes: Uint8Array | null): Promise<void> {
  await store.delete([key]);
  if (bytes !== null) await store.create(key, bytes);
}

const detected = /^(corrupt|missing_object|rollback_detected|not_found|wrong_index_key)$/;

/** The error of reading a store after `change`, or undefined where the answer is the same as before. */
async function outcome(
  store: BlobStore,
  expected: unknown,
  change: () => Promise<void>,
  undo: () => Promise<void>,
) {
  await change();
  try {
    expect(await readAll(store)).toEqual(expected);
    return undefined;
  } catch (error) {
    expect(error).toMatchObject({ name: "SealdexError", code: expect.stringMatching(detected) });
    return (error as { code: string }).code;
  } finally {
    await undo();
  }
}

/** Objects that the newest state needs: their loss cannot go unnoticed. */
async function neededKeys(store: BlobStore, expected: unknown): Promise<string[]> {
  const needed: string[] = [];
  for (const key of await store.list("")) {
    const bytes = (await store.read(key, whole)) as Uint8Array;
    const code = await outcome(
      store,
      expected,
      () => replace(store, key, null),
      () => replace(store, key, bytes),
    ).catch(() => "other answer");
    if (code !== undefined) needed.push(key);
  }
  return needed;
}

describe("with one object", () => {
  test("flipped in any byte, the answer is an error or unchanged", async () => {
    const store = await fill();
    const expected = await readAll(store);
    const needed = await neededKeys(store, expected);
    for (const key of needed) {
      const bytes = (await store.read(key, whole)) as Uint8Array;
      // A segment's own header is never read: the manifest holds it.
      const unread = key.includes("/segment/") ? headerBytes : 0;
      const step = Math.max(1, Math.floor(bytes.length / 150));
      for (let at = 0; at < bytes.length; at += at < 100 ? 1 : step) {
        const damaged = bytes.slice();
        damaged[at] ^= 1 << (at % 8);
        const change = () => replace(store, key, damaged);
        const code = await outcome(store, expected, change, () => replace(store, key, bytes));
        expect(code, `${key} at ${at}`).toBe(at < unread ? undefined : "corrupt");
      }
    }
    expect(needed.length).toBeGreaterThanOrEqual(5);
  });

  test("cut short, extended or emptied, the answer is an error or unchanged", async () => {
    const store = await fill();
    const expected = await readAll(store);
    for (const key of await neededKeys(store, expected)) {
      const bytes = (await store.read(key, whole)) as Uint8Array;
      for (const length of [0, 1, 50, 76, bytes.length - 1]) {
        const change = () => replace(store, key, bytes.subarray(0, length));
        const code = await outcome(store, expected, change, () => replace(store, key, bytes));
        expect(code, `${key} cut to ${length}`).toBe("corrupt");
      }
    }
  });

  test("replaced by any other object, the answer is an error", async () => {
    const store = await fill();
    const expected = await readAll(store);
    const keys = await store.list("");
    for (const key of await neededKeys(store, expected)) {
      const bytes = (await store.read(key, whole)) as Uint8Array;
      for (const other of keys.filter((name) => name !== key)) {
        const change = async () => replace(store, key, await store.read(other, whole));
        const code = await outcome(store, expected, change, () => replace(store, key, bytes));
        expect(code, `${key} replaced by ${other}`).toBe("corrupt");
      }
    }
  });
});

test("a missing segment or model is an error of its own", async () => {
  const store = await fill();
  const expected = await readAll(store);
  const needed = (await neededKeys(store, expected)).filter((key) => /segment|model/.test(key));
  expect(needed.length).toBeGreaterThanOrEqual(3);
  for (const key of needed) {
    const bytes = (await store.read(key, whole)) as Uint8Array;
    const code = await outcome(
      store,
      expected,
      () => replace(store, key, null),
      () => replace(store, key, bytes),
    );
    expect(code).toBe("missing_object");
  }
});

test("a history that was replaced under a running reader is a rollback", async () => {
  const store = await fill();
  const client = createClient({ indexLocation: store });
  const index = await client.loadIndex(options);
  const before = await store.list("index/");
  const saved = await Promise.all(before.map(async (key) => [key, await store.read(key, whole)] as const));
  await index.upsert([{ id: "seen by this reader", vector: [1, 1, 1] }]);
  // The store forgets that commit, lets another writer make two of its own, and shows those.
  const manifests = (await store.list("index/")).filter((key) => key.includes("/manifest/"));
  await store.delete(manifests);
  for (const [key, bytes] of saved)
    if (key.includes("/manifest/")) await store.create(key, bytes as Uint8Array);
  const other = await createClient({ indexLocation: store }).loadIndex(options);
  await other.upsert([{ id: "x", vector: [1, 1, 1] }]);
  await other.upsert([{ id: "y", vector: [1, 1, 1] }]);
  await expect(index.query({ queryVector: [1, 1, 1] })).rejects.toMatchObject({ code: "rollback_detected" });
});
