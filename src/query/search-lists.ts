/**
 * The search among the lists of a trained index. One kernel call scans the blocks that are in memory, so a warm query waits for nothing; the others are
 * read and scanned in the order in which the kernel asked for them.
 */

import { TimeSlice } from "../async/event-loop.js";
import { currentProfile, enterStage } from "../async/profile.js";
import { holdFreed } from "../engine/kernels/memory.js";
import type { MatchTable } from "../engine/scan/match-table.js";
import { ListSearch, type SearchedLists } from "../engine/scan/search-lists.js";
import { runHere, type Task, waitFor } from "../engine/threads/run.js";
import { together, type Work } from "../engine/work.js";
import {
  farLimits,
  isAutomatic,
  isFarFromRows,
  listLimits,
  type Probing,
  scanLimits,
  wider,
} from "./list-limits.js";
import { useMatchTable } from "./match-tables.js";
import { distributionOf, withMatches } from "./matches.js";
import { isComplete, pinListBlocks } from "./open-list-blocks.js";
import { noteCompared, noteLists, searchWithin } from "./profiled-search.js";
import { noEpoch } from "./residency.js";
import {
  batchBytesMax,
  type BlockScan,
  foundIn,
  heldTogether,
  scanListBlocks,
  type SearchResult,
} from "./scan-list-blocks.js";
import type { TrainedScope } from "./search-scope.js";
import type { ListBlock } from "./snapshot/snapshot.js";

/** Rows of the lists that one kernel call scans although the query did not ask for all of them: it holds the event loop. */
const rowsHeldMax = 2 ** 18;

/** The nearest rows of the lists that the effort asks for, for each vector. Searches that have to read blocks read them at the same time. */
export function* searchLists(
  scope: TrainedScope,
  vectors: readonly Float32Array[],
  probing: Probing,
  signal: AbortSignal | undefined,
): Task<SearchResult[]> {
  const used = useMatchTable(scope);
  const matching = used?.table;
  const searches: ListSearch[] = [];
  try {
    for (const vector of vectors) searches.push(createSearch(scope, vector, probing.topK));
    const chosen = yield* chooseEach(scope, searches, matching, probing);
    const release = searches.length > 1 ? yield* pinMissing(scope, chosen) : undefined;
    try {
      const results: SearchResult[] = [];
      for (const [i, search] of searches.entries()) {
        const scan = { search, matching, signal, slice: new TimeSlice() };
        results.push(yield* finishSearch(scope, scan, chosen[i], probing));
      }
      return results;
    } finally {
      release?.();
    }
  } finally {
    for (const search of searches) {
      noteCompared(search.query);
      search.free();
    }
    used?.release();
  }
}

/** As `chooseLists` for each, those of several over the threads. */
function* chooseEach(
  scope: TrainedScope,
  searches: readonly ListSearch[],
  matching: MatchTable | undefined,
  probing: Probing,
): Task<ChosenLists[]> {
  const choosing = searches.map((search) => chooseLists(scope, search, matching, probing));
  const release = searches.length > 1 ? holdFreed() : undefined;
  if (release === undefined) return choosing.map(runHere);
  try {
    return yield* together(choosing);
  } finally {
    release();
  }
}

/** Reads blocks that the searches need, and keeps them in memory until the result is called. */
function* pinMissing(
  { snapshot }: TrainedScope,
  chosen: readonly ChosenLists[],
): Task<(() => void) | undefined> {
  const missing = [...new Set(chosen.flatMap(({ blocks }) => blocks))];
  const readable = missing.slice(0, heldTogether(missing, 0, batchBytesMax));
  if (readable.length <= 1) return undefined;
  return (yield* waitFor(pinListBlocks(snapshot, readable), ({ release }) => release())).release;
}

/** Scans the other blocks, and returns the rows found. */
function* finishSearch(
  scope: TrainedScope,
  scan: ListScan,
  chosen: ChosenLists,
  probing: Probing,
): Task<SearchResult> {
  const { search } = scan;
  if (chosen.blocks.length > 0 || !search.isFull) yield* scanRest(scope, scan, chosen, probing);
  return foundIn(scope.snapshot.listBlocks.all, search.finish());
}

function* scanRest(scope: TrainedScope, scan: ListScan, chosen: ChosenLists, probing: Probing): Task<void> {
  if (chosen.blocks.length > 0) yield* scanListBlocks(scope, scan, { ...chosen, pruned: true });
  if (!scan.search.isFull) yield* scanFurther(scope, scan, chosen.count, probing);
}

/** Holds kernel memory: its caller frees it. */
function createSearch(
  { searcher, snapshot, trained }: TrainedScope,
  vector: Float32Array,
  topK: number,
): ListSearch {
  const { all, rowsMax } = snapshot.listBlocks;
  return new ListSearch(searcher.config, trained, vector, { topK, blocks: all.length, rowsMax });
}

/** The lists of a query, and which of their blocks are left to be scanned. */
interface ChosenLists {
  /** How many lists: those that `ListSearch.nearestLists` returns. */
  readonly count: number;
  /** Those of no list, then the others, nearest first. */
  readonly blocks: readonly ListBlock[];
  /** Per block, from the query to the centroid of its list; undefined: it is in none. */
  readonly distances: readonly (number | undefined)[];
}

