/** What a filter means for a query: how many rows match, where, and how they lie in the lists. */

import { describe, expect, test } from "vitest";
import { compileFilter } from "../../src/api/filter/compile.js";
import {
  distributionOf,
  findMatches as findTask,
  listMatches,
  type Matches,
  withMatches,
} from "../../src/query/matches.js";
import { resultNow } from "../../src/engine/threads/run.js";
import { findMatches } from "./tasks.js";
import { border, filtered, metadata, nLists, snapshot, usePlannedIndex } from "./planned-index.js";

usePlannedIndex();

describe("matches", () => {
  test("are counted per list, and their concentration is that around a match", async () => {
    const filter = { x: { $lt: border } };
    const { matches } = await filtered(filter);
    const expected = metadata.filter(({ x }) => x < border).length;
    expect(matches.count).toBe(expected);
    expect(matches.share).toBe(expected / 3400);
    const { concentration, matching } = distributionOf(snapshot, matches);
    let pairs = 0;
    let lists = 0;
    for (let list = 0; list < nLists; list++) {
      const own = snapshot.listBlocks.all.filter(({ block }) => block.list === list);
      const { rows, matches: count, blocks } = listMatches(snapshot, matches, list);
      expect(rows).toBe(own.reduce((sum, { block }) => sum + block.rows, 0));
      expect(blocks).toEqual(
        own.filter(({ block, segment }) => matches.rows.get(segment)?.blocks.get(block)),
      );
      expect(count).toBeLessThanOrEqual(rows);
      if (rows > 1) pairs += (count * (count - 1)) / (rows - 1);
      if (count > 0) lists++;
      expect(((matching.bits[list >>> 5] >>> (list & 31)) & 1) === 1).toBe(count > 0);
    }
    expect(matching.count).toBe(lists);
    expect(lists).toBeLessThan(nLists);
    expect(concentration).toBeCloseTo(pairs / expected, 12);
    expect(concentration).toBeGreaterThan(matches.share);
  });

  test("are kept for the snapshot, by their filter", async () => {
    const filter = compileFilter({ rare: 3 });
    expect(resultNow(findTask(snapshot, filter))).toBeUndefined();
    const found = await findMatches(snapshot, filter);
    expect(resultNow(findTask(snapshot, compileFilter({ rare: 3 })))).toBe(found);
    expect(await findMatches(snapshot, filter)).toBe(found);
    expect(resultNow(findTask(snapshot, compileFilter({ rare: 4 })))).toBeUndefined();
  });

  test("are in the segments that have any, and few of them can be compared one by one", async () => {
    const matchesOf = (filter: unknown) => findMatches(snapshot, compileFilter(filter));
    const [older, newer] = snapshot.segments;
    const few = await matchesOf({ i: { $lt: 300 } });
    expect([few.count, few.isSelective, few.canPrefilter]).toEqual([300, true, true]);
    expect(few.selected).toEqual([{ segment: older, matching: few.rows.get(older), newerSegments: 1 }]);
    const latest = await matchesOf({ i: { $gte: 3300 } });
    expect(latest.selected).toEqual([{ segment: newer, matching: latest.rows.get(newer), newerSegments: 0 }]);
    expect([...latest.rows.keys()]).toEqual([older, newer]);
    expect((await matchesOf({ i: -1 })).selected).toEqual([]);
    expect((await matchesOf({ i: { $lt: 2048 } })).isSelective).toBe(true);
    expect((await matchesOf({ i: { $lt: 2049 } })).isSelective).toBe(false);
    const { bytes, rows } = latest as Matches & { readonly bytes: number };
    const blocks = [...rows.values()].reduce((sum, each) => sum + each.blocks.size, 0);
    expect(bytes).toBe(128 * (2 + nLists + 2) + 8 * blocks);
  });

  test("none of which is in a list leave it out, and those of one row are concentrated in it", async () => {
    const { matches } = await filtered({ i: -1 });
    expect(distributionOf(snapshot, matches)).toMatchObject({ concentration: 0, matching: { count: 0 } });
    expect(listMatches(snapshot, matches, 0)).toMatchObject({ blocks: [], matches: 0 });
    expect(withMatches(snapshot.listBlocks.all, matches)).toEqual([]);
    expect(withMatches(snapshot.listBlocks.all, undefined)).toBe(snapshot.listBlocks.all);
    const one = await filtered({ i: 0 });
    expect(distributionOf(snapshot, one.matches)).toMatchObject({ concentration: 1 / 3400 });
    expect(distributionOf(snapshot, one.matches)).toBe(distributionOf(snapshot, one.matches));
  });

  test("that are spread evenly are as concentrated as their share", async () => {
    const { matches } = await filtered({ i: { $gte: 0 } });
    expect(distributionOf(snapshot, matches).concentration).toBe(1);
  });
});
