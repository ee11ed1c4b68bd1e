/** Which code blocks a query scans: those of the lists that it probes. */

import type { Trained } from "../engine/choose-codec.js";
import type { CoarseQuantizer, Probes } from "../engine/coarse-quantizer.js";
import { listCount, type Model } from "../engine/model.js";
import { likelyLists, probeLimit } from "../engine/probe-limits.js";
import type { QueryVector } from "../engine/query-vector.js";
import { probeFiltered } from "./filtered-probes.js";
import { listMatches, type Matches, listBlocksIn } from "./filtered-search.js";
import type { ListBlock, Snapshot } from "./snapshot.js";

/** Parts of lists, nearest list first. */
export interface Probed {
  readonly parts: readonly ListBlock[];
  /** For each of them, of the query from its list's centroid, in list space. */
  readonly distances: readonly number[];
}

export interface Plan {
  /** To scan in any case. */
  readonly likely: Probed;
  /** To scan where those have fewer rows than are asked for. */
  readonly unlikely: Probed;
  /** Whether their rows may be ruled out by their codes. */
  readonly pruned: boolean;
  /** To scan while it can help. */
  readonly rest: Probed;
}

/** How a query asks; see CheckedQuery. */
export interface Probing {
  readonly topK: number;
  readonly nProbes: number;
  readonly greedy: boolean;
}

/** How many lists a query asks for: all at most. */
export function probesOf(model: Model, nProbes: number): number {
  return nProbes === 0 ? model.autoProbes : Math.min(nProbes, listCount(model));
}

export function plan(
  snapshot: Snapshot,
  { model, quantizer }: Trained,
  query: QueryVector,
  { topK, nProbes, greedy }: Probing,
  matches: Matches | undefined,
): Plan {
  const { nLists } = quantizer;
  const asked = probesOf(model, nProbes);
  // Few matches are worth looking for in every list.
  const wanted = matches?.few === true ? nLists : asked;
  // Whoever asks for everything gets it exactly.
  const all = greedy || wanted === nLists;
  const probes =
    matches && !all
      ? probeFiltered(quantizer, query, wanted, topK, matches.share, (list) =>
          listMatches(snapshot, matches, list),
        )
      : quantizer.probe(query, all ? nLists : wanted);
  const probed = all ? wanted : probes.lists.length;
  // Lists that a filtered query needs beyond what an evenly spread filter would are there because their stretch says little.
  const even = matches ? wanted / Math.sqrt(matches.share) : wanted;
  const limit = probed <= even + 1 ? probeLimit(model.probeLimits, probed) : Infinity;
  const likely = all ? wanted : likelyLists(probes.distances, limit);
  return {
    likely: partsOf(snapshot, matches, probes, 0, likely),
    unlikely: partsOf(snapshot, matches, probes, likely, probed),
    rest: partsOf(snapshot, matches, probes, probed, probes.lists.length),
    pruned: !all,
  };
}

/** The parts of all lists but those that were met. */
export function furtherListBlocks(
  snapshot: Snapshot,
  quantizer: CoarseQuantizer,
  query: QueryVector,
  matches: Matches | undefined,
  met: ReadonlySet<ListBlock>,
): Probed {
  const { nLists } = quantizer;
  const { parts: blocks, distances } = partsOf(snapshot, matches, quantizer.probe(query, nLists), 0, nLists);
  return {
    parts: blocks.filter((listBlock) => !met.has(listBlock)),
    distances: distances.filter((_, i) => !met.has(blocks[i])),
  };
}

/** The parts of the probes from rank `start` to `end`. */
function partsOf(
  snapshot: Snapshot,
  matches: Matches | undefined,
  probes: Probes,
  start: number,
  end: number,
): Probed {
  const blocks: ListBlock[] = [];
  const distances: number[] = [];
  for (let rank = start; rank < end; rank++) {
    for (const listBlock of listBlocksIn(snapshot, probes.lists[rank], matches)) {
      blocks.push(listBlock);
      distances.push(probes.distances[rank]);
    }
  }
  return { parts: blocks, distances };
}
