/**
 * Nearest-neighbor queries.
 *
 * A query runs over one snapshot: choose the lists, open their codes, scan them, and read the fields of the nearest rows.
 * A row that a newer segment shadows, or that the filter rejects, is turned away before it enters the heap, so it never
 * takes a place among the top k.
 */

import type { CompiledFilter } from "../api/filter/compile.js";
import type { CallOptions, Match, MatchField, StoredItem } from "../api/vector-index.js";
import { isPauseDue } from "../async/event-loop.js";
import { settleEach } from "../async/settle-each.js";
import { enterStage } from "../async/profile.js";
import { isPromise } from "../checks/value-kinds.js";
import { distanceOf } from "../engine/metric.js";
import { run, type Task, waitFor } from "../engine/threads/run.js";
import { CombinedSnapshot, searchParts } from "./combined-snapshot.js";
import { findMatches, type Matches } from "./matches.js";
import { searchPrefiltered } from "./query-prefiltered.js";
import { type CheckedResults, readItems, type Writable } from "./read-items.js";
import { type Effort, isWhole } from "./list-limits.js";
import type { SearchResult } from "./scan-list-blocks.js";
import { searchAll, searchAllTogether } from "./search-all.js";
import { searchLists } from "./search-lists.js";
import { isTrained, type SearchScope, type TrainedScope } from "./search-scope.js";
import type { Searcher } from "./searcher.js";
import type { Snapshot } from "./snapshot/snapshot.js";

/** A query with every default filled in and every value checked. */
export interface CheckedQuery extends CallOptions, CheckedResults {
  readonly topK: number;
  readonly effort: Effort;
  /** Undefined: all items match. */
  readonly filter?: CompiledFilter;
  readonly include: ReadonlySet<MatchField>;
  /** Whether to throw `internal` where rows would be read from storage. */
  readonly memoryOnly?: boolean;
  readonly allowPartialAfterMs?: number | undefined;
}

/** The matches of one vector. */
export function* query(
  searcher: Searcher,
  snapshot: Snapshot,
  vector: Float32Array,
  options: CheckedQuery,
): Task<Match[]> {
  const [found] = yield* nearest(searcher, snapshot, [vector], options);
  const items = yield* readItems(found.rows, options.include, options);
  return withDistances(searcher, items, found, options);
}

/** The nearest rows of each vector. */
export function nearest(
  searcher: Searcher,
  snapshot: Snapshot,
  vectors: readonly Float32Array[],
  options: CheckedQuery,
): Task<SearchResult[]> {
  if (snapshot instanceof CombinedSnapshot) {
    return searchParts(snapshot, vectors, options, (part, topK) =>
      nearest(part.searcher, part.snapshot, vectors, { ...options, topK }),
    );
  }
  const nothing = vectors.map(() => noRows);
  return searchIn(searcher, snapshot, options, nothing, (scope) => searchEach(scope, vectors, options));
}

/** The matches of each vector, over one snapshot. */
export function* queryEach(
  searcher: Searcher,
  snapshot: Snapshot,
  vectors: readonly Float32Array[],
  options: CheckedQuery,
): Task<Match[][]> {
  const grouping =
    snapshot instanceof CombinedSnapshot ? groupingOfParts(snapshot, options) : groupingOf(options);
  // All end before the snapshot is released.
  return yield* inGroups(vectors, grouping, options.signal, (group) =>
    matchesOf(searcher, snapshot, group, options),
  );
}

const noRows: SearchResult = { candidates: [], rows: [] };

/** The result of `search` among the rows that match the filter; `nothing` if there are none, or `topK` is 0. */
function* searchIn<T>(
  searcher: Searcher,
  snapshot: Snapshot,
  { filter, topK, signal, memoryOnly = false }: CheckedQuery,
  nothing: T,
  search: (scope: SearchScope) => Task<T>,
): Task<T> {
  if (topK === 0 || snapshot.segments.length === 0) return nothing;
  const matches = filter && (yield* findMatches(snapshot, filter, signal));
  if (matches?.count === 0) return nothing;
  const { model } = snapshot;
  enterStage("open");
  const unpin = () => model && searcher.unpinModel(model);
  const pinned = model && searcher.pinModel(model);
  const trained = isPromise(pinned) ? yield* waitFor(pinned, unpin) : pinned;
  try {
    return yield* search({ searcher, snapshot, trained, matches, memoryOnly });
  } finally {
    unpin();
  }
}

