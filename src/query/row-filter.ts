/**
 * Which rows of a segment match a filter: from its metadata columns, and from the records of those rows that columns
 * leave open. Segments never change, so the rows are cached, and the same filter costs nothing the next time.
 */

import { createHash } from "node:crypto";
import { type CompiledFilter, type FilterNode, meets } from "../api/filter/compile.js";
import type { Metadata } from "../api/vector-index.js";
import { yieldIfDue } from "../async/event-loop.js";
import { type CachedValue, type CacheKey, namedKey } from "../state/cache/cache-group.js";
import type { CodeBlock } from "../state/segment/code-table.js";
import { type ColumnsOfGroup, readColumns } from "../state/segment/column-reader.js";
import { rowsPerColumnGroup } from "../state/segment/columns.js";
import { addRow, countRows, noRows, removeRows, rowsIn } from "../state/segment/row-bits.js";
import { recordMetadata } from "../state/segment/row.js";
import type { SegmentReader } from "../state/segment/segment-reader.js";
import { evaluateColumns, pathsOf } from "./evaluate-columns.js";

/** Rows of a segment that match, including those that newer segments shadow. */
export interface MatchingRows extends CachedValue {
  /** Of the filter. */
  readonly digest: string;
  readonly bits: Uint32Array;
  readonly count: number;
  /** The code blocks with such rows, and how many of them each has. */
  readonly blocks: ReadonlyMap<CodeBlock, number>;
}

/** Bytes of a block in `MatchingRows.blocks`. */
const blockCountBytes = 48;
/** Records that are held at a time. */
const recordsTogether = 1024;
/** Of records with which a filter may take longer than a slice. */
const longBytes = 4096;

function matchingKey(filter: CompiledFilter): CacheKey<MatchingRows> {
  return namedKey(`rows that match ${filterDigest(filter)}`);
}

/** The rows that match, pinned: call `unpinMatching` when done. */
export async function pinMatching(
  reader: SegmentReader,
  filter: CompiledFilter,
  signal?: AbortSignal,
): Promise<MatchingRows> {
  const find = async () => [await findMatching(reader, filter, signal)];
  const [matching] = await reader.cache.pin([matchingKey(filter)], find, signal);
  return matching;
}

export function unpinMatching(reader: SegmentReader, filter: CompiledFilter): void {
  reader.cache.unpin([matchingKey(filter)]);
}

async function findMatching(
  reader: SegmentReader,
  filter: CompiledFilter,
  signal: AbortSignal | undefined,
): Promise<MatchingRows> {
  const { root, matches } = filter;
  const { rows, codes } = reader.footer;
  const { certain: bits, possible: open } = await evaluate(reader, root, signal);
  removeRows(open, bits);
  const undecided = rowsIn(open, 0, rows);
  for (let start = 0; start < undecided.length; start += recordsTogether) {
    const piece = undecided.slice(start, start + recordsTogether);
    const records = await reader.records(piece);
    for (const [i, row] of piece.entries()) {
      await yieldIfDue();
      signal?.throwIfAborted();
      const metadata = recordMetadata(records[i]);
      const isLong = records[i].length > longBytes;
      if (isLong ? await matchesInSteps(root, metadata) : matches(metadata)) addRow(bits, row);
    }
  }
  const blocks = new Map<CodeBlock, number>();
  for (const block of codes) {
    const count = countRows(bits, block.firstRow, block.firstRow + block.rows);
    if (count > 0) blocks.set(block, count);
  }
  return {
    digest: filterDigest(filter),
    bits,
    count: countRows(bits, 0, rows),
    blocks,
    bytes: bits.byteLength + blockCountBytes * blocks.size,
  };
}

/** As `matches` of a filter, with pauses: each condition looks at all of an item's metadata if need be. */
async function matchesInSteps(node: FilterNode, metadata: Metadata): Promise<boolean> {
  if (node.kind === "field") {
    await yieldIfDue();
    return meets(node, metadata);
  }
  const isAnd = node.kind === "and";
  for (const child of node.children) if ((await matchesInSteps(child, metadata)) !== isAnd) return !isAnd;
  return isAnd;
}

/** The outcome for all rows of a segment, group by group. */
async function evaluate(reader: SegmentReader, root: FilterNode, signal: AbortSignal | undefined) {
  const { rows } = reader.footer;
  const groups = await readColumns(reader, pathsOf(root));
  const certain = noRows(rows);
  const possible = noRows(rows);
  for (let firstRow = 0; firstRow < rows; firstRow += rowsPerColumnGroup) {
    const size = Math.min(rowsPerColumnGroup, rows - firstRow);
    const columns: ColumnsOfGroup = groups.get(firstRow) ?? new Map();
    const work = evaluateColumns(root, columns, size);
    let step = work.next();
    for (; !step.done; step = work.next()) {
      await yieldIfDue();
      signal?.throwIfAborted();
    }
    certain.set(step.value.certain, firstRow / 32);
    possible.set(step.value.possible, firstRow / 32);
  }
  return { certain, possible };
}

// Filters by digest: as keys in caches, texts could take as much memory as the cached values.

const digests = new WeakMap<CompiledFilter, string>();

/** Shorter texts are digests of their own: no digest begins as a text does. */
const textMax = 64;

/** SHA-256 of a filter's text, unless that is short; computed once per compiled filter. */
export function filterDigest(filter: CompiledFilter): string {
  if (filter.text.length <= textMax) return filter.text;
  const known = digests.get(filter);
  if (known !== undefined) return known;
  const digest = createHash("sha256").update(filter.text).digest("base64");
  digests.set(filter, digest);
  return digest;
}
