/** Which blocks a query scans, and in which order: of each way of asking, compared with what the lists and their rows say. */

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { systemClock } from "../../src/commit/clock.js";
import type { Probes } from "../../src/engine/coarse-quantizer.js";
import { scoreLowerBound } from "../../src/engine/metric.js";
import { likelyLists, probeLimit } from "../../src/engine/probe-limits.js";
import { QueryVector } from "../../src/engine/query-vector.js";
import { cosineNeeded, limitsFor } from "../../src/engine/recall-curves.js";
import { compileFilter } from "../../src/filter.js";
import { probeFiltered } from "../../src/search/filtered-probes.js";
import {
  distributionOf,
  findMatches,
  knownMatches,
  listMatches,
  type Matches,
  withMatches,
} from "../../src/search/matches.js";
import type { HeldSnapshot } from "../../src/search/open-snapshots.js";
import { phases } from "../../src/search/phases.js";
import { plan, type TrainedScope } from "../../src/search/plan.js";
import { type Probing, scanLimits } from "../../src/search/scan-limits.js";
import { query as queryAll } from "../../src/search/query.js";
import { searchTogether } from "../../src/search/query-batch.js";
import type { ScanPhase } from "../../src/search/scan-list-blocks.js";
import type { ListBlock, Snapshot } from "../../src/search/snapshot.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { clustered } from "../engine/data.js";
import { rowsOf } from "../engine/oracle.js";
import { fixedRecord, type Opened, openIndex } from "../protocol/open.js";

const d = 4;
const nLists = 40;
const vectors = rowsOf(clustered(3400, d, 30, 3), d);
const metadata = vectors.map((vector, i) => ({ x: vector[0], i, rare: i % 50 }));
const sortedX = metadata.map(({ x }) => x).sort((a, b) => a - b);
/** Below it: three quarters of the rows, all on one side. */
const border = sortedX[2550];

let open: Opened;
let held: HeldSnapshot;
let snapshot: Snapshot;
let all: TrainedScope;
const queries: QueryVector[] = [];

beforeAll(async () => {
  open = openIndex(fixedRecord(), createMemoryStore(), systemClock);
  const { index, inner } = open;
  await inner.log.begin();
  const upsert = (start: number, end: number) =>
    index.upsert(
      vectors
        .slice(start, end)
        .map((vector, at) => ({ id: `${start + at}`, vector, metadata: metadata[start + at] })),
    );
  await upsert(0, 3200);
  await index.train({ nLists });
  await upsert(3200, 3400);
});

/** Nothing is remembered of the tests before. */
beforeEach(async () => {
  const { snapshots, searcher } = open.inner;
  held = await snapshots.hold();
  snapshot = held.snapshot;
  const { model } = snapshot;
  if (model === undefined) throw new Error("trained");
  all = await searcher.withTrained(model, (trained) => ({ searcher, snapshot, trained, matches: undefined }));
});

afterEach(() => held.release());

afterAll(async () => {
  for (const query of queries) query.free();
  await open.close();
});

function queryOf(vector: Float32Array): QueryVector {
  const query = new QueryVector("euclidean", vector, all.trained.quantizer.rotation);
  queries.push(query);
  return query;
}

const asked = [0, 700, 1500, 3399];

async function filtered(filter: unknown): Promise<TrainedScope & { readonly matches: Matches }> {
  return { ...all, matches: await findMatches(snapshot, compileFilter(filter)) };
}

const automatic: Probing = { topK: 10, nProbes: 0, greedy: false };

/** The blocks of the lists of these ranks that have a match, and how far each is. */
function blocksOfRanks(
  { matches }: { readonly matches: Matches | undefined },
  probes: Probes,
  start: number,
  end: number,
) {
  const blocks: ListBlock[] = [];
  const distances: number[] = [];
  for (let rank = start; rank < Math.min(end, probes.lists.length); rank++) {
    for (const listBlock of snapshot.listBlocks.all) {
      const { block, segment } = listBlock;
      if (block.list !== probes.lists[rank]) continue;
      if (matches !== undefined && matches.rows.get(segment)?.blocks.get(block) === undefined) continue;
      blocks.push(listBlock);
      distances.push(probes.distances[rank]);
    }
  }
  return { blocks, distances };
}

