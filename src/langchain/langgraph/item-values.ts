/** Finds the rows of LangGraph items, and reads their values, which are in the metadata of rows, or in chunks. */

import type { Item as StoreItem, SearchItem, SearchOperation } from "@langchain/langgraph-checkpoint";
import { compileFilter, type Filter } from "../../api/filter/compile.js";
import { topKMax } from "../../api/method-options.js";
import type { Metadata, SingleQuery, VectorIndex } from "../../api/vector-index.js";
import { checkStoredLength, readStored, toChunks } from "../stored-bytes.js";
import { isSameState, itemId, type ItemRow, rowOf, toStoreItem } from "./item-rows.js";
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

/** Matching rows, the latest updated first. `blank`: the vector of rows without an embedded text. */
export async function latestRows(
  index: VectorIndex,
  filter: Filter,
  blank: readonly number[],
): Promise<ItemRow[]> {
  const everyList = { nProbes: Number.MAX_SAFE_INTEGER, filter, include: ["metadata"] } as const;
  const found = await index.query({ queryVector: [...blank], topK: topKMax, ...everyList });
  const rows =
    found.length < topKMax ? found.map(({ metadata }) => rowOf(metadata)) : await allMatching(index, filter);
  return rows.sort((a, b) => b.updatedAt - a.updatedAt || b.turn - a.turn);
}

/** The nearest rows, with their cosine similarity as score. */
export async function similar(index: VectorIndex, query: SingleQuery): Promise<Scored[]> {
  const matches = await index.query({ ...query, include: ["distance", "metadata"] });
  return matches.map(({ metadata, distance }) => ({ metadata, score: 1 - distance }));
}

interface Scored {
  readonly metadata: Metadata;
  readonly score: number;
}

/** The best row of each item, without rows that a later state of the item left behind. */
export async function bestOfEach(index: VectorIndex, matches: readonly Scored[]): Promise<ScoredRow[]> {
  const best = new Map<string, ScoredRow>();
  const doubtful = matches.map(({ metadata }) => rowOf(metadata)).filter(({ row }) => row > 0);
  const ids = [...new Set(doubtful.map(({ namespace, key }) => itemId(namespace, key)))];
  const current = new Map(
    (await index.get(ids, { include: ["metadata"] })).map(({ id, metadata }) => [id, rowOf(metadata)]),
  );
  for (const { metadata, score } of matches) {
    const row = rowOf(metadata);
    const id = itemId(row.namespace, row.key);
    const first = row.row === 0 ? row : current.get(id);
    if (best.has(id) || first === undefined || !isSameState(first, row)) continue;
    best.set(id, { ...row, score });
  }
  return [...best.values()];
}

/** Reads more rows than one query returns. */
async function allMatching(index: VectorIndex, filter: Filter): Promise<ItemRow[]> {
  const rows: ItemRow[] = [];
  for await (const { metadata } of index.items({ filter, include: ["metadata"] })) rows.push(rowOf(metadata));
  return rows;
}
