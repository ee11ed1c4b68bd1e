/**
 * Nearest-neighbour queries.
 *
 * A query runs over one snapshot: choose the lists, open their codes, scan them, and read the winners' rows. A row
 * that a newer segment hides, or that the filter rejects, is turned away before it enters the heap, so it never
 * takes a place among the top k.
 */

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
import type { Hidden, OpenSegment, Snapshot } from "./snapshot.js";

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
  const { first, rest } = await chooseParts(index, snapshot, vector, options);
  const [{ reader }] = snapshot.segments;
  const search = new Search(reader.codec.scanner(vector), options.topK);
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

/**
 * The parts to scan in any case, and, for a greedy query, the others in ascending order of their floor.
 * Segments that are not grouped by the current model are scanned whole.
 */
async function chooseParts(
  index: OpenIndex,
  snapshot: Snapshot,
  vector: Float32Array,
  { nProbes, greedy }: CheckedQuery,
): Promise<{ first: Part[]; rest: Part[] }> {
  const { model, manifest } = snapshot;
  const { metric } = index.config;
  const probes =
    model &&
    (await index.withQuantizer(model, (quantizer) =>
      quantizer.probe(toListSpace(metric, vector, model.dimension)),
    ));
  const probed = probes && new Set(probes.order.subarray(0, nProbes === 0 ? model?.autoProbes : nProbes));
  const first: Part[] = [];
  const rest: Part[] = [];
  const floorOf = (block: CodeBlock) =>
    probes === undefined ? 0 : scoreFloor(metric, probes.distances[block.list], block.radius);
  for (const segment of snapshot.segments) {
    const hidden = await snapshot.hiddenIn(segment);
    const part = (block: CodeBlock) => ({ segment, block, hidden, floor: floorOf(block) });
    const { codes } = segment.reader.directory;
    if (probed === undefined || segment.ref.model !== manifest.model?.name) {
      first.push(...codes.map(part));
    } else if (greedy) {
      for (const block of codes) (probed.has(block.list) ? first : rest).push(part(block));
    } else {
      for (const list of probed) first.push(...blocksOfList(codes, list).map(part));
    }
  }
  rest.sort((a, b) => a.floor - b.floor);
  return { first, rest };
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

async function scanHeld(
  search: Search,
  parts: Part[],
  scanned: Part[],
  { matches }: CheckedQuery,
): Promise<void> {
  const pinned: { reader: OpenSegment["reader"]; blocks: CodeBlock[] }[] = [];
  try {
    const bySegment = new Map<OpenSegment, Part[]>();
    for (const part of parts) {
      const known = bySegment.get(part.segment);
      if (known === undefined) bySegment.set(part.segment, [part]);
      else known.push(part);
    }
    const opening = Array.from(bySegment, async ([{ reader }, group]) => {
      const blocks = group.map(({ block }) => block);
      const opened = await reader.pinCodes(blocks);
      pinned.push({ reader, blocks });
      const accepts = matches && (await metadataTests(group, matches));
      return group.map((part, i) => ({ part, open: opened[i], matchesRow: accepts?.[i] }));
    });
    // Settled rather than raced: whatever was pinned must be known before it is unpinned.
    const settled = await Promise.allSettled(opening);
    for (const result of settled) if (result.status === "rejected") throw result.reason;
    for (const result of settled) {
      if (result.status === "rejected") continue;
      for (const { part, open, matchesRow } of result.value) {
        scanned.push(part);
        search.scan(scanned.length - 1, open.codes, open.fingerprints, acceptor(part, open, matchesRow));
      }
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
