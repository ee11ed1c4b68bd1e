/** What a query takes: what it reads and scans, whether its caller has to wait, and that all memory is given back. */

import { kernelCalls } from "../operations/count-kernels.js";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { systemClock } from "../../src/state/commit/clock.js";
import { allocatedBytes } from "../../src/engine/kernels/memory.js";
import { compileFilter } from "../../src/api/filter/compile.js";
import { type CheckedQuery, nearest as nearestTask, query as queryTask } from "../../src/query/query.js";
import { resultNow, start as startTask } from "../../src/engine/threads/run.js";
import { isModelOpen, query as queryOne, queryEach as query } from "./tasks.js";
import { searchTogether } from "../../src/query/query-batch.js";
import { Searcher } from "../../src/query/searcher.js";
import { Snapshot } from "../../src/query/snapshot/snapshot.js";
import { BlockCache } from "../../src/state/cache/block-cache.js";
import { IndexCache } from "../../src/state/cache/index-cache.js";
import type { BlobStore } from "../../src/storage/blob-store.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { clustered } from "../engine/data.js";
import { rowsOf } from "../engine/oracle.js";
import { fixedRecord, type Opened, openIndex } from "../protocol/open.js";
import { turnsDuring } from "../engine/turns.js";

const d = 8;
const nLists = 12;
const vectors = rowsOf(clustered(800, d, 12, 3), d);
const include = new Set(["distance"] as const);
const options: CheckedQuery = { topK: 5, effort: { lists: 4 }, include, rawMetadata: false };
const few = compileFilter({ i: { $lt: 700 } });
const none = { candidates: [], rows: [] };

let open: Opened;
let snapshot: Snapshot;
let searcher: Searcher;
let store: BlobStore;
let onRead: () => void;
let reads: number;
let bytesBefore: number;

beforeEach(async () => {
  bytesBefore = allocatedBytes();
  const inner = createMemoryStore();
  onRead = () => undefined;
  const read: typeof inner.read = async (...args) => {
    reads++;
    onRead();
    return inner.read(...args);
  };
  store = { ...inner, read };
  open = openIndex(fixedRecord(), store, systemClock);
  await open.inner.log.createFirst();
  searcher = open.inner.searcher;
  await upsert(0, 600);
});

afterEach(async () => {
  await open.close();
  // What was pinned was released: a closed cache keeps what is in use.
  expect(allocatedBytes()).toBe(bytesBefore);
});

const upsert = (start: number, end: number) =>
  open.index.upsert(
    vectors
      .slice(start, end)
      .map((vector, at) => ({ id: `${start + at}`, vector, metadata: { i: start + at } })),
  );

async function openNewest(): Promise<void> {
  snapshot = await open.inner.snapshots.newest();
  reads = 0;
}

async function train(): Promise<void> {
  await open.index.train({ nLists });
  await openNewest();
}

/** With rows that newer segments shadow, and rows in no list. */
async function trainAndChange(): Promise<void> {
  await train();
  await upsert(500, 800);
  await open.index.delete({ ids: ["1", "2", "700"] });
  await openNewest();
}

/** The newest snapshot, without any of its segments. */
function emptied(): Snapshot {
  const { manifest, model } = snapshot;
  return new Snapshot({ ...manifest, segments: [] }, [], model, new IndexCache(new BlockCache(1_000_000)));
}

function evictSegments(): void {
  for (const { reader } of snapshot.segments) for (const { evict } of reader.cache.idle()) evict();
}

const isOpen = async () => snapshot.model !== undefined && isModelOpen(searcher, snapshot.model);
const nearest = (...args: Parameters<typeof nearestTask>) => startTask(nearestTask(...args));
/** The matches, if nothing has to be waited for. */
const queryNow = (...args: Parameters<typeof queryTask>) => resultNow(queryTask(...args));
const some = (count: number) => vectors.slice(100, 100 + count);
/** Of the first 600 rows. */
const nearestIds = (vector: Float32Array, topK: number) =>
  vectors
    .slice(0, 600)
    .map((row, i) => ({ i, square: row.reduce((sum, value, at) => sum + (value - vector[at]) ** 2, 0) }))
    .sort((a, b) => a.square - b.square)
    .slice(0, topK)
    .map(({ i }) => `${i}`);
