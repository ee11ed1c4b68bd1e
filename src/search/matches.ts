/** What a filter means for a query over one snapshot: which rows of each segment match, and how many of each list. */

import type { CompiledFilter } from "../filter.js";
import { memoize } from "../memoize.js";
import { isSelective } from "./prefiltered-rows.js";
import type { MatchingRows } from "./row-filter.js";
import type { Searcher } from "./searcher.js";
import type { ListBlock, OpenSegment, Snapshot } from "./snapshot.js";

export interface Matches {
  /** Per segment, for all segments. */
  readonly rows: ReadonlyMap<OpenSegment, MatchingRows>;
  /** Rows that match, including those that newer segments shadow. */
  readonly count: number;
  /** Their share of all rows. */
  readonly share: number;
  /** Whether they are few enough to compare the query with every one of them. */
  readonly isSelective: boolean;
  /** Whether `searchPrefiltered` can do that: it cannot if rows are codes alone. */
  readonly canPrefilter: boolean;
  /** Filled by `listMatches`. */
  readonly byList: (ListMatches | undefined)[];
}

export interface ListMatches {
  /** The list's blocks that have a match. */
  readonly blocks: readonly ListBlock[];
  readonly rows: number;
  readonly matches: number;
}

/** Filters whose matches are kept per snapshot; the least recently used is dropped first. */
const filtersKept = 32;
const known = new WeakMap<Snapshot, Map<string, Promise<Matches>>>();

/** The matches of a filter, which do not change while the snapshot is in use. */
export function findMatches(
  searcher: Searcher,
  snapshot: Snapshot,
  filter: CompiledFilter,
): Promise<Matches> {
  let kept = known.get(snapshot);
  if (kept === undefined) known.set(snapshot, (kept = new Map()));
  return memoize(kept, filter.text, () => matchesOf(searcher, snapshot, filter), filtersKept);
}

async function matchesOf(
  searcher: Searcher,
  { segments }: Snapshot,
  filter: CompiledFilter,
): Promise<Matches> {
  const found = await Promise.all(segments.map(({ reader }) => searcher.rowFilters.matching(reader, filter)));
  const count = found.reduce((sum, matching) => sum + matching.count, 0);
  return {
    rows: new Map(segments.map((segment, i) => [segment, found[i]])),
    count,
    share: count / segments.reduce((rows, { reader }) => rows + reader.directory.rows, 0),
    isSelective: segments.every(({ reader }) => isSelective(count, reader.directory.dimension)),
    canPrefilter: segments.every(({ reader }) => reader.codec.exact),
    byList: [],
  };
}

/** The blocks that have a row that matches. */
export function withMatches(
  blocks: readonly ListBlock[],
  matches: Matches | undefined,
): readonly ListBlock[] {
  return matches === undefined
    ? blocks
    : blocks.filter(({ segment, block }) => matches.rows.get(segment)?.blocks.has(block));
}

/** The blocks of a list that may have a row that matches. */
export function listBlocksIn(
  snapshot: Snapshot,
  list: number,
  matches: Matches | undefined,
): readonly ListBlock[] {
  return matches === undefined ? snapshot.listBlocksOf(list) : listMatches(snapshot, matches, list).blocks;
}

/** How many rows of a list match, and in which blocks. */
export function listMatches(snapshot: Snapshot, matches: Matches, list: number): ListMatches {
  return (matches.byList[list] ??= listMatchesOf(snapshot, matches, list));
}

function listMatchesOf(snapshot: Snapshot, matches: Matches, list: number): ListMatches {
  const all = snapshot.listBlocksOf(list);
  const blocks = withMatches(all, matches);
  const matchesIn = ({ segment, block }: ListBlock) => matches.rows.get(segment)?.blocks.get(block) ?? 0;
  return {
    blocks,
    rows: all.reduce((sum, { block }) => sum + block.rows, 0),
    matches: blocks.reduce((sum, listBlock) => sum + matchesIn(listBlock), 0),
  };
}
