/**
 * Several queries at once, over the threads: each code block is opened once for all of them, and their scans run side by
 * side. The results are those of the queries one by one, in first lists alone.
 */

import { yieldToEventLoop } from "../async/event-loop.js";
import { enterStage } from "../async/profile.js";
import { QueryVector } from "../engine/query-vector.js";
import type { MatchTable } from "../engine/scan/match-table.js";
import { BatchSearch } from "../engine/scan/batch-search.js";
import { run } from "../engine/threads/run.js";
import { useMatchTable } from "./match-tables.js";
import { withMatches } from "./matches.js";
import { isAutomatic, isWhole, type Probing } from "./list-limits.js";
import { pinListBlocks } from "./open-list-blocks.js";
import { acceptedIn, foundIn, heldTogether, type SearchResult } from "./scan-list-blocks.js";
import { chooseLists, createSearch } from "./search-lists.js";
import { noteCompared } from "./profiled-search.js";
import { isTrained, type SearchScope } from "./search-scope.js";
import type { ListBlock } from "./snapshot/snapshot.js";

/** Queries that are searched together. Their tables and heaps are in memory at once. */
export const queriesTogether = 64;
/** Codes that they hold open at a time, in bytes as stored. */
const heldBytesMax = 128 * 1024 * 1024;
/** Queries that are planned between two turns of the event loop. */
const plannedTogether = 16;

/** A query's share of the work. */
interface Planned {
  readonly query: QueryVector;
  readonly blocks: readonly ListBlock[];
  /** Per block, from the query to the centroid of its list; undefined if that is none of the query's lists. */
  readonly distances: readonly (number | undefined)[];
  /** Whether the query continues by itself if it found too few rows. */
  readonly continues: boolean;
  free(): void;
}

/** The result of one of the queries. */
export interface FoundTogether extends SearchResult {
  readonly continues: boolean;
}

/** For vectors up to `queriesTogether` of an index whose codes hold its vectors; not for exact queries. */
export async function searchTogether(
  scope: SearchScope,
  vectors: readonly Float32Array[],
  options: Probing,
  signal: AbortSignal | undefined,
): Promise<FoundTogether[]> {
  const queries: QueryVector[] = [];
  const used = useMatchTable(scope);
  const matching = used?.table;
  const release = [() => used?.release()];
  try {
    const planned: Planned[] = [];
    for (const [i, vector] of vectors.entries()) {
      const one = planOne(scope, vector, matching, options);
      release.push(() => one.free());
      queries.push(one.query);
      planned.push(one);
      if (i % plannedTogether === plannedTogether - 1) await yieldToEventLoop();
    }
    const search = new BatchSearch(queries, options.topK);
    release.push(() => search.free());
    const blocks = [...new Set(planned.flatMap((one) => one.blocks))];
    for (let start = 0; start < blocks.length;) {
      signal?.throwIfAborted();
      const end = start + heldTogether(blocks, start, heldBytesMax);
      const range = { blocks: blocks.slice(start, end), matching };
      await scanRange(scope, search, planned, range, signal);
      start = end;
    }
    return search.finish().map((candidates, i) => ({
      ...foundIn(scope.snapshot.listBlocks.all, candidates),
      continues: planned[i].continues,
    }));
  } finally {
    for (const each of release.reverse()) each();
  }
}

function planOne(
  scope: SearchScope,
  vector: Float32Array,
  matching: MatchTable | undefined,
  options: Probing,
): Planned {
  if (!isTrained(scope) || isWhole(options.effort, scope.trained.quantizer.nLists)) {
    const query = new QueryVector(scope.searcher.config.metric, vector, undefined);
    const blocks = withMatches(scope.snapshot.listBlocks.all, scope.matches);
    return {
      query,
      blocks,
      distances: [],
      continues: false,
      free: () => (noteCompared(query), query.free()),
    };
  }
  const search = createSearch(scope, vector, options.topK);
  const { blocks, distances } = chooseLists(scope, search, matching, options, false);
  return {
    query: search.query,
    blocks,
    distances,
    continues: isAutomatic(options.effort) || scope.matches === undefined,
    free: () => (noteCompared(search.query), search.free()),
  };
}

/** Blocks that are open at the same time. */
interface BlockRange {
  readonly blocks: readonly ListBlock[];
  readonly matching: MatchTable | undefined;
}

/** Scans the blocks of a range for the queries that need them. */
async function scanRange(
  { searcher, snapshot }: SearchScope,
  search: BatchSearch,
  planned: readonly Planned[],
  { blocks, matching }: BlockRange,
  signal: AbortSignal | undefined,
): Promise<void> {
  const positions = new Map(blocks.map((listBlock, position) => [listBlock, position]));
  enterStage("read");
  const open = await pinListBlocks(snapshot, blocks);
  enterStage("scan");
  searcher.residency.recordAddresses(snapshot, blocks, open.codes);
  try {
    const jobs = planned.map(({ blocks: wanted, distances }) =>
      wanted.flatMap((listBlock, i) => {
        const position = positions.get(listBlock);
        if (position === undefined) return [];
        const job = {
          block: listBlock.number,
          codes: open.codes[position].codes,
          distance: distances[i],
          pruned: true,
          newerSegments: listBlock.newerSegments,
          ...acceptedIn(matching, listBlock),
        };
        return [job];
      }),
    );
    await run(search.scan(jobs, open.tables), signal);
  } finally {
    open.release();
  }
}