/** As if no time passed, so that nothing yields because it took long. */
async function atOnce<T>(work: () => Promise<T> | T): Promise<T> {
  let result: T | undefined;
  await turnsDuring(async () => void (result = await work()));
  return result as T;
}

describe("a query", () => {
  test("for nothing, or of nothing, has its answer at once and reads nothing", async () => {
    await train();
    const filter = compileFilter({ i: { $gte: 0 } });
    for (const each of [options, { ...options, filter }]) {
      expect(nearest(searcher, snapshot, vectors[3], { ...each, topK: 0 })).toEqual(none);
      expect(nearest(searcher, emptied(), vectors[3], each)).toEqual(none);
      expect(await query(searcher, snapshot, some(2), { ...each, topK: 0 })).toEqual([[], []]);
      expect(await query(searcher, emptied(), some(2), each)).toEqual([[], []]);
    }
    expect(reads).toBe(0);
    expect(await isOpen()).toBe(false);
  });

  test("whose filter matches no item reads no model, and has its answer at once the next time", async () => {
    await train();
    const filter = compileFilter({ i: -1 });
    expect(await query(searcher, snapshot, some(2), { ...options, filter })).toEqual([[], []]);
    expect(await nearest(searcher, snapshot, vectors[3], { ...options, filter })).toEqual(none);
    expect(await isOpen()).toBe(false);
    await query(searcher, snapshot, some(1), options);
    expect(nearest(searcher, snapshot, vectors[3], { ...options, filter })).toEqual(none);
    expect(queryNow(searcher, snapshot, vectors[3], { ...options, filter })).toEqual([]);
  });

  test("whose filter matches none of many codes has its answer at once the next time", async () => {
    const record = fixedRecord();
    const definition = {
      ...record.definition,
      config: { ...record.definition.config, type: "ivf" },
    } as const;
    const coded = openIndex({ ...record, definition }, createMemoryStore(), systemClock);
    await coded.inner.log.createFirst();
    await coded.index.upsert(
      vectors.slice(0, 300).map((vector, i) => ({ id: `${i}`, vector, metadata: { i } })),
    );
    await coded.index.train({ nLists: 4 });
    const newest = await coded.inner.snapshots.newest();
    const all = { ...options, filter: compileFilter({ i: -1 }) };
    expect(await query(coded.inner.searcher, newest, some(1), options)).toMatchObject([{ length: 5 }]);
    expect(await query(coded.inner.searcher, newest, some(1), all)).toEqual([[]]);
    expect(queryNow(coded.inner.searcher, newest, vectors[3], all)).toEqual([]);
    await coded.close();
  });

  test("waits for nothing if all that it needs is open", async () => {
    await openNewest();
    for (const isTrained of [false, true]) {
      if (isTrained) await train();
      for (const each of [options, { ...options, filter: few }, { ...options, effort: { lists: nLists } }]) {
        const cold = nearest(searcher, snapshot, vectors[3], each);
        expect(cold).toBeInstanceOf(Promise);
        const { rows } = await cold;
        expect(rows.length).toBe(5);
        const matches = await queryOne(searcher, snapshot, vectors[3], each);
        await atOnce(() => {
          expect(nearest(searcher, snapshot, vectors[3], each)).toMatchObject({ rows });
          expect(queryNow(searcher, snapshot, vectors[3], each)).toEqual(matches);
        });
        evictSegments();
      }
    }
  });

  test("answers at once, and the same, if all that it needs is open", async () => {
    await trainAndChange();
    for (const asked of [
      options,
      { ...options, filter: few },
      { ...options, filter: compileFilter({ i: -1 }) },
    ]) {
      expect(queryNow(searcher, snapshot, vectors[3], asked)).toBeUndefined();
      const [cold] = await query(searcher, snapshot, [vectors[3]], asked);
      reads = 0;
      expect(queryNow(searcher, snapshot, vectors[3], asked)).toEqual(cold);
      const [again] = await query(searcher, snapshot, [vectors[3]], asked);
      expect(again).toEqual(cold);
      expect(reads).toBe(0);
    }
    expect(queryNow(searcher, snapshot, vectors[3], { ...options, topK: 0 })).toEqual([]);
    for (const more of [
      { effort: "exact" as const },
      { effort: { lists: 12 } },
      { effort: { lists: undefined, recall: undefined } },
    ]) {
      const [cold] = await query(searcher, snapshot, [vectors[3]], { ...options, ...more });
      expect(queryNow(searcher, snapshot, vectors[3], { ...options, ...more })).toEqual(cold);
    }
  });

  test("that fails or is aborted gives back what it took", async () => {
    await trainAndChange();
    const other = compileFilter({ i: { $gte: 0 } });
    for (const count of [1, 30]) {
      for (const asked of [
        options,
        { ...options, effort: { lists: undefined, recall: undefined } },
        { ...options, filter: few },
        { ...options, filter: other, effort: "exact" as const },
      ]) {
        for (let failing = 1; ; failing++) {
          const fresh = openIndex(fixedRecord(), store, systemClock);
          const read = await fresh.inner.snapshots.newest();
          let n = 0;
          onRead = () => {
            if (++n === failing) throw new Error("no answer");
          };
          const found = await query(fresh.inner.searcher, read, vectors.slice(0, count), asked).catch(
            (error: Error) => error.message,
          );
          onRead = () => undefined;
          await fresh.close();
          if (n < failing) break;
          expect(found).toContain("no answer");
        }
      }
    }
    const signal = AbortSignal.abort(new Error("enough"));
    for (const count of [1, 30]) {
      const asked = query(searcher, snapshot, vectors.slice(0, count), { ...options, signal });
      await expect(asked).rejects.toThrow("enough");
    }
  });

  test("keeps its model in memory while it reads", async () => {
    await train();
    const models = new BlockCache(1_000_000);
    searcher = new Searcher(open.inner.config, new IndexCache(models));
    const all = { ...options, effort: { lists: nLists } };
    const expected = await query(searcher, snapshot, some(1), all);
    evictSegments();
    reads = 0;
    onRead = () => void models.clear();
    const found = nearest(searcher, snapshot, some(1)[0], all);
    expect((await found).rows.length).toBe(5);
    expect(reads).toBeGreaterThan(0);
    expect(await isOpen()).toBe(true);
    onRead = () => undefined;
    expect(await query(searcher, snapshot, some(1), all)).toEqual(expected);
    await models.close();
  });
});

