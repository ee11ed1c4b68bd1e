/** In which order a query scans blocks, and what it leaves out once it has found enough. */

import { describe, expect, test } from "vitest";
import { scoreLowerBound } from "../../src/engine/metric.js";
import type { QueryVector } from "../../src/engine/query-vector.js";
import { phases } from "../../src/query/phases.js";
import { plan, type TrainedScope } from "../../src/query/plan.js";
import { type Probing } from "../../src/query/scan-limits.js";
import type { ScanPhase } from "../../src/query/scan-list-blocks.js";
import {
  all,
  automatic,
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

  test("of a query far from all rows are the likely lists, then blocks that can hold a nearer row, by codes as well", () => {
    const query = queryOf(Float32Array.from(vectors[700], (x) => 20 * x));
    const { likely, rest, pruned } = plan(all, query, automatic);
    expect(pruned).toBe(true);
    expect(likely.blocks.length + rest.blocks.length).toBe(snapshot.listBlocks.all.length);
    const bounds = rest.blocks.map(({ block }, i) =>
      scoreLowerBound("euclidean", d, rest.distances[i], block.radius),
    );
    const threshold = bounds.toSorted((a, b) => a - b)[5];
    const found = phasesOf(all, query, automatic, () => threshold);
    expect(found.slice(0, 2)).toEqual([nothing, { ...likely, pruned: true }]);
    expect(found.slice(2).map(({ blocks }) => blocks.length)).toEqual(
      bounds.filter((bound) => bound <= threshold).map(() => 1),
    );
    for (const phase of found.slice(2)) expect(phase.pruned).toBe(true);
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
