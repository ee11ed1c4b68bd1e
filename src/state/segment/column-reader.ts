/** Reads metadata columns of a segment through the cache. */

import { type Column, ColumnPage } from "./columns.js";
import type { SegmentReader } from "./segment-reader.js";

/** Columns of one group of rows, by path. */
export type ColumnsOfGroup = ReadonlyMap<string | null, () => Column>;

/**
 * For each group of rows, by its first row, the columns of these paths as far as there are any. They are decoded as they
 * are asked for, which takes up to some milliseconds.
 */
export async function readColumns(
  reader: SegmentReader,
  paths: ReadonlySet<string | null>,
): Promise<ReadonlyMap<number, ColumnsOfGroup>> {
  const needed = reader.footer.columns.filter((block) => block.paths.some((path) => paths.has(path)));
  const pages = await reader.load(
    needed,
    (block, plaintext) => new ColumnPage(plaintext, block.paths.length, block.rows),
  );
  const groups = new Map<number, Map<string | null, () => Column>>();
  needed.forEach(({ firstRow, paths: held }, i) => {
    const group = groups.get(firstRow) ?? new Map<string | null, () => Column>();
    groups.set(firstRow, group);
    held.forEach((path, at) => group.set(path, () => pages[i].column(at)));
  });
  return groups;
}
