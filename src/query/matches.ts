/** The matches of a filter in one snapshot: which rows of each segment match, and how many of each list. */

import type { CompiledFilter } from "../api/filter/compile.js";
import type { ListSet } from "../engine/lists/coarse-quantizer.js";
import type { MatchTable } from "../engine/scan/match-table.js";
import { enterStage } from "../async/profile.js";
import { type Task, waitFor } from "../engine/threads/run.js";
import { type CachedValue, type KeyOf, namedKey } from "../state/cache/cache-group.js";
import { addRow, noRows } from "../state/segment/row-bits.js";
import { isSelective } from "./prefiltered-rows.js";
import { filterDigest, type MatchingRows, pinMatching, unpinMatching } from "./row-filter.js";
import type { ListBlock, OpenSegment, Snapshot } from "./snapshot/snapshot.js";

/** The key of their table in the snapshot's cache. */
export interface Matches extends KeyOf<MatchTable> {
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
  /** The segments that have a match. */
  readonly selected: readonly SelectedSegment[];
  /** Filled by `listMatches`. */
  readonly byList: (ListMatches | undefined)[];
  /** Set by `distributionOf`. */
  distribution?: Distribution;
}

export interface SelectedSegment {
  readonly segment: OpenSegment;
  readonly matching: MatchingRows;
  /** See `Snapshot.newerSegments`. */
  readonly newerSegments: number;
}

export interface ListMatches {
  /** The list's blocks that have a match. */
  readonly blocks: readonly ListBlock[];
  readonly rows: number;
  readonly matches: number;
}

/** How matches lie in the lists. */
export interface Distribution {
  /** The share of matches among the rows that share a list with a match: the filter's share if matches are spread evenly. */
  readonly concentration: number;
  /** The lists that have a match. */
  readonly matching: ListSet;
}

/** Bytes of a list, and of a block with a match, in `Matches.byList`. */
const listBytes = 128;
const blockBytes = 8;

type CachedMatches = Matches & CachedValue;

/** The matches of a filter, which do not change while the snapshot is in use. */
export function* findMatches(
  snapshot: Snapshot,
  filter: CompiledFilter,
  signal?: AbortSignal,
): Task<Matches> {
  enterStage("choose");
  const key = namedKey<CachedMatches>(`matches ${filterDigest(filter)}`);
  const known = snapshot.cache.peek(key);
  if (known !== undefined) return known;
  const find = async () => [await pinMatches(snapshot, filter, signal)];
  const [matches] = yield* waitFor(snapshot.cache.load([key], find, signal));
  return matches;
}

/** The matching rows of all segments, which stay pinned until the matches are evicted. */
async function pinMatches(
  snapshot: Snapshot,
  filter: CompiledFilter,
  signal: AbortSignal | undefined,
): Promise<CachedMatches> {
  const { segments, listBlocks } = snapshot;
  const results = await Promise.allSettled(segments.map(({ reader }) => pinMatching(reader, filter, signal)));
  const free = () => {
    results.forEach(({ status }, i) => {
      if (status === "fulfilled") unpinMatching(segments[i].reader, filter);
    });
  };
  const rows = new Map<OpenSegment, MatchingRows>();
  for (const [i, result] of results.entries()) {
    if (result.status === "fulfilled") rows.set(segments[i], result.value);
    else {
      free();
      throw result.reason;
    }
  }
  const found = [...rows.values()];
  const count = found.reduce((sum, matching) => sum + matching.count, 0);
  const blocks = found.reduce((sum, matching) => sum + matching.blocks.size, 0);
  return {
    rows,
    count,
    share: count / segments.reduce((sum, { reader }) => sum + reader.footer.rows, 0),
    isSelective: segments.every(({ reader }) => isSelective(count, reader.footer.dimension)),
    canPrefilter: segments.every(({ reader }) => reader.codec.kind !== "codes"),
    selected: Array.from(rows, ([segment, matching]) => ({ segment, matching })).flatMap((each) =>
      each.matching.count > 0 ? [{ ...each, newerSegments: snapshot.newerSegments(each.segment) }] : [],
    ),
    byList: [],
    bytes: listBytes * (segments.length + listBlocks.firsts.length) + blockBytes * blocks,
    free,
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

/** How many rows of a list match, and in which blocks. */
export function listMatches(snapshot: Snapshot, matches: Matches, list: number): ListMatches {
  return (matches.byList[list] ??= listMatchesOf(snapshot, matches, list));
}

/** How many rows of a block a search may find. */
export function rowsToFind({ segment, block }: ListBlock, matches: Matches | undefined): number {
  return matches === undefined ? block.rows : (matches.rows.get(segment)?.blocks.get(block) ?? 0);
}

export function rowCount(blocks: readonly ListBlock[]): number {
  return blocks.reduce((sum, { block }) => sum + block.rows, 0);
}

export function distributionOf(snapshot: Snapshot, matches: Matches): Distribution {
  return (matches.distribution ??= distribution(snapshot, matches));
}

function distribution(snapshot: Snapshot, matches: Matches): Distribution {
  const nLists = snapshot.listBlocks.firsts.length - 2;
  const bits = noRows(nLists);
  let lists = 0;
  let count = 0;
  let sum = 0;
  for (let list = 0; list < nLists; list++) {
    const { rows, matches: own } = listMatches(snapshot, matches, list);
    if (own > 0) {
      addRow(bits, list);
      lists++;
    }
    count += own;
    // Of the others in the list, as the match itself says nothing.
    if (rows > 1) sum += (own * (own - 1)) / (rows - 1);
  }
  const concentration = Math.max(matches.share, count === 0 ? 0 : sum / count);
  return { concentration, matching: { bits, count: lists } };
}

function listMatchesOf(snapshot: Snapshot, matches: Matches, list: number): ListMatches {
  const all = snapshot.listBlocksOf(list);
  const blocks = withMatches(all, matches);
  return {
    blocks,
    rows: rowCount(all),
    matches: blocks.reduce((sum, listBlock) => sum + rowsToFind(listBlock, matches), 0),
  };
}
