/** The matches of a filter as kernels find them. */

import { type MatchesOf, MatchTable } from "../engine/scan/match-table.js";
import { entryBytes } from "../state/cache/cache-group.js";
import { distributionOf, listMatches, type Matches } from "./matches.js";
import type { SearchScope } from "./search-scope.js";
import { spilledSegments } from "./secondary-segments.js";
import type { OpenSegment, Snapshot } from "./snapshot/snapshot.js";

/** A table that is in use. */
export interface UsedMatchTable {
  readonly table: MatchTable;
  release(): void;
}

/** The table of the matches, if there is a filter. Call `release` when done. Evicts nothing for it: without room in the cache, it is for this search alone. */
export function useMatchTable(scope: SearchScope): UsedMatchTable | undefined {
  const { snapshot, searcher, matches } = scope;
  if (matches === undefined) return undefined;
  const { cache } = snapshot;
  const keys = [matches];
  const release = () => cache.unpin(keys);
  const known = cache.pinOpened(keys);
  if (known !== undefined) return { table: known[0], release };
  const own = new MatchTable(matchesOf(snapshot, matches, spilledSegments(snapshot).segments));
  if (!searcher.hasRoom(own.bytes + entryBytes)) return { table: own, release: () => own.free() };
  cache.putPinned(matches, own);
  return { table: own, release };
}

function matchesOf(snapshot: Snapshot, matches: Matches, spilled: readonly OpenSegment[]): MatchesOf {
  const bitsOf = (segment: OpenSegment) => {
    const found = matches.rows.get(segment);
    return found !== undefined && found.count > 0 ? found.bits : undefined;
  };
  // The same state may have been opened twice, with objects of their own.
  const named = new Map([...matches.rows.keys()].map((segment) => [segment.ref.name, segment]));
  return {
    lists: Array.from(snapshot.model?.spreads ?? [], (spread, list) => {
      const { rows, matches: own } = listMatches(snapshot, matches, list);
      return { rows, matches: own, spread };
    }),
    blocks: snapshot.listBlocks.all.map(({ segment, block }) => ({
      accepted: matches.rows.get(segment)?.blocks.has(block) ? bitsOf(segment) : undefined,
      firstBit: block.firstRow,
    })),
    among: distributionOf(snapshot, matches).matching,
    spilled: spilled.map(({ ref }) => {
      const segment = named.get(ref.name);
      return segment && bitsOf(segment);
    }),
  };
}
