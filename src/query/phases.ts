/**
 * The phases of a search by lists: which blocks are scanned, in which order, and what is known by then that makes more of
 * them unnecessary.
 */

import type { Metric } from "../engine/config.js";
import { scoreLowerBound } from "../engine/metric.js";
import type { QueryVector } from "../engine/query-vector.js";
import { withMatches } from "./matches.js";
import { furtherListBlocks, plan, type Probed, type TrainedScope } from "./plan.js";
import { isAutomatic, type Probing } from "./scan-limits.js";
import type { ScanPhase } from "./scan-list-blocks.js";
import type { SearchScope } from "./search-scope.js";

/** What is known of a search between two phases; see `Search.threshold`. */
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
  const { likely, unlikely, rest, pruned, epsilon } = plan(scope, query, options);
  query.epsilon = epsilon;
  const isShort = () => progress.threshold === Infinity;
  yield { ...likely, pruned };
  // What the index chose, lists or their number, must not cost rows that were asked for.
  if (isShort()) yield { ...unlikely, pruned };
  if (isShort() && isAutomatic(options.effort) && rest.blocks.length === 0) {
    const scanned = new Set([...likely.blocks, ...unlikely.blocks]);
    for (const some of doubling(furtherListBlocks(scope, query, scanned))) {
      if (!isShort()) break;
      yield { ...some, pruned };
    }
  }
  for (const { lowerBound, block, distance } of byLowerBound(rest, scope.searcher.config.metric, query)) {
    // Nor can any block after this one hold a nearer row.
    if (lowerBound > progress.threshold) return;
    yield { blocks: [block], distances: [distance], pruned };
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
