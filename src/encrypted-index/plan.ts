/** Which code blocks a query scans: those of the lists that it probes. */

import type { CoarseQuantizer } from "../engine/coarse-quantizer.js";
import { listCount } from "../engine/model.js";
import type { QueryVector } from "../engine/query-vector.js";
import { probeFiltered } from "./filtered-probes.js";
import { listCounts, type Matches, withMatches } from "./filtered-search.js";
import type { Part, Snapshot } from "./snapshot.js";

export interface Plan {
  /** To scan in any case, nearest list first. */
  readonly parts: readonly Part[];
  /** For each of them, of the query from its list's centroid, in list space. */
  readonly distances: readonly number[];
  /** Whether their rows may be ruled out by their codes. */
  readonly pruned: boolean;
  /** To scan while it can help. */
  readonly rest: readonly { readonly part: Part; readonly distance: number }[];
}

/** How a query asks; see CheckedQuery. */
export interface Probing {
  readonly topK: number;
  readonly nProbes: number;
  readonly greedy: boolean;
}

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
      ? probeFiltered(quantizer, query, wanted, topK, listCounts(snapshot, matches))
      : quantizer.probe(query, all ? nLists : wanted);
  const parts: Part[] = [];
  const distances: number[] = [];
  const rest: { part: Part; distance: number }[] = [];
  const probed = all ? wanted : probes.lists.length;
  probes.lists.forEach((list, rank) => {
    const distance = probes.distances[rank];
    for (const part of withMatches(snapshot.partsOfList(list), matches)) {
      if (rank >= probed) rest.push({ part, distance });
      else {
        parts.push(part);
        distances.push(distance);
      }
    }
  });
  return { parts, distances, pruned: !all, rest };
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
