/** docs/internals/format.md against the library: a reader without code of the library reads its objects. */

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createClient, generateKey } from "../../src/core.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import type { BlobStore } from "../../src/storage/blob-store.js";
import type { Item } from "../../src/api/vector-index.js";
import { uniform } from "../engine/data.js";
import { rowsOf } from "../engine/oracle.js";
import { repeats } from "../tier.js";
import { readIndex, type ReadIndex, type Stored } from "./reader.js";
import { whole } from "../ranges.js";

async function storedIn(store: BlobStore): Promise<Stored> {
  const names = await store.list("");
  const blobs = await Promise.all(names.map((name) => store.read(name, whole)));
  return new Map(names.map((name, i) => [name, blobs[i] ?? new Uint8Array()]));
}

async function read(stores: { index: BlobStore; config: BlobStore }, name: string, key: string) {
  return readIndex(await storedIn(stores.config), await storedIn(stores.index), name, key);
}

function newStores() {
  return { index: createMemoryStore(), config: createMemoryStore() };
}

function open({ index, config }: ReturnType<typeof newStores>) {
  return createClient({ indexLocation: index, configLocation: config, automaticTraining: false });
}

const float = fc.float({ min: -100, max: 100, noNaN: true, noDefaultInfinity: true }).map((x) => x + 0);

const item = fc.record<Item>(
  {
    id: fc.string({ minLength: 1, maxLength: 12, unit: "grapheme" }).filter((id) => !/\p{Cs}/u.test(id)),
    vector: fc.array(float, { minLength: 3, maxLength: 3 }),
    contents: fc.string({ maxLength: 40, unit: "grapheme" }),
    expiresAt: fc.constantFrom(4e12, 4e12 + 1, 5e12),
    metadata: fc.record({ year: fc.integer({ min: 0, max: 3 }), tags: fc.array(fc.constantFrom("a", "b")) }),
  },
  { requiredKeys: ["id", "vector"] },
);

function expectItems({ items }: ReadIndex, model: ReadonlyMap<string, Item>): void {
  expect([...items.keys()].sort()).toEqual([...model.keys()].sort());
  for (const [id, { vector, contents, metadata, expiresAt }] of model) {
    const found = items.get(id);
    expect(found?.contents ?? undefined).toEqual(contents);
    expect(found?.metadata).toEqual(metadata ?? {});
    expect(found?.expiresAt).toBe(expiresAt);
    if (found?.vector !== undefined) expect(found.vector).toEqual([...Float32Array.from(vector ?? [])]);
  }
}

test("every history of upserts, deletes and compactions is read by a reader written from docs/internals/format.md alone", async () => {
  const step = fc.oneof(
    { weight: 4, arbitrary: fc.uniqueArray(item, { minLength: 1, maxLength: 8, selector: ({ id }) => id }) },
    { weight: 1, arbitrary: fc.constant("delete" as const) },
    { weight: 1, arbitrary: fc.constant("compact" as const) },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 8 }), async (steps) => {
      const stores = newStores();
      const client = open(stores);
      const key = generateKey();
      const index = await client.createIndex({ indexName: "Köln – 1", indexKey: key });
      const model = new Map<string, Item>();
      for (const taken of steps) {
        if (taken === "compact") await index.compact();
        else if (taken === "delete") {
          const ids = [...model.keys()].slice(0, 2);
          await index.delete({ ids });
          for (const id of ids) model.delete(id);
        } else {
          await index.upsert(taken);
          for (const each of taken) model.set(each.id, each);
        }
      }
      const found = await read(stores, "Köln – 1", key);
      await client.close();
      expect(found.definition.config).toMatchObject({ type: "ivfflat", metric: "euclidean", nLists: 1024 });
      expectItems(found, model);
    }),
    { numRuns: Number(process.env.SEALDEX_FORMAT_RUNS ?? 60) },
  );
});

