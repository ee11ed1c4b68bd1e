/** Lists of ids, page by page: in the order of strings, with no more reading than a page takes. */

import { expect, test } from "vitest";
import { createClient, generateKey, type VectorIndex } from "../../src/core.js";
import { seededRandom } from "../../src/engine/random.js";
import type { BlobStore } from "../../src/storage/blob-store.js";
import { createMemoryStore } from "../../src/storage/memory.js";

const options = { indexName: "listed", indexKey: generateKey() };

async function paged(index: VectorIndex, limit: number): Promise<string[]> {
  const ids: string[] = [];
  for (;;) {
    const after = ids.at(-1);
    const page = await index.listIds(after === undefined ? { limit } : { limit, after });
    ids.push(...page);
    if (page.length < limit) return ids;
  }
}

test("pages of every size agree with a sorted model: replaced, deleted, odd and long ids, through training and compaction", async () => {
  const alphabet = ["a", "b", "é", "\ud83d\ude00", "\uffee", "0", "z".repeat(100)];
  for (let seed = 1; seed <= 6; seed++) {
    const random = seededRandom(seed);
    const index = await createClient({
      indexLocation: createMemoryStore(),
      automaticTraining: false,
    }).createIndex(options);
    const live = new Set<string>();
    const anyId = () =>
      Array.from(
        { length: 1 + Math.floor(4 * random()) },
        () => alphabet[Math.floor(alphabet.length * random())],
      ).join("");
    for (let step = 0; step < 8; step++) {
      const ids = Array.from({ length: 1 + Math.floor(80 * random()) }, anyId);
      if (random() < 0.3) {
        await index.delete({ ids });
        for (const id of ids) live.delete(id);
      } else {
        await index.upsert(ids.map((id) => ({ id, vector: [step, 1] })));
        for (const id of ids) live.add(id);
      }
      if (step === 4 && live.size > 2) await index.train({ nLists: 2 });
      if (step === 6) await index.compact();
      const expected = [...live].sort();
      expect(await index.listIds()).toEqual(expected);
      for (const limit of [1, 7, 1000]) expect(await paged(index, limit)).toEqual(expected);
      const after = anyId();
      expect(await index.listIds({ after })).toEqual(expected.filter((id) => id > after));
      expect(await index.listIds({ limit: 0 })).toEqual([]);
    }
  }
});

test("a page reads a page of ids per segment, however large the index is", async () => {
  const store = createMemoryStore();
  const writer = await createClient({ indexLocation: store, automaticTraining: false }).createIndex(options);
  const metadata = { text: "x".repeat(200) };
  const rows = 60_000;
  for (let from = 0; from < rows; from += rows / 2) {
    const items = Array.from({ length: rows / 2 }, (_, i) => ({
      id: `item ${String(from + i).padStart(8, "0")}`,
      vector: [i, from],
      metadata,
    }));
    await writer.upsert(items);
  }
  await writer.compact();
  let reads = 0;
  let bytes = 0;
  const counting: BlobStore = {
    ...store,
    async read(key, range) {
      const found = await store.read(key, range);
      reads++;
      bytes += found?.length ?? 0;
      return found;
    },
  };
  const index = await createClient({ indexLocation: counting, automaticTraining: false }).loadIndex(options);
  expect(await index.count()).toBe(rows);
  [reads, bytes] = [0, 0];
  const page = await index.listIds({ limit: 100, after: "item 00031111" });
  expect(page[0]).toBe("item 00031112");
  expect(page).toHaveLength(100);
  // The next manifest, and one page per segment.
  const { segments } = {
    segments: (await store.list("index/")).filter((key) => key.includes("/segment/")).length,
  };
  expect(reads).toBeLessThanOrEqual(1 + segments);
  expect(bytes).toBeLessThan(200_000);
});

test("an aborted list rejects", async () => {
  const index = await createClient({ indexLocation: createMemoryStore() }).createIndex(options);
  await index.upsert([{ id: "a", vector: [1] }]);
  await expect(index.listIds({ signal: AbortSignal.abort(new Error("enough")) })).rejects.toThrow("enough");
});

test("each of thousands of items is read by its id, page after page of records and contents", async () => {
  const store = createMemoryStore();
  const items = Array.from({ length: 3000 }, (_, i) => ({
    id: `${i}`,
    vector: [i, 1],
    contents: `contents ${i} `.repeat(20),
    metadata: { i, text: `${i}`.repeat(40) },
  }));
  await using writer = createClient({ indexLocation: store, automaticTraining: false });
  const index = await writer.createIndex(options);
  await index.upsert(items);
  const include = ["contents", "metadata"] as const;
  const expected = items.map(({ id, contents, metadata }) => ({ id, contents, metadata }));
  for (const trained of [false, true]) {
    if (trained) await index.train({ nLists: 20 });
    for (const { id } of items.slice(0, 600))
      expect(await index.get([id], { include })).toEqual([expected[Number(id)]]);
    expect(
      await index.get(
        items.map(({ id }) => id),
        { include },
      ),
    ).toEqual(expected);
  }
});
