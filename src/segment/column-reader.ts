/** Reads metadata columns of a segment through the cache. */

import { SealdexError } from "../errors.js";
import type { CachedBlock } from "./block-cache.js";
import { Column } from "./column.js";
import type { ColumnBlock } from "./directory.js";
import type { SegmentReader } from "./segment-reader.js";

/** Columns of one group of rows, by path. */
export type ColumnsOfGroup = ReadonlyMap<string | null, () => Column>;

/** The columns of one block, each decoded when it is first asked for. */
class ColumnPage implements CachedBlock {
  readonly bytes: number;
  readonly #parts: readonly Uint8Array[];
  readonly #rows: number;
  readonly #columns: Column[] = [];

  /** A block is a page (see row.ts) with a part for each path. */
  constructor({ paths, rows }: ColumnBlock, plaintext: Uint8Array) {
    const view = new DataView(plaintext.buffer, plaintext.byteOffset, plaintext.byteLength);
    let at = 4 * paths.length;
    if (at > plaintext.length) throw misfit();
    this.#parts = paths.map((_, i) => {
      const start = at;
      at += view.getUint32(4 * i, true);
      if (at > plaintext.length) throw misfit();
      return plaintext.subarray(start, at);
    });
    if (at !== plaintext.length) throw misfit();
    this.#rows = rows;
    this.bytes = decodedShare * plaintext.length;
  }

  column(i: number): Column {
    return (this.#columns[i] ??= new Column(this.#parts[i], this.#rows));
  }
}

/** Memory of decoded columns and their bytes, as a multiple of the bytes: values of few characters weigh most. */
const decodedShare = 4;

/**
 * For each group of rows, by its first row, the columns of these paths as far as there are any. They are decoded as they
 * are asked for, which takes up to some milliseconds.
 */
export async function readColumns(
  reader: SegmentReader,
  paths: ReadonlySet<string | null>,
): Promise<ReadonlyMap<number, ColumnsOfGroup>> {
  const needed = reader.directory.columns.filter((block) => block.paths.some((path) => paths.has(path)));
  const pages = await reader.pin(
    needed,
    (block, plaintext) => new ColumnPage(block as ColumnBlock, plaintext),
  );
  reader.unpin(needed);
  const groups = new Map<number, Map<string | null, () => Column>>();
  needed.forEach(({ firstRow, paths: held }, i) => {
    const group = groups.get(firstRow) ?? new Map<string | null, () => Column>();
    groups.set(firstRow, group);
    held.forEach((path, at) => group.set(path, () => pages[i].column(at)));
  });
  return groups;
}

function misfit(): SealdexError {
  return new SealdexError("corrupt", "metadata columns: their lengths do not fit the block's");
}
