/**
 * The phases of a search by lists: which blocks are scanned, in which order, and the results by then that make more of
 * them unnecessary.
 */

import type { Metric } from "../engine/config.js";
import { scoreLowerBound, squareInListSpace } from "../engine/metric.js";
import { outlyingEpsilonAt } from "../engine/pruning.js";
import type { QueryVector } from "../engine/query-vector.js";
import { cosineNeeded } from "../engine/recall-curves.js";
import { rowsToFind, withMatches } from "./matches.js";
import {
  blocksOf,
  furtherListBlocks,
  type OutlyingProbes,
  plan,
  type Probed,
  type TrainedScope,
} from "./plan.js";
import { isAutomatic, type Probing } from "./scan-limits.js";
import type { ScanPhase } from "./scan-list-blocks.js";
import type { SearchScope } from "./search-scope.js";

/** The state of a search between two phases; see `Search.threshold`. */
export interface Progress {
  readonly threshold: number;
}

/** To be consumed one by one, each phase scanned before the next is requested: `progress` decides whether there is one. */
export function* phases(
  scope: SearchScope,
  query: QueryVector,
  options: Probing,
  progress: Progress,
): Generator<ScanPhase> {
  const { snapshot, matches, trained } = scope;
  yield { blocks: withMatches(snapshot.ungroupedListBlocks, matches), distances: undefined, pruned: false };
  if (trained !== undefined) yield* phasesOfLists({ ...scope, trained }, query, options, progress);
}

function* phasesOfLists(
  scope: TrainedScope,
  query: QueryVector,
  options: Probing,
  progress: Progress,
): Generator<ScanPhase> {
  const { likely, unlikely, rest, pruned, epsilon, outlying } = plan(scope, query, options);
  query.epsilon = epsilon;
  if (outlying !== undefined) {
    yield* outlyingPhases(scope, query, { ...outlying, topK: options.topK }, progress);
    return;
  }
  const isShort = () => progress.threshold === Infinity;
  yield { ...likely, pruned };
  // Automatic limits must never return fewer than topK rows.
  if (isShort()) yield { ...unlikely, pruned };
  if (isShort() && isAutomatic(options.effort) && pruned) {
    const scanned = new Set([...likely.blocks, ...unlikely.blocks]);
    for (const some of doubling(furtherListBlocks(scope, query, scanned))) {
      if (!isShort()) break;
      yield { ...some, pruned };
    }
  }
  for (const { lowerBound, block, distance } of byLowerBound(rest, scope.searcher.config.metric, query)) {
    // Nor can any block after this one hold a nearer row.
    if (lowerBound > progress.threshold) return;
    yield { blocks: [block], distances: [distance], pruned: false };
  }
}

/** Lists of the first phase after it. */
const outlyingTogether = 8;

/** The nearest lists that hold enough matches, then those of the others that may have a nearer one, more and more at a time. */
function* outlyingPhases(
  scope: TrainedScope,
  query: QueryVector,
  { probes, cosine, pruning, topK }: OutlyingProbes & Pick<Probing, "topK">,
  progress: Progress,
): Generator<ScanPhase> {
  const { snapshot, matches, searcher, trained } = scope;
  const { lists, distances } = probes;
  const { quantizer } = trained;
  const { spreads } = trained.model;
  let rank = 0;
  for (let seen = 0; rank < lists.length && seen < topK; rank++) {
    seen += rowsToFind(snapshot, matches, lists[rank]);
  }
  query.epsilon = pruning.epsilon;
  yield { ...blocksOf(scope, probes, 0, rank), pruned: true, quantizer };
  for (let together = outlyingTogether; rank < lists.length; together *= 2) {
    const reach = squareInListSpace(searcher.config.metric, progress.threshold);
    const chosen: { lists: number[]; distances: number[] } = { lists: [], distances: [] };
    let leastNeeded = cosine;
    for (; rank < lists.length && chosen.lists.length < together; rank++) {
      const list = lists[rank];
      const square = quantizer.distanceToCentroid(list, distances[rank]) ** 2;
      const needed = cosineNeeded(square, spreads[list], reach);
      if (needed > cosine) continue;
      leastNeeded = Math.min(leastNeeded, needed);
      chosen.lists.push(list);
      chosen.distances.push(distances[rank]);
    }
    query.epsilon = outlyingEpsilonAt(leastNeeded, pruning);
    yield { ...blocksOf(scope, chosen, 0, chosen.lists.length), pruned: true, quantizer };
  }
}

/** One block, then one, two, four and so on, so that few are scanned in vain and few phases are needed. */
function* doubling({ blocks, distances }: Probed): Generator<Probed> {
  for (let start = 0, end = 1; start < blocks.length; start = end, end *= 2) {
    yield { blocks: blocks.slice(start, end), distances: distances.slice(start, end) };
  }
}

/** The blocks, ascending by the smallest score that a row of each can have. */
function byLowerBound({ blocks, distances }: Probed, metric: Metric, { dimension }: QueryVector) {
  const bounded = blocks.map((block, i) => {
    const lowerBound = scoreLowerBound(metric, dimension, distances[i], block.block.radius);
    return { block, distance: distances[i], lowerBound };
  });
  return bounded.sort((a, b) => a.lowerBound - b.lowerBound);
}
