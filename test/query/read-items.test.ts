/** Items that are read by their rows: what each has, how many are read at a time, and what they take of memory. */

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { systemClock } from "../../src/state/commit/clock.js";
import { fingerprint } from "../../src/crypto/keys.js";
import { forEachItem, readItems as readTask, reservedAfter } from "../../src/query/read-items.js";
import type { RowRef } from "../../src/query/snapshot/snapshot.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { fixedRecord, type Opened, openIndex } from "../protocol/open.js";
import { resultNow } from "../../src/engine/threads/run.js";
import { turnsDuring } from "../engine/turns.js";
import { readItems } from "./tasks.js";
import { plainResults } from "../../src/api/served-index.js";

type Field = "vector" | "contents" | "metadata" | "decoded";

/** The items, if nothing has to be waited for. */
const openedItems = (...args: Parameters<typeof readTask>) => resultNow(readTask(...args));

const record = fixedRecord();
const expiresAt = 4e12;
const contentsOf = (i: number) => (i % 5 === 0 ? undefined : `${i} ${"é".repeat(100)}`);
const itemOf = (i: number, namespace?: string) => ({
  id: `${i}`,
  vector: Float32Array.of(i, 1, 2),
  contents: contentsOf(i),
  metadata: i % 3 === 0 ? {} : { i, of: namespace ?? "none" },
  ...(i % 4 === 0 && { expiresAt }),
});

let open: Opened;
let refs: RowRef[];

async function warmed(): Promise<Opened> {
  const opened = openIndex(record, createMemoryStore(), systemClock);
  await opened.inner.log.createFirst();
  await opened.index.upsert(Array.from({ length: 1100 }, (_, i) => itemOf(i)));
  await opened.index.upsert(Array.from({ length: 100 }, (_, i) => itemOf(1100 + i)));
  await opened.index.upsert([itemOf(7, "ann"), itemOf(8, "ann")], { namespace: "ann" });
  return opened;
}

async function refsOf({ inner }: Opened, ids: readonly number[], namespace?: string): Promise<RowRef[]> {
  const snapshot = await inner.snapshots.newest();
  const found = await snapshot.findIds(ids.map((id) => fingerprint(record.keys.id, `${id}`)));
  const own = found.filter(({ segment }) => segment.namespace === namespace);
  return own.toSorted((a, b) => a.position - b.position).map(({ segment, row }) => ({ segment, row }));
}

beforeAll(async () => {
  open = await warmed();
  refs = await refsOf(open, [...Array(1200).keys()]);
  expect(refs.length).toBe(1200);
});

afterAll(() => open.close());

/** As it was stored, with just these fields. */
function expected(i: number, include: readonly Field[], namespace?: string) {
  const { id, vector, contents, metadata } = itemOf(i, namespace);
  return {
    id,
    ...(namespace && { namespace }),
    ...(include.includes("vector") && { vector }),
    ...(include.includes("decoded") && { decoded: vector }),
    ...(include.includes("contents") && contents !== undefined && { contents }),
    ...(include.includes("metadata") && { metadata }),
    ...(include.includes("metadata") && i % 4 === 0 && { expiresAt: new Date(expiresAt) }),
  };
}