const none = { blocks: [], distances: [] };

test("lists have the blocks of both segments", () => {
  expect(snapshot.listBlocks.all.length).toBeGreaterThan(1.5 * nLists);
  expect(snapshot.ungroupedListBlocks).toEqual([]);
  expect(blocksOfRanks(all, { lists: [3], distances: [1] }, 0, 1).blocks).toEqual(snapshot.listBlocksOf(3));
});

describe("limits without a filter", () => {
  test("of an explicit number: that number, up to that of all lists, and its distance ratio", () => {
    const { model } = all.trained;
    for (const nProbes of [1, 2, 7, 40]) {
      expect(scanLimits(model, { ...automatic, nProbes }, 1)).toEqual({
        probes: nProbes,
        ratio: probeLimit(model.probeLimits, nProbes),
      });
    }
    expect(scanLimits(model, { ...automatic, nProbes: 1000 }, 1).probes).toBe(nLists);
  });

  test("of automatic probing: deeper if the index shrank, the same if it grew", () => {
    const { model } = all.trained;
    const { curves } = model;
    const limits = (growth: number, recall?: number) => scanLimits(model, { ...automatic, recall }, growth);
    expect(limits(1)).toEqual(limitsFor(curves, 10, undefined));
    expect(limits(4)).toEqual(limitsFor(curves, 10, undefined));
    expect(limits(0.1)).toEqual(limitsFor(curves, 100, undefined));
    expect(limits(0.1)).not.toEqual(limits(1));
    expect(limits(1, 0.9)).toEqual(limitsFor(curves, 10, 0.9));
    expect(limits(0.1, 0.9)).toEqual(limitsFor(curves, 100, 0.9));
    expect(limits(2, 0.9)).toEqual(limitsFor(curves, 10, 0.9));
    expect(limits(1, 0.9)).not.toEqual(limits(1, 0.95));
  });
});

