/** Reads metadata columns of a segment through the cache. */

import { SealdexError } from "../errors.js";
import type { CachedBlock } from "./block-cache.js";
import { Column } from "./column.js";
import type { ColumnBlock } from "./directory.js";
import type { SegmentReader } from "./segment-reader.js";

/** Columns of one group of rows, by path. */
export type ColumnsOfGroup = ReadonlyMap<string | null, Column>;

interface ColumnPage extends CachedBlock {
  /** In the order of the block's paths. */
  readonly columns: readonly Column[];
}

/** The columns of these paths as far as there are any, by the first row of the group that they are of. */
export async function readColumns(
  reader: SegmentReader,
  paths: ReadonlySet<string | null>,
): Promise<ReadonlyMap<number, ColumnsOfGroup>> {
  const needed = reader.directory.columns.filter((block) => block.paths.some((path) => paths.has(path)));
  const pages = await reader.pin(needed, (block, plaintext) => decodeBlock(block as ColumnBlock, plaintext));
  reader.unpin(needed);
  const groups = new Map<number, Map<string | null, Column>>();
  needed.forEach(({ firstRow, paths: held }, i) => {
    const group = groups.get(firstRow) ?? new Map<string | null, Column>();
    groups.set(firstRow, group);
    held.forEach((path, at) => group.set(path, pages[i].columns[at]));
  });
  return groups;
}

/** A block is a page (see row.ts) with a column for each path. */
function decodeBlock({ paths, rows }: ColumnBlock, plaintext: Uint8Array): ColumnPage {
  const view = new DataView(plaintext.buffer, plaintext.byteOffset, plaintext.byteLength);
  let at = 4 * paths.length;
  if (at > plaintext.length) throw misfit();
  const columns = paths.map((_, i) => {
    const start = at;
    at += view.getUint32(4 * i, true);
    if (at > plaintext.length) throw misfit();
    return new Column(plaintext.subarray(start, at), rows);
  });
  if (at !== plaintext.length) throw misfit();
  return { columns, bytes: columns.reduce((sum, { bytes }) => sum + bytes, 0) };
}

function misfit(): SealdexError {
  return new SealdexError("corrupt", "metadata columns: their lengths do not fit the block's");
}
