/** Which blocks a query plans to scan: of each way of asking, compared with what the lists and their rows say. */

import { describe, expect, test } from "vitest";
import { likelyLists, probeLimit } from "../../src/engine/lists/probe-limits.js";
import { epsilonByDefault } from "../../src/engine/query-vector.js";
import { limitsFor } from "../../src/engine/recall-curves.js";
import { distributionOf, listMatches } from "../../src/query/matches.js";
import { plan } from "../../src/query/plan.js";
import { scanLimits } from "../../src/query/scan-limits.js";
import {
  all,
  asked,
  automatic,
  blocksOfRanks,
  border,
  filtered,
  nLists,
  none,
  queryOf,
  snapshot,
  usePlannedIndex,
  vectors,
} from "./planned-index.js";

usePlannedIndex();

test("lists have the blocks of both segments", () => {
  expect(snapshot.listBlocks.all.length).toBeGreaterThan(1.5 * nLists);
  expect(snapshot.ungroupedListBlocks).toEqual([]);
  expect(blocksOfRanks(all, { lists: [3], distances: [1] }, 0, 1).blocks).toEqual(snapshot.listBlocksOf(3));
});

describe("limits without a filter", () => {
  test("of an explicit number: that number, up to that of all lists, and its distance ratio", () => {
    const { model } = all.trained;
    for (const nProbes of [1, 2, 7, 40]) {
      expect(scanLimits(model, { ...automatic, effort: { lists: nProbes } }, 1)).toEqual({
        probes: nProbes,
        ratio: probeLimit(model.probeLimits, nProbes),
        epsilon: epsilonByDefault,
      });
    }
    expect(scanLimits(model, { ...automatic, effort: { lists: 1000 } }, 1).probes).toBe(nLists);
  });

  test("of automatic probing: deeper if the index shrank, the same if it grew", () => {
    const { model } = all.trained;
    const { curves } = model;
    const limits = (growth: number, recall?: number) =>
      scanLimits(model, { ...automatic, effort: { lists: undefined, recall } }, growth);
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
        expect(plan(all, query, { ...automatic, effort: { lists: nProbes } })).toEqual({
          likely: blocksOfRanks(all, probes, 0, likely),
          unlikely: blocksOfRanks(all, probes, likely, nProbes),
          rest: none,
          pruned: true,
          epsilon: epsilonByDefault,
        });
      }
    },
  );

  test("of automatic probing has what the curves say", () => {
    const { model, quantizer } = all.trained;
    for (const recall of [undefined, 0.85, 0.99]) {
      for (const i of asked) {
        const query = queryOf(vectors[i]);
        const {
          probes: count,
          ratio,
          epsilon,
        } = scanLimits(model, { ...automatic, effort: { lists: undefined, recall } }, snapshot.growth);
        const probes = quantizer.probe(query, count, { limit: ratio });
        const likely = likelyLists(probes.distances, ratio);
        expect(plan(all, query, { ...automatic, effort: { lists: undefined, recall } })).toEqual({
          likely: blocksOfRanks(all, probes, 0, likely),
          unlikely: blocksOfRanks(all, probes, likely, probes.lists.length),
          rest: none,
          pruned: true,
          epsilon,
        });
      }
    }
  });

  test.each([
    ["all lists", { effort: { lists: nLists } }],
    ["more lists than there are", { effort: { lists: nLists + 1 } }],
    ["an exact search", { effort: "exact" as const }],
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
      epsilon: epsilonByDefault,
    });
  });

  test("of a filter with few matches has all lists with a match", async () => {
    const scope = await filtered({ rare: 7 });
    const query = queryOf(vectors[7]);
    expect(scope.matches.isSelective).toBe(true);
    const probes = scope.trained.quantizer.probe(query, nLists);
    expect(plan(scope, query, { ...automatic, effort: { lists: 2 } })).toEqual({
      likely: blocksOfRanks(scope, probes, 0, nLists),
      unlikely: none,
      rest: none,
      pruned: false,
      epsilon: epsilonByDefault,
    });
  });

  test.each([
    ["spread evenly", { rare: { $lt: 40 } }],
    ["on one side", { x: { $lt: border } }],
  ])("of an explicit number and matches %s has so many of the lists with a match", async (_, filter) => {
    const scope = await filtered(filter);
    const { matches, trained } = scope;
    expect(matches.isSelective).toBe(false);
    const { matching } = distributionOf(snapshot, matches);
    for (const i of asked) {
      for (const lists of [1, 4, 20]) {
        const query = queryOf(vectors[i]);
        const probes = trained.quantizer.probe(query, lists, { among: matching });
        expect(probes.lists.length).toBe(lists);
        for (const list of probes.lists)
          expect(listMatches(snapshot, matches, list).matches).toBeGreaterThan(0);
        expect(plan(scope, query, { ...automatic, effort: { lists } })).toEqual({
          likely: blocksOfRanks(scope, probes, 0, lists),
          unlikely: none,
          rest: none,
          pruned: true,
          epsilon: epsilonByDefault,
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