describe("queries together", () => {
  /** How often blocks were asked for that stay open while they are scanned: once per group, never for a warm query alone. */
  const groupsOf = async (count: number, each: CheckedQuery) => {
    const before = searcher.memory().cacheLookups;
    const many = Array.from({ length: count }, (_, i) => vectors[i]);
    expect((await query(searcher, snapshot, many, each)).length).toBe(count);
    return searcher.memory().cacheLookups - before;
  };

  test("open each block once for 64 of them, or for as many as have 20,000 results", async () => {
    await openNewest();
    await query(searcher, snapshot, some(1), { ...options, topK: 600 });
    for (const [count, topK, groups] of [
      [1, 5, 0],
      [2, 5, 1],
      [64, 5, 1],
      [130, 5, 3],
      [65, 1000, 4],
      [6, 10_000, 3],
    ]) {
      expect([count, topK, await groupsOf(count, { ...options, topK })]).toEqual([count, topK, groups]);
    }
    expect(await groupsOf(10, { ...options, effort: "exact" as const })).toBe(0);
    const filter = compileFilter({ i: { $lt: 300 } });
    await groupsOf(10, { ...options, filter });
    expect(await groupsOf(10, { ...options, filter })).toBe(0);
  });

  test("answer as alone, with a model and without, and reads nothing again", async () => {
    await openNewest();
    const scope = { searcher, snapshot, trained: undefined, matches: undefined };
    const untrained = await searchTogether(scope, some(40), options, undefined);
    expect(new Set(untrained.map(({ alone }) => alone))).toEqual(new Set(["never"]));
    const plain = await query(searcher, snapshot, some(40), options);
    for (const [i, vector] of some(40).entries()) {
      const wanted = nearestIds(vector, 5);
      expect(plain[i].map(({ id }) => id)).toEqual(wanted);
      expect((await query(searcher, snapshot, [vector], options))[0]).toEqual(plain[i]);
    }
    await trainAndChange();
    for (const asked of [
      options,
      { ...options, effort: { lists: undefined, recall: undefined } },
      { ...options, effort: "exact" as const },
      { ...options, filter: few },
    ]) {
      const together = await query(searcher, snapshot, some(40), asked);
      for (const [i, vector] of some(40).entries()) {
        const [alone] = await query(searcher, snapshot, [vector], asked);
        expect(together[i].length).toBe(alone.length);
        if (asked.effort === "exact" || asked.filter !== undefined) expect(together[i]).toEqual(alone);
      }
    }
    reads = 0;
    await query(searcher, snapshot, some(40), options);
    expect(reads).toBe(0);
  });

  test("read nothing if they are aborted while they are planned", async () => {
    await openNewest();
    evictSegments();
    const abort = new AbortController();
    const answer = query(searcher, snapshot, some(64), { ...options, signal: abort.signal });
    abort.abort(new Error("enough"));
    await expect(answer).rejects.toThrow("enough");
    expect(reads).toBe(0);
  });

  test("let other work run after each group, and one query alone does not", async () => {
    await openNewest();
    const turnsOf = (count: number, each: CheckedQuery) =>
      turnsDuring(() => query(searcher, snapshot, some(count), each));
    await turnsOf(2, options);
    expect(await turnsOf(1, options)).toBe(0);
    // With the turns between plans, of which 16 are made at a time.
    expect(await turnsOf(64, options)).toBe(4 + 1);
    expect(await turnsOf(5, { ...options, effort: "exact" as const })).toBe(5);
  });

  test("of short lists are searched one by one once they are warm", async () => {
    await trainAndChange();
    evictSegments();
    const asked = { ...options, effort: { lists: nLists - 1 } };
    const callsOf = async () => {
      const { scanFlatEach = 0, searchLists = 0 } = await kernelCalls(() =>
        query(searcher, snapshot, some(40), asked),
      );
      return { scanFlatEach, searchLists };
    };
    expect((await callsOf()).scanFlatEach).toBeGreaterThan(0);
    expect(await callsOf()).toEqual({ scanFlatEach: 0, searchLists: 40 });
  });

  test("continue alone only if they found too little among the lists that they probed", async () => {
    await train();
    const scans = async (each: CheckedQuery) => {
      // Warm queries are searched one by one.
      evictSegments();
      const { scanFlatEach = 0, scanFlat = 0 } = await kernelCalls(() =>
        atOnce(async () => {
          const found = await query(searcher, snapshot, some(8), each);
          for (const matches of found) expect(matches.length).toBe(Math.min(each.topK, 600));
        }),
      );
      return [scanFlatEach, scanFlat];
    };
    await scans({ ...options, effort: { lists: nLists } });
    expect(await scans({ ...options, topK: 5, effort: { lists: undefined, recall: undefined } })).toEqual([
      1, 0,
    ]);
    const [together, alone] = await scans({
      ...options,
      topK: 600,
      effort: { lists: undefined, recall: undefined },
    });
    expect(together).toBe(1);
    expect(alone).toBeGreaterThan(0);
    // All lists were scanned: nothing is left to be found.
    expect(await scans({ ...options, topK: 700, effort: { lists: nLists } })).toEqual([1, 0]);
  });
});
