/** The search among all blocks of a snapshot: of an index that is not trained, or if the exact answer is asked for. */

import { TimeSlice } from "../async/event-loop.js";
import { enterStage } from "../async/profile.js";
import { scoreLowerBound } from "../engine/metric.js";
import { QueryVector } from "../engine/query-vector.js";
import { BatchSearch } from "../engine/scan/batch-search.js";
import { chooseScanner } from "../engine/scan/choose-codec.js";
import type { MatchTable } from "../engine/scan/match-table.js";
import { Search } from "../engine/scan/scan-blocks.js";
import { type Task, waitFor } from "../engine/threads/run.js";
import { type Probing, scanLimits } from "./list-limits.js";
import { type UsedMatchTable, useMatchTable } from "./match-tables.js";
import { withMatches } from "./matches.js";
import { pinListBlocks } from "./open-list-blocks.js";
import {
  acceptedIn,
  batchBytesMax,
  type BlockScan,
  foundIn,
  heldTogether,
  scanListBlocks,
  type SearchResult,
} from "./scan-list-blocks.js";
import { noteCompared, noteLists } from "./profiled-search.js";
import { isTrained, type SearchScope, type TrainedScope } from "./search-scope.js";
import type { ListBlock } from "./snapshot/snapshot.js";

/** The nearest rows of all. Blocks that cannot have a nearer one are not read. */
export function* searchAll(
  scope: SearchScope,
  vector: Float32Array,
  probing: Probing,
  signal: AbortSignal | undefined,
): Task<SearchResult> {
  const { searcher, snapshot, trained, matches } = scope;
  const { config } = searcher;
  // Where blocks lie is recorded in the table. Making it may evict blocks, so it is made before the first lookup.
  searcher.residency.ensureTable(snapshot);
  const query = new QueryVector(config.metric, vector, trained?.quantizer.rotation);
  const search = new Search(query, chooseScanner(config, query, trained), probing.topK);
  let used: UsedMatchTable | undefined;
  try {
    used = useMatchTable(scope);
    const scan = { search, matching: used?.table, signal, slice: new TimeSlice() };
    const ungrouped = withMatches(snapshot.ungroupedListBlocks, matches);
    yield* scanListBlocks(scope, scan, { blocks: ungrouped, distances: [], pruned: false });
    if (isTrained(scope)) yield* searchEveryList(scope, query, probing, scan);
    return foundIn(snapshot.listBlocks.all, search.finish());
  } finally {
    noteCompared(query);
    used?.release();
    search.free();
    query.free();
  }
}

/** The lists that usually have the nearest rows, then the blocks that may have a nearer one, more and more at a time. */
function* searchEveryList(
  scope: TrainedScope,
  query: QueryVector,
  probing: Probing,
  scan: BlockScan & { readonly search: Search },
): Task<void> {
  const { snapshot, trained, matches, searcher } = scope;
  enterStage("choose");
  const { quantizer, model } = trained;
  const { metric } = searcher.config;
  const usual = scanLimits(model, probing, snapshot.growth).probes;
  const nearest: Bounded[] = [];
  const others: Bounded[] = [];
  const probes = quantizer.probe(query, quantizer.nLists);
  for (const [rank, list] of probes.lists.entries()) {
    const distance = quantizer.distanceToCentroid(list, probes.distances[rank]);
    for (const block of withMatches(snapshot.listBlocksOf(list), matches)) {
      const lowerBound = scoreLowerBound(metric, query.dimension, distance, block.block.radius);
      (rank < usual ? nearest : others).push({ block, distance, lowerBound });
    }
  }
  noteLists(nearest.map(({ block }) => block));
  yield* scanListBlocks(scope, scan, phaseOf(nearest));
  others.sort((a, b) => a.lowerBound - b.lowerBound);
  for (let start = 0, together = 1; start < others.length; start += together, together *= 2) {
    const next = others.slice(start, start + together);
    // Nor can any block after one of these hold a nearer row.
    const some = next.filter(({ lowerBound }) => lowerBound <= scan.search.threshold);
    noteLists(some.map(({ block }) => block));
    yield* scanListBlocks(scope, scan, phaseOf(some));
    if (some.length < next.length) return;
  }
}

/** A block, and the smallest score that one of its rows can have. */
interface Bounded {
  readonly block: ListBlock;
  readonly distance: number;
  readonly lowerBound: number;
}

function phaseOf(bounded: readonly Bounded[]) {
  return {
    blocks: bounded.map(({ block }) => block),
    distances: bounded.map(({ distance }) => distance),
    pruned: false,
  };
}

// Several vectors at once.

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
      end = start + heldTogether(blocks, start, batchBytesMax);
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
