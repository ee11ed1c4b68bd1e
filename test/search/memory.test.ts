/** What searches take of memory: what is kept for the next one, and what is given back, also if they fail. */

import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { systemClock } from "../../src/commit/clock.js";
import { allocatedBytes } from "../../src/engine/kernels/memory.js";
import { compileFilter } from "../../src/filter.js";
import { findMatches } from "../../src/search/matches.js";
import { memoryUse } from "../../src/search/memory-use.js";
import { openedListBlocks, pinListBlocks } from "../../src/search/open-list-blocks.js";
import { prefetch } from "../../src/search/prefetch.js";
import {
  isSelective,
  peekPrefiltered,
  pinPrefiltered,
  unpinPrefiltered,
} from "../../src/search/prefiltered-rows.js";
import { searchOpenedPrefiltered, searchPrefiltered } from "../../src/search/prefiltered-search.js";
import { type CheckedQuery, query, queryWarm } from "../../src/search/query.js";
import { searchTogether } from "../../src/search/query-batch.js";
import { Searcher } from "../../src/search/searcher.js";
import type { Snapshot } from "../../src/search/snapshot.js";
import type { Block } from "../../src/segment/block.js";
import { BlockCache } from "../../src/segment/block-cache.js";
import { IndexCache } from "../../src/segment/index-cache.js";
import type { BlobStore } from "../../src/storage/blob-store.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { clustered } from "../engine/data.js";
import { rowsOf } from "../engine/oracle.js";
import { fixedRecord, type Opened, openIndex } from "../protocol/open.js";

const d = 8;
const vectors = rowsOf(clustered(900, d, 12, 3), d);
const include = new Set(["distance", "metadata"] as const);
const options: CheckedQuery = { topK: 5, nProbes: 4, greedy: false, include, rawMetadata: false };
const few = compileFilter({ i: { $lt: 700 } });

let open: Opened;
let snapshot: Snapshot;
let store: BlobStore;
let reads: string[];
let fails: () => boolean;
let bytesBefore: number;

