/**
 * Nearest-neighbour queries.
 *
 * A query runs over one snapshot: choose the lists, open their codes, scan them, and read the winners' rows. A row
 * that a newer segment hides, or that the filter rejects, is turned away before it enters the heap, so it never
 * takes a place among the top k.
 */

import type { Trained } from "../engine/choose-codec.js";
import type { Probes } from "../engine/coarse-quantizer.js";
import { distanceOf, scoreFloor } from "../engine/metric.js";
import { QueryVector } from "../engine/query-vector.js";
import { Search } from "../engine/search.js";
import type { CompiledFilter } from "../filter.js";
import type { CallOptions, ItemField, Match, MatchField } from "../vector-index.js";
import { probeFiltered } from "./filtered-probes.js";
import {
  findMatches,
  type Found,
  listCounts,
  type Matches,
  searchPicked,
  withMatches,
} from "./filtered-search.js";
import type { OpenIndex } from "./open-index.js";
import { readItems } from "./read-items.js";
import { scanParts } from "./scan-parts.js";
import type { Part, Snapshot } from "./snapshot.js";

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

/** A list that a query may scan. */
interface ProbedList {
  readonly parts: readonly Part[];
  /** From the query to the list's centroid, in list space. */
  readonly distance: number;
}

/** What a query scans. */
interface Plan {
  /** In any case, nearest first. */
  readonly first: readonly ProbedList[];
  /** While they can help, nearest first. */
  readonly rest: readonly ProbedList[];
  /** Whether rows may be ruled out by their codes. */
  readonly pruned: boolean;
}

/** The matches of each vector, layout (queries, dimension), over one snapshot. */
export async function query(
  index: OpenIndex,
  snapshot: Snapshot,
  vectors: Float32Array,
  dimension: number,
  options: CheckedQuery,
): Promise<Match[][]> {
  const { model } = snapshot;
  const ask = async (trained?: Trained) => {
    const results: Match[][] = [];
    for (let start = 0; start < vectors.length; start += dimension) {
      options.signal?.throwIfAborted();
      const vector = vectors.subarray(start, start + dimension);
      results.push(await queryOne(index, snapshot, trained, vector, options));
    }
    return results;
  };
  return model === undefined ? ask() : index.withTrained(model, ask);
}

async function queryOne(
  index: OpenIndex,
  snapshot: Snapshot,
  trained: Trained | undefined,
  vector: Float32Array,
  options: CheckedQuery,
): Promise<Match[]> {
  if (options.topK === 0 || snapshot.segments.length === 0) return [];
  const matches = options.filter && (await findMatches(index, snapshot, options.filter));
  if (matches?.count === 0) return [];
  const { candidates, places } =
    matches?.few === true && matches.pickable
      ? await searchPicked(index, snapshot, vector, options.topK, matches)
      : await searchLists(index, snapshot, trained, vector, options, matches);
  const fields = new Set([...options.include].filter((field): field is ItemField => field !== "distance"));
  const items = await readItems(places, fields);
  if (!options.include.has("distance")) return items;
  const { metric } = index.config;
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
  const scanned: Part[] = [];
  const scan = (parts: readonly Part[], distances: readonly number[] | undefined, pruned: boolean) =>
    scanParts(snapshot, search, scanned, parts, { distances, pruned, accepted: matches?.rows });
  try {
    const ungrouped = withMatches(snapshot.ungroupedParts, matches);
    if (ungrouped.length > 0) await scan(ungrouped, undefined, false);
    if (trained !== undefined) {
      const { first, rest, pruned } = plan(snapshot, trained.quantizer, asking, options, matches);
      const scanLists = (lists: readonly ProbedList[]) =>
        scan(
          lists.flatMap(({ parts }) => parts),
          lists.flatMap(({ parts, distance }) => parts.map(() => distance)),
          pruned,
        );
      await scanLists(first);
      // A number of lists that the index chose must not cost rows that were asked for.
      if (options.nProbes === 0 && pruned && search.threshold === Infinity) {
        const lists = probedLists(
          snapshot,
          trained.quantizer.probe(asking, trained.quantizer.nLists),
          matches,
        );
        const met = new Set(first.flatMap((list) => list.parts));
        const further = lists.filter((list) => list.parts.some((part) => !met.has(part)));
        for (let start = 0; start < further.length && search.threshold === Infinity; start += start || 1) {
          options.signal?.throwIfAborted();
          await scanLists(further.slice(start, 2 * start || 1));
        }
      }
      const floorOf = ({ block: { radius } }: Part, distance: number) =>
        scoreFloor(metric, vector.length, distance, radius);
      const left = rest.flatMap(({ parts: others, distance }) =>
        others.map((part) => ({ part, distance, floor: floorOf(part, distance) })),
      );
      left.sort((a, b) => a.floor - b.floor);
      for (const { part, distance, floor } of left) {
        // Where one part cannot hold a nearer row, none after it can.
        if (floor > search.threshold) break;
        options.signal?.throwIfAborted();
        await scan([part], [distance], false);
      }
    }
    const candidates = search.finish();
    const places = candidates.map(({ block, row }) => {
      const { segment, block: codes } = scanned[block];
      return { segment, row: codes.firstRow + row };
    });
    return { candidates, places };
  } finally {
    search.free();
    asking.free();
  }
}

function plan(
  snapshot: Snapshot,
  quantizer: Trained["quantizer"],
  asking: QueryVector,
  { topK, nProbes, greedy }: CheckedQuery,
  matches: Matches | undefined,
): Plan {
  const { nLists } = quantizer;
  const asked = nProbes === 0 ? (snapshot.model?.autoProbes ?? nLists) : Math.min(nProbes, nLists);
  // Few matches are worth looking for in every list.
  const wanted = matches?.few === true ? nLists : asked;
  const all = greedy || wanted === nLists;
  const probes =
    matches && !all
      ? probeFiltered(quantizer, asking, wanted, topK, listCounts(snapshot, matches))
      : quantizer.probe(asking, all ? nLists : wanted);
  const probed = probedLists(snapshot, probes, matches);
  // Whoever asks for everything gets it exactly.
  if (all) return { first: probed.slice(0, wanted), rest: probed.slice(wanted), pruned: false };
  return { first: probed, rest: [], pruned: true };
}

function probedLists(
  snapshot: Snapshot,
  { lists, distances }: Probes,
  matches: Matches | undefined,
): ProbedList[] {
  return lists.map((list, i) => ({
    parts: withMatches(snapshot.partsOfList(list), matches),
    distance: distances[i],
  }));
}
