/** Memory of searches: blocks that need no waiting, and that all are released, also when a read fails. */

import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { systemClock } from "../../src/state/commit/clock.js";
import { allocatedBytes, wordsAt } from "../../src/engine/kernels/memory.js";
import { compileFilter } from "../../src/api/filter/compile.js";
import type { Matches } from "../../src/query/matches.js";
import { isComplete, openedListBlocks, pinListBlocks, PlacedRows } from "../../src/query/open-list-blocks.js";
import type { HeldSnapshot } from "../../src/query/snapshot/open-snapshots.js";
import { pinIdTables } from "../../src/query/snapshot/id-tables.js";
import {
  isSelective,
  peekPrefiltered,
  pinPrefiltered,
  unpinPrefiltered,
} from "../../src/query/prefiltered-rows.js";
import { searchPrefiltered as searchTask } from "../../src/query/query-prefiltered.js";
import { resultNow } from "../../src/engine/threads/run.js";
import { findMatches, searchPrefiltered } from "../query/tasks.js";
import type { SearchScope } from "../../src/query/search-scope.js";
import { recordId } from "../../src/state/segment/row.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { fixedRecord, type Opened, openIndex } from "../protocol/open.js";

const record = fixedRecord();
const d = 3;
/** Whether a read of this object fails now. */
let fails: (name: string) => boolean;
let open: Opened;
let held: HeldSnapshot;
let scope: SearchScope;
let bytesBefore: number;
/** The live vectors, by their ids. */
let live: Map<string, number[]>;

const vectorOf = (i: number, version: number) => [i % 31, Math.floor(i / 31), version];

async function upsert(ids: readonly number[], version: number): Promise<void> {
  for (const i of ids) live.set(`${i}`, vectorOf(i, version));
  await open.index.upsert(
    ids.map((i) => ({ id: `${i}`, vector: vectorOf(i, version), metadata: { i, third: i % 3 } })),
  );
}

const numbers = (start: number, end: number) => Array.from({ length: end - start }, (_, i) => start + i);

beforeEach(async () => {
  bytesBefore = allocatedBytes();
  fails = () => false;
  live = new Map();
  const inner = createMemoryStore();
  const read: typeof inner.read = async (name, ...rest) => {
    if (fails(name)) throw new Error("no answer");
    return inner.read(name, ...rest);
  };
  open = openIndex(record, { ...inner, read }, systemClock);
  await open.inner.log.createFirst();
  await upsert(numbers(0, 2000), 0);
  await upsert(numbers(0, 90), 1);
  await upsert(numbers(60, 120), 2);
  await open.index.delete({ ids: ["5", "600"] });
  for (const id of ["5", "600"]) live.delete(id);
  held = await open.inner.snapshots.hold();
  const { searcher } = open.inner;
  scope = { searcher, snapshot: held.snapshot, trained: undefined, matches: undefined };
  evictAll();
});

afterEach(async () => {
  fails = () => false;
  held.release();
  await open.close();
  // The pinned blocks were released: a closed cache keeps blocks in use.
  expect(allocatedBytes()).toBe(bytesBefore);
});

const readers = () => held.snapshot.segments.map(({ reader }) => reader);
/** Also the blocks that were read when the segments were opened. */
const evictAll = () => {
  for (const { cache } of readers()) for (const { evict } of cache.idle()) evict();
};
/** The name of the object of segment `number`. */
const nameOf = (number: number) => held.snapshot.segments[number].ref.name;
const failSegment = (number: number) => {
  const last = nameOf(number).split("/").at(-1) as string;
  fails = (name) => name.endsWith(last);
};

describe("id tables", () => {
  test("are pinned in the order of their readers, and stay until they are released", async () => {
    const reversed = readers().toReversed();
    const { tables, release } = await pinIdTables(reversed);
    expect(tables.map(({ count }) => count)).toEqual([2, 60, 90, 2000]);
    tables.forEach((table, i) => expect(reversed[i].openedTable()).toBe(table));
    for (const { cache } of reversed) expect(cache.idle()).toEqual([]);
    release();
    for (const { cache } of reversed) expect(cache.idle().length).toBe(1);
  });

  test("are not kept pinned if one of them cannot be read", async () => {
    for (const number of [0, 2, 3]) {
      failSegment(number);
      await expect(pinIdTables(readers())).rejects.toThrow("no answer");
      expect(readers()[1].cache.idle().length).toBe(1);
      expect(readers()[number].openedTable()).toBe(undefined);
      fails = () => false;
      (await pinIdTables([readers()[number]])).release();
      expect(readers()[number].cache.idle().length).toBe(1);
      evictAll();
    }
  });
});

