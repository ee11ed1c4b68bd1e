/**
 * Several queries at once, over the threads. The results are those of the queries one by one; those that have to read blocks do so at the same time.
 */

import { TimeSlice } from "../async/event-loop.js";
import { enterStage } from "../async/profile.js";
import { holdFreed } from "../engine/kernels/memory.js";
import { QueryVector } from "../engine/query-vector.js";
import { BatchSearch } from "../engine/scan/batch-search.js";
import type { MatchTable } from "../engine/scan/match-table.js";
import type { ListSearch } from "../engine/scan/search-lists.js";
import { runHere, type Task, waitFor } from "../engine/threads/run.js";
import { together } from "../engine/work.js";
import type { Probing } from "./list-limits.js";
import { useMatchTable } from "./match-tables.js";
import { withMatches } from "./matches.js";
import { pinListBlocks } from "./open-list-blocks.js";
import { noteCompared } from "./profiled-search.js";
import { acceptedIn, foundIn, heldTogether, type SearchResult } from "./scan-list-blocks.js";
import { chooseLists, type ChosenLists, createSearch, finishSearch } from "./search-lists.js";
import type { SearchScope, TrainedScope } from "./search-scope.js";
import type { ListBlock } from "./snapshot/snapshot.js";

/** Codes that they hold open at a time, in bytes as stored. */
const heldBytesMax = 128 * 1024 * 1024;

/** As `searchLists` for each vector. */
export function* searchListsTogether(
  scope: TrainedScope,
  vectors: readonly Float32Array[],
  probing: Probing,
  signal: AbortSignal | undefined,
): Task<SearchResult[]> {
  const used = useMatchTable(scope);
  const searches: ListSearch[] = [];
  try {
    for (const vector of vectors) searches.push(createSearch(scope, vector, probing.topK));
    const chosen = yield* chooseTogether(scope, searches, used?.table, probing);
    const missing = [...new Set(chosen.flatMap(({ blocks }) => blocks))];
    const readable = missing.slice(0, heldTogether(missing, 0, heldBytesMax));
    const pinned =
      readable.length > 1 &&
      (yield* waitFor(pinListBlocks(scope.snapshot, readable), ({ release }) => release()));
    try {
      const results: SearchResult[] = [];
      for (const [i, search] of searches.entries()) {
        const scan = { search, matching: used?.table, signal, slice: new TimeSlice() };
        results.push(yield* finishSearch(scope, scan, chosen[i], probing));
      }
      return results;
    } finally {
      if (pinned) pinned.release();
    }
  } finally {
    for (const search of searches) {
      noteCompared(search.query);
      search.free();
    }
    used?.release();
  }
}

/** As `chooseLists` for each. */
function* chooseTogether(
  scope: TrainedScope,
  searches: readonly ListSearch[],
  matching: MatchTable | undefined,
  probing: Probing,
): Task<ChosenLists[]> {
  const choosing = searches.map((search) => chooseLists(scope, search, matching, probing));
  const release = holdFreed();
  if (release === undefined) return choosing.map(runHere);
  try {
    return yield* together(choosing);
  } finally {
    release();
  }
}

/** The nearest rows of all, for each vector, of an index whose codes hold its vectors. */
export function* searchAllTogether(
  scope: SearchScope,
  vectors: readonly Float32Array[],
  topK: number,
  signal: AbortSignal | undefined,
): Task<SearchResult[]> {
  const { searcher, snapshot, matches } = scope;
  const used = useMatchTable(scope);
  const queries: QueryVector[] = [];
  let search: BatchSearch | undefined;
  try {
    for (const vector of vectors) queries.push(new QueryVector(searcher.config.metric, vector, undefined));
    search = new BatchSearch(queries, topK);
    const blocks = withMatches(snapshot.listBlocks.all, matches);
    for (let start = 0, end = 0; start < blocks.length; start = end) {
      signal?.throwIfAborted();
      end = start + heldTogether(blocks, start, heldBytesMax);
      yield* scanFor(scope, search, blocks.slice(start, end), used?.table);
    }
    return search.finish().map((candidates) => foundIn(snapshot.listBlocks.all, candidates));
  } finally {
    search?.free();
    for (const query of queries) {
      noteCompared(query);
      query.free();
    }
    used?.release();
  }
}

/** Scans blocks that are open at the same time. */
function* scanFor(
  { searcher, snapshot }: SearchScope,
  search: BatchSearch,
  blocks: readonly ListBlock[],
  matching: MatchTable | undefined,
): Task<void> {
  enterStage("read");
  const open = yield* waitFor(pinListBlocks(snapshot, blocks), ({ release }) => release());
  enterStage("scan");
  searcher.residency.recordAddresses(snapshot, blocks, open.codes);
  try {
    const jobs = blocks.map((listBlock, i) => ({
      block: listBlock.number,
      codes: open.codes[i].codes,
      distance: undefined,
      pruned: true,
      newerSegments: listBlock.newerSegments,
      ...acceptedIn(matching, listBlock),
    }));
    yield* search.scan(jobs, open.tables);
  } finally {
    open.release();
  }
}
