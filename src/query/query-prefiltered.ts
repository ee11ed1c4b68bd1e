/**
 * The search among just the rows that match a selective filter. It is exact, whatever number of lists is probed, and
 * reads no block without a match.
 */

import { QueryVector } from "../engine/query-vector.js";
import { flatScanner } from "../engine/scan/scanner.js";
import { Search } from "../engine/scan/scan-blocks.js";
import type { IndexConfig } from "../engine/config.js";
import type { OpenIdTable } from "../state/segment/opened-blocks.js";
import type { SegmentReader } from "../state/segment/segment-reader.js";
import { currentProfile, enterStage } from "../async/profile.js";
import { type Task, waitFor } from "../engine/threads/run.js";
import type { SearchResult } from "./scan-list-blocks.js";
import type { Matches, SelectedSegment } from "./matches.js";
import { isComplete } from "./open-list-blocks.js";
import { pinIdTables } from "./snapshot/id-tables.js";
import {
  peekPrefiltered,
  type PrefilteredPiece,
  type PrefilteredRows,
  pinPrefiltered,
  unpinPrefiltered,
} from "./prefiltered-rows.js";
import { noteCompared } from "./profiled-search.js";
import type { SearchScope } from "./search-scope.js";
import type { Snapshot } from "./snapshot/snapshot.js";

/** The matching rows of a segment, opened. */
interface OpenedMatches {
  readonly selected: SelectedSegment;
  readonly opened: PrefilteredRows;
}

/** Rows of a piece that was scanned. */
interface ScannedPiece extends OpenedMatches {
  readonly piece: PrefilteredPiece;
}

/** Compares a query with every row that matches. */
export function* searchPrefiltered(
  { searcher: { config }, snapshot }: SearchScope,
  { selected }: Matches,
  vector: Float32Array,
  topK: number,
): Task<SearchResult> {
  const newer = shadowingReaders(snapshot, selected);
  enterStage("read");
  const opened =
    openedRows(selected, newer) ??
    (yield* waitFor(pinRows(selected, newer, config), ({ release }) => release?.()));
  try {
    return scan(opened.segments, opened.tables, vector, { config, topK });
  } finally {
    opened.release?.();
  }
}

interface OpenedRows {
  readonly segments: readonly OpenedMatches[];
  /** By which newer segments shadow them. */
  readonly tables: readonly OpenIdTable[];
  /** Unpins the rows. Absent: they are not pinned, and valid until the next wait. */
  release?(): void;
}

/** The segments that can shadow rows of these. */
function shadowingReaders(snapshot: Snapshot, selected: readonly SelectedSegment[]): SegmentReader[] {
  return snapshot.newestReaders(Math.max(...selected.map(({ newerSegments }) => newerSegments)));
}

/** The matching rows, if all of them are open. */
function openedRows(
  selected: readonly SelectedSegment[],
  newer: readonly SegmentReader[],
): OpenedRows | undefined {
  const tables = newer.map((reader) => reader.openedTable());
  if (!isComplete(tables)) return undefined;
  const segments: OpenedMatches[] = [];
  for (const each of selected) {
    const opened = peekPrefiltered(each.segment.reader, each.matching);
    if (opened === undefined) return undefined;
    segments.push({ selected: each, opened });
  }
  currentProfile()?.add({ cacheHits: segments.length });
  return { segments, tables };
}

/** Opens the matching rows, pinned. */
async function pinRows(
  selected: readonly SelectedSegment[],
  newer: readonly SegmentReader[],
  config: IndexConfig,
): Promise<OpenedRows> {
  const pinning = pinIdTables(newer);
  // Awaited below; until then a failure must not count as unhandled.
  pinning.catch(() => undefined);
  const results = await Promise.allSettled(
    selected.map(({ segment, matching }) => pinPrefiltered(config, segment.reader, matching)),
  );
  const releaseRows = () => {
    results.forEach(({ status }, i) => {
      const { segment, matching } = selected[i];
      if (status === "fulfilled") unpinPrefiltered(segment.reader, matching);
    });
  };
  const segments: OpenedMatches[] = [];
  try {
    const { tables, release } = await pinning;
    for (const [i, result] of results.entries()) {
      if (result.status === "fulfilled") segments.push({ selected: selected[i], opened: result.value });
      else {
        release();
        throw result.reason;
      }
    }
    return { segments, tables, release: () => (release(), releaseRows()) };
  } catch (error) {
    releaseRows();
    throw error;
  }
}

function scan(
  segments: readonly OpenedMatches[],
  tables: readonly OpenIdTable[],
  vector: Float32Array,
  { config, topK }: { readonly config: IndexConfig; readonly topK: number },
): SearchResult {
  enterStage("scan");
  const query = new QueryVector(config.metric, vector, undefined);
  const search = new Search(query, flatScanner(query), topK);
  try {
    search.shadowBy(tables);
    const scanned: ScannedPiece[] = [];
    for (const { selected, opened } of segments) {
      const jobs = opened.pieces.map((piece) => ({
        block: scanned.push({ selected, opened, piece }) - 1,
        codes: piece.codes,
        distance: undefined,
        pruned: false,
        newerSegments: selected.newerSegments,
        accepted: 0,
        firstBit: 0,
      }));
      search.scan(jobs);
    }
    const candidates = search.finish();
    const rows = candidates.map(({ block, row }) => {
      const { selected, opened, piece } = scanned[block];
      return { segment: selected.segment, row: opened.rows[piece.firstPlace + row] };
    });
    return { candidates, rows };
  } finally {
    noteCompared(query);
    search.free();
    query.free();
  }
}