describe("list blocks", () => {
  test("are open if all codes and all tables that shadow their rows are", async () => {
    const { snapshot } = held;
    const blocks = snapshot.listBlocks.all;
    expect(openedListBlocks(snapshot, blocks)).toBe(undefined);
    expect(openedListBlocks(snapshot, [])).toEqual({ codes: [], tables: [] });
    const [oldest] = snapshot.segments;
    const own = blocks.filter(({ segment }) => segment === oldest);
    await oldest.reader.pinCodes(own.map(({ block }) => block));
    expect(openedListBlocks(snapshot, own)).toBe(undefined);
    const { codes, tables, release } = await pinListBlocks(snapshot, own);
    // Of the segments that are newer than the oldest, newest first.
    expect(tables.map(({ count }) => count)).toEqual([2, 60, 90]);
    expect(codes).toEqual(own.map(({ block }) => oldest.reader.openedCodes(block)));
    expect(openedListBlocks(snapshot, own)).toEqual({ codes, tables });
    expect(openedListBlocks(snapshot, blocks)).toBe(undefined);
    release();
    oldest.reader.cache.unpin(own.map(({ block }) => block));
    for (const { evict } of oldest.reader.cache.idle()) evict();
    expect(openedListBlocks(snapshot, own)).toBe(undefined);
  });

  test("come in the order that was asked for, with the tables that the oldest of them needs", async () => {
    const { snapshot } = held;
    const blocks = snapshot.listBlocks.all.toReversed();
    const { codes, tables, release } = await pinListBlocks(snapshot, blocks);
    expect(codes).toEqual(blocks.map(({ segment, block }) => segment.reader.openedCodes(block)));
    expect(tables.length).toBe(3);
    for (const { cache } of readers()) expect(cache.idle()).toEqual([]);
    expect(tables).toEqual(
      snapshot.newestReaders(snapshot.listBlocks.newerSegmentsMax).map((reader) => reader.openedTable()),
    );
    release();
    for (const { cache } of readers()) expect(cache.idle().length).toBeGreaterThan(0);
    const unshadowed = blocks.filter(({ newerSegments }) => newerSegments === 0);
    expect(openedListBlocks(snapshot, unshadowed)?.tables).toEqual([]);
    const newest = blocks.filter(({ segment }) => segment === snapshot.segments[2]);
    const few = await pinListBlocks(snapshot, newest);
    expect(few.tables.map(({ count }) => count)).toEqual([2]);
    few.release();
  });

  test("are given back if codes or a table cannot be read", async () => {
    for (const number of [0, 1, 3]) {
      failSegment(number);
      await expect(pinListBlocks(held.snapshot, held.snapshot.listBlocks.all)).rejects.toThrow("no answer");
      expect(readers()[2].cache.idle().length).toBe(2);
      fails = () => false;
      evictAll();
      for (const { cache } of readers()) expect(cache.idle()).toEqual([]);
      expect(allocatedBytes()).toBe(bytesBefore);
    }
    (await pinListBlocks(held.snapshot, held.snapshot.listBlocks.all)).release();
  });

  test("are complete if none is missing", () => {
    expect([isComplete([]), isComplete([1, 0]), isComplete([1, undefined])]).toEqual([true, true, false]);
  });
});

test("rows that a filter accepts are placed in kernel memory once per segment, and freed", async () => {
  const matches = await findMatches(held.snapshot, compileFilter({ third: 1 }));
  const before = allocatedBytes();
  const placed = new PlacedRows(matches.rows);
  for (const segment of held.snapshot.segments.slice(0, 3)) {
    const { bits } = matches.rows.get(segment) as { bits: Uint32Array };
    const address = placed.addressOf(segment);
    expect([...wordsAt(address, bits.length)]).toEqual([...bits]);
    const bytes = allocatedBytes();
    expect(placed.addressOf(segment)).toBe(address);
    expect(allocatedBytes()).toBe(bytes);
  }
  expect(allocatedBytes()).toBeGreaterThan(before);
  placed.free();
  expect(allocatedBytes()).toBe(before);
  placed.free();
  expect(allocatedBytes()).toBe(before);
});