interface Grouping {
  /** Vectors of a group. */
  readonly size: number;
  /** Groups at a time. */
  readonly together: number;
}

/** Threads work on some groups as others are prepared. Their tables and heaps are in memory at once. */
function groupingOf({ topK, effort }: CheckedQuery): Grouping {
  return { size: sizeFor(16, 5_000, topK), together: effort === "exact" ? 1 : 4 };
}

/** A group is one search of each part, which divides it again. Leaves give up long searches, so a group of exact ones is smaller. */
function groupingOfParts({ parts }: CombinedSnapshot, { topK, effort }: CheckedQuery): Grouping {
  const [most, together] = effort === "exact" ? [16, 1] : [64, 2];
  return { size: sizeFor(most, 50_000, topK * parts.length), together };
}

/** At most `most` vectors, with at most `resultsMax` results in all: they are objects in memory until their items are read. */
function sizeFor(most: number, resultsMax: number, results: number): number {
  return Math.max(1, Math.min(most, Math.floor(resultsMax / results)));
}

/** The results of all groups. */
function* inGroups<T>(
  vectors: readonly Float32Array[],
  { size, together }: Grouping,
  signal: AbortSignal | undefined,
  work: (group: readonly Float32Array[]) => Task<T[]>,
): Task<T[]> {
  const groups = Array.from({ length: Math.ceil(vectors.length / size) }, (_, i) =>
    vectors.slice(i * size, (i + 1) * size),
  );
  return (yield* waitFor(settleEach(groups, together, (group) => run(work(group), signal)))).flat();
}

function* matchesOf(
  searcher: Searcher,
  snapshot: Snapshot,
  vectors: readonly Float32Array[],
  options: CheckedQuery,
): Task<Match[][]> {
  const matches: Match[][] = [];
  for (const found of yield* nearest(searcher, snapshot, vectors, options)) {
    const items = yield* readItems(found.rows, options.include, options);
    matches.push(withDistances(searcher, items, found, options));
  }
  yield;
  return matches;
}

function searchEach(
  scope: SearchScope,
  vectors: readonly Float32Array[],
  options: CheckedQuery,
): Task<SearchResult[]> {
  const grouping = groupingOf(options);
  return vectors.length <= grouping.size
    ? searchGroup(scope, vectors, options)
    : inGroups(vectors, grouping, options.signal, (group) => searchGroup(scope, group, options));
}

/** Whether the query is compared with every row that matches, wherever it is. */
function isPrefiltered(matches: Matches | undefined): matches is Matches {
  return matches !== undefined && matches.isSelective && matches.canPrefilter;
}

function* searchGroup(
  scope: SearchScope,
  vectors: readonly Float32Array[],
  options: CheckedQuery,
): Task<SearchResult[]> {
  const { topK, effort, signal } = options;
  const { matches, trained } = scope;
  const isSelective = isPrefiltered(matches);
  if (!isSelective && usesLists(scope, options)) return yield* searchLists(scope, vectors, options, signal);
  const areTogether = vectors.length > 1 && effort !== "exact" && trained?.rowQuantizer === undefined;
  if (!isSelective && areTogether) return yield* searchAllTogether(scope, vectors, topK, signal);
  const results: SearchResult[] = [];
  for (const vector of vectors) {
    results.push(
      yield* isSelective
        ? searchPrefiltered(scope, matches, vector, topK)
        : searchAll(scope, vector, options, signal),
    );
    if (isPauseDue()) yield;
    signal?.throwIfAborted();
  }
  return results;
}

function usesLists(scope: SearchScope, { effort }: CheckedQuery): scope is TrainedScope {
  return isTrained(scope) && !isWhole(effort, scope.trained.quantizer.nLists);
}

/** The items of the found rows, with their distances if these are included. */
function withDistances(
  { config }: Searcher,
  items: StoredItem[],
  { candidates }: SearchResult,
  { include }: CheckedQuery,
): Match[] {
  const matches: Writable<Match>[] = items;
  if (include.has("distance")) {
    for (let i = 0; i < matches.length; i++) {
      matches[i].distance = distanceOf(config.metric, candidates[i].score);
    }
  }
  return matches;
}