describe("items", () => {
  test.each<[readonly Field[]]>([
    [[]],
    [["vector"]],
    [["decoded"]],
    [["contents"]],
    [["metadata"]],
    [["vector", "contents", "metadata"]],
  ])("have what was asked for, %j, in the order of their rows", async (include) => {
    const places = [1150, 3, 4, 0, 1199, 3, 60, 12];
    const found = await readItems(
      places.map((place) => refs[place]),
      new Set(include),
      plainResults,
    );
    expect(found).toStrictEqual(places.map((place) => expected(place, include)));
    const all = await readItems(refs, new Set(include), plainResults);
    expect(all).toEqual(refs.map((_, i) => expected(i, include)));
    const ann = await refsOf(open, [8, 7], "ann");
    expect(await readItems([...ann, refs[7]], new Set(include), plainResults)).toEqual([
      expected(8, include, "ann"),
      expected(7, include, "ann"),
      expected(7, include),
    ]);
    expect(await readItems([], new Set(include), plainResults)).toEqual([]);
  });

  test("have their metadata as stored text, if that was asked for", async () => {
    const [first, second] = await readItems(refs.slice(7, 9), new Set(["metadata"]), { rawMetadata: true });
    expect(first).toMatchObject({ id: "7", metadataJson: '{"i":7,"of":"none"}' });
    expect(first).not.toHaveProperty("metadata");
    expect(second).toMatchObject({ id: "8", expiresAt: new Date(expiresAt) });
    const [without] = await readItems(refs.slice(7, 8), new Set(), { rawMetadata: true });
    expect(without).toEqual({ id: "7" });
  });

  test("are visited one by one, with their numbers", async () => {
    const visited: unknown[] = [];
    await forEachItem(refs, new Set(["metadata"]), (item, i) =>
      visited.push([i, item.id, item.metadataJson]),
    );
    expect(visited).toEqual(refs.map((_, i) => [i, `${i}`, JSON.stringify(itemOf(i).metadata)]));
  });

  test("that are large are decoded a few at a time, so that other work runs in between", async () => {
    const some = refs.slice(0, 320);
    const turnsOf = (include: readonly Field[]) =>
      turnsDuring(() => readItems(some, new Set(include), plainResults), 10);
    await readItems(some, new Set<Field>(["contents"]), plainResults);
    expect(await turnsOf(["contents"])).toBeGreaterThanOrEqual(80);
    expect(await turnsOf(["metadata"])).toBeGreaterThanOrEqual(80);
    expect(await turnsOf([])).toBeLessThan(16);
  });

  test("whose records are open are not looked up block by block", async () => {
    const some = refs.slice(0, 256);
    const include = new Set<Field>(["metadata"]);
    await readItems(some, include, plainResults);
    const { cacheLookups } = open.inner.searcher.memory();
    await readItems(some, include, plainResults);
    expect(open.inner.searcher.memory().cacheLookups).toBe(cacheLookups);
  });
});

describe("memory for items", () => {
  const reserved = async (some: readonly RowRef[], include: readonly Field[]) => {
    const bytes: number[] = [];
    await readItems(some, new Set(include), {
      ...plainResults,
      reserveBytes: async (n) => void bytes.push(n),
    });
    return bytes;
  };

  test("is reserved before they are decoded, for at most 1024 at a time", async () => {
    expect(await reserved(refs.slice(0, 10), [])).toEqual([1280]);
    expect(await reserved(refs, [])).toEqual([128 * 1024, 128 * 176]);
    expect(await reserved(refs, ["vector"])).toEqual([140 * 1024, 140 * 176]);
    const contents = Buffer.byteLength(contentsOf(1) ?? "");
    expect(await reserved(refs.slice(0, 2), ["contents"])).toEqual([2 * 128 + contents]);
    const [some] = await reserved(refs.slice(1, 2), ["metadata"]);
    const [{ segment, row }] = refs.slice(1, 2);
    expect(some).toBe(128 + (await segment.reader.records([row]))[0].length);
  });

  test("is reserved for about 16 MiB of contents or vectors at a time, open or not", async () => {
    const large = openIndex(record, createMemoryStore(), systemClock);
    await large.inner.log.createFirst();
    const vector = new Float32Array(8192).fill(1);
    const contents = "x".repeat(2 ** 20);
    await large.index.upsert(Array.from({ length: 20 }, (_, i) => ({ id: `${i}`, vector, contents })));
    const stored = await refsOf(large, [...Array(20).keys()]);
    const repeated = Array.from({ length: 514 }, () => stored[0]);
    expect(await reserved(repeated, [])).toEqual([128 * 514]);
    for (const include of [["vector"], ["decoded"]] as const) {
      const each = 128 + 4 * 8192;
      expect(await reserved(repeated, include)).toEqual([512 * each, 2 * each]);
    }
    const each = 128 + 2 ** 20;
    expect(await reserved(stored, ["contents"])).toEqual([16 * each, 4 * each]);
    expect(await reserved(stored, ["contents"])).toEqual([16 * each, 4 * each]);
    await large.close();
  });

  test("is reserved only once what was read is confirmed to be the newest", async () => {
    const order: string[] = [];
    const results = {
      rawMetadata: true,
      reserveBytes: async (n: number) => void order.push(`reserved ${n}`),
    };
    const confirming = reservedAfter(async () => void order.push("confirmed"), results);
    expect(confirming.rawMetadata).toBe(true);
    await confirming.reserveBytes(5);
    expect(order).toEqual(["confirmed", "reserved 5"]);
    const plain = { rawMetadata: true };
    expect(reservedAfter(async () => void order.push("never"), plain)).toBe(plain);
  });
});