beforeEach(async () => {
  bytesBefore = allocatedBytes();
  const inner = createMemoryStore();
  reads = [];
  fails = () => false;
  store = {
    ...inner,
    read: async (name, range, more) => {
      reads.push(name);
      if (fails()) throw new Error("no answer");
      return inner.read(name, range, more);
    },
  };
  open = openIndex(fixedRecord(), store, systemClock);
  await open.inner.log.begin();
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

async function trained(): Promise<void> {
  await open.index.train({ nLists: 12 });
  await upsert(500, 800);
  await open.index.delete({ ids: ["1", "2", "700"] });
  snapshot = await open.inner.snapshots.newest();
}

const expectedIds = (vector: Float32Array, isLive: (i: number) => boolean, topK: number) =>
  vectors
    .slice(0, 800)
    .map((row, i) => ({ i, square: row.reduce((sum, value, at) => sum + (value - vector[at]) ** 2, 0) }))
    .filter(({ i }) => isLive(i))
    .sort((a, b) => a.square - b.square)
    .slice(0, topK)
    .map(({ i }) => `${i}`);

const isLive = (i: number) => ![1, 2, 700].includes(i);

describe("a query", () => {
  test("answers at once, and the same, if all that it needs is open", async () => {
    await trained();
    const { searcher } = open.inner;
    for (const asked of [
      options,
      { ...options, filter: few },
      { ...options, filter: compileFilter({ i: -1 }) },
    ]) {
      expect(queryWarm(searcher, snapshot, vectors[3], asked)).toBeUndefined();
      const [cold] = await query(searcher, snapshot, [vectors[3]], asked);
      reads.length = 0;
      expect(queryWarm(searcher, snapshot, vectors[3], asked)).toEqual(cold);
      const [again] = await query(searcher, snapshot, [vectors[3]], asked);
      expect(again).toEqual(cold);
      expect(reads).toEqual([]);
    }
    expect(queryWarm(searcher, snapshot, vectors[3], { ...options, topK: 0 })).toBeUndefined();
    expect(queryWarm(searcher, snapshot, vectors[3], { ...options, greedy: true })).toBeUndefined();
    expect(queryWarm(searcher, snapshot, vectors[3], { ...options, nProbes: 12 })).toBeUndefined();
    expect(await query(searcher, snapshot, [vectors[3]], { ...options, topK: 0 })).toEqual([[]]);
  });

  test("with a selective filter compares just its rows, and keeps them open", async () => {
    await trained();
    const { searcher } = open.inner;
    const matches = await findMatches(snapshot, few);
    const scope = { searcher, snapshot, trained: undefined, matches };
    expect(searchOpenedPrefiltered(scope, matches, vectors[3], 10)).toBeUndefined();
    const found = await searchPrefiltered(scope, matches, vectors[3], 10);
    expect(searchOpenedPrefiltered(scope, matches, vectors[3], 10)).toEqual(found);
    const ids = (await query(searcher, snapshot, [vectors[3]], { ...options, topK: 10, filter: few }))[0].map(
      ({ id }) => id,
    );
    expect(ids).toEqual(expectedIds(vectors[3], (i) => i < 700 && isLive(i), 10));
    const [{ segment, matching }] = matches.selected;
    const rows = peekPrefiltered(segment.reader, matching);
    expect(rows?.rows.length).toBe(matching.count);
    expect(rows?.pieces.map(({ firstPlace }) => firstPlace)).toEqual([0, 64, 512]);
    const bytes = rows?.bytes ?? 0;
    // The vectors, their fingerprints, and numbers of rows.
    expect(bytes).toBeGreaterThan((4 * d + 16 + 8) * matching.count - 1);
    expect(bytes).toBeLessThan((4 * d + 16 + 8) * matching.count + 20_000);
    expect(await pinPrefiltered(searcher.config, segment.reader, matching)).toBe(rows);
    unpinPrefiltered(segment.reader, matching);
  });

  test("a filter is selective up to 2048 rows and 64 MiB of vectors", () => {
    expect(isSelective(2048, 4)).toBe(true);
    expect(isSelective(2049, 4)).toBe(false);
    expect(isSelective(0, 4)).toBe(true);
    expect(isSelective(2048, 8192)).toBe(true);
    expect(isSelective(2048, 8193)).toBe(false);
    expect(isSelective(2047, 8193)).toBe(true);
    expect(isSelective(1, 2 ** 24)).toBe(true);
    expect(isSelective(1, 2 ** 24 + 1)).toBe(false);
  });

  test("together with others answers as alone, with a model and without, and reads nothing again", async () => {
    const { searcher } = open.inner;
    const some = vectors.slice(100, 140);
    snapshot = await open.inner.snapshots.newest();
    const scope = { searcher, snapshot, trained: undefined, matches: undefined };
    const untrained = await searchTogether(scope, some, options, undefined);
    expect(new Set(untrained.map(({ alone }) => alone))).toEqual(new Set(["never"]));
    const plain = await query(searcher, snapshot, some, options);
    for (const [i, vector] of some.entries()) {
      const wanted = expectedIds(vector, (place) => place < 600, 5);
      expect(plain[i].map(({ id }) => id)).toEqual(wanted);
      expect((await query(searcher, snapshot, [vector], options))[0]).toEqual(plain[i]);
    }
    await trained();
    for (const asked of [
      options,
      { ...options, nProbes: 0 },
      { ...options, greedy: true },
      { ...options, filter: few },
    ]) {
      const together = await query(searcher, snapshot, some, asked);
      for (const [i, vector] of some.entries()) {
        const [alone] = await query(searcher, snapshot, [vector], asked);
        expect(together[i].length).toBe(alone.length);
        if (asked.greedy || asked.filter !== undefined) expect(together[i]).toEqual(alone);
      }
    }
    reads.length = 0;
    await query(searcher, snapshot, some, options);
    expect(reads).toEqual([]);
  });

  test("that fails or is aborted gives back what it took", async () => {
    await trained();
    const other = compileFilter({ i: { $gte: 0 } });
    for (const count of [1, 30]) {
      for (const asked of [
        options,
        { ...options, nProbes: 0 },
        { ...options, filter: few },
        { ...options, filter: other, greedy: true },
      ]) {
        for (let failing = 1; ; failing++) {
          const fresh = openIndex(fixedRecord(), store, systemClock);
          const read = await fresh.inner.snapshots.newest();
          let n = 0;
          fails = () => ++n === failing;
          const found = await query(fresh.inner.searcher, read, vectors.slice(0, count), asked).catch(
            (error: Error) => error.message,
          );
          fails = () => false;
          await fresh.close();
          if (n < failing) break;
          expect(found).toContain("no answer");
        }
      }
    }
    const signal = AbortSignal.abort(new Error("enough"));
    for (const count of [1, 30]) {
      const asked = query(open.inner.searcher, snapshot, vectors.slice(0, count), { ...options, signal });
      await expect(asked).rejects.toThrow("enough");
    }
  });
});

describe("blocks of lists", () => {
  test("are pinned with the id tables that shadow their rows, until they are released", async () => {
    await trained();
    const held = await open.inner.snapshots.hold();
    const { all, newerSegmentsMax } = held.snapshot.listBlocks;
    const pinned = await pinListBlocks(held.snapshot, all);
    expect(pinned.codes.length).toBe(all.length);
    expect(new Set(pinned.codes).size).toBe(all.length);
    expect(pinned.codes).toEqual(all.map(({ segment, block }) => segment.reader.openedCodes(block)));
    expect(pinned.tables).toEqual(
      held.snapshot.newestReaders(newerSegmentsMax).map((reader) => reader.openedTable()),
    );
    expect(pinned.tables.length).toBe(newerSegmentsMax);
    const opened = openedListBlocks(held.snapshot, all);
    expect(opened).toEqual({ codes: pinned.codes, tables: pinned.tables });
    pinned.release();
    const last = all.filter(({ newerSegments }) => newerSegments === 0);
    expect(openedListBlocks(held.snapshot, last)?.tables).toEqual([]);
    expect(openedListBlocks(held.snapshot, [])).toEqual({ codes: [], tables: [] });
    held.release();
  });
});

describe("prefetching", () => {
  test("reads all that queries need, if there is room for it", async () => {
    await trained();
    const { inner } = open;
    expect(await prefetch(inner, undefined)).toBe(true);
    reads.length = 0;
    for (let i = 0; i < 800; i += 50)
      await query(inner.searcher, snapshot, [vectors[i]], { ...options, greedy: true });
    expect(reads).toEqual([]);
    expect(await prefetch(inner, undefined)).toBe(true);
    expect(reads.filter((name) => !name.includes("/manifest/"))).toEqual([]);
  });

  test("leaves out what would not leave a tenth of the cache free", async () => {
    snapshot = await open.inner.snapshots.newest();
    const lengthOf = (blocks: Iterable<Block>) =>
      Array.from(blocks, ({ length }) => length).reduce((sum, length) => sum + length, 0);
    const { codes, records } = snapshot.segments[0].reader.footer;
    const needed = [lengthOf(codes), lengthOf(records)];
    const tried = async (room: number, taken: number) => {
      const cache = new IndexCache(new BlockCache(room));
      const owner = {};
      cache.groupOf(owner).hold(taken);
      const searcher = new Searcher(open.inner.config, cache);
      return prefetch({ searcher, snapshots: open.inner.snapshots }, undefined);
    };
    const largest = Math.max(...needed);
    const enough = Math.ceil((1.1 * largest + 5000) / 0.9);
    expect(await tried(enough, 5000)).toBe(true);
    expect(await tried(enough - 3, 5000)).toBe(false);
    expect(await tried(Math.ceil((1.1 * Math.min(...needed) + 5000) / 0.9) - 3, 5000)).toBe(false);
    expect(await tried(5000, 5000)).toBe(false);
  });

  test("of an index without items is done, and an aborted one stops", async () => {
    const aborted = prefetch(open.inner, AbortSignal.abort(new Error("enough")));
    await expect(aborted).rejects.toThrow("enough");
    const empty = openIndex(fixedRecord(), createMemoryStore(), systemClock);
    await empty.inner.log.begin();
    expect(await prefetch(empty.inner, undefined)).toBe(true);
    await empty.close();
  });
});

test("the use of memory has the numbers of the cache, the process and the kernels", () => {
  const use = memoryUse({ bytes: 1, bytesMax: 2, lookups: 3, misses: 4 });
  expect(use).toMatchObject({ cacheBytes: 1, cacheBytesMax: 2, cacheLookups: 3, cacheMisses: 4 });
  expect(use.kernelBytes).toBe(allocatedBytes());
  expect(use.rssBytes).toBeGreaterThan(1_000_000);
});
