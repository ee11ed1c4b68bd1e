/** Rows that are found in second lists, too: as those of first lists alone, but in fewer lists. */

import { setImmediate as turn } from "node:timers/promises";
import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import type { IndexConfig, Metric } from "../../src/engine/config.js";
import { allocatedBytes } from "../../src/engine/kernels/memory.js";
import type { Model } from "../../src/engine/model.js";
import { systemClock } from "../../src/state/commit/clock.js";
import { computeSpilled } from "../../src/query/secondary-lists.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import type { BlobStore } from "../../src/storage/blob-store.js";
import { decodeSecondLists } from "../../src/state/segment/secondary-codes.js";
import type { Item, VectorIndex } from "../../src/api/vector-index.js";
import { uniform } from "../engine/data.js";
import { rowsOf } from "../engine/oracle.js";
import { fixedRecord, keyOf, type Opened, openIndex } from "../protocol/open.js";
import { repeats } from "../tier.js";
import { bruteForceDistance } from "./behavior.js";
import { whole } from "../ranges.js";

const n = 6000;
const d = 13;
const all = rowsOf(uniform(n + 300, d, 8), d);
const vectors = all.slice(0, n);
const queries = all.slice(n);
const items = vectors.map((vector, i): Item => ({ id: `${i}`, vector }));
/** With these numbers of lists, training finds that second ones pay: fewer under cosine, which has a dimension less. */
const nLists = 300;
const nListsOfCosine = 200;

const opened = new Set<Opened>();
afterEach(async () => {
  await Promise.all(Array.from(opened, ({ close }) => close()));
  opened.clear();
});

type Shape = Partial<Pick<IndexConfig, "metric" | "precision">>;

/** An index over internals that show which blocks are in memory. */
function inside(store: BlobStore = createMemoryStore(), shape: Shape = {}) {
  const record = fixedRecord();
  const config = { ...record.definition.config, ...shape };
  const open = openIndex({ ...record, definition: { ...record.definition, config } }, store, systemClock);
  opened.add(open);
  const segments = () =>
    open.inner.snapshots.readNewest(async (snapshot) => snapshot.segments.filter(({ ref }) => ref.rows > 0));
  return { ...open, segments };
}

async function filled(store?: BlobStore, shape?: Shape) {
  const open = inside(store, shape);
  await open.inner.log.createFirst();
  await open.index.upsert(items);
  await open.index.train({ nLists: shape?.metric === "cosine" ? nListsOfCosine : nLists });
  const [{ reader }] = await open.segments();
  expect(reader.footer.spilled.length).toBeGreaterThan(0);
  return open;
}

/** A trained index whose codes are in memory, those of second lists too. */
async function trained(shape?: Shape) {
  const open = await filled(undefined, shape);
  expect(await open.index.prefetch()).toBe(true);
  const [{ reader }] = await open.segments();
  expect(reader.openedSpilled()).toBeDefined();
  return open;
}

type Vectors = ReadonlyMap<string, Float32Array | readonly number[]>;

/** Ids of the nearest ones, by brute force. */
function nearestIds(stored: Vectors, metric: Metric, query: Float32Array, k: number): string[] {
  const ids = [...stored.keys()];
  const distances = Float64Array.from(stored.values(), (vector) => bruteForceDistance(metric, query, vector));
  const bound = distances.slice().sort()[Math.min(k, ids.length) - 1];
  return ids.filter((_, i) => distances[i] <= bound);
}

const asMap = (stored: readonly Item[]): Vectors =>
  new Map(stored.map(({ id, vector }) => [id, vector as Float32Array]));
const stored = asMap(items);

/** The expected results of the queries among `stored`, by metric and number. */
const nearestOfStored = new Map<string, Set<string>[]>();

function wantedOf(among: Vectors, metric: Metric, k: number): Set<string>[] {
  const key = `${metric} ${k}`;
  const known = among === stored ? nearestOfStored.get(key) : undefined;
  const wanted = known ?? queries.map((query) => new Set(nearestIds(among, metric, query, k)));
  if (among === stored) nearestOfStored.set(key, wanted);
  return wanted;
}

/** Mean recall of queries among some vectors. Checks that every match is one of them, once, at its distance. */
async function recallOf(
  index: VectorIndex,
  metric: Metric,
  among: Vectors,
  { topK, recall }: { topK: number; recall?: number },
) {
  const probing = recall === undefined ? { nProbes: 0 } : { recall };
  const wanted = wantedOf(among, metric, topK);
  let near = 0;
  for (const [i, queryVector] of queries.entries()) {
    const matches = await index.query({ queryVector, topK, ...probing });
    expect(new Set(matches.map(({ id }) => id)).size).toBe(matches.length);
    expect(matches.length).toBe(Math.min(topK, among.size));
    for (const { id, distance } of matches) {
      const vector = among.get(id);
      if (vector === undefined) throw new Error(`${id} is not in the index`);
      expect(Math.abs(distance - bruteForceDistance(metric, queryVector, vector))).toBeLessThan(1e-4);
      if (wanted[i].has(id)) near++;
    }
  }
  return near / (queries.length * topK);
}

