/** Scans of list blocks: which of them are open at a time, when other work runs, and which queries take one kernel call. */

import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { systemClock } from "../../src/state/commit/clock.js";
import type { Trained } from "../../src/engine/scan/choose-codec.js";
import { allocatedBytes } from "../../src/engine/kernels/memory.js";
import { QueryVector } from "../../src/engine/query-vector.js";
import { compileFilter } from "../../src/api/filter/compile.js";
import { plan, type Probed } from "../../src/query/plan.js";
import type { Probing } from "../../src/query/scan-limits.js";
import { type CheckedQuery, nearest as nearestTask } from "../../src/query/query.js";
import { start as startTask } from "../../src/engine/threads/run.js";
import { findMatches, nearest, queryEach as query } from "./tasks.js";
import { heldTogether } from "../../src/query/scan-list-blocks.js";
import type { SearchScope } from "../../src/query/search-scope.js";
import { Searcher } from "../../src/query/searcher.js";
import type { ListBlock, Snapshot } from "../../src/query/snapshot/snapshot.js";
import { searchWarm } from "../../src/query/query-warm.js";
import { BlockCache } from "../../src/state/cache/block-cache.js";
import { IndexCache } from "../../src/state/cache/index-cache.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { clustered } from "../engine/data.js";
import { rowsOf } from "../engine/oracle.js";
import { fixedRecord, type Opened, openIndex } from "../protocol/open.js";
import { turnsDuring } from "../engine/turns.js";

const d = 4;
const nLists = 30;
const n = 2400;
const vectors = rowsOf(clustered(n, d, 30, 3), d);
const include = new Set(["distance"] as const);
const automatic: Probing = { topK: 5, effort: { lists: undefined, recall: undefined } };
const options: CheckedQuery = { ...automatic, include, rawMetadata: false };

let open: Opened;
let snapshot: Snapshot;
let searcher: Searcher;
let trained: Trained;
let scope: SearchScope;

beforeAll(async () => {
  open = openIndex(fixedRecord(), createMemoryStore(), systemClock);
  await open.inner.log.createFirst();
  const upsert = (start: number, end: number) =>
    open.index.upsert(
      vectors
        .slice(start, end)
        .map((vector, at) => ({ id: `${start + at}`, vector, metadata: { i: start + at } })),
    );
  await upsert(0, 2200);
  await open.index.train({ nLists });
  await upsert(2100, n);
});

afterAll(() => open.close());

/** All that a search looks at is open. */
beforeEach(async () => {
  searcher = open.inner.searcher;
  snapshot = await open.inner.snapshots.newest();
  const { model } = snapshot;
  if (model === undefined) throw new Error("no model");
  await query(searcher, snapshot, [vectors[0]], { ...options, topK: n, effort: "exact" as const });
  trained = await searcher.withTrained(model, (each) => each);
  scope = { searcher, snapshot, trained, matches: undefined };
});

test("blocks are open together until they have enough bytes, one at least", () => {
  const blocks = snapshot.listBlocks.all.slice(0, 3).map((listBlock, i): ListBlock => {
    return { ...listBlock, block: { ...listBlock.block, length: [10, 20, 30][i] } };
  });
  const counts = (start: number) =>
    [0, 10, 11, 30, 31, 60, 100].map((max) => heldTogether(blocks, start, max));
  expect(counts(0)).toEqual([1, 1, 2, 2, 3, 3, 3]);
  expect(counts(1)).toEqual([1, 1, 1, 2, 2, 2, 2]);
  expect(counts(2)).toEqual([1, 1, 1, 1, 1, 1, 1]);
  expect(heldTogether(blocks, 3, 100)).toBe(0);
});

test("a scan of many blocks lets other work run whenever its slice is over, and finds the same", async () => {
  const all = { ...options, topK: 400, effort: "exact" as const };
  const find = async () => nearest(searcher, snapshot, vectors[3], all);
  const found = await find();
  expect(found.rows.length).toBe(400);
  let again: typeof found | undefined;
  const search = async () => void (again = await find());
  expect(await turnsDuring(search)).toBe(0);
  expect(again).toEqual(found);
  // A slice begins with a look at the clock, and ends with the third after it.
  expect(await turnsDuring(search, 3)).toBeGreaterThan(2);
  expect(again).toEqual(found);
});

test("an aborted scan ends before its first block, open or not", async () => {
  const signal = AbortSignal.abort(new Error("enough"));
  expect(() =>
    startTask(nearestTask(searcher, snapshot, vectors[3], { ...options, effort: "exact" as const, signal })),
  ).toThrow("enough");
  for (const { reader } of snapshot.segments) for (const { evict } of reader.cache.idle()) evict();
  const cold = async () =>
    nearest(searcher, snapshot, vectors[3], { ...options, effort: "exact" as const, signal });
  await expect(cold()).rejects.toThrow("enough");
  for (const { reader } of snapshot.segments) expect(reader.cache.idle()).toEqual([]);
});

