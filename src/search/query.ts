/**
 * Nearest-neighbour queries.
 *
 * A query runs over one snapshot: choose the lists, open their codes, scan them, and read the winners' rows. A row
 * that a newer segment hides, or that the filter rejects, is turned away before it enters the heap, so it never
 * takes a place among the top k.
 */

import type { Trained } from "../engine/choose-codec.js";
import { distanceOf, scoreLowerBound } from "../engine/metric.js";
import { QueryVector } from "../engine/query-vector.js";
import { Search } from "../engine/search.js";
import type { CompiledFilter } from "../filter.js";
import type { CallOptions, ItemField, Match, MatchField } from "../vector-index.js";
import { yieldToEventLoop } from "../threads/run.js";
import {
  findMatches,
  type Found,
  foundIn,
  type Matches,
  searchPrefiltered,
  withMatches,
} from "./filtered-search.js";
import type { OpenIndex } from "../encrypted-index/open-index.js";
import { furtherListBlocks, plan } from "./plan.js";
import { queriesTogether, searchTogether } from "./query-batch.js";
import { readItems } from "./read-items.js";
import { scanListBlocks } from "./scan-list-blocks.js";
import type { ListBlock, Snapshot } from "./snapshot.js";
import { searchWarm } from "./warm-search.js";

/** A query with every default filled in and every value checked. */
export interface CheckedQuery extends CallOptions {
  readonly topK: number;
  /** 0: as many as training found to be needed. */
  readonly nProbes: number;
  readonly greedy: boolean;
  /** Undefined: all items match. */
  readonly filter?: CompiledFilter;
  readonly include: ReadonlySet<MatchField>;
}

/** The matches of each vector, layout (queries, dimension), over one snapshot. */
export async function query(
  index: OpenIndex,
  snapshot: Snapshot,
  vectors: Float32Array,
  dimension: number,
  options: CheckedQuery,
): Promise<Match[][]> {
  const count = vectors.length / dimension;
  const each = Array.from({ length: count }, (_, i) => vectors.subarray(i * dimension, (i + 1) * dimension));
  if (options.topK === 0 || snapshot.segments.length === 0) return each.map(() => []);
  const matches = options.filter && (await findMatches(index, snapshot, options.filter));
  if (matches?.count === 0) return each.map(() => []);
  const ask = async (trained?: Trained) => {
    const results: Match[][] = [];
    for (const group of groupsOf(each, trained, options, matches)) {
      options.signal?.throwIfAborted();
      for (const found of await searchEach(index, snapshot, trained, group, options, matches)) {
        results.push(await toMatches(index, found, options));
      }
      if (count > 1) await yieldToEventLoop();
    }
    return results;
  };
  return snapshot.model === undefined ? ask() : index.withTrained(snapshot.model, ask);
}

/** Vectors that are searched together: only where one kernel call can scan for all of them. */
function groupsOf(
  vectors: readonly Float32Array[],
  trained: Trained | undefined,
  { greedy }: CheckedQuery,
  matches: Matches | undefined,
): Float32Array[][] {
  const together = greedy || trained?.rowQuantizer !== undefined || isPicked(matches) ? 1 : queriesTogether;
  return Array.from({ length: Math.ceil(vectors.length / together) }, (_, i) =>
    vectors.slice(i * together, (i + 1) * together),
  );
}

/** Whether every row that matches is compared, wherever it is. */
function isPicked(matches: Matches | undefined): matches is Matches {
  return matches?.few === true && matches.pickable;
}

async function searchEach(
  index: OpenIndex,
  snapshot: Snapshot,
  trained: Trained | undefined,
  vectors: readonly Float32Array[],
  options: CheckedQuery,
  matches: Matches | undefined,
): Promise<Found[]> {
  if (vectors.length > 1) {
    const results: Found[] = [];
    const together = await searchTogether(
      index,
      snapshot,
      trained,
      vectors,
      options,
      matches,
      options.signal,
    );
    for (const [i, found] of together.entries()) {
      // Those that did not find enough go further by themselves.
      const isShort = found.mayGoOn && found.candidates.length < options.topK;
      results.push(
        isShort ? await searchLists(index, snapshot, trained, vectors[i], options, matches) : found,
      );
    }
    return results;
  }
  const [vector] = vectors;
  if (isPicked(matches)) return [await searchPrefiltered(index, snapshot, vector, options.topK, matches)];
  const warm = trained && matches === undefined && searchWarm(index, snapshot, trained, vector, options);
  return [warm || (await searchLists(index, snapshot, trained, vector, options, matches))];
}

async function toMatches(
  { config: { metric } }: OpenIndex,
  { candidates, places }: Found,
  { include }: CheckedQuery,
): Promise<Match[]> {
  const fields = new Set([...include].filter((field): field is ItemField => field !== "distance"));
  const items = await readItems(places, fields);
  if (!include.has("distance")) return items;
  return items.map((item, i) => Object.assign(item, { distance: distanceOf(metric, candidates[i].score) }));
}

async function searchLists(
  index: OpenIndex,
  snapshot: Snapshot,
  trained: Trained | undefined,
  vector: Float32Array,
  options: CheckedQuery,
  matches: Matches | undefined,
): Promise<Found> {
  const { metric } = index.config;
  const asking = new QueryVector(metric, vector, trained?.quantizer.rotation);
  const search = new Search(asking, index.scanner(asking, vector, trained), options.topK);
  const scanned: ListBlock[] = [];
  const scan = (blocks: readonly ListBlock[], distances: readonly number[] | undefined, pruned: boolean) =>
    scanListBlocks(index, snapshot, search, scanned, blocks, { distances, pruned, accepted: matches?.rows });
  try {
    const ungrouped = withMatches(snapshot.ungroupedListBlocks, matches);
    if (ungrouped.length > 0) await scan(ungrouped, undefined, false);
    if (trained !== undefined) {
      const { likely, unlikely, rest, pruned } = plan(snapshot, trained, asking, options, matches);
      await scan(likely.parts, likely.distances, pruned);
      // What the index chose, lists or their number, must not cost rows that were asked for.
      if (search.threshold === Infinity) await scan(unlikely.parts, unlikely.distances, pruned);
      if (options.nProbes === 0 && pruned && search.threshold === Infinity) {
        const met = new Set([...likely.parts, ...unlikely.parts]);
        const { parts: blocks, distances } = furtherListBlocks(
          snapshot,
          trained.quantizer,
          asking,
          matches,
          met,
        );
        for (let start = 0; start < blocks.length && search.threshold === Infinity; start += start || 1) {
          options.signal?.throwIfAborted();
          const end = 2 * start || 1;
          await scan(blocks.slice(start, end), distances.slice(start, end), pruned);
        }
      }
      // Ascending by the smallest score that a row of it can have: where one cannot hold a nearer row, none after it can.
      const floors = rest.parts.map((listBlock, i) => {
        const distance = rest.distances[i];
        return {
          part: listBlock,
          distance,
          floor: scoreLowerBound(metric, vector.length, distance, listBlock.block.radius),
        };
      });
      floors.sort((x, y) => x.floor - y.floor);
      for (const { part: listBlock, distance, floor } of floors) {
        if (floor > search.threshold) break;
        options.signal?.throwIfAborted();
        await scan([listBlock], [distance], false);
      }
    }
    return foundIn(scanned, search.finish());
  } finally {
    search.free();
    asking.free();
  }
}