describe("a plan", () => {
  test.each([1, 3, 10, 39])(
    "of %i lists has those, of which the ones within the ratio are likely",
    (nProbes) => {
      const { model, quantizer } = all.trained;
      for (const i of asked) {
        const query = queryOf(vectors[i]);
        const probes = quantizer.probe(query, nProbes);
        const likely = likelyLists(probes.distances, probeLimit(model.probeLimits, nProbes));
        expect(plan(all, query, { ...automatic, nProbes })).toEqual({
          likely: blocksOfRanks(all, probes, 0, likely),
          unlikely: blocksOfRanks(all, probes, likely, nProbes),
          rest: none,
          pruned: true,
        });
      }
    },
  );

  test("of automatic probing has what the curves say", () => {
    const { model, quantizer } = all.trained;
    for (const recall of [undefined, 0.85, 0.99]) {
      for (const i of asked) {
        const query = queryOf(vectors[i]);
        const { probes: count, ratio } = scanLimits(model, { ...automatic, recall }, snapshot.growth);
        const probes = quantizer.probe(query, count, { limit: ratio });
        const likely = likelyLists(probes.distances, ratio);
        expect(plan(all, query, { ...automatic, recall })).toEqual({
          likely: blocksOfRanks(all, probes, 0, likely),
          unlikely: blocksOfRanks(all, probes, likely, probes.lists.length),
          rest: none,
          pruned: true,
        });
      }
    }
  });

  test.each([
    ["all lists", { nProbes: nLists, greedy: false }],
    ["more lists than there are", { nProbes: nLists + 1, greedy: false }],
    ["a greedy search", { nProbes: 5, greedy: true }],
    ["a greedy search of automatic probing", { nProbes: 0, greedy: true }],
  ])("of %s has every list, the nearest first, and prunes nothing", (_, more) => {
    const query = queryOf(vectors[5]);
    const probing = { ...automatic, ...more };
    const probes = all.trained.quantizer.probe(query, nLists);
    const wanted = scanLimits(all.trained.model, probing, snapshot.growth).probes;
    expect(plan(all, query, probing)).toEqual({
      likely: blocksOfRanks(all, probes, 0, wanted),
      unlikely: none,
      rest: blocksOfRanks(all, probes, wanted, nLists),
      pruned: false,
    });
  });

  test("of a filter with few matches has all lists with a match", async () => {
    const scope = await filtered({ rare: 7 });
    const query = queryOf(vectors[7]);
    expect(scope.matches.isSelective).toBe(true);
    const probes = scope.trained.quantizer.probe(query, nLists);
    expect(plan(scope, query, { ...automatic, nProbes: 2 })).toEqual({
      likely: blocksOfRanks(scope, probes, 0, nLists),
      unlikely: none,
      rest: none,
      pruned: false,
    });
  });

  test.each([
    ["spread evenly", { rare: { $lt: 40 } }],
    ["on one side", { x: { $lt: border } }],
  ])("of an explicit number and matches %s probes as its rule says", async (_, filter) => {
    const scope = await filtered(filter);
    const { matches, trained } = scope;
    expect(matches.isSelective).toBe(false);
    for (const i of asked) {
      for (const nProbes of [1, 4, 20]) {
        const query = queryOf(vectors[i]);
        const probes = probeFiltered(trained.quantizer, query, {
          lists: nProbes,
          topK: 10,
          share: matches.share,
          countsOf: (list) => listMatches(snapshot, matches, list),
        });
        const { length } = probes.lists;
        const isEven = length <= nProbes / Math.sqrt(matches.share) + 1;
        const limit = isEven ? probeLimit(trained.model.probeLimits, length) : Infinity;
        const likely = likelyLists(probes.distances, limit);
        expect(plan(scope, query, { ...automatic, nProbes })).toEqual({
          likely: blocksOfRanks(scope, probes, 0, likely),
          unlikely: blocksOfRanks(scope, probes, likely, length),
          rest: none,
          pruned: true,
        });
      }
    }
  });

  test("of automatic probing looks among matches for the nearest, and farther if the query is among others", async () => {
    const scope = await filtered({ x: { $lt: border } });
    const { quantizer } = scope.trained;
    const { matching } = distributionOf(snapshot, scope.matches);
    let outlying = 0;
    for (let i = 0; i < 3200; i += 100) {
      const query = queryOf(vectors[i]);
      const found = plan(scope, query, automatic);
      expect(found.pruned).toBe(true);
      if (found.outlying !== undefined) {
        outlying++;
        expect(vectors[i][0]).toBeGreaterThan(border - 1);
        expect([found.likely, found.unlikely, found.rest]).toEqual([none, none, none]);
        expect(found.outlying.probes).toEqual(quantizer.probe(query, matching.count, { among: matching }));
        expect(Number.isFinite(found.outlying.cosine)).toBe(true);
        continue;
      }
      const lists = [...found.likely.blocks, ...found.unlikely.blocks].map(({ block }) => block.list);
      const nearest = quantizer.probe(query, new Set(lists).size, { among: matching });
      expect([...new Set(lists)]).toEqual(nearest.lists);
      expect(lists.length).toBeGreaterThan(0);
    }
    expect(outlying).toBeGreaterThan(2);
  });
});

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
    expect(knownMatches(snapshot, filter)).toBeUndefined();
    const found = await findMatches(snapshot, filter);
    expect(knownMatches(snapshot, compileFilter({ rare: 3 }))).toBe(found);
    expect(await findMatches(snapshot, filter)).toBe(found);
    expect(knownMatches(snapshot, compileFilter({ rare: 4 }))).toBeUndefined();
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

/** All phases; `thresholdAfter` says what was found when so many were scanned. */
function phasesOf(
  scope: TrainedScope,
  query: QueryVector,
  probing: Probing,
  thresholdAfter: (scanned: number) => number,
): ScanPhase[] {
  const progress = { threshold: Infinity };
  const scanned: ScanPhase[] = [];
  for (const phase of phases(scope, query, probing, progress)) {
    scanned.push(phase);
    progress.threshold = thresholdAfter(scanned.length);
  }
  return scanned;
}