describe.each(["euclidean", "squared_euclidean", "cosine"] as const)("under %s", (metric) => {
  test("a declared recall holds for few and many neighbors", async () => {
    const { index } = await trained({ metric });
    for (const topK of [1, 10, 100]) {
      expect(await recallOf(index, metric, stored, { topK })).toBeGreaterThan(0.93);
      for (const recall of [0.9, 0.98]) {
        expect(await recallOf(index, metric, stored, { topK, recall })).toBeGreaterThan(recall - 0.02);
      }
    }
  });
});

test.each(["float16", "int8"] as const)("vectors of %s are found in second lists, too", async (precision) => {
  const { index } = await trained({ precision });
  const kept = await index.get(
    items.map(({ id }) => id),
    { include: ["vector"] },
  );
  const rounded = new Map(kept.map(({ id, vector }) => [id, vector as Float32Array]));
  expect(await recallOf(index, "euclidean", rounded, { topK: 10, recall: 0.98 })).toBeGreaterThan(0.96);
});

test("every history of writes leaves each item once, at its newest vector, and recall holds", async () => {
  const extra = rowsOf(uniform(3000, d, 21), d);
  const step = fc.oneof(
    { weight: 3, arbitrary: fc.record({ kind: fc.constant("delete"), seed: fc.nat() }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant("replace"), seed: fc.nat() }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant("add"), seed: fc.nat() }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("addMany"), seed: fc.nat() }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("compact"), seed: fc.nat() }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("train"), seed: fc.nat() }) },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 6 }), async (steps) => {
      const { index } = await trained();
      const live = new Map(stored);
      for (const { kind, seed } of steps) {
        if (kind === "compact") await index.compact();
        else if (kind === "train") await index.train({ nLists });
        else if (kind === "delete") {
          // Near the queries, so that a shadowed row would be found.
          const ids = nearestIds(live, "euclidean", queries[seed % queries.length], 20);
          await index.delete({ ids });
          for (const id of ids) live.delete(id);
        } else {
          const count = kind === "addMany" ? 2600 : 30;
          const near = nearestIds(live, "euclidean", queries[seed % queries.length], count);
          const changed = Array.from({ length: count }, (_, i) => ({
            id: kind === "replace" ? near[i] : `${kind} ${seed} ${i}`,
            vector: extra[(seed + i) % extra.length],
          }));
          await index.upsert(changed);
          for (const { id, vector } of changed) live.set(id, vector);
        }
        expect(await recallOf(index, "euclidean", live, { topK: 10 })).toBeGreaterThan(0.92);
      }
      await index.prefetch();
      expect(await recallOf(index, "euclidean", live, { topK: 10 })).toBeGreaterThan(0.92);
    }),
    { numRuns: repeats("SEALDEX_SECOND_LISTS", { fast: 2, all: 3 }) },
  );
});

test("rows that are written after training are found at once", async () => {
  const { index } = await trained();
  for (const [i, queryVector] of queries.entries()) {
    await index.upsert([{ id: `new ${i}`, vector: queryVector }]);
    const [first] = await index.query({ queryVector, topK: 1, nProbes: 0 });
    expect(first.id).toBe(`new ${i}`);
  }
});

test("large segments of a trained index hold the second list of each row, small ones none", async () => {
  const { index, segments } = await filled();
  await index.upsert(items.slice(0, 50).map(({ id, vector }) => ({ id: `small ${id}`, vector })));
  const [large, small] = await segments();
  expect(large.reader.footer.spilled.length).toBeGreaterThan(0);
  expect(small.reader.footer.spilled).toEqual([]);
});

test("codes in second lists are computed once an index is in use and in memory, and in no query's way", async () => {
  const store = createMemoryStore();
  const writer = await filled(store);
  await writer.close();
  const { index, segments } = inside(store);
  const ask = async () => {
    for (const queryVector of queries) await index.query({ queryVector, topK: 10, nProbes: 0 });
  };
  const [{ reader }] = await segments();
  await index.query({ queryVector: queries[0], topK: 10, nProbes: 0 });
  expect(reader.openedSpilled()).toBeUndefined();
  while (reader.openedSpilled() === undefined) {
    await ask();
    await turn();
  }
  expect(await recallOf(index, "euclidean", stored, { topK: 10 })).toBeGreaterThan(0.93);
});

