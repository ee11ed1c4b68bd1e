/** In which order a query scans blocks, and what it leaves out once it has found enough. */

import { describe, expect, test } from "vitest";
import { scoreLowerBound } from "../../src/engine/metric.js";
import { queryLayout } from "../../src/engine/kernels/kernels.wasm.js";
import { allFloats } from "../../src/engine/kernels/memory.js";
import { outlyingEpsilonAt } from "../../src/engine/pruning.js";
import type { QueryVector } from "../../src/engine/query-vector.js";
import { cosineNeeded } from "../../src/engine/recall-curves.js";
import { listMatches } from "../../src/query/matches.js";
import { phases } from "../../src/query/phases.js";
import { plan, type TrainedScope } from "../../src/query/plan.js";
import { type Probing } from "../../src/query/scan-limits.js";
import type { ScanPhase } from "../../src/query/scan-list-blocks.js";
import {
  all,
  automatic,
  blocksOfRanks,
  border,
  d,
  filtered,
  nLists,
  queryOf,
  snapshot,
  usePlannedIndex,
  vectors,
} from "./planned-index.js";

usePlannedIndex();

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

function epsilonOf({ address }: QueryVector): number {
  return allFloats()[(address + queryLayout.epsilon) >>> 2];
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
    const probing = { ...automatic, effort: { lists: 4 } };
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
    const probing = { ...automatic, effort: "exact" as const };
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

  test("let codes be off as training measured, but those of an outlying query as usual, or less if it declares no recall", async () => {
    const scope = await filtered({ x: { $lt: border } });
    for (const recall of [undefined, 0.9, 0.99]) {
      const probing = { ...automatic, effort: { lists: undefined, recall } };
      for (const isOutlying of [true, false]) {
        const vector = vectors.find(
          (each) => (plan(scope, queryOf(each), automatic).outlying !== undefined) === isOutlying,
        );
        if (vector === undefined) throw new Error("no such vector");
        const query = queryOf(vector);
        const usual = epsilonOf(query);
        phasesOf(scope, query, probing, never);
        const ofOutlying = recall === undefined ? usual - 0.5 : usual;
        const expected = isOutlying ? ofOutlying : plan(scope, queryOf(vector), probing).epsilon;
        expect(epsilonOf(query)).toBeCloseTo(expected, 5);
      }
    }
  });

  test("let codes of an outlying query be off by less, the larger a cosine the likeliest list of the phase needs", async () => {
    const scope = await filtered({ x: { $lt: border } });
    const { spreads } = scope.trained.model;
    const fallen = new Set<number>();
    for (const vector of vectors.slice(0, 200)) {
      const query = queryOf(vector);
      const { outlying } = plan(scope, query, automatic);
      if (outlying === undefined) continue;
      const { probes, pruning } = outlying;
      const neededOf = new Map(
        probes.lists.map((list, rank) => {
          const distance = scope.trained.quantizer.distanceToCentroid(list, probes.distances[rank]);
          return [list, cosineNeeded(distance ** 2, spreads[list], probes.distances[0] ** 2 / 2)];
        }),
      );
      let scanned = 0;
      for (const { blocks } of phases(scope, query, automatic, { threshold: probes.distances[0] ** 2 / 2 })) {
        scanned++;
        if (scanned < 3 || blocks.length === 0) continue;
        const least = Math.min(...blocks.map(({ block }) => neededOf.get(block.list) ?? Infinity));
        const expected = outlyingEpsilonAt(least, pruning);
        expect(epsilonOf(query)).toBeCloseTo(expected, 5);
        if (expected < pruning.epsilon) fallen.add(expected);
      }
    }
    expect(fallen.size).toBeGreaterThan(1);
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
      const { quantizer } = scope.trained;
      const squares = probes.distances.map((distance) => distance ** 2);
      for (const threshold of [squares[first] / 4, squares[first], 2 * squares[first], Infinity]) {
        const found = phasesOf(scope, query, { ...automatic, topK }, () => threshold);
        const { cosine: needed } = plan(scope, query, { ...automatic, topK }).outlying ?? { cosine };
        const ranks = probes.lists.map((_, rank) => rank);
        const isWanted = (rank: number) =>
          !(cosineNeeded(squares[rank], spreads[probes.lists[rank]], threshold) > needed);
        const nearest = { ...blocksOfRanks(scope, probes, 0, first), pruned: true, quantizer };
        const expected: ScanPhase[] = [nothing, nearest];
        let together = 8;
        for (let rank = first; rank < probes.lists.length; together *= 2) {
          const chosen = ranks.filter((each) => each >= rank && isWanted(each)).slice(0, together);
          const of = (values: readonly number[]) => chosen.map((each) => values[each]);
          const piece = { lists: of(probes.lists), distances: of(probes.distances) };
          expected.push({ ...blocksOfRanks(scope, piece, 0, chosen.length), pruned: true, quantizer });
          rank = chosen.length < together ? probes.lists.length : chosen[chosen.length - 1] + 1;
        }
        expect(found).toEqual(expected);
      }
    }
  });

  test("of matches leave out blocks without one", async () => {
    const scope = await filtered({ i: { $gte: 600 } });
    const query = queryOf(vectors[700]);
    const blocks = phasesOf(scope, query, { ...automatic, effort: { lists: 20 } }, never).flatMap((phase) => [
      ...phase.blocks,
    ]);
    for (const { segment, block } of blocks) {
      expect(scope.matches.rows.get(segment)?.blocks.get(block)).toBeGreaterThan(0);
    }
  });
});
