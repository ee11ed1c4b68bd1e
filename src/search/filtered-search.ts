/**
 * What a filter means for a query over one snapshot: which rows of each segment match, and, where they are few, the
 * search among just these. That search is exact whatever is probed, and reads no block without a match.
 */

import { QueryVector } from "../engine/query-vector.js";
import { flatScanner } from "../engine/scanner.js";
import { Search } from "../engine/search.js";
import type { Candidate } from "../engine/top-k.js";
import type { CompiledFilter } from "../filter.js";
import type { OpenIndex } from "../encrypted-index/open-index.js";
import { newestReaders, pinIdTables } from "./newer-id-tables.js";
import { isSelective, type PrefilteredPiece, pinPrefiltered } from "./prefiltered-rows.js";
import type { MatchingRows } from "./row-filter.js";
import { memoize } from "../memoize.js";
import type { OpenSegment, ListBlock, RowPlace, Snapshot } from "./snapshot.js";

/** What a search found, nearest first, and where it is. */
export interface Found {
  readonly candidates: readonly Candidate[];
  readonly places: readonly RowPlace[];
}

/** Of candidates whose blocks are numbers of `parts`. */
export function foundIn(blocks: readonly ListBlock[], candidates: readonly Candidate[]): Found {
  const places = candidates.map(({ block, row }) => {
    const { segment, block: codes } = blocks[block];
    return { segment, row: codes.firstRow + row };
  });
  return { candidates, places };
}

export interface Matches {
  /** For every segment. */
  readonly rows: ReadonlyMap<OpenSegment, MatchingRows>;
  /** Rows that match; also those that newer segments hide. */
  readonly count: number;
  /** Their share of all rows. */
  readonly share: number;
  /** Whether to compare the query with every row that matches. */
  readonly few: boolean;
  /** Whether `searchPicked` can: codes alone cannot be taken from their blocks. */
  readonly pickable: boolean;
  /** Filled by `listMatches`. */
  readonly byList: (ListMatches | undefined)[];
}

export interface ListMatches {
  /** Those of its parts that have a match. */
  readonly parts: readonly ListBlock[];
  readonly rows: number;
  readonly matches: number;
}

/** Filters whose matches are kept for a snapshot, the least recently used go first. */
const filtersKept = 32;
const known = new WeakMap<Snapshot, Map<string, Promise<Matches>>>();

/** The matches of a filter, which are the same for as long as the snapshot is. */
export function findMatches(index: OpenIndex, snapshot: Snapshot, filter: CompiledFilter): Promise<Matches> {
  let kept = known.get(snapshot);
  if (kept === undefined) known.set(snapshot, (kept = new Map()));
  return memoize(kept, filter.text, () => matchesOf(index, snapshot, filter), filtersKept);
}

async function matchesOf(index: OpenIndex, { segments }: Snapshot, filter: CompiledFilter): Promise<Matches> {
  const found = await Promise.all(segments.map(({ reader }) => index.rowFilters.matching(reader, filter)));
  const count = found.reduce((sum, matching) => sum + matching.count, 0);
  return {
    rows: new Map(segments.map((segment, i) => [segment, found[i]])),
    count,
    share: count / segments.reduce((rows, { reader }) => rows + reader.directory.rows, 0),
    few: segments.every(({ reader }) => isSelective(count, reader.directory.dimension)),
    pickable: segments.every(({ reader }) => reader.codec.exact),
    byList: [],
  };
}

/** The parts that have a row that matches. */
export function withMatches(
  blocks: readonly ListBlock[],
  matches: Matches | undefined,
): readonly ListBlock[] {
  return matches === undefined
    ? blocks
    : blocks.filter(({ segment, block }) => matches.rows.get(segment)?.blocks.has(block));
}

/** The parts of a list that may have a row that matches. */
export function listBlocksIn(
  snapshot: Snapshot,
  list: number,
  matches: Matches | undefined,
): readonly ListBlock[] {
  return matches === undefined ? snapshot.listBlocksOf(list) : listMatches(snapshot, matches, list).parts;
}

/** How a list's rows are to a filter. */
export function listMatches(snapshot: Snapshot, matches: Matches, list: number): ListMatches {
  return (matches.byList[list] ??= listMatchesOf(snapshot, matches, list));
}

function listMatchesOf(snapshot: Snapshot, matches: Matches, list: number): ListMatches {
  const all = snapshot.listBlocksOf(list);
  const blocks = withMatches(all, matches);
  const found = ({ segment, block }: ListBlock) => matches.rows.get(segment)?.blocks.get(block) ?? 0;
  return {
    parts: blocks,
    rows: all.reduce((sum, { block }) => sum + block.rows, 0),
    matches: blocks.reduce((sum, listBlock) => sum + found(listBlock), 0),
  };
}

/** Compares a query with every row that matches. */
export async function searchPrefiltered(
  index: OpenIndex,
  snapshot: Snapshot,
  vector: Float32Array,
  topK: number,
  { rows }: Matches,
): Promise<Found> {
  const wanted = [...rows].filter(([, { count }]) => count > 0);
  const newerThan = ({ ref }: OpenSegment) =>
    snapshot.segments.filter((other) => other.ref.sequence > ref.sequence).length;
  const newer = wanted.map(([segment]) => newerThan(segment));
  const pinning = pinIdTables(newestReaders(snapshot, Math.max(...newer)));
  // Looked at below; until then a failure is nobody's.
  pinning.catch(() => undefined);
  const results = await Promise.allSettled(
    wanted.map(([{ reader }, matching]) => pinPrefiltered(index, reader, matching)),
  );
  const asking = new QueryVector(index.config.metric, vector, undefined);
  const search = new Search(asking, flatScanner(asking), topK);
  const release = [() => search.free(), () => asking.free()];
  results.forEach(({ status }, i) => {
    const [{ reader }, matching] = wanted[i];
    if (status === "fulfilled") release.push(() => reader.unpinMade(matching));
  });
  try {
    const pinned = await pinning;
    release.push(pinned.release);
    search.shadowBy(pinned.tables);
    const scanned: { segment: OpenSegment; rows: readonly number[]; piece: PrefilteredPiece }[] = [];
    results.forEach((result, i) => {
      if (result.status === "rejected") throw result.reason;
      const { rows: numbers, pieces } = result.value;
      const jobs = pieces.map((piece) => ({
        block: scanned.push({ segment: wanted[i][0], rows: numbers, piece }) - 1,
        codes: piece.codes,
        distance: undefined,
        pruned: false,
        newerSegments: newer[i],
        accepted: 0,
        firstBit: 0,
      }));
      search.scan(jobs);
    });
    const candidates = search.finish();
    const places = candidates.map(({ block, row }) => {
      const { segment, rows: numbers, piece } = scanned[block];
      return { segment, row: numbers[piece.firstPlace + row] };
    });
    return { candidates, places };
  } finally {
    for (const each of release) each();
  }
}
