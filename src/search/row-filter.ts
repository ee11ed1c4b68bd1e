/**
 * Which rows of a segment match a filter: from its metadata columns, and from the records of those rows that columns
 * leave open. Segments never change, so the rows are cached, and the same filter costs nothing the next time.
 */

import { type CompiledFilter, type FilterNode, meets } from "../filter.js";
import type { Metadata } from "../vector-index.js";
import { type CachedValue, type CacheKey, namedKey } from "../segment/cache-group.js";
import { rowsPerColumnGroup } from "../segment/column.js";
import { type ColumnsOfGroup, readColumns } from "../segment/column-reader.js";
import type { CodeBlock } from "../segment/code-table.js";
import { addRow, countRows, noRows, removeRows, rowsIn } from "../segment/row-bits.js";
import { recordMetadata } from "../segment/row.js";
import type { SegmentReader } from "../segment/segment-reader.js";
import { yieldIfDue } from "../threads/yield-to-event-loop.js";
import { evaluateColumns, pathsOf } from "./evaluate-columns.js";
import { filterDigest } from "./filter-digest.js";

/** Rows of a segment that match, including those that newer segments shadow. */
export interface MatchingRows extends CachedValue {
  /** Of the filter. */
  readonly digest: string;
  readonly bits: Uint32Array;
  readonly count: number;
  /** The code blocks with such rows, and how many of them each has. */
  readonly blocks: ReadonlyMap<CodeBlock, number>;
}

/** What a block takes in `MatchingRows.blocks`, in bytes. */
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
