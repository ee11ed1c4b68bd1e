/** Which code blocks a query scans: those of the lists that it probes. */

import type { CoarseQuantizer } from "../engine/coarse-quantizer.js";
import { listCount } from "../engine/model.js";
import { likelyLists, probeLimit } from "../engine/probe-limits.js";
import type { QueryVector } from "../engine/query-vector.js";
import { probeFiltered } from "./filtered-probes.js";
import { listMatches, type Matches, withMatches } from "./filtered-search.js";
import type { Part, Snapshot } from "./snapshot.js";

/** Parts of lists, nearest list first. */
export interface Probed {
  readonly parts: readonly Part[];
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

const noLimits = new Float32Array(0);

/** How many lists a query asks for: all at most. */
export function probesOf({ model }: Snapshot, { nProbes }: Pick<Probing, "nProbes">): number {
  if (model === undefined) return 0;
  return nProbes === 0 ? model.autoProbes : Math.min(nProbes, listCount(model));
}

export function plan(
  snapshot: Snapshot,
  quantizer: CoarseQuantizer,
  query: QueryVector,
  { topK, nProbes, greedy }: Probing,
  matches: Matches | undefined,
): Plan {
  const { nLists } = quantizer;
  const asked = probesOf(snapshot, { nProbes });
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
  const limit = probed <= even + 1 ? probeLimit(snapshot.model?.probeLimits ?? noLimits, probed) : Infinity;
  const likely = all ? wanted : likelyLists(probes.distances, limit);
  const partsOf = (list: number) =>
    matches === undefined ? snapshot.partsOfList(list) : listMatches(snapshot, matches, list).parts;
  const partsFrom = (start: number, end: number): Probed => {
    const parts: Part[] = [];
    const distances: number[] = [];
    for (let rank = start; rank < end; rank++) {
      for (const part of partsOf(probes.lists[rank])) {
        parts.push(part);
        distances.push(probes.distances[rank]);
      }
    }
    return { parts, distances };
  };
  return {
    likely: partsFrom(0, likely),
    unlikely: partsFrom(likely, probed),
    rest: partsFrom(probed, probes.lists.length),
    pruned: !all,
  };
}

/** The parts of all lists but those that were met, nearest list first. */
export function furtherParts(
  snapshot: Snapshot,
  quantizer: CoarseQuantizer,
  query: QueryVector,
  matches: Matches | undefined,
  met: ReadonlySet<Part>,
): { part: Part; distance: number }[] {
  const { lists, distances } = quantizer.probe(query, quantizer.nLists);
  return lists.flatMap((list, rank) =>
    withMatches(snapshot.partsOfList(list), matches)
      .filter((part) => !met.has(part))
      .map((part) => ({ part, distance: distances[rank] })),
  );
}
