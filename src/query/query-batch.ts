/**
 * Several queries at once, over the threads: each code block is opened once for all of them, and their scans run side by
 * side. The results are those of the queries one by one, in first lists alone.
 */

import { yieldToEventLoop } from "../async/event-loop.js";
import { QueryVector } from "../engine/query-vector.js";
import { BatchSearch } from "../engine/scan/batch-search.js";
import { run } from "../engine/threads/run.js";
import { withMatches } from "./matches.js";
import { pinListBlocks, PlacedRows } from "./open-list-blocks.js";
import { plan } from "./plan.js";
import { isAutomatic, type Probing } from "./scan-limits.js";
import { type SearchResult, foundIn, heldTogether } from "./scan-list-blocks.js";
import type { SearchScope } from "./search-scope.js";
import type { ListBlock } from "./snapshot/snapshot.js";

/** Queries that are searched together. Their tables and heaps are in memory at once. */
export const queriesTogether = 64;
/** Codes that they hold open at a time, in bytes as stored. */
const heldBytesMax = 128 * 1024 * 1024;
/** Queries that are planned between two turns of the event loop. */
const plannedTogether = 16;

/** A query's share of the work. */
interface Planned {
  readonly blocks: readonly ListBlock[];
  /** Per block, from the query to the centroid of its list; undefined if that is none of the query's lists. */
  readonly distances: readonly (number | undefined)[];
  readonly pruned: boolean;
  /** When the query has to be searched by itself: never, if it found too little, or always. */
  readonly alone: "never" | "if short" | "always";
}

/** The result of one of the queries, and when it does not count. */
export interface FoundTogether extends SearchResult {
  readonly alone: Planned["alone"];
}

/** For vectors up to `queriesTogether` of an index whose codes hold its vectors; not for exact queries. */
export async function searchTogether(
  scope: SearchScope,
  vectors: readonly Float32Array[],
  options: Probing,
  signal: AbortSignal | undefined,
): Promise<FoundTogether[]> {
  const { config } = scope.searcher;
  const queries: QueryVector[] = [];
  const release = [() => queries.forEach((query) => query.free())];
  try {
    const planned: Planned[] = [];
    for (const [i, vector] of vectors.entries()) {
      const query = new QueryVector(config.metric, vector, scope.trained?.quantizer.rotation);
      queries.push(query);
      planned.push(planOne(scope, query, options));
      if (i % plannedTogether === plannedTogether - 1) await yieldToEventLoop();
    }
    const search = new BatchSearch(queries, options.topK);
    release.push(() => search.free());
    const accepted = scope.matches && new PlacedRows(scope.matches.rows);
    release.push(() => accepted?.free());
    const blocks = [...new Set(planned.flatMap((one) => one.blocks))];
    for (let start = 0; start < blocks.length;) {
      signal?.throwIfAborted();
      const end = start + heldTogether(blocks, start, heldBytesMax);
      const range = { first: start, blocks: blocks.slice(start, end), accepted };
      await scanRange(scope, search, planned, range, signal);
      start = end;
    }
    return search.finish().map((candidates, i) => ({
      ...foundIn(blocks, candidates),
      alone: planned[i].alone,
    }));
  } finally {
    for (const each of release.reverse()) each();
  }
}

function planOne(scope: SearchScope, query: QueryVector, options: Probing): Planned {
  const { snapshot, trained, matches } = scope;
  const ungrouped = withMatches(snapshot.ungroupedListBlocks, matches);
  const unknown = ungrouped.map(() => undefined);
  if (trained === undefined) return { blocks: ungrouped, distances: unknown, pruned: false, alone: "never" };
  const { likely, unlikely, pruned, epsilon, outlying } = plan({ ...scope, trained }, query, options);
  query.epsilon = epsilon;
  if (outlying !== undefined) return { blocks: [], distances: [], pruned, alone: "always" };
  return {
    blocks: [...ungrouped, ...likely.blocks],
    distances: [...unknown, ...likely.distances],
    pruned,
    alone: unlikely.blocks.length > 0 || (isAutomatic(options.effort) && pruned) ? "if short" : "never",
  };
}

/** Blocks that are open at the same time. */
interface BlockRange {
  /** The number of the first: candidates name blocks by numbers. */
  readonly first: number;
  readonly blocks: readonly ListBlock[];
  readonly accepted: PlacedRows | undefined;
}

/** Scans the blocks of a range for the queries that need them. */
async function scanRange(
  { searcher, snapshot }: SearchScope,
  search: BatchSearch,
  planned: readonly Planned[],
  { first, blocks, accepted }: BlockRange,
  signal: AbortSignal | undefined,
): Promise<void> {
  const positions = new Map(blocks.map((listBlock, position) => [listBlock, position]));
  const open = await pinListBlocks(snapshot, blocks);
  searcher.residency.recordAddresses(snapshot, blocks, open.codes);
  try {
    const jobs = planned.map(({ blocks: wanted, distances, pruned }) =>
      wanted.flatMap((listBlock, i) => {
        const position = positions.get(listBlock);
        if (position === undefined) return [];
        const job = {
          block: first + position,
          codes: open.codes[position].codes,
          distance: distances[i],
          pruned,
          newerSegments: listBlock.newerSegments,
          accepted: accepted?.addressOf(listBlock.segment) ?? 0,
          firstBit: listBlock.block.firstRow,
        };
        return [job];
      }),
    );
    await run(search.scan(jobs, open.tables), signal);
  } finally {
    open.release();
  }
}
