/**
 * Nearest-neighbour queries.
 *
 * A query runs over one snapshot: choose the lists, open their codes, scan them, and read the fields of the nearest rows.
 * A row that a newer segment shadows, or that the filter rejects, is turned away before it enters the heap, so it never
 * takes a place among the top k.
 */

import { distanceOf } from "../engine/metric.js";
import { QueryVector } from "../engine/query-vector.js";
import { chooseScanner } from "../engine/choose-codec.js";
import { Search } from "../engine/search.js";
import type { CompiledFilter } from "../filter.js";
import type { CallOptions, ItemField, Match, MatchField, StoredItem } from "../vector-index.js";
import { yieldToEventLoop } from "../threads/yield-to-event-loop.js";
import type { Found } from "./found.js";
import { findMatches, type Matches } from "./matches.js";
import { phases } from "./phases.js";
import { searchPrefiltered } from "./prefiltered-search.js";
import { queriesTogether, searchTogether } from "./query-batch.js";
import {
  type CheckedResults,
  mayBeOpenedItems,
  openedItems,
  readItems,
  type Writable,
} from "./read-items.js";
import { ListBlockScan } from "./scan-list-blocks.js";
import type { SearchScope } from "./search-scope.js";
import type { Searcher } from "./searcher.js";
import type { Snapshot } from "./snapshot.js";
import { searchWarm } from "./warm-search.js";

/** A query with every default filled in and every value checked. */
export interface CheckedQuery extends CallOptions, CheckedResults {
  readonly topK: number;
  /** 0: the number that training found to be needed. */
  readonly nProbes: number;
  readonly greedy: boolean;
  /** With `nProbes` 0: the declared recall; undefined: automatic probing. */
  readonly recall?: number | undefined;
  /** Undefined: all items match. */
  readonly filter?: CompiledFilter;
  readonly include: ReadonlySet<MatchField>;
}

/** The matches of one vector, if all that it takes is in memory; undefined if something has to be read first. */
export function queryWarm(
  searcher: Searcher,
  snapshot: Snapshot,
  vector: Float32Array,
  options: CheckedQuery,
): Match[] | undefined {
  if (!mayBeOpenedItems(options.topK, options.include, options)) return undefined;
  const found = findWarm(searcher, snapshot, vector, options);
  return found && openedMatches(searcher, found, options);
}

/** The matches of one vector: without a promise if all that it takes is in memory. */
export function queryOne(
  searcher: Searcher,
  snapshot: Snapshot,
  vector: Float32Array,
  options: CheckedQuery,
): Promise<Match[]> | Match[] {
  const found = findWarm(searcher, snapshot, vector, options);
  if (found !== undefined)
    return openedMatches(searcher, found, options) ?? readMatches(searcher, found, options);
  const search = async (scope: SearchScope) =>
    readMatches(searcher, await searchCold(scope, vector, options), options);
  return searchMatches(searcher, snapshot, options, search, () => []);
}

function findWarm(
  searcher: Searcher,
  snapshot: Snapshot,
  vector: Float32Array,
  options: CheckedQuery,
): Found | undefined {
  const { model } = snapshot;
  if (model === undefined || options.filter !== undefined || options.topK === 0) return undefined;
  const trained = searcher.openedModel(model);
  return searchWarm({ searcher, snapshot, trained, matches: undefined }, vector, options);
}

/** The matches of each vector, over one snapshot. */
export function query(
  searcher: Searcher,
  snapshot: Snapshot,
  vectors: readonly Float32Array[],
  options: CheckedQuery,
): Promise<Match[][]> {
  const search = (scope: SearchScope) => searchAll(scope, vectors, options);
  return searchMatches(searcher, snapshot, options, search, () => vectors.map(() => []));
}

/** The nearest rows of one vector. */
export function nearest(
  searcher: Searcher,
  snapshot: Snapshot,
  vector: Float32Array,
  options: CheckedQuery,
): Promise<Found> {
  const search = (scope: SearchScope) => searchOne(scope, vector, options);
  return searchMatches(searcher, snapshot, options, search, () => ({ candidates: [], rows: [] }));
}

