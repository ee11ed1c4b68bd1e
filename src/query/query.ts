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
import { resultNow, run, type Task, waitFor } from "../engine/threads/run.js";
import { CombinedSnapshot, searchParts } from "./combined-snapshot.js";
import { findMatches, type Matches } from "./matches.js";
import { queriesTogether, searchTogether } from "./query-batch.js";
import { searchPrefiltered } from "./query-prefiltered.js";
import { type CheckedResults, readItems, type Writable } from "./read-items.js";
import { type Effort, isWhole } from "./list-limits.js";
import type { SearchResult } from "./scan-list-blocks.js";
import { searchAll } from "./search-all.js";
import { searchLists } from "./search-lists.js";
import { isTrained, type SearchScope } from "./search-scope.js";
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
}

/** The matches of one vector. */
export function* query(
  searcher: Searcher,
  snapshot: Snapshot,
  vector: Float32Array,
  options: CheckedQuery,
): Task<Match[]> {
  const found = yield* nearest(searcher, snapshot, vector, options);
  const items = yield* readItems(found.rows, options.include, options);
  return withDistances(searcher, items, found, options);
}

/** The nearest rows of one vector. */
export function nearest(
  searcher: Searcher,
  snapshot: Snapshot,
  vector: Float32Array,
  options: CheckedQuery,
): Task<SearchResult> {
  if (snapshot instanceof CombinedSnapshot) {
    return searchParts(snapshot, vector, options, (part, topK) =>
      nearest(part.searcher, part.snapshot, vector, { ...options, topK }),
    );
  }
  return searchIn(searcher, snapshot, options, noRows, (scope) => searchOne(scope, vector, options));
}

/** The matches of each vector, over one snapshot. */
export function* queryEach(
  searcher: Searcher,
  snapshot: Snapshot,
  vectors: readonly Float32Array[],
  options: CheckedQuery,
): Task<Match[][]> {
  if (snapshot instanceof CombinedSnapshot) {
    const together = snapshot.searchElsewhere === undefined ? 1 : elsewhereTogether;
    // All end before the snapshot is released.
    const matches = settleEach(vectors, together, (vector) =>
      run(query(searcher, snapshot, vector, options), options.signal),
    );
    return yield* waitFor(matches);
  }
  const nothing = vectors.map(() => []);
  return yield* searchIn(searcher, snapshot, options, nothing, (scope) =>
    searchEach(scope, vectors, options),
  );
}

/** Queries of which each waits for searches elsewhere. */
const elsewhereTogether = 16;

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

/** Results of queries that run together, in all. */
const candidatesMax = 20_000;
/** Components of a list, on average, up to which a warm query is faster than its share of a batch. */
const shortListMax = 2 ** 16;
/** Vectors up to which it is with longer lists, too. */
const smallBatchMax = 16;

function* searchEach(
  scope: SearchScope,
  vectors: readonly Float32Array[],
  options: CheckedQuery,
): Task<Match[][]> {
  const results: Match[][] = [];
  // Of large results fewer at a time, since each of them is a list of objects before it is read.
  const held = Math.max(1, Math.floor(candidatesMax / options.topK));
  // An exact query may take long.
  const together = options.effort === "exact" ? 1 : Math.min(queriesTogether, held);
  for (let start = 0; start < vectors.length; start += together) {
    options.signal?.throwIfAborted();
    for (const found of yield* searchGroup(scope, vectors.slice(start, start + together), options)) {
      const items = yield* readItems(found.rows, options.include, options);
      results.push(withDistances(scope.searcher, items, found, options));
    }
    if (vectors.length > 1) yield;
  }
  return results;
}

/** Whether one kernel call can scan for several queries. */
function canSearchTogether({ trained, matches }: SearchScope, { effort }: CheckedQuery): boolean {
  return effort !== "exact" && trained?.rowQuantizer === undefined && !isPrefiltered(matches);
}

/**
 * Whether warm queries are faster one after another than together: making a job of each block and handing it to a thread takes longer than
 * scanning short lists.
 */
function isFasterAlone({ snapshot, trained }: SearchScope, { effort }: CheckedQuery, count: number): boolean {
  if (trained === undefined || isWhole(effort, trained.quantizer.nLists)) return false;
  const rows = snapshot.segments.reduce((sum, { reader }) => sum + reader.footer.rows, 0);
  const listComponents = (rows / trained.quantizer.nLists) * trained.model.dimension;
  return count <= smallBatchMax || listComponents <= shortListMax;
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
  const canTogether = vectors.length > 1 && canSearchTogether(scope, options);
  const results: SearchResult[] = [];
  if (!canTogether || isFasterAlone(scope, options, vectors.length)) {
    for (const vector of vectors) {
      const search = searchOne(scope, vector, options);
      const found = canTogether ? resultNow(search) : yield* search;
      if (found === undefined) break;
      results.push(found);
      if (isPauseDue()) yield;
      options.signal?.throwIfAborted();
    }
  }
  const others = vectors.slice(results.length);
  if (others.length === 0) return results;
  const together = yield* waitFor(searchTogether(scope, others, options, options.signal));
  for (const [i, found] of together.entries()) {
    const isShort = found.continues && found.candidates.length < options.topK;
    results.push(isShort ? yield* searchOne(scope, others[i], options) : found);
  }
  return results;
}

function searchOne(scope: SearchScope, vector: Float32Array, options: CheckedQuery): Task<SearchResult> {
  const { matches } = scope;
  if (isPrefiltered(matches)) return searchPrefiltered(scope, matches, vector, options.topK);
  return isTrained(scope) && !isWhole(options.effort, scope.trained.quantizer.nLists)
    ? searchLists(scope, vector, options, options.signal)
    : searchAll(scope, vector, options, options.signal);
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
