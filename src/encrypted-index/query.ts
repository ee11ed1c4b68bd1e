/**
 * Nearest-neighbour queries.
 *
 * A query runs over one snapshot: choose the lists, open their codes, scan them, and read the winners' rows. A row
 * that a newer segment hides, or that the filter rejects, is turned away before it enters the heap, so it never
 * takes a place among the top k.
 */

import type { Scanner } from "../engine/codec.js";
import { Search } from "../engine/search.js";
import type { Candidate } from "../engine/top-k.js";
import { distanceOf, scoreFloor, toListSpace } from "../engine/metric.js";
import { wordsAt } from "../engine/kernels/memory.js";
import type { Predicate } from "../filter.js";
import { blocksOfList, type CodeBlock } from "../segment/directory.js";
import { recordMetadata } from "../segment/row.js";
import type { OpenCodes } from "../segment/segment-reader.js";
import type { ItemField, Match, MatchField } from "../vector-index.js";
import type { OpenIndex } from "./open-index.js";
import { readItems } from "./read-items.js";
import { bySegment, type Hidden, type OpenSegment, type Snapshot } from "./snapshot.js";

/** A query with every default filled in and every value checked. */
export interface CheckedQuery {
  readonly topK: number;
  /** 0: as many as training found to be needed. */
  readonly nProbes: number;
  readonly greedy: boolean;
  /** Undefined: all items match. */
  readonly matches?: Predicate;
  readonly include: ReadonlySet<MatchField>;
}

/** A code block that a query may scan. */
interface Part {
  readonly segment: OpenSegment;
  readonly block: CodeBlock;
  readonly hidden: Hidden;
  /** From the query to the list's centroid; undefined where the rows are not grouped by the current model. */
  readonly distance?: number;
  /** No row of it has a smaller score. */
  readonly floor: number;
}

/** Codes that one query holds open at a time, in bytes as stored. */
const heldBytesMax = 32 * 1024 * 1024;

/** The matches of each vector, layout (queries, dimension), over one snapshot. */
export async function query(
  index: OpenIndex,
  snapshot: Snapshot,
  vectors: Float32Array,
  dimension: number,
  options: CheckedQuery,
): Promise<Match[][]> {
  const results: Match[][] = [];
  for (let start = 0; start < vectors.length; start += dimension) {
    const vector = vectors.subarray(start, start + dimension);
    results.push(await queryOne(index, snapshot, vector, options));
  }
  return results;
}

async function queryOne(
  index: OpenIndex,
  snapshot: Snapshot,
  vector: Float32Array,
  options: CheckedQuery,
): Promise<Match[]> {
  if (options.topK === 0 || snapshot.segments.length === 0) return [];
  const { metric } = index.config;
  const { first, rest, scanner } = await plan(index, snapshot, vector, options);
  const search = new Search(scanner, options.topK);
  const scanned: Part[] = [];
  let candidates: Candidate[];
  try {
    await scanParts(search, first, scanned, options);
    for (const part of rest) {
      // Ascending by floor: where one part cannot hold a nearer row, none after it can.
      if (part.floor > search.threshold) break;
      await scanParts(search, [part], scanned, options);
    }
  } finally {
    candidates = search.finish();
  }
  const places = candidates.map(({ block, row }) => {
    const part = scanned[block];
    return { segment: part.segment, row: part.block.firstRow + row };
  });
  const fields = new Set([...options.include].filter((field): field is ItemField => field !== "distance"));
  const items = await readItems(places, fields);
  if (!options.include.has("distance")) return items;
  return items.map((item, i) => ({ ...item, distance: distanceOf(metric, candidates[i].score) }));
}

/** What a query scans: `first` in any case; `rest` while it can help, ascending by floor. */
interface Plan {
  readonly scanner: Scanner;
  readonly first: Part[];
  readonly rest: Part[];
}

