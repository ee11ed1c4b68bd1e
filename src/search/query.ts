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
import type { CallOptions, Match, MatchField, StoredItem } from "../vector-index.js";
import { yieldIfDue, yieldToEventLoop } from "../threads/yield-to-event-loop.js";
import type { Found } from "./found.js";
import { findMatches, knownMatches, type Matches } from "./matches.js";
import { phases } from "./phases.js";
import { searchOpenedPrefiltered, searchPrefiltered } from "./prefiltered-search.js";
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
import { isPromise } from "../value-kinds.js";

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

/** The matches of one vector, if `searchAtOnce` finds them. */
export function queryWarm(
  searcher: Searcher,
  snapshot: Snapshot,
  vector: Float32Array,
  options: CheckedQuery,
): Match[] | undefined {
  if (options.topK === 0 || !mayBeOpenedItems(options.topK, options)) return undefined;
  const search = (scope: SearchScope) => searchAtOnce(scope, vector, options);
  const found = searchOpened(searcher, snapshot, options, search);
  return found && openedMatches(searcher, found, options);
}

/** The matches of one vector: without a promise if all that it takes is in memory. */
export function queryOne(
  searcher: Searcher,
  snapshot: Snapshot,
  vector: Float32Array,
  options: CheckedQuery,
): Promise<Match[]> | Match[] {
  const found = nearest(searcher, snapshot, vector, options);
  return isPromise(found)
    ? found.then((rows) => readMatches(searcher, rows, options))
    : (openedMatches(searcher, found, options) ?? readMatches(searcher, found, options));
}

/** The nearest rows of one vector: without a promise if all that it takes is in memory. */
export function nearest(
  searcher: Searcher,
  snapshot: Snapshot,
  vector: Float32Array,
  options: CheckedQuery,
): Promise<Found> | Found {
  if (options.topK === 0 || snapshot.segments.length === 0) return noRows;
  const search = (scope: SearchScope) => searchOne(scope, vector, options);
  const found = searchOpened(searcher, snapshot, options, search);
  return found ?? searchMatches(searcher, snapshot, options, search, () => noRows);
}

const noRows: Found = { candidates: [], rows: [] };