describe("few rows that match a filter", () => {
  const matching = (filter: unknown): Promise<Matches> => findMatches(held.snapshot, compileFilter(filter));

  test("are 2048, or 64 MiB of vectors, at most", () => {
    expect([isSelective(2048, 1), isSelective(2049, 1)]).toEqual([true, false]);
    expect([isSelective(1024, 16_384), isSelective(1025, 16_384)]).toEqual([true, false]);
    expect([isSelective(0, 65_536), isSelective(2, 8_388_609)]).toEqual([true, false]);
    expect([isSelective(2048, 8192), isSelective(2048, 8193), isSelective(2047, 8193)]).toEqual([
      true,
      false,
      true,
    ]);
    expect([isSelective(1, 2 ** 24), isSelective(1, 2 ** 24 + 1)]).toEqual([true, false]);
  });

  test("lie side by side in pieces that end at 64 and 512 rows, with their numbers and vectors", async () => {
    const { config } = scope.searcher;
    for (const [filter, firsts, lengths] of [
      [{ i: { $lt: 64 } }, [0], [64]],
      [{ i: { $gte: 135, $lt: 200 } }, [0, 64], [64, 1]],
      [{ third: 2 }, [0, 64, 512], [64, 448, 154]],
    ] as const) {
      const { selected } = await matching(filter);
      const oldest = selected.find(({ segment }) => segment === held.snapshot.segments[0]);
      if (oldest === undefined) throw new Error("no match");
      const { reader } = oldest.segment;
      expect(peekPrefiltered(reader, oldest.matching)).toBe(undefined);
      const before = allocatedBytes();
      const opened = await pinPrefiltered(config, reader, oldest.matching);
      expect(peekPrefiltered(reader, oldest.matching)).toBe(opened);
      expect(await pinPrefiltered(config, reader, oldest.matching)).toBe(opened);
      unpinPrefiltered(reader, oldest.matching);
      expect(opened.pieces.map(({ firstPlace }) => firstPlace)).toEqual(firsts);
      const ids = (await reader.records(opened.rows)).map(recordId);
      const isWanted = compileFilter(filter).matches;
      const wanted = numbers(0, 2000).filter((i) => isWanted({ i, third: i % 3 }));
      expect(ids.toSorted()).toEqual(wanted.map((i) => `${i}`).toSorted());
      for (const [p, { firstPlace, codes }] of opened.pieces.entries()) {
        const places = numbers(0, lengths[p]);
        expect([...codes.gather(places)]).toEqual(
          places.flatMap((at) => vectorOf(Number(ids[firstPlace + at]), 0)),
        );
      }
      // The codes of blocks, which were read for them, are in the cache as well.
      expect(opened.bytes).toBeGreaterThanOrEqual((8 + 16 + 4 * d) * ids.length);
      expect(opened.bytes).toBeLessThanOrEqual(allocatedBytes() - before + 8 * ids.length);
      for (const { evict } of reader.cache.idle()) evict();
      expect(allocatedBytes() - before).toBe(opened.bytes - 8 * ids.length);
      unpinPrefiltered(reader, oldest.matching);
      for (const { evict } of reader.cache.idle()) evict();
      expect(peekPrefiltered(reader, oldest.matching)).toBe(undefined);
      expect(allocatedBytes()).toBe(before);
    }
  });

  test.each([[{ third: 2 }], [{ i: { $lt: 100 } }], [{ i: 61 }], [{ i: 1999 }]])(
    "are compared one by one: %j",
    async (filter) => {
      const matches = await matching(filter);
      const isWanted = compileFilter(filter).matches;
      for (const query of [vectorOf(40, 0), vectorOf(70, 2), vectorOf(1300, 0)]) {
        const score = (vector: readonly number[]) =>
          vector.reduce((sum, x, i) => sum + (x - query[i]) ** 2, 0);
        const ordered = [...live]
          .filter(([id]) => isWanted({ i: Number(id), third: Number(id) % 3 }))
          .map(([id, vector]) => ({ id, score: score(vector) }))
          .sort((a, b) => a.score - b.score);
        const vector = new Float32Array(query);
        for (const topK of [1, 20, 3000]) {
          evictAll();
          expect(resultNow(searchTask(scope, matches, vector, topK))).toBe(undefined);
          const cold = await searchPrefiltered(scope, matches, vector, topK);
          const warm = resultNow(searchTask(scope, matches, vector, topK));
          expect(warm?.rows).toEqual(cold.rows);
          expect(cold.candidates.map((each) => each.score)).toEqual(
            ordered.slice(0, topK).map((each) => each.score),
          );
          for (const [i, { segment, row }] of cold.rows.entries()) {
            const [found] = await segment.reader.records([row]);
            expect(score(live.get(recordId(found)) as number[])).toBe(cold.candidates[i].score);
          }
        }
      }
    },
  );

  test("are not searched at once while a table that shadows them is not open", async () => {
    const matches = await matching({ i: { $lt: 100 } });
    const vector = new Float32Array(d);
    const found = await searchPrefiltered(scope, matches, vector, 5);
    const newest = readers()[3];
    for (const { evict } of newest.cache.idle()) evict();
    expect(resultNow(searchTask(scope, matches, vector, 5))).toBe(undefined);
    expect(await searchPrefiltered(scope, matches, vector, 5)).toEqual(found);
  });

  test("are given back if rows or a table cannot be read", async () => {
    const matches = await matching({ i: { $lt: 100 } });
    evictAll();
    for (const number of [0, 1, 3]) {
      failSegment(number);
      const vector = new Float32Array(d);
      await expect(searchPrefiltered(scope, matches, vector, 5)).rejects.toThrow("no answer");
      fails = () => false;
      expect((await searchPrefiltered(scope, matches, vector, 5)).rows.length).toBe(5);
      evictAll();
      for (const { segment, matching: rows } of matches.selected) {
        expect(peekPrefiltered(segment.reader, rows)).toBe(undefined);
      }
    }
  });
});