/** What `search` finds among the rows that match the filter; `nothing` if there are none, or none is asked for. */
async function searchMatches<T>(
  searcher: Searcher,
  snapshot: Snapshot,
  { filter, topK }: CheckedQuery,
  search: (scope: SearchScope) => Promise<T>,
  nothing: () => T,
): Promise<T> {
  if (topK === 0 || snapshot.segments.length === 0) return nothing();
  const matches = filter && (await findMatches(snapshot, filter));
  if (matches?.count === 0) return nothing();
  const { model } = snapshot;
  if (model === undefined) return search({ searcher, snapshot, trained: undefined, matches });
  return searcher.withTrained(model, (trained) => search({ searcher, snapshot, trained, matches }));
}

/** Results of queries that run together, in all. */
const candidatesMax = 20_000;

async function searchAll(
  scope: SearchScope,
  vectors: readonly Float32Array[],
  options: CheckedQuery,
): Promise<Match[][]> {
  const results: Match[][] = [];
  // Of large results fewer at a time, since each of them is a list of objects before it is read.
  const held = Math.max(1, Math.floor(candidatesMax / options.topK));
  const together = canSearchTogether(scope, options) ? Math.min(queriesTogether, held) : 1;
  for (let start = 0; start < vectors.length; start += together) {
    options.signal?.throwIfAborted();
    for (const found of await searchGroup(scope, vectors.slice(start, start + together), options)) {
      results.push(await readMatches(scope.searcher, found, options));
    }
    if (vectors.length > 1) await yieldToEventLoop();
  }
  return results;
}

/** Whether one kernel call can scan for several queries. */
function canSearchTogether({ trained, matches }: SearchScope, { greedy }: CheckedQuery): boolean {
  return !greedy && trained?.rowQuantizer === undefined && !isPrefiltered(matches);
}

/** Whether the query is compared with every row that matches, wherever it is. */
function isPrefiltered(matches: Matches | undefined): matches is Matches {
  return matches !== undefined && matches.isSelective && matches.canPrefilter;
}

async function searchGroup(
  scope: SearchScope,
  vectors: readonly Float32Array[],
  options: CheckedQuery,
): Promise<Found[]> {
  if (vectors.length === 1) return [await searchOne(scope, vectors[0], options)];
  const results: Found[] = [];
  const together = await searchTogether(scope, vectors, options, options.signal);
  for (const [i, found] of together.entries()) {
    // A query that did not find enough continues by itself.
    const isShort = found.alone === "if short" && found.candidates.length < options.topK;
    results.push(
      found.alone === "always" || isShort ? await searchByLists(scope, vectors[i], options) : found,
    );
  }
  return results;
}

async function searchOne(scope: SearchScope, vector: Float32Array, options: CheckedQuery): Promise<Found> {
  return searchWarm(scope, vector, options) ?? searchCold(scope, vector, options);
}

function searchCold(scope: SearchScope, vector: Float32Array, options: CheckedQuery): Promise<Found> {
  const { matches } = scope;
  return isPrefiltered(matches)
    ? searchPrefiltered(scope, matches, vector, options.topK)
    : searchByLists(scope, vector, options);
}

async function searchByLists(
  scope: SearchScope,
  vector: Float32Array,
  options: CheckedQuery,
): Promise<Found> {
  const { config } = scope.searcher;
  const asked = new QueryVector(config.metric, vector, scope.trained?.quantizer.rotation);
  const search = new Search(asked, chooseScanner(config, asked, vector, scope.trained), options.topK);
  const scan = new ListBlockScan(scope, search);
  try {
    await scan.scan(phases(scope, asked, options, search), options.signal);
    return scan.finish();
  } finally {
    scan.free();
    search.free();
    asked.free();
  }
}

function openedMatches(searcher: Searcher, found: Found, options: CheckedQuery): Match[] | undefined {
  const items = openedItems(found.rows, options.include, options);
  return items && withDistances(searcher, items, found, options.include);
}

async function readMatches(searcher: Searcher, found: Found, options: CheckedQuery): Promise<Match[]> {
  const { include } = options;
  const fields = new Set([...include].filter((field): field is ItemField => field !== "distance"));
  return withDistances(searcher, await readItems(found.rows, fields, options), found, include);
}

/** The items of what was found, with their distances if these are included. */
function withDistances(
  { config }: Searcher,
  items: StoredItem[],
  { candidates }: Found,
  include: ReadonlySet<MatchField>,
): Match[] {
  const matches: Writable<Match>[] = items;
  if (include.has("distance")) {
    for (let i = 0; i < matches.length; i++) {
      matches[i].distance = distanceOf(config.metric, candidates[i].score);
    }
  }
  return matches;
}