/** Segments that are not grouped by the current model are scanned whole. */
async function plan(
  index: OpenIndex,
  snapshot: Snapshot,
  vector: Float32Array,
  { nProbes, greedy }: CheckedQuery,
): Promise<Plan> {
  const { metric } = index.config;
  const { model } = snapshot;
  const first: Part[] = [];
  const rest: Part[] = [];
  const grouped: OpenSegment[] = [];
  for (const segment of snapshot.segments) {
    if (model !== undefined && segment.ref.model === snapshot.manifest.model?.name) grouped.push(segment);
    else {
      const hidden = await snapshot.hiddenIn(segment);
      for (const block of segment.reader.directory.codes) first.push({ segment, block, hidden, floor: 0 });
    }
  }
  if (model === undefined) return { scanner: index.scanner(vector, undefined, true), first, rest };

  const hiddens = await Promise.all(grouped.map((segment) => snapshot.hiddenIn(segment)));
  return index.withTrained(model, (trained) => {
    const { quantizer } = trained;
    const lists = nProbes === 0 ? model.autoProbes : Math.min(nProbes, quantizer.nLists);
    const { nearest, distances } = quantizer.probe(toListSpace(metric, vector, model.dimension), lists);
    grouped.forEach((segment, i) => {
      const { codes } = segment.reader.directory;
      const part = (block: CodeBlock): Part => {
        const distance = distances[block.list];
        return {
          segment,
          block,
          hidden: hiddens[i],
          distance,
          floor: greedy ? scoreFloor(metric, model.dimension, distance, block.radius) : 0,
        };
      };
      for (const list of nearest) first.push(...blocksOfList(codes, list).map(part));
      if (!greedy) return;
      const probed = new Set(nearest);
      rest.push(...codes.filter(({ list }) => !probed.has(list)).map(part));
    });
    // Near lists first: the sooner the threshold is low, the more rows it rules out.
    first.sort((a, b) => (a.distance ?? 0) - (b.distance ?? 0));
    rest.sort((a, b) => a.floor - b.floor);
    // Whoever asks for everything gets it exactly.
    const exact = greedy || lists === quantizer.nLists;
    return { scanner: index.scanner(vector, trained, exact), first, rest };
  });
}

/** Scans parts, opening as many at a time as the memory for one query allows. */
async function scanParts(
  search: Search,
  parts: Part[],
  scanned: Part[],
  options: CheckedQuery,
): Promise<void> {
  for (let start = 0; start < parts.length;) {
    let bytes = 0;
    let end = start;
    while (end < parts.length && (end === start || bytes < heldBytesMax)) bytes += parts[end++].block.length;
    await scanHeld(search, parts.slice(start, end), scanned, options);
    start = end;
  }
}

/** A part whose codes are in memory, with the test for the metadata of its rows. */
interface OpenPart {
  readonly codes: OpenCodes;
  readonly matchesRow?: (row: number) => boolean;
}

/** Opens the parts, all at once, and scans them in their order. */
async function scanHeld(
  search: Search,
  parts: readonly Part[],
  scanned: Part[],
  { matches }: CheckedQuery,
): Promise<void> {
  const open = new Map<Part, OpenPart>();
  const pinned: { reader: OpenSegment["reader"]; blocks: CodeBlock[] }[] = [];
  const opening = Array.from(bySegment(parts), async ([{ reader }, group]) => {
    const blocks = group.map(({ block }) => block);
    const codes = await reader.pinCodes(blocks);
    pinned.push({ reader, blocks });
    const tests = matches && (await metadataTests(group, matches));
    group.forEach((part, i) => open.set(part, { codes: codes[i], matchesRow: tests?.[i] }));
  });
  try {
    // Settled rather than raced: whatever was pinned must be known before it is unpinned.
    for (const result of await Promise.allSettled(opening)) {
      if (result.status === "rejected") throw result.reason;
    }
    for (const part of parts) {
      const { codes, matchesRow } = open.get(part) as OpenPart;
      scanned.push(part);
      const accept = acceptor(part, codes, matchesRow);
      search.scan(scanned.length - 1, codes.codes, part.distance, codes.fingerprints, accept);
    }
  } finally {
    for (const { reader, blocks } of pinned) reader.unpin(blocks);
  }
}

/** For each part, whether the metadata of one of its rows match. Reads the records of all rows. */
async function metadataTests(
  parts: readonly Part[],
  matches: Predicate,
): Promise<((row: number) => boolean)[]> {
  return Promise.all(
    parts.map(async ({ segment, block }) => {
      const rows = Array.from({ length: block.rows }, (_, i) => block.firstRow + i);
      const records = await segment.reader.records(rows);
      return (row: number) => matches(recordMetadata(records[row]));
    }),
  );
}

function acceptor(
  { hidden }: Part,
  { fingerprints }: OpenCodes,
  matchesRow: ((row: number) => boolean) | undefined,
): (row: number) => boolean {
  return (row) => {
    const words = wordsAt(fingerprints + 16 * row, 4);
    return !hidden(words[0], words[1], words[2], words[3]) && (matchesRow === undefined || matchesRow(row));
  };
}
