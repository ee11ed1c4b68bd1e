/** Which list blocks a query scans: those of the lists that it probes. */

import type { Trained } from "../engine/scan/choose-codec.js";
import type { Probes } from "../engine/lists/coarse-quantizer.js";
import { likelyLists } from "../engine/lists/probe-limits.js";
import { type OutlyingPruning, uniformPruning } from "../engine/pruning.js";
import { epsilonByDefault, type QueryVector } from "../engine/query-vector.js";
import { probeMatching } from "./filtered-probes.js";
import { distributionOf, listBlocksIn, listMatches, type Matches } from "./matches.js";
import {
  isAutomatic,
  isFarFromRows,
  isWhole,
  limitsSince,
  type Probing,
  pruningOf,
  scanLimits,
  type Sought,
} from "./scan-limits.js";
import type { SearchScope } from "./search-scope.js";
import type { ListBlock } from "./snapshot/snapshot.js";

/** Blocks of lists, nearest list first. */
export interface Probed {
  readonly blocks: readonly ListBlock[];
  /** Per block, from the query to the centroid of its list, in list space. */
  readonly distances: readonly number[];
}

export interface Plan {
  /** To scan in any case. */
  readonly likely: Probed;
  /** To scan if those have fewer rows than are asked for. */
  readonly unlikely: Probed;
  /** Whether their rows may be ruled out by their codes. */
  readonly pruned: boolean;
  /** By how much these may be off (see engine/pruning.ts). */
  readonly epsilon: number;
  /** To scan as long as it can help. */
  readonly rest: Probed;
  /** To scan instead of all of these, as far as the rows found allow. */
  readonly outlying?: OutlyingProbes;
}

/** Lists, nearest first, of a query that lies outside of all rows, or of those that its filter accepts. */
export interface OutlyingProbes {
  readonly probes: Probes;
  /** See `ScanLimits`. */
  readonly cosine: number;
  readonly pruning: OutlyingPruning;
}

const noBlocks: Probed = { blocks: [], distances: [] };
const nothing = { likely: noBlocks, unlikely: noBlocks, rest: noBlocks, epsilon: epsilonByDefault };

/** A scope with a model. */
export type TrainedScope = SearchScope & { readonly trained: Trained };

export function plan(scope: TrainedScope, query: QueryVector, probing: Probing): Plan {
  const { matches, trained } = scope;
  const { model, quantizer } = trained;
  const { nLists } = quantizer;
  // A query for all lists gets the exact answer; few matches are worth looking for in every list.
  if (matches?.isSelective === true || isWhole(probing.effort, nLists)) {
    return everyList(scope, query, probing);
  }
  if (matches === undefined) {
    const { probes, ratio, epsilon } = scanLimits(model, probing, scope.snapshot.growth);
    // Of an explicit number, those beyond the ratio are still needed if there are too few rows.
    const limit = isAutomatic(probing.effort) ? ratio : Infinity;
    const nearest = quantizer.probe(query, probes, { limit });
    return isAutomatic(probing.effort) && isFar(trained, nearest)
      ? planOutlying(scope, query, { topK: probing.topK, recall: probing.effort.recall })
      : splitByRatio(scope, nearest, ratio, epsilon);
  }
  if (isAutomatic(probing.effort))
    return planFiltered(scope, matches, query, { topK: probing.topK, recall: probing.effort.recall });
  const among = distributionOf(scope.snapshot, matches).matching;
  const { probes: count } = scanLimits(model, probing, scope.snapshot.growth);
  return splitByRatio(scope, quantizer.probe(query, count, { among }), Infinity);
}

function isFar({ model, quantizer }: Trained, { lists, distances }: Probes): boolean {
  return isFarFromRows(quantizer, model.spreads, { list: lists[0], distance: distances[0] });
}

/** Automatic probing of a query that is far from all rows. */
function planOutlying({ trained, snapshot }: TrainedScope, query: QueryVector, sought: Sought): Plan {
  const { model, quantizer } = trained;
  const { cosine } = limitsSince(model.curves, sought, snapshot.growth);
  const probes = quantizer.probe(query, quantizer.nLists);
  const pruning = uniformPruning(epsilonByDefault);
  return { ...nothing, outlying: { probes, cosine, pruning }, pruned: true };
}

function everyList(scope: TrainedScope, query: QueryVector, probing: Probing): Plan {
  const { matches, trained, snapshot } = scope;
  const { nLists } = trained.quantizer;
  const probes = trained.quantizer.probe(query, nLists);
  const wanted =
    matches?.isSelective === true ? nLists : scanLimits(trained.model, probing, snapshot.growth).probes;
  return {
    ...nothing,
    likely: blocksOf(scope, probes, 0, wanted),
    rest: blocksOf(scope, probes, wanted, nLists),
    pruned: false,
  };
}

/** Probes of which those within the distance ratio are likely. */
function splitByRatio(scope: TrainedScope, probes: Probes, ratio: number, epsilon = epsilonByDefault): Plan {
  const likely = likelyLists(probes.distances, ratio);
  return {
    ...nothing,
    likely: blocksOf(scope, probes, 0, likely),
    unlikely: blocksOf(scope, probes, likely, probes.lists.length),
    pruned: true,
    epsilon,
  };
}

/** Automatic probing of a filtered query. */
function planFiltered(scope: TrainedScope, matches: Matches, query: QueryVector, sought: Sought): Plan {
  const { snapshot, trained } = scope;
  const { model, quantizer } = trained;
  const { probes, ratio, epsilon, outlying } = probeMatching(quantizer, query, {
    unfiltered: limitsSince(model.curves, sought, snapshot.growth),
    topK: sought.topK,
    spreads: model.spreads,
    ...distributionOf(snapshot, matches),
    share: matches.share,
    limitsFor: (depth) =>
      limitsSince(model.curves, { ...sought, topK: depth, isFiltered: depth > sought.topK }, snapshot.growth),
    countsOf: (list) => listMatches(snapshot, matches, list),
  });
  if (outlying === undefined) return splitByRatio(scope, probes, ratio, epsilon);
  const pruning = pruningOf(sought, outlying, quantizer.rotation);
  return { ...nothing, outlying: { probes, cosine: outlying, pruning }, pruned: true };
}

/** The blocks of all lists except those that were scanned. */
export function furtherListBlocks(
  scope: TrainedScope,
  query: QueryVector,
  scanned: ReadonlySet<ListBlock>,
): Probed {
  const { quantizer } = scope.trained;
  const { nLists } = quantizer;
  const probes = quantizer.probe(query, nLists);
  const { blocks, distances } = blocksOf(scope, probes, 0, probes.lists.length);
  return {
    blocks: blocks.filter((listBlock) => !scanned.has(listBlock)),
    distances: distances.filter((_, i) => !scanned.has(blocks[i])),
  };
}

/** The blocks of the probes from rank `start` to `end`. */
export function blocksOf(
  { snapshot, matches, trained }: TrainedScope,
  probes: Probes,
  start: number,
  end: number,
): Probed {
  const blocks: ListBlock[] = [];
  const distances: number[] = [];
  for (let rank = start; rank < end; rank++) {
    const list = probes.lists[rank];
    const distance = trained.quantizer.distanceToCentroid(list, probes.distances[rank]);
    for (const listBlock of listBlocksIn(snapshot, list, matches)) {
      blocks.push(listBlock);
      distances.push(distance);
    }
  }
  return { blocks, distances };
}
