/** The warm case of a query with a filter, by the rule of filtered-probes.ts: one or two kernel calls, no object per block, and nothing that is awaited. */

import type { ListSearch, ListsSearched } from "../engine/scan/search-lists.js";
import { type MatchesOf, MatchTable } from "../engine/scan/match-table.js";
import { MatchingSearch } from "../engine/scan/search-filtered.js";
import type { Model } from "../engine/model.js";
import { epsilonByDefault } from "../engine/query-vector.js";
import { entryBytes } from "../state/cache/cache-group.js";
import { amongShare, outlyingDepth, unlikeRows } from "./filtered-probes.js";
import { distributionOf, listMatches, type Matches } from "./matches.js";
import {
  isAutomatic,
  limitsSince,
  type Probing,
  pruningOf,
  scanLimits,
  type Sought,
  wider,
} from "./scan-limits.js";
import type { Searcher } from "./searcher.js";
import type { OpenSegment, Snapshot } from "./snapshot/snapshot.js";

/** The scope of a query with a filter: its model and its matches. */
export interface FilteredScope {
  readonly searcher: Searcher;
  readonly snapshot: Snapshot;
  readonly model: Model;
  readonly matches: Matches;
}

/** The nearest matches, unless all lists are asked for. Undefined if something has to be read first, or if more lists have to be looked at. */
export function searchFiltered(
  scope: FilteredScope,
  among: ListSearch,
  vector: Float32Array,
  probing: Probing,
): ListsSearched | undefined {
  const { searcher, matches } = scope;
  const { topK } = probing;
  const matching = matchTable(scope);
  if (matching === undefined) return undefined;
  const isHeld = (lists: number) => lists * matching.rowsPerList <= rowsHeldMax;
  const search = new MatchingSearch(among, matching, vector, topK, searcher.spilled.rowsMax);
  try {
    // Few matches are worth looking for in every list.
    if (matches.isSelective) {
      const { count } = matching;
      return isHeld(count) ? search.within({ ...everyList, probes: count }, undefined) : undefined;
    }
    if (!isAutomatic(probing.effort)) {
      const { probes } = scanLimits(scope.model, probing, scope.snapshot.growth);
      return search.within({ ...everyList, probes }, undefined);
    }
    const found = searchNear(scope, among, search, { topK, recall: probing.effort.recall });
    // Automatic limits must never return fewer than topK rows.
    const isShort = found !== undefined && found.candidates.length < topK && found.lists < matching.count;
    return isShort ? undefined : found;
  } finally {
    search.free();
  }
}

const everyList = { ratio: Infinity, epsilon: epsilonByDefault };
/** Rows of the lists that one kernel call scans although the query did not ask for all of them: it holds the event loop, phases do not. */
const rowsHeldMax = 2 ** 18;

/** Where the matches nearest to the query are expected: in its nearest lists, or anywhere. */
function searchNear(
  scope: FilteredScope,
  among: ListSearch,
  search: MatchingSearch,
  sought: Sought,
): ListsSearched | undefined {
  const { snapshot, model, matches } = scope;
  const { topK, recall } = sought;
  const { growth } = snapshot;
  const { concentration } = distributionOf(snapshot, matches);
  const around = search.shareAround(limitsSince(model.curves, sought, growth), unlikeRows);
  if (around < amongShare * concentration) {
    const wide = {
      topK: outlyingDepth(topK, { share: matches.share, concentration }),
      recall,
      isFiltered: true,
    };
    const { cosine } = limitsSince(model.curves, wide, growth);
    return search.outlying(cosine, pruningOf(sought, cosine, among.quantizer.rotation));
  }
  const depth = topK / Math.min(around, concentration);
  const deep = { topK: depth, recall, isFiltered: depth > topK };
  const limits = limitsSince(model.curves, deep, growth);
  const { residency, spilled: secondLists } = scope.searcher;
  const spilled = secondLists.probes(snapshot, model, among.table, deep);
  if (spilled !== undefined) {
    // The rows that are in one list need as many lists as ever.
    const found = search.within(residency.spilled.areAll ? spilled : wider(spilled, limits), spilled);
    if (found === undefined) secondLists.noteMissing(snapshot, among.table.missing());
    else if (found.candidates.length === topK) return found;
  }
  return search.within(limits, undefined);
}

/** The table of a filter, valid until the next await. Evicts nothing for it: undefined if there is no room. */
function matchTable({ searcher, snapshot, model, matches }: FilteredScope): MatchTable | undefined {
  const known = snapshot.cache.peek(matches);
  if (known !== undefined) return known;
  if (!searcher.hasRoom(tableBytesMax(snapshot))) return undefined;
  const table = new MatchTable(matchesOf(snapshot, model, matches, searcher.residency.spilled.segments));
  snapshot.cache.put(matches, table);
  return snapshot.cache.peek(matches);
}

/** At most the bytes of a table in the cache. */
function tableBytesMax({ segments, listBlocks }: Snapshot): number {
  const { all, firsts } = listBlocks;
  const bits = segments.reduce((sum, { reader }) => sum + reader.footer.rows / 8 + 8, 0);
  return entryBytes + bits + 16 * (all.length + firsts.length + 1);
}

function matchesOf(
  snapshot: Snapshot,
  model: Model,
  matches: Matches,
  spilled: readonly OpenSegment[],
): MatchesOf {
  const bitsOf = (segment: OpenSegment) => {
    const found = matches.rows.get(segment);
    return found !== undefined && found.count > 0 ? found.bits : undefined;
  };
  // The same state may have been opened twice, with objects of their own.
  const named = new Map([...matches.rows.keys()].map((segment) => [segment.ref.name, segment]));
  return {
    lists: Array.from(model.spreads, (spread, list) => {
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
