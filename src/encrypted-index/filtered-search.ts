/**
 * What a filter means for a query over one snapshot: which rows of each segment match, and, where they are few, the
 * search among just these. That search is exact whatever is probed, and reads no block without a match.
 */

import { QueryVector } from "../engine/query-vector.js";
import { flatScanner } from "../engine/scanner.js";
import { Search } from "../engine/search.js";
import type { Candidate } from "../engine/top-k.js";
import type { CompiledFilter } from "../filter.js";
import type { ListCounts } from "./filtered-probes.js";
import type { OpenIndex } from "./open-index.js";
import { newestReaders, pinTables } from "./newer-tables.js";
import { canPick, type PickedPiece, pinPicked } from "./picked-rows.js";
import type { MatchingRows } from "./row-filter.js";
import type { OpenSegment, Part, RowPlace, Snapshot } from "./snapshot.js";

/** What a search found, nearest first, and where it is. */
export interface Found {
  readonly candidates: readonly Candidate[];
  readonly places: readonly RowPlace[];
}

export interface Matches {
  /** For every segment. */
  readonly rows: ReadonlyMap<OpenSegment, MatchingRows>;
  /** Rows that match; also those that newer segments hide. */
  readonly count: number;
  /** Whether to compare the query with every row that matches. */
  readonly few: boolean;
  /** Whether `searchPicked` can: codes alone cannot be taken from their blocks. */
  readonly pickable: boolean;
}

export async function findMatches(
  index: OpenIndex,
  { segments }: Snapshot,
  filter: CompiledFilter,
): Promise<Matches> {
  const found = await Promise.all(segments.map(({ reader }) => index.rowFilters.matching(reader, filter)));
  const count = found.reduce((sum, matching) => sum + matching.count, 0);
  return {
    rows: new Map(segments.map((segment, i) => [segment, found[i]])),
    count,
    few: segments.every(({ reader }) => canPick(count, reader.directory.dimension)),
    pickable: segments.every(({ reader }) => reader.codec.exact),
  };
}

/** The parts that have a row that matches. */
export function withMatches(parts: readonly Part[], matches: Matches | undefined): readonly Part[] {
  return matches === undefined
    ? parts
    : parts.filter(({ segment, block }) => matches.rows.get(segment)?.blocks.has(block));
}

/** How the matches lie in the lists of a snapshot. */
export function listCounts(snapshot: Snapshot, matches: Matches): ListCounts {
  const sum = (list: number, of: (part: Part) => number) =>
    snapshot.partsOfList(list).reduce((total, part) => total + of(part), 0);
  const rows = [...matches.rows.keys()].reduce((n, { reader }) => n + reader.directory.rows, 0);
  return {
    rowsIn: (list) => sum(list, ({ block }) => block.rows),
    matchesIn: (list) => sum(list, ({ segment, block }) => matches.rows.get(segment)?.blocks.get(block) ?? 0),
    share: matches.count / rows,
  };
}

/** Compares a query with every row that matches. */
export async function searchPicked(
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
  const pinning = pinTables(newestReaders(snapshot, Math.max(...newer)));
  // Looked at below; until then a failure is nobody's.
  pinning.catch(() => undefined);
  const results = await Promise.allSettled(
    wanted.map(([{ reader }, matching]) => pinPicked(index, reader, matching)),
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
    search.hideBy(pinned.tables);
    const scanned: { segment: OpenSegment; rows: readonly number[]; piece: PickedPiece }[] = [];
    results.forEach((result, i) => {
      if (result.status === "rejected") throw result.reason;
      const { rows: numbers, pieces } = result.value;
      const jobs = pieces.map((piece) => ({
        block: scanned.push({ segment: wanted[i][0], rows: numbers, piece }) - 1,
        codes: piece.codes,
        distance: undefined,
        pruned: false,
        newer: newer[i],
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