test("rows that a filter accepts are given back after each search, alone or together", async () => {
  // More than are compared one by one.
  const filter = compileFilter({ i: { $gte: 10 } });
  for (const count of [1, 20]) {
    for (const effort of [{ recall: undefined }, { lists: 3 }, { lists: nLists }]) {
      const search = () => query(searcher, snapshot, vectors.slice(0, count), { ...options, effort, filter });
      const found = await search();
      const before = allocatedBytes();
      expect(await search()).toEqual(found);
      expect(allocatedBytes()).toBe(before);
      for (const matches of found) {
        expect(matches.length).toBe(5);
        for (const { id } of matches) expect(Number(id)).toBeGreaterThanOrEqual(10);
      }
    }
  }
});

test("a warm query takes one pass over its lists, with the rows that other passes find", async () => {
  for (const vector of vectors.slice(0, 700).filter((_, i) => i % 50 === 0)) {
    for (const probing of [
      automatic,
      { ...automatic, effort: { lists: 1 } },
      { ...automatic, effort: { lists: nLists - 1 } },
    ]) {
      const warm = searchWarm(scope, vector, probing);
      const { rows } = await nearest(searcher, snapshot, vector, { ...options, ...probing });
      expect(warm?.rows).toEqual(rows);
      expect(rows.length).toBe(5);
    }
  }
});

test("a query that takes more than one pass has no warm answer", async () => {
  const [, , , vector] = vectors;
  expect(searchWarm(scope, vector, automatic)).toBeDefined();
  expect(searchWarm({ ...scope, trained: undefined }, vector, automatic)).toBeUndefined();
  expect(searchWarm(scope, vector, { ...automatic, effort: "exact" as const })).toBeUndefined();
  expect(searchWarm(scope, vector, { ...automatic, effort: { lists: nLists } })).toBeUndefined();
  const crowded = new Searcher(open.inner.config, new IndexCache(new BlockCache(1)));
  expect(searchWarm({ ...scope, searcher: crowded }, vector, automatic)).toBeUndefined();
  const newest = snapshot.segments[snapshot.segments.length - 1].reader;
  for (const { evict } of newest.cache.idle()) evict();
  expect(searchWarm(scope, vector, automatic)).toBeUndefined();
});

test("a warm query that found too little has an answer only if it was asked for a number of lists: all rows of so many", async () => {
  expect(searchWarm(scope, vectors[3], { ...automatic, topK: n + 1 })).toBeUndefined();
  const matches = await findMatches(snapshot, compileFilter({ i: { $gte: 0 } }));
  const rowsOfAll = ({ blocks }: Probed) => blocks.reduce((sum, { block }) => sum + block.rows, 0);
  const ungrouped = snapshot.ungroupedListBlocks.reduce((sum, { block }) => sum + block.rows, 0);
  const kinds = new Set<boolean>();
  for (const [i, vector] of vectors.slice(0, 300).entries()) {
    const probing = { topK: n, effort: { lists: 1 + (i % (nLists - 1)) } };
    for (const filtered of [scope, { ...scope, matches }]) {
      const asked = new QueryVector("euclidean", vector, trained.quantizer.rotation);
      const { likely, unlikely } = plan({ ...filtered, trained }, asked, probing);
      asked.free();
      const rows = ungrouped + rowsOfAll(likely) + rowsOfAll(unlikely);
      const found = searchWarm(filtered, vector, probing)?.rows.length;
      expect(found).toBeLessThanOrEqual(rows);
      // Newer segments shadow no more.
      expect(found).toBeGreaterThanOrEqual(rows - 100);
      kinds.add(unlikely.blocks.length > 0);
    }
  }
  expect(kinds).toEqual(new Set([true, false]));
});

test("a query that lets the index choose the lists gets all rows that it asked for, of an index that shrank", async () => {
  await open.index.delete({ ids: vectors.flatMap((_, i) => (i % 12 === 0 ? [] : [`${i}`])) });
  snapshot = await open.inner.snapshots.newest();
  await query(searcher, snapshot, [vectors[0]], { ...options, topK: n, effort: "exact" as const });
  const now = { ...scope, snapshot };
  const kinds = new Set<boolean>();
  for (const vector of vectors.slice(0, 300)) {
    const warm = searchWarm(now, vector, { ...automatic, topK: 12 });
    if (warm !== undefined) expect(warm.rows.length).toBe(12);
    kinds.add(warm === undefined);
    const found = await nearest(searcher, snapshot, vector, { ...options, topK: 12 });
    expect(found.rows.length).toBe(12);
  }
  expect(kinds).toEqual(new Set([true, false]));
});