describe("phases", () => {
  const never = () => Infinity;
  const nothing = { blocks: [], distances: undefined, pruned: false };

  test("are the likely lists alone if they have enough rows", () => {
    const query = queryOf(vectors[700]);
    for (const nProbes of [0, 10]) {
      const probing = { ...automatic, nProbes };
      const { likely } = plan(all, query, probing);
      const enough = (scanned: number) => (scanned < 2 ? Infinity : 1);
      expect(phasesOf(all, query, probing, enough)).toEqual([nothing, { ...likely, pruned: true }]);
    }
  });

  test("are the unlikely ones too if they have not, and no more of an explicit number", () => {
    const probing = { ...automatic, nProbes: 4 };
    const place = vectors.findIndex(
      (vector) => plan(all, queryOf(vector), probing).unlikely.blocks.length > 0,
    );
    const query = queryOf(vectors[place]);
    const { likely, unlikely } = plan(all, query, probing);
    expect(phasesOf(all, query, probing, never)).toEqual([
      nothing,
      { ...likely, pruned: true },
      { ...unlikely, pruned: true },
    ]);
  });

  test("of automatic probing double until there are enough rows, and have each block once", () => {
    const query = queryOf(vectors[700]);
    const found = phasesOf(all, query, automatic, never);
    const sizes = found.slice(3).map(({ blocks }) => blocks.length);
    expect(sizes.slice(0, 4)).toEqual([1, 1, 2, 4]);
    const blocks = found.flatMap((phase) => [...phase.blocks]);
    expect(blocks.length).toBe(snapshot.listBlocks.all.length);
    expect(new Set(blocks).size).toBe(blocks.length);
    const probes = all.trained.quantizer.probe(query, nLists);
    const distanceOf = new Map(probes.lists.map((list, rank) => [list, probes.distances[rank]]));
    for (const { blocks: own, distances, pruned } of found.slice(1)) {
      expect(distances).toEqual(own.map(({ block }) => distanceOf.get(block.list)));
      expect(pruned).toBe(true);
    }
    const further = found.slice(3).flatMap(({ distances }) => [...(distances ?? [])]);
    expect(further).toEqual(further.toSorted((a, b) => a - b));
    const enough = (scanned: number) => (scanned < 5 ? Infinity : 1);
    expect(phasesOf(all, query, automatic, enough)).toEqual(found.slice(0, 5));
  });

  test("of a greedy search have one block each, as long as one can hold a nearer row", () => {
    const query = queryOf(vectors[700]);
    const probing = { ...automatic, nProbes: 3, greedy: true };
    const { likely, rest } = plan(all, query, probing);
    const bounds = rest.blocks
      .map((listBlock, i) => ({
        listBlock,
        distance: rest.distances[i],
        bound: scoreLowerBound("euclidean", d, rest.distances[i], listBlock.block.radius),
      }))
      .sort((a, b) => a.bound - b.bound);
    const whole = phasesOf(all, query, probing, never);
    const all3 = [nothing, { ...likely, pruned: false }, { blocks: [], distances: [], pruned: false }];
    const single = bounds.map(({ listBlock, distance }) => ({
      blocks: [listBlock],
      distances: [distance],
      pruned: false,
    }));
    expect(whole).toEqual([...all3, ...single]);
    const { bound } = bounds[10];
    const within = bounds.filter((each) => each.bound <= bound).length;
    expect(phasesOf(all, query, probing, () => bound)).toEqual([
      ...all3.slice(0, 2),
      ...single.slice(0, within),
    ]);
  });

  test("of an outlying query are lists with enough matches, then more and more that may hold a nearer one", async () => {
    const scope = await filtered({ x: { $lt: border } });
    const place = vectors.findIndex(
      (vector) => plan(scope, queryOf(vector), automatic).outlying !== undefined,
    );
    const query = queryOf(vectors[place]);
    const { outlying } = plan(scope, query, automatic);
    if (outlying === undefined) throw new Error("outlying");
    const { probes, cosine } = outlying;
    const { spreads } = scope.trained.model;
    for (const topK of [1, 10, 200]) {
      let first = 0;
      for (let seen = 0; seen < topK; first++) {
        seen += listMatches(snapshot, scope.matches, probes.lists[first]).matches;
      }
      const squares = probes.distances.map((distance) => distance ** 2);
      for (const threshold of [squares[first] / 4, squares[first], 2 * squares[first], Infinity]) {
        const found = phasesOf(scope, query, { ...automatic, topK }, () => threshold);
        const { cosine: needed } = plan(scope, query, { ...automatic, topK }).outlying ?? { cosine };
        const ranks = probes.lists.map((_, rank) => rank);
        const isWanted = (rank: number) =>
          !(cosineNeeded(squares[rank], spreads[probes.lists[rank]], threshold) > needed);
        const expected: ScanPhase[] = [nothing, { ...blocksOfRanks(scope, probes, 0, first), pruned: true }];
        let together = 8;
        for (let rank = first; rank < probes.lists.length; together *= 2) {
          const chosen = ranks.filter((each) => each >= rank && isWanted(each)).slice(0, together);
          const of = (values: readonly number[]) => chosen.map((each) => values[each]);
          const piece = { lists: of(probes.lists), distances: of(probes.distances) };
          expected.push({ ...blocksOfRanks(scope, piece, 0, chosen.length), pruned: true });
          rank = chosen.length < together ? probes.lists.length : chosen[chosen.length - 1] + 1;
        }
        expect(found).toEqual(expected);
      }
    }
  });

  test("of matches leave out blocks without one", async () => {
    const scope = await filtered({ i: { $gte: 600 } });
    const query = queryOf(vectors[700]);
    const blocks = phasesOf(scope, query, { ...automatic, nProbes: 20 }, never).flatMap((phase) => [
      ...phase.blocks,
    ]);
    for (const { segment, block } of blocks) {
      expect(scope.matches.rows.get(segment)?.blocks.get(block)).toBeGreaterThan(0);
    }
  });
});