interface ListScan extends BlockScan {
  readonly search: ListSearch;
}

/** Chooses the lists of a query, and scans those of their blocks that are in memory. */
function* chooseLists(
  scope: TrainedScope,
  search: ListSearch,
  matching: MatchTable | undefined,
  probing: Probing,
): Work<ChosenLists> {
  const { searcher, snapshot, matches } = scope;
  const { table, epoch, release } = searcher.residency.use(snapshot);
  try {
    const newer = snapshot
      .newestReaders(snapshot.listBlocks.newerSegmentsMax)
      .map((reader) => reader.openedTable());
    const isLarge = matches?.isSelective === true && matches.count > 0 && rowsOf(matching) > rowsHeldMax;
    const isScanned = !isLarge && isComplete(newer);
    if (isScanned) search.shadowBy(newer);
    const now = searcher.residency.tick();
    const among = { table, epoch: isScanned ? epoch : noEpoch, matching, now };
    enterStage("choose");
    const chosen = yield* scanOpened(scope, search, among, probing);
    currentProfile()?.add({ lists: chosen.count });
    return chosen;
  } finally {
    release();
  }
}

function rowsOf(matching: MatchTable | undefined): number {
  return matching === undefined ? 0 : matching.count * matching.rowsPerList;
}

function* scanOpened(
  scope: TrainedScope,
  search: ListSearch,
  among: SearchedLists,
  probing: Probing,
): Work<ChosenLists> {
  const { searcher, snapshot, trained } = scope;
  const { table, epoch, matching } = among;
  const { limits, sought } = listLimits(scope, search, matching, probing);
  const isFar = () =>
    matching === undefined &&
    isFarFromRows(trained.quantizer, trained.model.spreads, search.nearestLists(1)[0]);
  const spilled =
    sought && epoch !== noEpoch ? searcher.spilled.probes(snapshot, trained.model, table, sought) : undefined;
  if (spilled !== undefined) {
    // Rows in one list alone are found in as many lists as without second lists.
    const reach = searcher.residency.spilled.areAll ? spilled : wider(spilled, limits);
    search.query.reserve(spilled.rowsMax);
    const count = yield* searchWithin(search, among, reach, spilled);
    if (search.isMissing) searcher.spilled.noteMissing(snapshot, search.missing());
    else if (count > 0 && search.isFull && !isFar()) return { count, blocks: [], distances: [] };
  }
  let count = yield* searchWithin(search, among, limits);
  if (sought !== undefined && isFar()) count = yield* searchWithin(search, among, farLimits(scope, sought));
  return chosenOf(scope, search, count);
}

/** `count`: of the lists that the search found. */
function chosenOf(
  { snapshot, trained: { quantizer } }: TrainedScope,
  search: ListSearch,
  count: number,
): ChosenLists {
  if (!search.isMissing) return { count, blocks: [], distances: [] };
  const { all, firsts } = snapshot.listBlocks;
  const distances = new Map(
    search
      .nearestLists(count)
      .map(({ list, square }) => [list, quantizer.distanceToCentroid(list, Math.sqrt(square))]),
  );
  const blocks = search.missing().map((number) => all[number]);
  const isGrouped = ({ number }: ListBlock) => number < firsts[firsts.length - 2];
  return {
    count,
    blocks,
    distances: blocks.map((each) => (isGrouped(each) ? distances.get(each.block.list) : undefined)),
  };
}

/**
 * Scans further lists of a query that found fewer rows than it asked for: those beyond the limit of the number that it asked for, or if the index chose
 * that number, one block, then two, four and so on until there are enough.
 */
function* scanFurther(scope: TrainedScope, scan: ListScan, count: number, probing: Probing): Task<void> {
  const { snapshot, trained, matches } = scope;
  const { quantizer, model } = trained;
  const { search } = scan;
  const isChosen = isAutomatic(probing.effort);
  const among = matches && distributionOf(snapshot, matches).matching;
  const others = among?.count ?? quantizer.nLists;
  const wanted = isChosen ? others : Math.min(others, scanLimits(model, probing, snapshot.growth).probes);
  if (count >= wanted) return;
  const scanned = new Set(search.nearestLists(count).map(({ list }) => list));
  const probes = quantizer.probe(search.query, wanted, among ? { among } : {});
  const blocks: ListBlock[] = [];
  const distances: number[] = [];
  for (const [rank, list] of probes.lists.entries()) {
    if (scanned.has(list)) continue;
    for (const listBlock of withMatches(snapshot.listBlocksOf(list), matches)) {
      blocks.push(listBlock);
      distances.push(quantizer.distanceToCentroid(list, probes.distances[rank]));
    }
  }
  for (let start = 0, end = isChosen ? 1 : blocks.length; start < blocks.length; start = end, end *= 2) {
    if (search.isFull) return;
    const some = { blocks: blocks.slice(start, end), distances: distances.slice(start, end), pruned: true };
    noteLists(some.blocks);
    yield* scanListBlocks(scope, scan, some);
  }
}
