/** A store sees the same operations on as many bytes for two corpora that differ in every value and in no length. */

import { expect, test } from "vitest";
import { type Client, createClient, generateKey } from "../../src/core.js";
import type { BlobStore } from "../../src/storage/blob-store.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import type { Item } from "../../src/api/vector-index.js";
import { clustered } from "../engine/data.js";

const d = 16;

/** A store that writes down each operation. Random names are numbered in the order of their appearance. */
function recorded(inner: BlobStore): { store: BlobStore; trace: string[] } {
  const trace: string[] = [];
  const known = new Map<string, number>();
  const numbered = (text: string) =>
    text.replace(/(\/\d{16})?([0-9a-f]{32})\b/g, (_, born: string | undefined, random: string) => {
      if (!known.has(random)) known.set(random, known.size);
      return `${born ?? ""}#${known.get(random)}`;
    });
  const note = (line: string) => void trace.push(numbered(line));
  const store: BlobStore = {
    read: (key, range) => {
      note(`read ${key} ${range === undefined ? "" : `${range.offset}+${range.length}`}`);
      return inner.read(key, range);
    },
    create: (key, bytes) => {
      note(`create ${key} ${bytes.length}`);
      return inner.create(key, bytes);
    },
    list: (prefix, options) => {
      note(`list ${prefix}`);
      return inner.list(prefix, options);
    },
    delete: (keys) => {
      note(`delete ${keys.join(" ")}`);
      return inner.delete(keys);
    },
    close: () => inner.close(),
  };
  return { store, trace };
}

/** Item `i` of a corpus: another seed gives other values of the same lengths. */
function item(i: number, seed: number): Item {
  const letters = String.fromCharCode(97 + seed).repeat(20 + (i % 50));
  const digits = `${100_000 + 1000 * seed + i}`;
  return {
    id: `${digits}-${letters}`,
    vector: clustered(1, d, 1, 1000 * seed + i),
    contents: `${letters} ${digits}`,
    metadata: { team: `${digits}${letters}`, year: 1000 * (seed + 1) + i },
  };
}

/** Everything that a writer does to the corpus of a seed, and then a reader that has nothing in memory. */
async function history(seed: number, textIndex: boolean): Promise<string[]> {
  const inner = createMemoryStore();
  const { store, trace } = recorded(inner);
  const indexKey = generateKey();
  const opened: Client[] = [];
  const open = () => {
    const client = createClient({ indexLocation: store });
    opened.push(client);
    return client;
  };
  const all = Array.from({ length: 240 }, (_, i) => item(i, seed));
  const index = await open().createIndex({
    indexName: "traces",
    indexKey,
    indexConfig: { type: "ivfflat", dimension: d, nLists: 4 },
    textIndex,
  });
  for (let i = 0; i < 200; i += 20) await index.upsert(all.slice(i, i + 20));
  await index.delete({ ids: all.slice(30, 50).map(({ id }) => id) });
  await index.upsert(all.slice(190));
  await index.compact();

  const reader = await open().loadIndex({ indexName: "traces", indexKey });
  await reader.get([all[7].id, all[160].id]);
  await reader.query({ queryVector: all[5].vector ?? [], topK: 3 });
  if (textIndex) {
    const [{ contents }] = await reader.get([all[9].id]);
    await reader.query({ queryText: contents ?? "", topK: 3 });
  }
  await reader.count({ filter: { year: { $gt: 0 } } });
  await reader.listIds();
  await Promise.all(opened.map((client) => client.close()));
  return trace;
}

test.each([
  ["without words", false],
  ["with words", true],
])("two corpora of equal shape give equal traces of storage operations, %s", async (_, textIndex) => {
  const [first, second] = [await history(0, textIndex), await history(1, textIndex)];
  expect(first.filter((line) => line.startsWith("create")).length).toBeGreaterThan(20);
  expect(first.filter((line) => line.startsWith("read")).length).toBeGreaterThan(5);
  expect(second).toEqual(first);
});
