/**
 * What a filter means for a query over one snapshot: which rows of each segment match, and, where they are few, the
 * search among just these. That search is exact whatever is probed, and reads no block without a match.
 */

import { Search } from "../engine/search.js";
import type { Candidate } from "../engine/top-k.js";
import { wordsAt } from "../engine/kernels/memory.js";
import type { CompiledFilter } from "../filter.js";
import { blocksOfList, type CodeBlock } from "../segment/directory.js";
import type { ListCounts } from "./filtered-probes.js";
import type { OpenIndex } from "./open-index.js";
import { canPick, type PickedPiece, pinPicked } from "./picked-rows.js";
import type { MatchingRows } from "./row-filter.js";
import type { OpenSegment, RowPlace, Snapshot } from "./snapshot.js";

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
    pickable: segments.every(({ reader }) => reader.codec.pick !== undefined),
  };
}

/** The blocks that have a row that matches. */
export function withMatches(
  blocks: readonly CodeBlock[],
  matching: MatchingRows | undefined,
): readonly CodeBlock[] {
  return matching === undefined ? blocks : blocks.filter((block) => matching.blocks.has(block));
}

/** How the matches lie in the lists of these segments. */
export function listCounts(segments: readonly OpenSegment[], matches: Matches): ListCounts {
  const sum = (list: number, of: (block: CodeBlock, matching: MatchingRows) => number) => {
    let total = 0;
    for (const segment of segments) {
      const matching = matches.rows.get(segment) as MatchingRows;
      for (const block of blocksOfList(segment.reader.directory.codes, list)) total += of(block, matching);
    }
    return total;
  };
  const rows = [...matches.rows.keys()].reduce((n, { reader }) => n + reader.directory.rows, 0);
  return {
    rowsIn: (list) => sum(list, (block) => block.rows),
    matchesIn: (list) => sum(list, (block, { blocks }) => blocks.get(block) ?? 0),
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
  const results = await Promise.allSettled(
    wanted.map(([{ reader }, matching]) => pinPicked(index, reader, matching)),
  );
  try {
    const picked = results.map((result) => {
      if (result.status === "rejected") throw result.reason;
      return result.value;
    });
    const hiddens = await Promise.all(wanted.map(([segment]) => snapshot.hiddenIn(segment)));
    const search = new Search(index.scanner(vector, undefined), topK);
    const scanned: { segment: OpenSegment; rows: readonly number[]; piece: PickedPiece }[] = [];
    let candidates: Candidate[];
    try {
      picked.forEach(({ rows: numbers, pieces }, i) => {
        for (const piece of pieces) {
          const accept = (row: number) => {
            const words = wordsAt(piece.fingerprints + 16 * row, 4);
            return !hiddens[i](words[0], words[1], words[2], words[3]);
          };
          scanned.push({ segment: wanted[i][0], rows: numbers, piece });
          search.scan(scanned.length - 1, piece.codes, undefined, piece.fingerprints, accept, undefined);
        }
      });
    } finally {
      candidates = search.finish();
    }
    const places = candidates.map(({ block, row }) => {
      const { segment, rows: numbers, piece } = scanned[block];
      return { segment, row: numbers[piece.firstPlace + row] };
    });
    return { candidates, places };
  } finally {
    results.forEach((result, i) => {
      const [{ reader }, matching] = wanted[i];
      if (result.status === "fulfilled") reader.unpinMade(matching);
    });
  }
}