describe("items at once", () => {
  test("are those whose records and contents are open", async () => {
    const opened = await warmed();
    const [a, b] = await refsOf(opened, [11, 1111]);
    const none = new Set<Field>();
    const contents = new Set<Field>(["contents"]);
    expect(openedItems([a], none, plainResults)).toBeUndefined();
    await readItems([a], none, plainResults);
    expect(openedItems([a], none, plainResults)).toEqual([{ id: "11" }]);
    expect(openedItems([a, b], none, plainResults)).toBeUndefined();
    expect(openedItems([a], contents, plainResults)).toBeUndefined();
    await readItems([a, b], contents, plainResults);
    expect(openedItems([b, a], contents, plainResults)).toEqual([
      expected(1111, ["contents"]),
      expected(11, ["contents"]),
    ]);
    expect(openedItems([a], new Set<Field>(["metadata"]), { rawMetadata: true })).toEqual([
      { id: "11", metadataJson: '{"i":11,"of":"none"}' },
    ]);
    expect(openedItems([a], new Set<Field>(["metadata"]), plainResults)).toEqual([
      expected(11, ["metadata"]),
    ]);
    await opened.close();
  });

  test("have vectors if the code blocks of these are open, up to 256 KiB", async () => {
    const opened = await warmed();
    const some = await refsOf(opened, [11, 12, 1111]);
    for (const field of ["vector", "decoded"] as const) {
      const include = new Set<Field>([field, "metadata"]);
      const expectedItems = await readItems(some, include, plainResults);
      expect(openedItems(some, include, plainResults)).toEqual(expectedItems);
      for (const other of [[], ["metadata"]] as const) {
        for (const { segment } of some) for (const { evict } of segment.reader.cache.idle()) evict();
        await readItems(some, new Set<Field>(other), plainResults);
        expect(openedItems(some, include, plainResults)).toBeUndefined();
        await readItems(some, include, plainResults);
      }
    }
    await opened.close();
    const wide = openIndex(record, createMemoryStore(), systemClock);
    await wide.inner.log.createFirst();
    const vector = new Float32Array(4096).fill(1);
    await wide.index.upsert(Array.from({ length: 17 }, (_, i) => ({ id: `${i}`, vector })));
    const stored = await refsOf(wide, [...Array(17).keys()]);
    const include = new Set<Field>(["vector"]);
    await readItems(stored, include, plainResults);
    expect(openedItems(stored.slice(0, 16), include, plainResults)?.map((item) => item.vector)).toEqual(
      Array.from({ length: 16 }, () => vector),
    );
    expect(openedItems(stored, include, plainResults)).toBeUndefined();
    await wide.close();
  });

  test("are decoded without a look at the clock if they are at most 256, and of at most 256 KiB", async () => {
    await readItems(refs, new Set(["contents"]), plainResults);
    const looksOf = (some: readonly RowRef[], include: readonly Field[]) =>
      turnsDuring(() => readItems(some, new Set(include), plainResults), 10);
    expect(await looksOf(refs.slice(0, 256), ["metadata"])).toBe(0);
    expect(await looksOf(refs.slice(0, 257), ["metadata"])).toBeGreaterThan(0);
    expect(openedItems([], new Set(), plainResults)).toEqual([]);
    expect(
      openedItems(refs.slice(0, 3), new Set(), { ...plainResults, reserveBytes: async () => undefined }),
    ).toBeUndefined();
    const large = openIndex(record, createMemoryStore(), systemClock);
    await large.inner.log.createFirst();
    const items = Array.from({ length: 64 }, (_, i) => ({
      id: `${i}`,
      vector: [i, 1],
      contents: "x".repeat(4096 - 128),
    }));
    await large.index.upsert([...items, { id: "64", vector: [1, 1], contents: "" }]);
    const stored = await refsOf(large, [...Array(65).keys()]);
    const contents = new Set<Field>(["contents"]);
    await readItems(stored, contents, plainResults);
    expect(await looksOf(stored.slice(0, 64), ["contents"])).toBe(0);
    expect(await looksOf(stored, ["contents"])).toBeGreaterThan(0);
    await large.close();
  });
});