describe.each([
  { type: "ivfflat" } as const,
  { type: "ivfflat", precision: "float16" } as const,
  { type: "ivfflat", precision: "int8" } as const,
  { type: "ivf" } as const,
  { type: "ivfpq", pqDim: 4, pqBits: 4 } as const,
  { type: "ivfpq", pqDim: 8, pqBits: 8 } as const,
])("a trained index of $type", (indexConfig) => {
  test("is read, with its centroids and the values of its metadata columns", async () => {
    const stores = newStores();
    const client = open(stores);
    const key = generateKey();
    const index = await client.createIndex({
      indexName: "trained",
      indexKey: key,
      metric: "cosine",
      indexConfig: { ...indexConfig, nLists: 5 },
    });
    const items = Array.from({ length: 600 }, (_, i) => ({
      id: `item ${i}`,
      vector: Array.from({ length: 16 }, (__, j) => Math.sin(i * (j + 1))),
      contents: i % 3 === 0 ? `text ${i}` : undefined,
      metadata: { shelf: i % 4, deep: { odd: i % 2 === 1 } },
    }));
    await index.upsert(items);
    await index.train();
    await index.upsert([{ ...items[0], metadata: { shelf: 9 } }]);
    await index.delete({ ids: ["item 1"] });
    const asStored = await index.get(items.map(({ id }) => id));
    const found = await read(stores, "trained", key);
    await client.close();

    const expected = new Map<string, Item>(items.map((each) => [each.id, each]));
    expected.set("item 0", { ...items[0], metadata: { shelf: 9 } });
    expected.delete("item 1");
    for (const { id, vector } of asStored) {
      const each = expected.get(id);
      if (each !== undefined && vector !== undefined) expected.set(id, { ...each, vector: [...vector] });
    }
    expectItems(found, expected);
    expect(found.model).toMatchObject({ dimension: 16, lists: 5 });
    expect([...(found.model?.centroids ?? [])].every(Number.isFinite)).toBe(true);
    const coded = [...found.items.values()].filter(({ reference }) => reference !== undefined);
    expect(coded.length > 0).toBe(indexConfig.type !== "ivfflat");
    // A zero vector has no direction, and so no reference centroid.
    for (const { id, reference = NaN } of coded)
      expect(reference).toSatisfy(
        (number: number) => number < 5 || (id === "item 0" && number === 0xffffffff),
      );
    // Columns count the rows of every segment, shadowed ones too.
    expect(found.values.get("shelf")?.get("1")).toBe(150);
    expect(found.values.get("shelf")?.get("9")).toBe(1);
    expect(found.values.get("deep.odd")?.get("true")).toBe(300);
  });
});

test("the words of an index are read, however many rows have them", async () => {
  const stores = newStores();
  const client = open(stores);
  const key = generateKey();
  const textIndex = { analyzer: { language: "none" }, textFields: { contents: 1, title: 3 } } as const;
  const index = await client.createIndex({ indexName: "words", indexKey: key, textIndex });
  const items = Array.from({ length: 4000 }, (_, i) => ({
    id: `item ${i}`,
    vector: [i],
    ...(i % 5 > 0 && { contents: `all ${"many ".repeat(i % 700)} own${i} third${i % 3}` }),
    metadata: { title: i % 2 === 0 ? ["even", "all"] : "odd" },
  }));
  await index.upsert(items);
  await index.update({ ids: ["item 7"] }, { metadata: { title: "seven" } });
  const found = await read(stores, "words", key);
  await client.close();
  const expected = (i: number) => {
    const terms = new Map<string, number>();
    const add = (term: string, count: number) => {
      if (count > 0) terms.set(term, (terms.get(term) ?? 0) + count);
    };
    if (i % 5 > 0) {
      for (const term of ["all", `own${i}`, `third${i % 3}`]) add(term, 1);
      add("many", i % 700);
    }
    for (const term of i === 7 ? ["seven"] : i % 2 === 0 ? ["even", "all"] : ["odd"]) add(term, 3);
    return terms;
  };
  for (const [i, { id }] of items.entries()) {
    const { terms, length } = found.items.get(id) ?? { terms: new Map<string, number>(), length: 0 };
    for (const [term, count] of expected(i)) expect(terms.get(term), `${id}: ${term}`).toBe(count);
    expect(length).toBeGreaterThan(0);
  }
});

test("a single wrong byte of any object is refused", async () => {
  const stores = newStores();
  const client = open(stores);
  const key = generateKey();
  const index = await client.createIndex({ indexName: "bytes", indexKey: key });
  await index.upsert([{ id: "a", vector: [1, 2], contents: "text", metadata: { a: 1 } }]);
  await index.upsert([{ id: "a", vector: [1, 2] }], { namespace: "ann" });
  await client.close();
  const config = await storedIn(stores.config);
  const blobs = await storedIn(stores.index);
  expect(readIndex(config, blobs, "bytes", key).items.size).toBe(2);
  const stride = repeats("SEALDEX_WRONG_BYTE_STRIDE", { fast: 5, all: 1 });
  for (const [name, bytes] of [...config, ...blobs]) {
    for (let at = 0; at < bytes.length; at += stride) {
      const damaged = bytes.slice();
      damaged[at] ^= 1;
      const swap = (stored: Stored) => (stored.has(name) ? new Map(stored).set(name, damaged) : stored);
      expect(() => readIndex(swap(config), swap(blobs), "bytes", key), `${name}, byte ${at}`).toThrow();
    }
  }
});

test("an index whose rows are in second lists is read by it, too", async () => {
  const stores = newStores();
  const client = open(stores);
  const key = generateKey();
  const index = await client.createIndex({ indexName: "spilled", indexKey: key });
  const d = 13;
  const all = rowsOf(uniform(6000, d, 8), d).map((vector, i) => ({ id: `${i}`, vector: [...vector] }));
  await index.upsert(all);
  await index.train({ nLists: 300 });
  await client.close();
  const found = await read(stores, "spilled", key);
  expectItems(found, new Map(all.map((each) => [each.id, each])));
  expect(found.rowsInSecondLists).toBe(all.length);
});