test("nothing is read for codes in second lists while many vectors are not in memory", async () => {
  const store = createMemoryStore();
  const writer = await filled(store);
  await writer.close();
  let reads = 0;
  const read: typeof store.read = (name, ...asked) => {
    if (name.includes("/segment/")) reads++;
    return store.read(name, ...asked);
  };
  const { index, segments } = inside({ ...store, read });
  const ask = () => index.query({ queryVector: queries[0], topK: 10, nProbes: 0 });
  await ask();
  const readBefore = reads;
  for (let i = 0; i < 100; i++) await ask();
  await turn();
  const [{ reader }] = await segments();
  expect(reader.openedSpilled()).toBeUndefined();
  expect(reads).toBe(readBefore);
});

test("second lists that are not one for each row, or are of no list, are refused", () => {
  const bytes = new Uint8Array(Uint16Array.of(3, 0, 299).buffer);
  expect([...decodeSecondLists([bytes.subarray(0, 4), bytes.subarray(4)], 3, 300)]).toEqual([3, 0, 299]);
  for (const [rows, lists] of [
    [2, 300],
    [4, 300],
    [3, 299],
  ]) {
    expect(() => decodeSecondLists([bytes], rows, lists)).toThrow(
      expect.objectContaining({ code: "corrupt" }),
    );
  }
});

test("vectors that are not in memory are read in the background, and until then nothing is missed", async () => {
  const store = createMemoryStore();
  const writer = await filled(store);
  await writer.close();
  const { index, segments } = inside(store);
  const [{ reader }] = await segments();
  // The codes are computed of vectors that another process has in memory.
  const other = inside(store);
  await other.inner.snapshots.readNewest(async ({ model, segments: [{ reader: from }] }) => {
    await other.inner.searcher.withTrained(model as Model, ({ quantizer }) =>
      reader.loadSpilled(() => computeSpilled(from, quantizer, "euclidean")),
    );
  });
  const blocks = [...reader.footer.codes];
  const isOpen = () => blocks.filter((block) => reader.openedCodes(block) !== undefined).length;
  do {
    expect(await recallOf(index, "euclidean", stored, { topK: 10, recall: 0.8 })).toBeGreaterThan(0.78);
    await turn();
  } while (isOpen() === 0);
});

test("blocks that are read in the background while the index is closed leave the memory", async () => {
  const store = createMemoryStore();
  const writer = await filled(store);
  await writer.close();
  const before = allocatedBytes();
  let release = () => {};
  let reads = 0;
  let gate = Promise.resolve();
  const read: typeof store.read = async (name, ...asked) => {
    if (!name.includes("/segment/")) return store.read(name, ...asked);
    reads++;
    await gate;
    return store.read(name, ...asked);
  };
  const { index, close } = inside({ ...store, read });
  await index.query({ queryVector: queries[0], topK: 10, recall: "exact" });
  gate = new Promise((resolve) => {
    release = resolve;
  });
  const readBefore = reads;
  for (let i = 0; i < 40; i++) await index.query({ queryVector: queries[0], topK: 10, nProbes: 0 });
  expect(reads).toBeGreaterThan(readBefore);
  await close();
  release();
  for (let turns = 0; turns < 200; turns++) await turn();
  while (allocatedBytes() !== before) await turn();
});

test("nothing stays in memory of codes that are computed while the index is closed", async () => {
  const store = createMemoryStore();
  const writer = await filled(store);
  await writer.close();
  const before = allocatedBytes();
  for (const turns of [1, 5, 20, 50]) {
    const { index, close } = inside(store);
    const prefetched = index.prefetch();
    for (let i = 0; i < turns; i++) await turn();
    await close();
    await prefetched.catch(() => undefined);
    expect(allocatedBytes()).toBe(before);
  }
});

test("damaged second lists change no answer, and are found when the whole index is read", async () => {
  const store = createMemoryStore();
  const writer = await filled(store);
  const [{ ref, reader }] = await writer.segments();
  const [{ offset, length }] = reader.footer.spilled;
  await writer.close();
  const name = keyOf(ref.name);
  const bytes = (await store.read(name, whole)) as Uint8Array;
  const damaged = Uint8Array.from(bytes);
  damaged[offset + (length >> 1)] ^= 1;
  await store.delete([name]);
  await store.create(name, damaged, {});
  const { index } = inside(store);
  for (let round = 0; round < 3; round++) {
    expect(await recallOf(index, "euclidean", stored, { topK: 10 })).toBeGreaterThan(0.93);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await expect(index.prefetch()).rejects.toMatchObject({ code: "corrupt" });
});
