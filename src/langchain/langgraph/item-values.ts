/** Values of LangGraph items, which are in the metadata of rows, or in chunks. */

import type { Item as StoreItem, SearchItem, SearchOperation } from "@langchain/langgraph-checkpoint";
import { compileFilter, type Filter } from "../../api/filter/compile.js";
import type { Metadata, VectorIndex } from "../../api/vector-index.js";
import { checkStoredLength, readStored, toChunks } from "../stored-bytes.js";
import { itemId, type ItemRow, rowOf, toStoreItem } from "./item-rows.js";
import { decodeValue, encodeValue, type Value, type ValueWithBytes } from "./value-with-bytes.js";

/** Values are read this many at a time. */
const valuesTogether = 8;
/** JSON of a value that is stored as metadata, so that filters need not read the value. */
const fieldBytesMax = 48 * 1024;

/** A row, and its score if it is the result of a query. */
export type ScoredRow = ItemRow & { readonly score?: number };

export async function readRow(index: VectorIndex, id: string): Promise<ItemRow | undefined> {
  const [found] = await index.get([id], { include: ["metadata"] });
  return found && rowOf(found.metadata);
}

/** The item of a row in its newest state if that of the row is gone; undefined if it was deleted. */
export async function readStoreItem(index: VectorIndex, row: ItemRow): Promise<StoreItem | undefined> {
  const id = itemId(row.namespace, row.key);
  const read = await readStored(index, id, row, () => readRow(index, id));
  return read && toStoreItem(read.item, read.bytes ? decodeValue(read.bytes) : (read.item.value as Value));
}

export async function readStoreItems(index: VectorIndex, rows: readonly ScoredRow[]): Promise<SearchItem[]> {
  const items: SearchItem[] = [];
  for (let start = 0; start < rows.length; start += valuesTogether) {
    const some = rows.slice(start, start + valuesTogether);
    const read = await Promise.all(some.map((row) => readStoreItem(index, row)));
    read.forEach((item, i) => {
      const { score } = some[i];
      if (item !== undefined) items.push({ ...item, ...(score !== undefined && { score }) });
    });
  }
  return items;
}

/** The first `wanted` rows whose values match. The index has compared all but the large ones. */
export async function rowsThatMatch<T extends ItemRow>(
  index: VectorIndex,
  rows: readonly T[],
  filter: SearchOperation["filter"],
  wanted: number,
): Promise<T[]> {
  if (filter === undefined) return [...rows];
  const { matches } = compileFilter(filter as Filter);
  const found: T[] = [];
  for (const row of rows) {
    if (found.length >= wanted) break;
    const value = row.large ? (await readStoreItem(index, row))?.value : row.value;
    if (value !== undefined && (!row.large || matches(value as Metadata))) found.push(row);
  }
  return found;
}

/** The members of a row for a value, and the items with its chunks. Throws `invalid_request` for a value that is too large. */
export function storedValue(id: string, value: ValueWithBytes, vector: readonly number[]) {
  const large = Buffer.byteLength(value.json) > fieldBytesMax;
  const fields = large ? { large: true as const } : { value: JSON.parse(value.json) as Value };
  if (!large && value.blobs.length === 0) return { chunks: [], ...fields };
  const bytes = encodeValue(value);
  checkStoredLength(bytes);
  return { ...toChunks(id, bytes, vector), ...fields };
}
