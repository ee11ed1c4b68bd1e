/** Which list blocks a query scans: those of the lists that it probes. */

import type { Trained } from "../engine/choose-codec.js";
import type { Probes } from "../engine/coarse-quantizer.js";
import { listCount, type Model } from "../engine/model.js";
import { likelyLists, probeLimit } from "../engine/probe-limits.js";
import type { QueryVector } from "../engine/query-vector.js";
import { probeFiltered } from "./filtered-probes.js";
import { listBlocksIn, listMatches } from "./matches.js";
import type { SearchScope } from "./search-scope.js";
import type { ListBlock } from "./snapshot.js";

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
  /** To scan as long as it can help. */
  readonly rest: Probed;
}

/** How a query asks; see CheckedQuery. */
export interface Probing {
  readonly topK: number;
  readonly nProbes: number;
  readonly greedy: boolean;
}

/** A scope with a model. */
export type TrainedScope = SearchScope & { readonly trained: Trained };

/** How many lists a query asks for: all at most. */
export function probesOf(model: Model, nProbes: number): number {
  return nProbes === 0 ? model.autoProbes : Math.min(nProbes, listCount(model));
}

export function plan(scope: TrainedScope, query: QueryVector, { topK, nProbes, greedy }: Probing): Plan {
  const { snapshot, matches } = scope;
  const { model, quantizer } = scope.trained;
  const { nLists } = quantizer;
  // Few matches are worth looking for in every list.
  const wanted = matches?.isSelective === true ? nLists : probesOf(model, nProbes);
  // A query for all lists gets the exact answer.
  const all = greedy || wanted === nLists;
  const probes =
    matches && !all
      ? probeFiltered(quantizer, query, {
          lists: wanted,
          topK,
          share: matches.share,
          countsOf: (list) => listMatches(snapshot, matches, list),
        })
      : quantizer.probe(query, all ? nLists : wanted);
  const probed = all ? Math.min(wanted, probes.lists.length) : probes.lists.length;
  // If a filtered query needs more lists than it would with evenly spread matches, the distance ratios of those say little.
  const even = matches ? wanted / Math.sqrt(matches.share) : wanted;
  const limit = probed <= even + 1 ? probeLimit(model.probeLimits, probed) : Infinity;
  const likely = all ? probed : likelyLists(probes.distances, limit);
  return {
    likely: blocksOf(scope, probes, 0, likely),
    unlikely: blocksOf(scope, probes, likely, probed),
    rest: blocksOf(scope, probes, probed, probes.lists.length),
    pruned: !all,
  };
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
function blocksOf({ snapshot, matches }: SearchScope, probes: Probes, start: number, end: number): Probed {
  const blocks: ListBlock[] = [];
  const distances: number[] = [];
  for (let rank = start; rank < end; rank++) {
    for (const listBlock of listBlocksIn(snapshot, probes.lists[rank], matches)) {
      blocks.push(listBlock);
      distances.push(probes.distances[rank]);
    }
  }
  return { blocks, distances };
}
