/**
 * Several queries at once, over the threads: each code block is opened once for all of them, and their scans run side by
 * side. The results are those of the queries one by one.
 */

import { BatchSearch } from "../engine/batch-search.js";
import type { Trained } from "../engine/choose-codec.js";
import { QueryVector } from "../engine/query-vector.js";
import { yieldToEventLoop, run } from "../threads/run.js";
import { type Found, foundIn, type Matches, withMatches } from "./filtered-search.js";
import { pinListBlocks, placeRows } from "./open-list-blocks.js";
import type { OpenIndex } from "../encrypted-index/open-index.js";
import { plan, type Probing } from "./plan.js";
import { heldTogether } from "./scan-list-blocks.js";
import type { ListBlock, Snapshot } from "./snapshot.js";

/** Queries whose scans are under way together. Their tables and heaps are in memory at once. */
export const queriesTogether = 64;
/** Codes that they hold open at a time, in bytes as stored. */
const heldBytesMax = 128 * 1024 * 1024;
/** Queries that are planned between two turns of the event loop. */
const plannedTogether = 16;

/** A query's part of the work: numbers of code blocks, and how far their lists are. */
interface Planned {
  readonly numbers: readonly number[];
  /** Undefined where the block is in none of the query's lists. */
  readonly distances: readonly (number | undefined)[];
  readonly pruned: boolean;
  readonly mayGoOn: boolean;
}

/** What a query of several found, and whether there are lists left for it that may have more. */
export interface FoundTogether extends Found {
  readonly mayGoOn: boolean;
}

/** For vectors up to `queriesTogether` of an index whose codes hold its vectors; not for greedy queries. */
export async function searchTogether(
  index: OpenIndex,
  snapshot: Snapshot,
  trained: Trained | undefined,
  vectors: readonly Float32Array[],
  options: Probing,
  matches: Matches | undefined,
  signal: AbortSignal | undefined,
): Promise<FoundTogether[]> {
  const queries: QueryVector[] = [];
  let search: BatchSearch | undefined;
  try {
    const numbers = new Map<ListBlock, number>();
    const planned: Planned[] = [];
    for (const [i, vector] of vectors.entries()) {
      const query = new QueryVector(index.config.metric, vector, trained?.quantizer.rotation);
      queries.push(query);
      planned.push(planOne(snapshot, trained, query, options, matches, numbers));
      if (i % plannedTogether === plannedTogether - 1) await yieldToEventLoop();
    }
    search = new BatchSearch(queries, options.topK);
    const blocks = [...numbers.keys()];
    for (let start = 0; start < blocks.length;) {
      signal?.throwIfAborted();
      const end = start + heldTogether(blocks, start, heldBytesMax);
      await scanRange(snapshot, search, planned, blocks, start, end, matches, signal);
      start = end;
    }
    return search.finish().map((candidates, i) => ({
      ...foundIn(blocks, candidates),
      mayGoOn: planned[i].mayGoOn,
    }));
  } finally {
    search?.free();
    for (const query of queries) query.free();
  }
}

/** Gives each code block that the query needs a number in `numbers`, if it has none. */
function planOne(
  snapshot: Snapshot,
  trained: Trained | undefined,
  query: QueryVector,
  options: Probing,
  matches: Matches | undefined,
  numbers: Map<ListBlock, number>,
): Planned {
  const numberOf = (listBlock: ListBlock) => {
    const known = numbers.get(listBlock);
    if (known !== undefined) return known;
    numbers.set(listBlock, numbers.size);
    return numbers.size - 1;
  };
  const ungrouped = withMatches(snapshot.ungroupedListBlocks, matches).map(numberOf);
  if (trained === undefined) {
    return { numbers: ungrouped, distances: ungrouped.map(() => undefined), pruned: false, mayGoOn: false };
  }
  const { likely, unlikely, pruned } = plan(snapshot, trained, query, options, matches);
  return {
    numbers: [...ungrouped, ...likely.parts.map(numberOf)],
    distances: [...ungrouped.map(() => undefined), ...likely.distances],
    pruned,
    mayGoOn: unlikely.parts.length > 0 || (options.nProbes === 0 && pruned),
  };
}

/** Scans the code blocks numbered `start` to `end` for the queries that need them. */
async function scanRange(
  snapshot: Snapshot,
  search: BatchSearch,
  planned: readonly Planned[],
  blocks: readonly ListBlock[],
  start: number,
  end: number,
  matches: Matches | undefined,
  signal: AbortSignal | undefined,
): Promise<void> {
  const range = blocks.slice(start, end);
  const open = await pinListBlocks(snapshot, range);
  const placed = matches && placeRows(range, matches.rows);
  try {
    const jobs = planned.map(({ numbers, distances, pruned }) => {
      const own = numbers.flatMap((number, i) => (number >= start && number < end ? [i] : []));
      return own.map((i) => {
        const listBlock = blocks[numbers[i]];
        const { codes } = open.codes[numbers[i] - start];
        return {
          block: numbers[i],
          codes,
          distance: distances[i],
          pruned,
          newerSegments: listBlock.newerSegments,
          accepted: placed?.offsets.get(listBlock.segment) ?? 0,
          firstBit: listBlock.block.firstRow,
        };
      });
    });
    await run(search.scan(jobs, open.tables), signal);
  } finally {
    placed?.free();
    open.release();
  }
}