describe("queries together", () => {
  const together = vectors.slice(100, 140).map((vector) => Float32Array.from(vector));

  test("know which of them have to search again alone", async () => {
    const alone = async (scope: TrainedScope, probing: Probing) =>
      new Set((await searchTogether(scope, together, probing, undefined)).map((found) => found.alone));
    expect(await alone(all, { ...automatic, nProbes: nLists })).toEqual(new Set(["never"]));
    expect(await alone(all, automatic)).toEqual(new Set(["if short"]));
    const few = { ...automatic, nProbes: 4 };
    const kinds = await searchTogether(all, together, few, undefined);
    for (const [i, { alone: kind }] of kinds.entries()) {
      const { unlikely } = plan(all, queryOf(together[i]), few);
      expect(kind).toBe(unlikely.blocks.length > 0 ? "if short" : "never");
    }
    expect(new Set(kinds.map(({ alone: kind }) => kind)).size).toBe(2);
    const scope = await filtered({ x: { $lt: border } });
    const found = await searchTogether(scope, together, automatic, undefined);
    for (const [i, { alone: kind, rows }] of found.entries()) {
      const { outlying } = plan(scope, queryOf(together[i]), automatic);
      expect(kind).toBe(outlying === undefined ? "if short" : "always");
      if (outlying !== undefined) expect(rows).toEqual([]);
    }
    expect(new Set(found.map(({ alone: kind }) => kind))).toEqual(new Set(["if short", "always"]));
    const filter = compileFilter({ x: { $lt: border } });
    const options = { ...automatic, filter, include: new Set(["distance"] as const), rawMetadata: false };
    const answers = await queryAll(scope.searcher, snapshot, together, options);
    expect(answers.map(({ length }) => length)).toEqual(together.map(() => 10));
  });
});