/** The result of `search`, which is called at once, if model and matches are in memory; undefined if they are not. */
function searchOpened<T>(
  searcher: Searcher,
  snapshot: Snapshot,
  { filter }: CheckedQuery,
  search: (scope: SearchScope) => T,
): T | undefined {
  const matches = filter && knownMatches(snapshot, filter);
  if (filter !== undefined && matches === undefined) return undefined;
  const { model } = snapshot;
  if (model === undefined) return search({ searcher, snapshot, trained: undefined, matches });
  return searcher.withOpened(model, (trained) => search({ searcher, snapshot, trained, matches }));
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

/** What `search` finds among the rows that match the filter; `nothing` if there are none, or none is asked for. */
async function searchMatches<T>(
  searcher: Searcher,
  snapshot: Snapshot,
  { filter, topK, signal }: CheckedQuery,
  search: (scope: SearchScope) => Promise<T> | T,
  nothing: () => T,
): Promise<T> {
  if (topK === 0 || snapshot.segments.length === 0) return nothing();
  const matches = filter && (await findMatches(snapshot, filter, signal));
  if (matches?.count === 0) return nothing();
  const { model } = snapshot;
  if (model === undefined) return search({ searcher, snapshot, trained: undefined, matches });
  return searcher.withTrained(model, (trained) => search({ searcher, snapshot, trained, matches }));
}

/** Results of queries that run together, in all. */
const candidatesMax = 20_000;
/** Components of a code block, on average, up to which a warm query is faster than its share of a batch. */
const shortBlockMax = 2 ** 16;
/** Vectors up to which it is with longer blocks, too. */
const smallBatchMax = 16;

async function searchAll(
  scope: SearchScope,
  vectors: readonly Float32Array[],
  options: CheckedQuery,
): Promise<Match[][]> {
  const results: Match[][] = [];
  // Of large results fewer at a time, since each of them is a list of objects before it is read.
  const held = Math.max(1, Math.floor(candidatesMax / options.topK));
  // A greedy query may take long.
  const together = options.greedy ? 1 : Math.min(queriesTogether, held);
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

/**
 * Whether warm queries are faster one after another than together: making a job of each block and handing it to a thread takes longer than
 * scanning short blocks.
 */
function isFasterAlone({ snapshot, trained }: SearchScope, count: number): boolean {
  if (trained === undefined) return false;
  const rows = snapshot.segments.reduce((sum, { reader }) => sum + reader.footer.rows, 0);
  const blockComponents = (rows / snapshot.listBlocks.all.length) * trained.model.dimension;
  return count <= smallBatchMax || blockComponents <= shortBlockMax;
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
  if (vectors.length === 1 || !canSearchTogether(scope, options)) {
    return searchEach(vectors, options, (vector) => searchOne(scope, vector, options));
  }
  const results = isFasterAlone(scope, vectors.length)
    ? await searchEach(vectors, options, (vector) => searchAtOnce(scope, vector, options))
    : [];
  const others = vectors.slice(results.length);
  if (others.length === 0) return results;
  const together = await searchTogether(scope, others, options, options.signal);
  for (const [i, found] of together.entries()) {
    // A query that did not find enough continues by itself.
    const isShort = found.alone === "if short" && found.candidates.length < options.topK;
    results.push(
      found.alone === "always" || isShort ? await searchByLists(scope, others[i], options) : found,
    );
  }
  return results;
}

/** One after the other, up to the first for which `search` has no answer. */
async function searchEach(
  vectors: readonly Float32Array[],
  { signal }: CheckedQuery,
  search: (vector: Float32Array) => Promise<Found> | Found | undefined,
): Promise<Found[]> {
  const results: Found[] = [];
  for (const vector of vectors) {
    const found = await search(vector);
    if (found === undefined) break;
    results.push(found);
    await yieldIfDue();
    signal?.throwIfAborted();
  }
  return results;
}

/** What few kernel calls find in memory; undefined if something has to be read first, or the phases of a search by lists are needed. */
function searchAtOnce(scope: SearchScope, vector: Float32Array, options: CheckedQuery): Found | undefined {
  const { matches } = scope;
  if (matches?.count === 0) return noRows;
  return isPrefiltered(matches)
    ? searchOpenedPrefiltered(scope, matches, vector, options.topK)
    : searchWarm(scope, vector, options);
}

/** Awaits only what has to be read: a promise if there is something. The scope need not be pinned once this has returned. */
function searchOne(scope: SearchScope, vector: Float32Array, options: CheckedQuery): Promise<Found> | Found {
  const { matches } = scope;
  const found = searchAtOnce(scope, vector, options);
  if (found !== undefined) return found;
  return isPrefiltered(matches)
    ? searchPrefiltered(scope, matches, vector, options.topK)
    : searchByLists(scope, vector, options);
}

function searchByLists(
  scope: SearchScope,
  vector: Float32Array,
  options: CheckedQuery,
): Promise<Found> | Found {
  const { config } = scope.searcher;
  const asked = new QueryVector(config.metric, vector, scope.trained?.quantizer.rotation);
  const search = new Search(asked, chooseScanner(config, asked, scope.trained), options.topK);
  const scan = new ListBlockScan(scope, search, phases(scope, asked, options, search), options.signal);
  const free = () => {
    scan.free();
    search.free();
    asked.free();
  };
  let rest: Promise<Found> | undefined;
  try {
    if (scan.scanOpened()) return scan.finish();
    rest = scanRest(scope, scan);
  } finally {
    if (rest === undefined) free();
  }
  return rest.finally(free);
}

async function scanRest({ searcher, trained }: SearchScope, scan: ListBlockScan): Promise<Found> {
  if (trained === undefined) await scan.scan();
  else await searcher.withTrained(trained.model, () => scan.scan());
  return scan.finish();
}

function openedMatches(searcher: Searcher, found: Found, options: CheckedQuery): Match[] | undefined {
  const items = openedItems(found.rows, options.include, options);
  return items && withDistances(searcher, items, found, options.include);
}

async function readMatches(searcher: Searcher, found: Found, options: CheckedQuery): Promise<Match[]> {
  const { include } = options;
  return withDistances(searcher, await readItems(found.rows, include, options), found, include);
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
